"""Checks of arguments: an error names the argument, what it may be, and what it was."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

from .reload import is_a

T = TypeVar("T")

WORKERS = 10_000
"""The most workers, pending jobs' multiples aside, that one pool may have."""
PENDING = 1_000_000
"""The most jobs that may wait for one pool."""
SECONDS = 7 * 24 * 3600.0
"""The longest timeout: a week. Longer work belongs to a scheduler, not to a job."""


def whole(argument: str, value: int, low: int, high: int) -> int:
    """`value` if it is an integer from `low` to `high`; else TypeError or ValueError naming `argument`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{argument} must be an integer from {low} to {high}, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{argument} must be an integer from {low} to {high}, not {value}")
    return value


def seconds(argument: str, value: float, *, low: float = 0.0, high: float = SECONDS) -> float:
    """`value` as seconds if `low < value <= high`; else TypeError or ValueError naming `argument`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{argument} must be seconds above {low:g} and up to {high:g}, not {value!r}")
    if math.isnan(value) or not low < value <= high:
        raise ValueError(f"{argument} must be seconds above {low:g} and up to {high:g}, not {value:g}")
    return float(value)


def pause(argument: str, value: float) -> float:
    """As `seconds`, but 0 is allowed."""
    return 0.0 if value == 0 and not isinstance(value, bool) else seconds(argument, value)


def patience(argument: str, value: float | None) -> float | None:
    """`value` as the seconds of a wait: None is without limit, below 0 is 0; else TypeError or ValueError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{argument} must be seconds from 0, or None, not {value!r}")
    if math.isnan(value):
        raise ValueError(f"{argument} must be seconds from 0, or None, not {value!r}")
    return max(0.0, float(value))


def text(argument: str, value: str) -> str:
    """`value` if it is a string with something in it; else TypeError or ValueError naming `argument`."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a string that is not empty, not {value!r}")
    if not value:
        raise ValueError(f"{argument} must be a string that is not empty")
    return value


def kind(argument: str, value: T, *kinds: type) -> T:
    """`value` if it is one of the `kinds`; else TypeError naming `argument` and them."""
    if not is_a(value, *kinds):
        names = " or ".join("None" if one is type(None) else f"a {one.__name__}" for one in kinds)
        raise TypeError(f"{argument} must be {names}, not {value!r}")
    return value


def each(argument: str, values: Iterable[T], of: type) -> tuple[T, ...]:
    """`values` as a tuple if each is an `of`; else TypeError naming `argument`."""
    known = tuple(values) if isinstance(values, Iterable) else None
    if known is None or not all(is_a(value, of) for value in known):
        raise TypeError(f"{argument} must be a sequence of {of.__name__} objects, not {values!r}")
    return known


def call(argument: str, value: T, *, optional: bool = False) -> T:
    """`value` if it can be called, or is None and `optional`; else TypeError naming `argument`."""
    if not callable(value) and not (optional and value is None):
        raise TypeError(f"{argument} must be callable{' or None' * optional}, not {value!r}")
    return value
