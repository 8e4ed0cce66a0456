"""What an application can do wrong, and that no worker, loop or clock ends of it and no slot is lost."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from concurrency_gate.runtime import (
    AsyncPool,
    Handle,
    Job,
    JobCancelled,
    JobFailed,
    JobTimeout,
    Outcome,
    Retry,
    Snooze,
    Stopping,
    StopToken,
    ThreadPool,
    detach,
    instrument,
)
from concurrency_gate.runtime.homeloop import end_own_loop

from . import jobs
from .loops import run
from .threads import until


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class MuteExit(BaseException):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class RigidError(Exception):
    def __setattr__(self, name: str, value: object) -> None:
        raise RuntimeError(name)


class OddError(Exception):
    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError

    def __bool__(self) -> bool:
        raise RuntimeError


class Forgetful(Snooze):
    def __init__(self) -> None:
        pass


def snooze(seconds: Any) -> Snooze:
    error = Snooze(1)
    error.seconds = seconds
    return error


KINDS = (
    [MuteError(), MuteExit(), RigidError(), OddError(), Forgetful(), BaseExceptionGroup("g", [SystemExit()])]
    + [snooze(wrong) for wrong in ("soon", float("nan"), float("inf"), -5, None)]
    + [kind() for kind in (StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt, SystemExit)]
    + [asyncio.CancelledError(), Stopping(), JobTimeout(), JobCancelled(), MemoryError(), RecursionError()]
)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "concurrency_gate.runtime")


def throw(number: int) -> None:
    raise KINDS[number]


async def throw_async(number: int) -> None:
    raise KINDS[number]


class TestErrorsOfAJob:
    @pytest.mark.parametrize("number", range(len(KINDS)), ids=lambda number: type(KINDS[number]).__name__)
    def test_none_ends_a_worker_or_a_loop(self, number: int) -> None:
        with ThreadPool("threads", max_workers=1, timeout=20) as pool:
            handle = pool.submit(throw, number)
            assert handle.wait(10)
            assert handle.outcome is Outcome.FAILED
            assert pool.submit(jobs.square, 3).result(10) == 9

        async def main() -> None:
            async with AsyncPool("tasks", max_workers=1, timeout=20) as pool:
                ended = asyncio.Event()
                handle = pool.submit(throw_async, number)
                handle.add_done_callback(ended.set)
                await ended.wait()
                assert handle.outcome is Outcome.FAILED
                assert await pool.run(asyncio.sleep, 0, 3) == 3

        run(main)

    @pytest.mark.parametrize("wrong", ["soon", None, float("nan"), float("inf"), -1, True])
    def test_a_snooze_says_what_it_may_be(self, wrong: Any) -> None:
        with pytest.raises((TypeError, ValueError), match="seconds must be seconds above 0"):
            Snooze(wrong)
        assert Snooze(0).seconds == 0

    def test_a_backoff_that_raises(self) -> None:
        class Broken(Retry):
            def delay(self, attempt: int) -> float:
                raise ValueError(attempt)

        with ThreadPool("q", max_workers=1, timeout=20, retry=Broken(3)) as pool:
            handle = pool.submit(jobs.fail, "no")
            with pytest.raises(JobFailed, match="raised ValueError, and judging that failed"):
                handle.result(10)
            assert pool.submit(jobs.square, 3).result(10) == 9

    def test_an_asynchronous_function_in_a_thread_is_no_silent_success(self) -> None:
        async def work() -> int:
            return 1

        def asynchronous() -> object:
            return work()

        with ThreadPool("q", max_workers=1, timeout=20) as pool:
            with pytest.raises(TypeError, match="use an AsyncPool"):
                _ = pool.submit(work).result(10)
            with pytest.raises(TypeError, match="use an AsyncPool"):
                detach(asynchronous).result(10)


class TestCallbacks:
    def test_of_a_handle(self) -> None:
        gate, called = threading.Event(), threading.Event()

        def leave() -> None:
            raise SystemExit

        with ThreadPool("q", max_workers=1, timeout=20) as pool:
            handle = pool.submit(gate.wait)
            handle.add_done_callback(leave)
            handle.add_done_callback(called.set)
            gate.set()
            assert called.wait(10)
            assert pool.submit(jobs.square, 3).result(10) == 9
            handle.add_done_callback(leave)  # the job has ended: called at once, and no worse

    def test_of_a_token(self) -> None:
        called: list[int] = []

        def leave() -> None:
            raise SystemExit

        token = StopToken()
        token.on_stop(leave)
        token.on_stop(lambda: called.append(1))
        token.stop()
        assert called == [1]

    def test_one_that_submits_and_one_that_drops(self) -> None:
        gate, called = threading.Event(), threading.Event()
        with ThreadPool("q", max_workers=1, timeout=20) as pool:
            handle = pool.submit(gate.wait)
            handle.add_done_callback(lambda: pool.submit(called.set))
            handle.add_done_callback(lambda: pool.drop_waiting())
            gate.set()
            assert handle.wait(10)
        stats = pool.stats()
        assert (stats.submitted, stats.done + stats.dropped) == (2, 2)


class Angry(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        raise RuntimeError(record.name)


def test_a_log_filter_that_raises(capsys: pytest.CaptureFixture[str]) -> None:
    """It is called by workers and by the clock, which looks after every pool of the process."""
    log = logging.getLogger("concurrency_gate.runtime")
    angry = Angry()
    log.addFilter(angry)
    log.setLevel(logging.DEBUG)
    gate = threading.Event()
    try:
        with ThreadPool("q", max_workers=1, timeout=20) as pool:
            assert pool.submit(jobs.fail, "no").wait(10)
            assert pool.submit(jobs.square, 3).result(10) == 9
        for _ in range(2):  # the second overrun is seen by a clock that outlived the first
            with ThreadPool("q", max_workers=1, timeout=0.05) as pool:
                with pytest.raises(JobTimeout):
                    pool.submit(gate.wait).result(10)
                gate.set()
                until(lambda: pool.stats().stuck == 0)
                gate.clear()
    finally:
        gate.set()
        log.removeFilter(angry)
    assert "in filter" in capsys.readouterr().err


def test_an_instrument_cannot_make_a_failure_vanish() -> None:
    def swallow(job: Job) -> contextlib.AbstractContextManager[None]:  # noqa: ARG001
        return contextlib.suppress(BaseException)

    withdraw = instrument(swallow)
    try:
        with ThreadPool("q", max_workers=1, timeout=20) as pool, pytest.raises(ValueError, match="no"):
            pool.submit(jobs.fail, "no").result(10)
    finally:
        withdraw()


class TestLoops:
    def test_a_loop_that_is_closed_under_its_jobs_frees_their_slots(self) -> None:
        handles: list[Handle[Any]] = []
        pool = AsyncPool("q", max_workers=1, timeout=0.1, max_pending=1)
        loop = asyncio.new_event_loop()

        async def submit() -> None:
            handles.extend(pool.submit(asyncio.Event().wait) for _ in range(2))
            await asyncio.sleep(0)

        loop.run_until_complete(submit())
        loop.close()
        assert all(handle.wait(10) for handle in handles)
        assert [handle.outcome for handle in handles] == [Outcome.TIMED_OUT, Outcome.CANCELLED]

        async def main() -> None:
            assert await pool.run(asyncio.sleep, 0, 3) == 3
            await pool.drain()

        run(main)
        tasks = handles
        handles = []
        del tasks, loop
        gc.collect()  # what was left of the tasks is finalised, and ends nothing twice
        assert pool.stats().stuck == pool.stats().running == 0

    def test_a_retry_outlives_the_loop_of_its_first_attempt(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The library's own loop ends when it is idle, and a job that waits for its next attempt is not in
        it.
        """
        monkeypatch.setattr("concurrency_gate.runtime.homeloop.IDLE", 0.01)
        loops = []

        async def flaky() -> str:
            loops.append(asyncio.get_running_loop())
            if len(loops) == 1:
                raise OSError
            return "done"

        pool = AsyncPool("q", max_workers=1, timeout=20, retry=Retry(2, backoff=0.5, jitter=0))
        handle = pool.submit(flaky)
        until(lambda: loops and loops[0].is_closed(), "the end of the first loop")
        assert handle.result(10) == "done"
        assert loops[0] is not loops[1]
        pool.retire()
        end_own_loop()

    def test_a_storm_of_cancellations_from_several_threads(self) -> None:
        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)

        async def main() -> None:
            async with AsyncPool("q", max_workers=50, timeout=20, max_pending=2000) as pool:
                handles = [pool.submit(work) for _ in range(2000)]

                def storm() -> int:
                    return sum(handle.cancel() for _ in range(2) for handle in handles)

                with ThreadPool("storm", max_workers=3, timeout=20) as threads:
                    await asyncio.gather(*(threads.run(storm) for _ in range(3)))
            assert pool.stats().cancelled == pool.stats().submitted == 2000

        run(main)


