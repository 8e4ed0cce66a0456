"""One thread that looks after every pool in the process: deadlines, retries that come due, stuck jobs.

A pool asks to be looked at when its earliest deadline comes. It is not told about single jobs, so a job that
ends in time costs the clock nothing. The thread starts with the first request and ends when nobody has one.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

from . import fork
from .records import ERROR, record, text_of

RESOLUTION = 0.01
"""Seconds between two looks at one pool at least; a deadline may be noticed this much late."""


class Watched(Protocol):
    def sweep(self, now: float) -> None:
        """Deal with whatever is due, and ask for the next look."""


class Clock:
    """Thread-safe. `look` may be called under a pool's lock; `sweep` is called with no lock held."""

    def __init__(self) -> None:
        self._reset()
        fork.watch(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Lock()  # released to wake the thread
        self._changed.acquire()
        self._looks: dict[Watched, float] = {}
        self._wake_at = 0.0
        self._thread: threading.Thread | None = None

    after_fork = _reset

    def look(self, pool: Watched, at: float) -> bool:
        """Sweep `pool` at the monotonic time `at` (the earlier of two requests counts). Does not block.

        False if no thread is to be had for it (there are too many, or the interpreter ends): ask again.
        """
        with self._lock:
            known = self._looks.get(pool)
            if known is None or at < known:
                self._looks[pool] = at
            if self._thread is None:
                return self._begin(at)
            if at < self._wake_at:
                self._wake()
        return True

    def forget(self, pool: Watched) -> None:
        """Take `pool` off the list; if it was the last, the thread has ended when this returns."""
        with self._lock:
            self._looks.pop(pool, None)
            thread = None if self._looks else self._thread
            if thread is not None:
                self._wake()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5.0)

    def _begin(self, at: float) -> bool:
        self._wake_at = at
        thread = threading.Thread(target=self._run, name="concurrency-gate-clock", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            record(ERROR, "the clock has no thread: deadlines are not watched", error=error)
            return False
        self._thread = thread
        return True

    def _wake(self) -> None:
        self._wake_at = 0.0
        if self._changed.locked():
            self._changed.release()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._looks:
                    self._thread = None
                    return
                self._wake_at = min(self._looks.values())
            self._changed.acquire(timeout=min(max(self._wake_at - time.monotonic(), 0.0), 3600.0))
            for pool in self._due():
                try:
                    pool.sweep(time.monotonic())
                except BaseException as error:  # the clock serves every pool: one that fails must not end it
                    record(ERROR, "the clock could not look after a pool", error=error, pool=text_of(pool))

    def _due(self) -> list[Watched]:
        now = time.monotonic()
        with self._lock:
            due = [pool for pool, at in self._looks.items() if at <= now]
            for pool in due:
                del self._looks[pool]
        return due


clock = Clock()
