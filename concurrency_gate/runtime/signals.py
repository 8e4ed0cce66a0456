"""Owning SIGTERM and SIGINT for the time of a block."""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from .wakeup import Register

OWNED = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def on_signal(heard: Callable[[str], object]) -> Iterator[Doorbell]:
    """Call `heard("SIGTERM")` for each signal, in the main thread between two of its instructions.

    Python's own handlers, not the event loop's, so that a blocked loop does not keep a signal from being
    heard. What was installed before is put back. RuntimeError outside the main thread: there Python allows
    no handlers. Yields what the main thread is to wait with meanwhile.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("Runtime.run() owns the signals, so it must be called in the main thread")

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
        heard(signal.Signals(number).name)

    with contextlib.closing(Doorbell()) as doorbell:
        before = [(number, signal.signal(number, handle)) for number in OWNED]
        try:
            yield doorbell
        finally:
            for number, handler in before:
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)


class Doorbell:
    """Wakes the main thread at every signal, however it waits.

    A signal that comes just before a thread blocks in a lock, or in `select`, does not end that wait: its
    handler would run when something else does, perhaps never. So Python's C handler also writes to a socket,
    and the main thread waits for that one to be readable
    (https://docs.python.org/3/library/signal.html#signal.set_wakeup_fd). What is written means nothing: a
    child that was forked may ring as well, and does no harm.
    """

    def __init__(self) -> None:
        self._inside, self._outside = socket.socketpair()
        self._inside.setblocking(False)
        self._outside.setblocking(False)
        self._before = signal.set_wakeup_fd(self._outside.fileno(), warn_on_full_buffer=False)

    def close(self) -> None:
        """Put back what was there before."""
        signal.set_wakeup_fd(self._before)
        self._inside.close()
        self._outside.close()

    def block(self, register: Register, timeout: float | None) -> bool:
        """As `wakeup.block`, for the main thread: it also runs the handlers of signals that come meanwhile."""
        woken = False

        def wake() -> None:
            nonlocal woken
            woken = True
            with contextlib.suppress(OSError):  # it is full, so it rings already
                self._outside.send(b"\0")

        ends = None if timeout is None else time.monotonic() + timeout
        withdraw = register(wake)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._inside, selectors.EVENT_READ)
                while not woken:
                    left = None if ends is None else ends - time.monotonic()
                    if left is not None and left <= 0.0:
                        return False
                    selector.select(left)
                    self._answer()
            return True
        finally:
            withdraw()

    def wake(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let every signal wake the loop, which runs in the main thread. One that cannot watch a socket (Windows')
        looks after that itself.
        """
        with contextlib.suppress(NotImplementedError):
            loop.add_reader(self._inside, self._answer)

    def _answer(self) -> None:
        with contextlib.suppress(OSError):  # somebody else has read it
            self._inside.recv(4096)
