"""What is done again and again: each pass is a job like any other, and the clock starts the next."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

from .clock import clock
from .errors import PoolFull, Stopping
from .handle import Handle
from .pool import Pool


class Ticker:
    """Makes passes, never two at a time. Between two passes there is no thread and no task, only a date."""

    def __init__(self, name: str, call: Callable[..., Any], timeout: float, first: float = 0.0) -> None:
        self.name = name
        self.call = call
        self._first = first
        self._timeout = timeout
        self._pool: Pool | None = None

    def arguments(self) -> tuple[Any, ...] | None:
        """The arguments of the next pass; None if there is nothing to do before `again` is called."""
        return ()

    def pause(self, handle: Handle[Any]) -> float:
        """Seconds between the pass that has ended and the next."""
        raise NotImplementedError

    def start(self, pool: Pool) -> None:
        """Make passes in `pool`, the first in `first` seconds. Does not block."""
        self._pool = pool
        self.again(self._first)

    def stop(self) -> None:
        """Make no further pass. One that is under way ends with its pool. Does not block."""
        self._pool = None
        clock.forget(self)

    def again(self, after: float) -> None:
        """Make the next pass in `after` seconds, or earlier if that was asked for already."""
        if self._pool is not None:
            clock.look(self, time.monotonic() + after)

    def sweep(self, now: float) -> None:  # noqa: ARG002 - the clock's call
        """Called by the clock: make a pass."""
        pool = self._pool
        arguments = self.arguments() if pool is not None else None
        if pool is None or arguments is None:
            return
        try:
            # The key keeps a pass waiting while an earlier one is stuck.
            handle = pool.hand_over(self.call, arguments, f"{self.name} pass", self._timeout, key=self.name)
        except Stopping:
            return
        except PoolFull:  # several passes behind: an earlier one is stuck
            self.again(self._timeout)
            return
        handle.add_done_callback(lambda: self.again(self.pause(handle)))


def is_async(call: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine."""
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004
