"""Owning SIGTERM and SIGINT for the time of a block."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

OWNED = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def on_signal(heard: Callable[[str], object]) -> Iterator[None]:
    """Call `heard("SIGTERM")` for each signal, in the main thread between two of its instructions.

    Python's own handlers, not the event loop's, so that a blocked loop does not keep a signal from being
    heard. What was installed before is put back. RuntimeError outside the main thread: there Python allows
    no handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("Runtime.run() owns the signals, so it must be called in the main thread")

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
        heard(signal.Signals(number).name)

    before = [(number, signal.signal(number, handle)) for number in OWNED]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
