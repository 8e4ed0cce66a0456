"""Small helpers for tests with real threads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 20.0
"""Seconds after which something that was to happen is a failure, not slow."""


def in_thread(function: Callable[[], T]) -> Future[T]:
    """Run in a thread of its own, with the caller's context (and so its job)."""
    executor = ThreadPoolExecutor(1)
    future = executor.submit(copy_context().run, function)
    executor.shutdown(wait=False)
    return future


def until(condition: Callable[[], object], what: str = "the condition") -> None:
    """Return as soon as `condition()` is true, giving way to other threads meanwhile."""
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends, f"{what} did not come true in {PATIENCE} s"
        os.sched_yield()
