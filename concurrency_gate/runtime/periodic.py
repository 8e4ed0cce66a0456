"""`Periodic`: a job every so many seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .bounds import seconds, text, whole
from .handle import Handle, name_of
from .ticker import Ticker

TIMEOUT = 30.0
"""Seconds that a pass may take when no `timeout` is given (never more than `every`)."""


@dataclass(frozen=True)
class Periodic:
    """Call `work()`, a function or a coroutine function, `every` seconds after its last call has ended.

    So two calls never overlap, and none is made up for. The first comes `every` seconds after the start, or
    at once with `at_start`. A call that raises or overruns is logged and counted; the next comes all the
    same. `connections`: database connections that a call may hold, for the budget. Immutable; `work` runs in
    a worker.
    """

    work: Callable[[], Any]
    every: float
    timeout: float | None = None
    name: str = ""
    at_start: bool = False
    connections: int = 1

    def __post_init__(self) -> None:
        if not callable(self.work):
            raise TypeError(f"work must be a function or a coroutine function, not {self.work!r}")
        seconds("every", self.every)
        if self.name:
            text("name", self.name)
        if self.timeout is not None:
            seconds("timeout", self.timeout)
        whole("connections", self.connections, 0, 100)

    def ticker(self) -> Ticker:
        """What makes the calls."""
        return _PeriodicTicker(self)


class _PeriodicTicker(Ticker):
    def __init__(self, periodic: Periodic) -> None:
        timeout = min(TIMEOUT, periodic.every) if periodic.timeout is None else periodic.timeout
        first = 0.0 if periodic.at_start else periodic.every
        super().__init__(periodic.name or name_of(periodic.work), periodic.work, timeout, first)
        self._every = periodic.every

    def pause(self, handle: Handle[Any]) -> float:  # noqa: ARG002 - however it ended
        return self._every
