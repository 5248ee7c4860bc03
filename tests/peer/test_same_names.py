"""Every public name of the real module is here, with the same parameters."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from hermes_store import SessionDB, hermes_state
from tests.store import processes

pytestmark = pytest.mark.peer

_NAMES = """
import inspect, json, types
import hermes_state
def parameters(function):
    return [
        [each.name, each.kind.name, each.default is not each.empty]
        for each in inspect.signature(function).parameters.values()
    ]
methods = {
    name: parameters(getattr(hermes_state.SessionDB, name))
    for name in vars(hermes_state.SessionDB)
    if not name.startswith("_") and callable(getattr(hermes_state.SessionDB, name))
}
constants = [name for name in vars(hermes_state.SessionDB) if not name.startswith("_")]
module = [
    name
    for name, value in vars(hermes_state).items()
    if not name.startswith("_") and not isinstance(value, types.ModuleType)
    and (name.isupper() or getattr(value, "__module__", "") == "hermes_state")
]
print(json.dumps([methods, constants, module]))
"""

# A type variable, which nobody imports.
NOT_MEANT = {"T"}


@pytest.fixture(scope="module")
def real(hermes13: str) -> Any:
    return json.loads(processes.run(_NAMES, python=hermes13))


def test_the_module_has_every_name(real: Any) -> None:
    assert set(real[2]) - NOT_MEANT == set(hermes_state.__all__)


def test_the_class_has_every_name(real: Any) -> None:
    assert [name for name in real[1] if not hasattr(SessionDB, name)] == []


def test_every_method_takes_the_same_parameters(real: Any) -> None:
    """In the same order, by position or by name; ours may take more, by name only."""
    wrong = []
    for name, theirs in real[0].items():
        ours = inspect.signature(getattr(SessionDB, name)).parameters
        told = [
            [each.name, each.kind.name, each.default is not each.empty] for each in ours.values()
        ]
        # The real class names the collected options of create_session differently.
        comparable = [[*each[1:]] if each[1] == "VAR_KEYWORD" else each for each in theirs]
        mine = [[*each[1:]] if each[1] == "VAR_KEYWORD" else each for each in told]
        if mine[: len(comparable)] != comparable:
            wrong.append((name, comparable, mine))
        elif any(each[1] != "KEYWORD_ONLY" for each in told[len(theirs) :]):
            wrong.append((name, theirs, told))
    assert not wrong
