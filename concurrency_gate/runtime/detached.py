"""`detach`: work that outlives its caller, and is still owned, bounded, timed, logged and known to the
shutdown.
"""

from __future__ import annotations

import asyncio
import atexit
import time
import types
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, overload

from .bounds import seconds
from .handle import Handle, name_of
from .homeloop import end_own_loop, home
from .pool import Pool
from .records import WARNING, record
from .tasks import AsyncPool, given
from .threads import ThreadPool
from .ticker import is_async
from .wakeup import drive

T = TypeVar("T")

TIMEOUT = 30.0
"""Seconds that detached work may take when `detach` is given no `timeout`."""
MAX_TIMEOUT = 3600.0
MAX_TASKS = 1000
"""The most detached coroutines at a time, in the process."""
MAX_THREADS = 16
"""The most detached functions that run at a time; up to `MAX_WAITING` more wait."""
MAX_WAITING = 1000
EXIT_GRACE = 5.0
"""Seconds that the interpreter's exit waits for detached work which no Runtime has waited for."""


@overload
def detach(
    work: Callable[..., Coroutine[Any, Any, T]], *args: Any, name: str | None = ..., timeout: float = ...
) -> Handle[T]: ...
@overload
def detach(work: Coroutine[Any, Any, T], *, name: str | None = ..., timeout: float = ...) -> Handle[T]: ...
@overload
def detach(work: Callable[..., T], *args: Any, name: str | None = ..., timeout: float = ...) -> Handle[T]: ...
def detach(work: Any, *args: Any, name: str | None = None, timeout: float = TIMEOUT) -> Handle[Any]:
    """Start `work`, a coroutine, a coroutine function or a function, and do not wait for it.

    Instead of `asyncio.create_task` and `threading.Thread(...).start()`. A coroutine runs in the loop that
    runs here, else in the Runtime's, else in one of the library's own; a function runs in a thread. Whatever
    it raises is logged and counted by name, and ends nothing else. It gets the context variables declared
    with `carry`, and a deadline of its own: the caller's does not count, nor does the caller's end.

    `timeout`: seconds, up to 3600. Raises `PoolFull` when as much is detached as may be, `Stopping` during
    shutdown. Thread-safe, never blocks.
    """
    if timeout is not TIMEOUT:
        seconds("timeout", timeout, high=MAX_TIMEOUT)
    if type(work) is types.CoroutineType:
        if args:
            raise TypeError("args must be empty when work is a coroutine: it has its arguments already")
        here = asyncio._get_running_loop()
        tasks = detached.tasks
        try:
            return (
                tasks._admit(
                    given, (work,), None, name or work.__qualname__, False, timeout, here or home(), here
                )
                or tasks._refuse()
            )
        except BaseException:  # refused, or there is no thread for a loop
            work.close()
            raise
    if not callable(work):
        raise TypeError(f"work must be a coroutine, a coroutine function or a function, not {work!r}")
    pool: Pool = detached.tasks if is_async(work) else detached.threads
    return pool.hand_over(work, args, name or name_of(work), timeout)


class Detached:
    """All detached work of the process. After a stop it begins anew, so that the next Runtime finds it
    open."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Open pools, in place of closed ones."""
        self.tasks = AsyncPool("detached tasks", max_workers=MAX_TASKS, max_pending=0, timeout=MAX_TIMEOUT)
        self.threads = ThreadPool(
            "detached threads", max_workers=MAX_THREADS, max_pending=MAX_WAITING, timeout=MAX_TIMEOUT
        )
        self.tasks.alarm = self.threads.alarm = True  # nobody has to look at the handle

    @property
    def pools(self) -> tuple[AsyncPool, ThreadPool]:
        """Where detached coroutines and functions run; a Runtime stops them with its own."""
        return self.tasks, self.threads

    def settle(self, grace: float) -> list[str]:
        """Take no more work, wait up to `grace` seconds for what there is, then cancel it; begin anew.

        Returns the names of what did not end. Blocks this thread: not for one that runs an event loop.
        """
        until = time.monotonic() + grace
        unfinished: list[str] = []
        for pool in self.pools:
            pool.close()
        for pool in self.pools:
            if not drive(pool.draining(max(0.0, until - time.monotonic()))):
                unfinished += drive(pool.stopping(0.0))
        end_own_loop()
        self.begin_anew()
        return unfinished

    def at_exit(self) -> None:
        """The interpreter ends: nobody will wait for detached work after this."""
        unfinished = self.settle(EXIT_GRACE)
        if unfinished:
            record(WARNING, "detached work was cut off by the interpreter's exit", jobs=", ".join(unfinished))


detached = Detached()
atexit.register(detached.at_exit)
