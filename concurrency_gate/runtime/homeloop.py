"""Where a coroutine runs that was submitted from a place without an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Iterator

from . import fork
from .wakeup import call_soon

IDLE = 1.0
"""Seconds after which the library's own loop ends when no task is left in it."""

_chosen: list[asyncio.AbstractEventLoop] = []


def home() -> asyncio.AbstractEventLoop:
    """The loop that runs here; else the running Runtime's; else the library's own, started when first
    needed."""
    running = asyncio._get_running_loop()
    if running is not None:
        return running
    for loop in reversed(_chosen):
        if not loop.is_closed():
            return loop
    return _own.loop()


def moved_from(loop: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop | None:
    """Where a coroutine runs whose `loop` is closed by now: if that was one of the library's own, which end
    when they are idle, there is another. A loop of the application's has none in its place.
    """
    if loop not in _ended:
        return None
    try:
        return home()
    except RuntimeError:  # no thread for it
        return None


@contextlib.contextmanager
def at_home(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Make `loop` the one for coroutines that come from threads, for the time of the block."""
    _chosen.append(loop)
    try:
        yield
    finally:
        _chosen.remove(loop)


class _OwnLoop:
    """An event loop in a daemon thread. It ends when it has been without a task for `IDLE` seconds."""

    def __init__(self) -> None:
        self._reset()
        fork.watch(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._hurry = asyncio.Event()
        self._asked = 0  # how often the loop was given out

    after_fork = _reset

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, started if need be. RuntimeError if there is no thread for it."""
        with self._lock:
            self._asked += 1
            return self._loop or self._begin()

    def _begin(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._run, args=(loop,), name="concurrency-gate-loop", daemon=True)
        self._hurry = asyncio.Event()
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            loop.close()
            raise
        self._loop, self._thread = loop, thread
        return loop

    def end(self) -> None:
        """End the loop now if it has no task; its thread is gone when this returns."""
        with self._lock:
            loop, thread, hurry = self._loop, self._thread, self._hurry
        if loop is not None and thread is not None and thread is not threading.current_thread():
            call_soon(loop, hurry.set)
            thread.join(timeout=IDLE)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(self._until_idle())
        loop.run_until_complete(loop.shutdown_asyncgens())
        _ended.add(loop)
        loop.close()

    async def _until_idle(self) -> None:
        asked = -1
        while True:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            with self._lock:
                if not others and (asked == self._asked or self._hurry.is_set()):
                    self._loop = self._thread = None
                    return
                asked = self._asked
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), IDLE)


_ended: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()
_own = _OwnLoop()
end_own_loop = _own.end
