"""Real programs, real signals: how a process with this library ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .threads import PATIENCE, until

ROOT = Path(__file__).parents[2]


@contextmanager
def program(name: str) -> Iterator[subprocess.Popen[str]]:
    """Start a program of signalled.py. One that says nothing for too long ends with its threads' stacks."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.runtime.signalled", name]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], word: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    watchdog = threading.Timer(PATIENCE, process.send_signal, [signal.SIGABRT])
    watchdog.start()
    try:
        for line in process.stdout:
            lines.append(line.strip())
            if lines[-1] == word:
                return lines
    finally:
        watchdog.cancel()
        watchdog.join()
    assert process.stderr is not None
    pytest.fail(f"it ended without {word!r}: {lines}\n{process.stderr.read()}")


def finish(process: subprocess.Popen[str]) -> list[str]:
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        out, err = process.communicate(timeout=PATIENCE)
        pytest.fail(f"it did not end: {out}\n{err}")
    assert "Traceback" not in err, err
    return out.splitlines()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", ["orderly", "orderly_async"])
def test_an_orderly_end(name: str, number: signal.Signals) -> None:
    with program(name) as process:
        read_until(process, "ready")
        began = time.monotonic()
        process.send_signal(number)
        assert finish(process) == [
            f"told {number.name}",
            "main returned",
            "dropped 1",
            "cancelled 0",
            "unfinished ",
        ]
        assert process.returncode == 0
        assert time.monotonic() - began < 10  # of 30 s of grace: as prompt as the slowest job


def test_without_main() -> None:
    with program("no_main") as process:
        read_until(process, "ready")
        process.send_signal(signal.SIGTERM)
        assert finish(process) == ["main None", "dropped 0", "cancelled 0", "unfinished "]


def test_a_second_signal_skips_ahead_and_nothing_holds_the_exit() -> None:
    with program("stuck") as process:
        read_until(process, "ready")
        process.send_signal(signal.SIGTERM)
        read_until(process, "stopping")
        process.send_signal(signal.SIGTERM)
        assert finish(process) == ["dropped 0", "cancelled 1", "unfinished deaf"]
        assert process.returncode == 3


def test_a_task_that_swallows_its_cancellation_does_not_hold_the_exit() -> None:
    with program("deaf_task") as process:
        read_until(process, "ready")
        process.send_signal(signal.SIGTERM)
        assert finish(process) == ["dropped 0", "cancelled 1", "unfinished deaf"]
        assert process.returncode == 3


def test_a_main_that_does_not_return_is_cancelled_after_the_grace() -> None:
    with program("deaf_main") as process:
        read_until(process, "ready")
        process.send_signal(signal.SIGTERM)
        assert finish(process) == ["main None", "dropped 0", "cancelled 1", "unfinished "]


def test_a_blocked_loop_does_not_keep_the_signal_from_being_heard() -> None:
    with program("blocked_loop") as process:
        read_until(process, "ready")
        process.send_signal(signal.SIGTERM)
        assert finish(process)[0] == "heard"


@pytest.mark.parametrize("name", ["heard_elsewhere", "heard_elsewhere_async"])
def test_a_signal_that_does_not_interrupt_the_wait_is_heard(name: str) -> None:
    with program(name) as process:
        assert finish(process) == ["main returned"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_process_outlives_its_parent(number: signal.Signals) -> None:
    with program("processes") as process:
        (line,) = [line for line in read_until(process, "ready") if line.startswith("pid ")]
        pid = int(line.split()[1])
        process.send_signal(number)
        process.wait(PATIENCE)
        until(lambda: gone(pid), "the end of the worker process")


def test_a_bare_exit_is_prompt_and_keeps_its_code() -> None:
    with program("bare_exit") as process:
        read_until(process, "ready")
        began = time.monotonic()
        finish(process)
        assert process.returncode == 3
        assert time.monotonic() - began < 5


def test_a_forked_child_s_exit_ends_no_worker_process_of_its_parent() -> None:
    with program("forked_exit") as process:
        assert finish(process) == ["child 4", "same worker True"]


def test_detached_work_is_given_time_at_the_exit() -> None:
    with program("detached_at_exit") as process:
        assert sorted(finish(process)) == ["done", "done", "ready"]
