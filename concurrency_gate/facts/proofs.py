"""A second process that proves files readable while the first one judges.

Every file must be read to the end, also one that cannot hold a finding, and reading takes as long as all the
rest. The proofs come from the same interpreter; what it proves nothing about, the first process reads itself,
so the outcome is the same with and without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping

WORTH = 500_000
"""Bytes below which a process costs more than it saves: about one tenth of a second of parsing."""

_READER = """
import sys, symtable, warnings
warnings.simplefilter("ignore")
source, number = sys.stdin.buffer, 0
while size := source.readline():
    data = source.read(int(size))
    try:
        symtable.symtable(data, "", "exec")
        print(number)
    except Exception:
        pass
    number += 1
"""


class Proofs:
    """Starts at once where it pays; `take` waits for the outcome."""

    def __init__(self, texts: Mapping[str, bytes], jobs: int | None = None) -> None:
        self._paths = list(texts)
        self._process: subprocess.Popen[bytes] | None = None
        if (jobs or _cores()) > 1 and sys.executable and sum(map(len, texts.values())) >= WORTH:
            self._process = self._start(texts)

    def _start(self, texts: Mapping[str, bytes]) -> subprocess.Popen[bytes] | None:
        """The texts go through a file that has no name, so that nobody has to wait for the other to read or
        write."""
        try:
            with tempfile.TemporaryFile() as source:
                for text in texts.values():
                    source.write(b"%d\n" % len(text))
                    source.write(text)
                source.seek(0)
                return subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _READER],
                    stdin=source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
        except OSError:
            return None

    def take(self) -> frozenset[str]:
        """The paths of texts that are proven to be Python. Blocks until the process ends."""
        if self._process is None:
            return frozenset()
        process, self._process = self._process, None
        output, _ = process.communicate()
        if process.returncode:  # what it said may be cut short
            return frozenset()
        return frozenset(self._paths[int(number)] for number in output.split())

    def __enter__(self) -> Proofs:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
