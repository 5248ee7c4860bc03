"""Counting the tokens and the cost of a session."""

from __future__ import annotations

from hermes_store.hermes_state.holds_store import HoldsStore
from hermes_store.sessions import model_usage, session_rows


def update_token_counts(
    self: HoldsStore,
    session_id: str,
    input_tokens: int = 0,
    output_tokens: int = 0,
    model: str | None = None,
    cache_read_tokens: int = 0,
    cache_write_tokens: int = 0,
    reasoning_tokens: int = 0,
    estimated_cost_usd: float | None = None,
    actual_cost_usd: float | None = None,
    cost_status: str | None = None,
    cost_source: str | None = None,
    pricing_version: str | None = None,
    billing_provider: str | None = None,
    billing_base_url: str | None = None,
    billing_mode: str | None = None,
    api_call_count: int = 0,
    absolute: bool = False,
) -> None:
    """Add to a session's token counts and costs, or set them with `absolute`."""
    usage = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "model": model,
        "cache_read_tokens": cache_read_tokens,
        "cache_write_tokens": cache_write_tokens,
        "reasoning_tokens": reasoning_tokens,
        "estimated_cost_usd": estimated_cost_usd,
        "actual_cost_usd": actual_cost_usd,
        "cost_status": cost_status,
        "cost_source": cost_source,
        "pricing_version": pricing_version,
        "billing_provider": billing_provider,
        "billing_base_url": billing_base_url,
        "billing_mode": billing_mode,
        "api_call_count": api_call_count,
    }
    with self.store.database.write() as tx:
        session_rows.create(tx, session_id, "unknown", model=model)
        model_usage.add(tx, session_id, usage, absolute=absolute)