@pytest.mark.parametrize("way", ["threads", "tasks"])
def test_a_job_that_waits_for_its_own_full_pool_ends_at_its_deadline(way: str) -> None:
    """It holds the slot that the other needs. The deadline flows down, so both end, and none hangs."""
    if way == "threads":
        with ThreadPool("q", max_workers=1, timeout=0.3) as pool:
            handle = pool.submit(lambda: pool.submit(jobs.square, 3).result())
            with pytest.raises(JobTimeout):
                handle.result(10)
    else:

        async def main() -> None:
            async with AsyncPool("q", max_workers=1, timeout=0.3) as pool:

                async def outer() -> int:
                    return await pool.run(asyncio.sleep, 0, 3)

                with pytest.raises(JobTimeout):
                    await pool.run(outer)

        run(main)


class TestWithoutThreads:
    """When the system gives no more threads: here, because each would want a stack that is not to be had."""

    @pytest.fixture
    def no_threads(self) -> Any:
        @contextlib.contextmanager
        def none() -> Iterator[None]:
            before = threading.stack_size(1 << 46)
            try:
                yield
            finally:
                threading.stack_size(before)

        with none(), pytest.raises(RuntimeError, match="can't start new thread"):
            threading.Thread(target=print).start()
        return none

    def test_jobs_fail_and_the_pool_the_clock_and_the_loop_recover(self, no_threads: Any) -> None:
        async def work() -> int:
            return 9

        pool = ThreadPool("q", max_workers=1, timeout=0.2)
        with no_threads():
            with pytest.raises(RuntimeError, match="can't start new thread"):
                pool.submit(jobs.square, 3).result(10)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                detach(work())
        assert pool.stats().running == 0
        gate = threading.Event()
        with pytest.raises(JobTimeout):  # so the clock has its thread now
            pool.submit(gate.wait).result(10)
        gate.set()
        assert detach(work()).result(10) == 9
        assert pool.drain(10)


