"""Whether a call meets a catalogue entry's condition on its arguments."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Condition


def holds(condition: Condition, call: ast.Call) -> bool:
    """By the literal that stands in the call: what is not a literal, or is not given, equals nothing."""
    argument = given(condition, call)
    same = isinstance(argument, ast.Constant) and argument.value == condition.value
    return same if condition.equal else not same


def given(condition: Condition, call: ast.Call) -> ast.expr | None:
    """What the call gives the condition's parameter, by name or by position."""
    named = next((keyword.value for keyword in call.keywords if keyword.arg == condition.parameter), None)
    place = condition.position
    if named is None and place is not None and place < len(call.args):
        return call.args[place]
    return named
