"""Waiting for something that calls back: blocking a thread, or pausing a coroutine.

Both take `register(callback) -> withdraw`. The callback may come from any thread, at once, more than once,
late, or from a signal handler; both survive all of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Generator
from typing import TypeVar

Withdraw = Callable[[], object]
Register = Callable[[Callable[[], object]], Withdraw]
T = TypeVar("T")
Steps = Generator[tuple[Register, float | None], None, T]
"""A procedure with waits in it, written once for threads and loops: `drive` runs it blocking,
`drive_async` not."""


def block(register: Register, timeout: float | None) -> bool:
    """Block this thread until called back (True) or for `timeout` seconds (False); None waits for ever."""
    # A bare lock, because Event.set() deadlocks in a signal handler that interrupted Event.wait().
    woken = threading.Lock()
    woken.acquire()

    def wake() -> None:
        # Asking locked() first would not do: of two threads that wake at once both may see it locked.
        with contextlib.suppress(RuntimeError):
            woken.release()

    withdraw = register(wake)
    try:
        limit = -1 if timeout is None else min(max(timeout, 0.0), threading.TIMEOUT_MAX)
        return woken.acquire(timeout=limit)
    finally:
        withdraw()


async def pause(register: Register, timeout: float | None) -> bool:  # noqa: ASYNC109 - None and 0 are allowed
    """As `block`, for a coroutine: the loop goes on."""
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not woken.done():
            woken.set_result(None)

    def wake() -> None:
        call_soon(loop, settle)

    withdraw = register(wake)
    try:
        await asyncio.wait([woken], timeout=timeout)
    finally:
        withdraw()
    return woken.done()


def first_of(*registers: Register) -> Register:
    """Calls back when the first of them does."""

    def register(callback: Callable[[], object]) -> Withdraw:
        withdraws = [one(callback) for one in registers]
        return lambda: [withdraw() for withdraw in withdraws]

    return register


def all_of(*registers: Register) -> Register:
    """Calls back when each of them has, and at once if there is none. Each must call back once at most."""

    def register(callback: Callable[[], object]) -> Withdraw:
        left = list(registers)

        def arrived() -> None:
            left.pop()  # atomic, so whoever finds it empty afterwards came last
            if not left:
                callback()

        if not registers:
            callback()
        withdraws = [one(arrived) for one in registers]
        return lambda: [withdraw() for withdraw in withdraws]

    return register


def call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> bool:
    """`call_soon_threadsafe` for a loop that may be closed by now: False if it is."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        if loop.is_closed():
            return False
        raise
    return True


def drive(steps: Steps[T], block: Callable[[Register, float | None], bool] = block) -> T:
    """Run the steps in this thread, blocking: with `block`, or what is given in its place."""
    try:
        while True:
            block(*next(steps))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def drive_async(steps: Steps[T]) -> T:
    """Run the steps as a coroutine."""
    while True:
        try:
            register, timeout = next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        await pause(register, timeout)
