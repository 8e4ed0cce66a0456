"""Checks of arguments: an error names the argument, what it may be, and what it was."""

from __future__ import annotations

import math

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
