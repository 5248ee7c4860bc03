"""What the demo's conversations would have cost: tokens out of their texts, and list prices."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

PROMPT_TOKENS = 14_200
"""The system prompt and the descriptions of the tools."""
UNSEEN = 12
"""A real tool returns far more than the demo's, which show only the lines that matter."""


class Price(NamedTuple):
    """Dollars for a million tokens."""

    read: float
    written: float
    cached: float


PRICES = {
    "anthropic/claude-opus-4.5": Price(5.0, 25.0, 0.5),
    "anthropic/claude-sonnet-4.6": Price(3.0, 15.0, 0.3),
    "anthropic/claude-haiku-4.5": Price(1.0, 5.0, 0.1),
    "openai/gpt-5.2": Price(1.75, 14.0, 0.175),
    "google/gemini-3-flash": Price(0.5, 3.0, 0.05),
    "nousresearch/hermes-4-405b": Price(1.0, 3.0, 1.0),
    "qwen3-coder:30b": Price(0.0, 0.0, 0.0),
}
"""The last one runs on the user's own machine."""


def usage(model: str, said: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a conversation used: each answer reads all before it, mostly from the cache."""
    price = PRICES[model]
    context, cached, waiting = PROMPT_TOKENS, 0, PROMPT_TOKENS
    total = dict.fromkeys(
        ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens"), 0
    )
    calls = 0
    for message in said:
        tokens = _tokens(message.get("content")) + _tokens(message.get("tool_calls"))
        if message["role"] == "tool":
            tokens *= UNSEEN
        if message["role"] == "assistant":
            thought = _tokens(message.get("reasoning")) * 3
            calls += 1
            total["input_tokens"] += waiting
            total["cache_read_tokens"] += cached
            total["output_tokens"] += tokens + thought
            total["reasoning_tokens"] += thought
            cached, waiting = context, 0
        context += tokens
        waiting += tokens
    cost = (
        total["input_tokens"] * price.read
        + total["output_tokens"] * price.written
        + total["cache_read_tokens"] * price.cached
    ) / 1_000_000
    provider = "openrouter" if "/" in model else "custom"
    return {
        **total,
        "api_call_count": calls,
        "estimated_cost_usd": round(cost, 4),
        "model": model,
        "billing_provider": provider,
    }


def _tokens(value: Any) -> int:
    if not value:
        return 0
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text.encode()) // 4 + 1
