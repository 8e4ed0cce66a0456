"""`AsyncPool`: coroutines, in a bounded number of tasks."""

from __future__ import annotations

import asyncio
from asyncio import Task, _get_running_loop
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack
from contextvars import Context
from types import TracebackType
from typing import Any, TypeVar, TypeVarTuple

from . import context, observe
from .bounds import PENDING
from .context import restore
from .errors import JobCancelled
from .handle import Handle
from .homeloop import home, moved_from
from .job import _current
from .leasing import leased_async
from .observe import instrumented
from .pool import Loops, Pool
from .slots import AnyHandle
from .threads import ThreadPool
from .wakeup import call_soon, drive_async
from .whereabouts import of_task

LEASE_TIMEOUT = 60.0
"""Seconds that a lease's store may take to answer; its own limits are far below."""

T = TypeVar("T")
A = TypeVar("A")
Ts = TypeVarTuple("Ts")
Work = Coroutine[Any, Any, T]


class AsyncPool(Pool):
    """At most `max_workers` coroutines at once, each for at most `timeout` seconds; at most `max_pending`
    wait.

    A job that overruns is cancelled, and its caller gets `JobTimeout` at once. If it swallows the
    cancellation, or blocks its loop, its slot stays taken until it ends, and after a second it counts as
    stuck.

    Thread-safe, not for signal handlers. A job runs in the event loop that submits it; submitted from where
    none runs, in the loop of the running `Runtime`, or else in a loop of the library's own.
    """

    kind = "async"
    stuck_after = 1.0

    def _reset(self) -> None:
        super()._reset()
        self._keeper: ThreadPool | None = None

    def submit(
        self,
        call: Callable[[*Ts], Work[T]],
        /,
        *args: *Ts,
        key: str | None = None,
        name: str | None = None,
        inherit: bool = True,
    ) -> Handle[T]:
        """Let in `call(*args)`, or raise `PoolFull` (no room) or `Stopping` (closed) at once. Never blocks.

        Of the jobs with one `key` at most one is in flight; the others wait without spending an attempt. The
        caller's deadline and stop count for the job too, unless `inherit` is False: then it is handed over.
        """
        here = _get_running_loop()
        return self._admit(call, args, key, name, inherit, 0.0, here or home(), here) or self._refuse()

    async def submit_wait(
        self,
        call: Callable[[*Ts], Work[T]],
        /,
        *args: *Ts,
        timeout: float,  # noqa: ASYNC109 - the limit is for the waiting alone
        key: str | None = None,
        name: str | None = None,
        inherit: bool = True,
    ) -> Handle[T]:
        """As `submit`, but wait for room, at most `timeout` seconds; then raise `PoolFull`.

        Inside a job no longer than that has: then `JobTimeout`, or `Stopping` when it is to stop.
        """
        here = asyncio.get_running_loop()
        return await drive_async(self._admitting(timeout, call, args, key, name, inherit, 0.0, here, here))

    async def run(
        self, call: Callable[[*Ts], Work[T]], /, *args: *Ts, key: str | None = None, name: str | None = None
    ) -> T:
        """Submit and await the result. When the awaiting task is cancelled, so is the job."""
        handle: Handle[T] = self.submit(call, *args, key=key, name=name)
        try:
            return await handle
        finally:
            if handle._outcome is None:
                self.cancel(handle, "its caller was cancelled")

    async def map(
        self, call: Callable[[A], Work[T]], items: Iterable[A], /, *, name: str | None = None
    ) -> AsyncIterator[T]:
        """Yield `await call(item)` for each item, in order, with at most twice `max_workers` in flight.

        Takes items as results are taken, so endless iterables are fine. The first exception is raised in its
        place; then, or when the iteration is given up (`aclose`), what is in flight is cancelled.
        """
        flying: deque[Handle[T]] = deque()
        try:
            for item in items:
                flying.append(await self.submit_wait(call, item, timeout=self.timeout, name=name))
                if len(flying) >= min(2 * self.max_workers, self._capacity):
                    yield await flying.popleft()
            while flying:
                yield await flying.popleft()
        finally:
            for handle in flying:
                handle.cancel("the map was given up")

    async def drain(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109
        """Close, then wait until every job has ended but stuck ones; False if `timeout` seconds were too
        short.
        """
        return await drive_async(self.draining(timeout))

    async def stop(self, grace: float) -> list[str]:
        """Close, drop what waits, ask what runs to stop, cancel it after `grace` s; names of the
        unfinished."""
        return await drive_async(self.stopping(grace))

    async def __aenter__(self) -> AsyncPool:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.drain()
        else:
            await self.stop(self.timeout)

    def abandon(self) -> list[str]:
        """As `Pool.abandon`. The end of the loop does not wait for what is left, which swallows every
        cancellation: `asyncio.run` would wait for ever.
        """
        with self.lock:
            left: list[Any] = [handle._runner for handle in self._running if handle._runner is not None]
        for task in left:
            # https://docs.python.org/3/library/asyncio-extending.html#task-lifetime-support
            asyncio._unregister_task(task)
            task._log_destroy_pending = False  # it has been reported by name
        return super().abandon()

    def retire(self) -> None:
        """As `Pool.retire`, and for the thread that asks for leases."""
        super().retire()
        keeper = self._keeper
        if keeper is not None:
            keeper.close()
            keeper.retire()

    def _lease_keeper(self) -> ThreadPool:
        """Where leases are claimed and given up, which blocks."""
        with self.lock:
            if self._keeper is None:
                name, most = f"{self.name} leases", min(PENDING, 2 * self.max_workers)
                self._keeper = ThreadPool(name, max_workers=1, max_pending=most, timeout=LEASE_TIMEOUT)
            return self._keeper

    # The tasks.

    def _loops(self) -> Loops:
        here = _get_running_loop()
        return here or home(), here

    def _launch(self, handle: AnyHandle, here: asyncio.AbstractEventLoop | None) -> None:
        loop = handle._loop
        assert loop is not None
        if loop is here:
            work = self._work(handle)
            work.send(None)  # up to the bare yield: see there
            # A Task itself and not loop.create_task: an eager task factory would run the job inside `submit`.
            handle._runner = Task(work, loop=loop, name=handle.name, context=Context())
            if handle._ending is not None:  # told to end while there was no task to cancel
                handle._runner.cancel()
        elif not call_soon(loop, lambda: self._launch(handle, loop)):
            elsewhere = moved_from(loop)
            if elsewhere is None:
                self._bereave(handle)
            else:
                handle._loop = elsewhere
                self._launch(handle, here)

    async def _work(self, handle: AnyHandle) -> None:
        """The body of the task. Whatever the job raises ends here."""
        value: Any = None
        error: BaseException | None = None
        try:
            # A coroutine that was never started cannot see its cancellation, nor report it: so the task gets
            # this one already inside its try.
            await _SUSPENDED
            _current.set(handle)
            if context.declared or observe.installed or self.lease is not None:
                value = await self._surrounded(handle)
            else:
                value = await handle._call(*handle._args)
        except BaseException as raised:
            error = raised
            if handle._runner is None:
                return  # collected with its loop, long after `_bereave`
            if isinstance(raised, asyncio.CancelledError):
                self._cancelled(handle)
        following = self._end(handle, value, error)
        if following is not None:
            self._launch(following, handle._loop)

    async def _surrounded(self, handle: AnyHandle) -> Any:
        """The job with what was carried to it, inside the instruments, and holding the lease of its key."""
        restore(handle._carried)
        async with AsyncExitStack() as stack:
            if self.lease is not None and handle.key is not None:
                held = leased_async(handle, handle.key, self.lease, self._lease_keeper())
                await stack.enter_async_context(held)
            stack.enter_context(instrumented(handle.job))
            return await handle._call(*handle._args)

    def _cancelled(self, handle: AnyHandle) -> None:
        """Tell a cancellation from outside the pool (the loop is ending) from one that the job made up
        itself.
        """
        if handle._call is given:
            handle._args[0].close()  # in case it was never started
        task = asyncio.current_task()
        if handle._ending is None and task is not None and task.cancelling():
            handle._ending = "its task was cancelled"

    def _bereave(self, handle: AnyHandle) -> None:
        """The job's loop is closed: its task will never run again, so it has ended."""
        with self.lock:
            if handle not in self._running:
                return
            handle._ending = handle._ending or "its event loop is closed"
        following = self._end(handle, None, JobCancelled(handle._ending))
        if following is not None:
            self._launch(following, _get_running_loop())

    def _interrupt(self, handle: AnyHandle, runner: asyncio.Task[None] | None) -> None:
        loop = handle._loop
        if loop is None or loop.is_closed():
            self._bereave(handle)
        elif runner is None or runner.done():
            return
        elif _get_running_loop() is loop:
            runner.cancel()
        elif not call_soon(loop, runner.cancel):
            self._bereave(handle)

    def _where(self, handle: AnyHandle) -> str:
        task: asyncio.Task[None] | None = handle._runner
        if task is None:
            return "(it has no task yet: its loop is blocked)"
        return of_task(task)


class _Suspended:
    """Awaiting it gives control back once. One object for all: it has no state, and no Python of its own."""

    __await__: Any = (None,).__iter__


_SUSPENDED = _Suspended()


def given(work: Work[T]) -> Work[T]:
    """The call of a job that was handed over as a coroutine."""
    return work
