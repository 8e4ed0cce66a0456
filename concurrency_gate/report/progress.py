"""A line that says how far a long run has come, on a terminal only."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_PATIENCE = 0.7
_WIDTH = 30


class Progress:
    """Call it with (done, total), from one thread; it draws on standard error once the run is long enough to
    wonder. Leaving the block wipes the line."""

    def __init__(self) -> None:
        self._draws = sys.stderr.isatty()
        self._next = time.monotonic() + _PATIENCE
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __call__(self, done: int, total: int) -> None:
        if not self._draws or time.monotonic() < self._next or not total:
            return
        self._next = time.monotonic() + 0.1
        self._drawn = True
        filled = "#" * (_WIDTH * done // total)
        sys.stderr.write(f"\r[{filled:<{_WIDTH}}] {done:,} of {total:,} files")
        sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