def test_a_job_that_forks_and_returns_in_the_child() -> None:
    """There the pool begins anew: the copy of the worker has nothing to end, and leaves."""

    def fork(pool: ThreadPool) -> tuple[int, int]:
        child = os.fork()
        if child == 0:
            threading.Thread(
                target=lambda: os._exit(9 if pool.submit(jobs.square, 3).result(10) == 9 else 1)
            ).start()
            return 0, 0
        return child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    with ThreadPool("q", max_workers=1, timeout=20) as pool:
        assert pool.submit(fork, pool).result(20)[1] == 9
        assert pool.stats().done == 1


RELOAD = """
import importlib, sys, threading
import concurrency_gate.runtime as runtime
from concurrency_gate.runtime import Refuse, Retry, Snooze, ThreadPool, carry, current_job, detach
from contextvars import ContextVar

def refuse():
    raise Refuse

def snooze_once(calls=[]):
    calls.append(1)
    if len(calls) == 1:
        raise Snooze(0)

trace = ContextVar("trace", default="none")
carry(trace)
trace.set("t1")
gate = threading.Event()
old = ThreadPool("old", max_workers=1, timeout=5)
assert old.submit(max, 1, 2).result(5) == 2
running = old.submit(lambda: (gate.wait(), current_job().name), name="running")
{again}
new = sys.modules["concurrency_gate.runtime"]
gate.set()
assert running.result(5) == (True, "running")
for ours in (old, new.ThreadPool("new", max_workers=1, timeout=5, retry=Retry(2, backoff=0.01))):
    assert ours.submit(max, 1, 2).result(5) == 2
    refused = ours.submit(refuse)
    assert refused.wait(5) and refused.outcome == "declined", refused
    assert ours.submit(snooze_once).wait(5)
    assert ours is not old or ours.stats().snoozed == 1
    assert ours.drain(5)
assert detach(trace.get).result(5) == "t1"
assert detach(max, 1, 2).result(5) == new.detach(max, 1, 2).result(5) == 2
with new.Runtime(queues=[new.Queue("q", max_workers=1, timeout=5)]) as service:
    assert service["q"].submit(max, 1, 2).result(5) == 2
print("fine")
"""
AGAIN = {
    "the package": "importlib.reload(runtime)",
    "every module": "for n in [n for n in sys.modules if n.startswith('concurrency_gate.runtime.')]:\n"
    "    importlib.reload(sys.modules[n])\n"
    "importlib.reload(runtime)",
    "a second copy": "for n in [n for n in sys.modules if n.startswith('concurrency_gate.runtime')]:\n"
    "    del sys.modules[n]\n"
    "importlib.import_module('concurrency_gate.runtime')",
}


@pytest.mark.parametrize("again", AGAIN)
def test_reloading(again: str) -> None:
    """What was made before works on, beside and together with what is made afterwards; and the exit is
    clean.
    """
    program = RELOAD.format(again=AGAIN[again])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
