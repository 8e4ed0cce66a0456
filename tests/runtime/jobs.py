"""Jobs for worker processes: they have to stand at the top of a module.

One that imports little: the first job of a fresh process imports it, and its timeout is running.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from concurrency_gate.runtime import Refuse, Snooze, current_job

Kind = str


def square(number: int) -> int:
    return number * number


def fail(message: str) -> None:
    raise ValueError(message)


def leave(code: int) -> None:
    raise SystemExit(code)


def die(code: int) -> None:
    os._exit(code)


def refuse() -> None:
    raise Refuse("never")


def for_ever() -> None:
    while True:
        time.sleep(60)


def wait_for_stop(started: str) -> str | None:
    """Touch `started`, then wait to be told to stop."""
    Path(started).touch()
    current_job().wait(30)
    return current_job().reason


def look() -> tuple[str, int, float]:
    job = current_job()
    return job.name, job.attempt, job.remaining()


class OddError(Exception):
    """Cannot be unpickled: its arguments are not those of its constructor."""

    def __init__(self, left: int, right: int) -> None:
        super().__init__(f"{left} and {right}")


def raise_odd() -> None:
    raise OddError(1, 2)


def behave(kind: Kind) -> str:
    job = current_job()
    match kind:
        case "raise":
            raise ValueError(kind)
        case "exit":
            raise SystemExit(kind)
        case "refuse":
            raise Refuse(kind)
        case "flaky" if job.attempt == 1:
            raise OSError(kind)
        case "snooze" if random.random() < 0.5:
            raise Snooze(0.001)
        case "overrun":
            job.wait(30)
            raise OSError("told to stop")
    return kind


def behave_in_process(kind: Kind) -> str:
    if kind == "overrun":
        for_ever()
    return behave(kind)
