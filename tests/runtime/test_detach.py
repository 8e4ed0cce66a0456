"""detach: owned, bounded, timed, absorbed, logged."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from contextvars import ContextVar
from typing import Any

import pytest

from concurrency_gate.runtime import JobCancelled, JobFailed, JobTimeout, PoolFull, current_job, job_scope
from concurrency_gate.runtime import context as context_module
from concurrency_gate.runtime.context import carry
from concurrency_gate.runtime.detached import MAX_TASKS, detach, detached
from concurrency_gate.runtime.handle import Outcome

from .loops import run


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def for_ever() -> None:
    await asyncio.Event().wait()


def test_from_async_code() -> None:
    async def main() -> None:
        given = detach(double(4))
        called = detach(double, 5)
        function = detach(lambda: threading.current_thread().name)
        assert (await given, await called) == (8, 10)
        assert await function != threading.current_thread().name

    run(main)


def test_from_sync_code_without_a_loop() -> None:
    assert detach(double, 4).result(timeout=10) == 8
    assert detach(max, 1, 2).result(timeout=10) == 2


def test_from_sync_code_called_by_async_code() -> None:
    def sync() -> Any:
        return detach(double(4))

    async def main() -> None:
        assert await sync() == 8
        assert await asyncio.to_thread(lambda: sync().result(10)) == 8

    run(main)


def test_pending_work_survives_the_garbage_collector() -> None:
    async def main() -> None:
        go = asyncio.Event()
        done: list[int] = []

        async def work(number: int) -> None:
            await go.wait()
            done.append(number)

        ends = []
        for number in range(50):
            ended = asyncio.Event()
            detach(work(number)).add_done_callback(ended.set)
            ends.append(ended)
        await asyncio.sleep(0)
        gc.collect()
        go.set()
        for ended in ends:
            await ended.wait()
        assert sorted(done) == list(range(50))

    run(main)


@pytest.mark.parametrize(
    "raised", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError]
)
def test_whatever_it_raises_is_absorbed_logged_and_counted(
    raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        raise raised("no")

    def fail_too() -> None:
        raise raised("no")

    async def main() -> None:
        for handle in (
            detach(fail(), name="fail"),
            detach(fail, name="fail"),
            detach(fail_too, name="fail too"),
        ):
            with pytest.raises((ValueError, JobFailed)):
                await handle
            assert handle.outcome is Outcome.FAILED
        assert await detach(double(1)) == 2

    with caplog.at_level(logging.ERROR, "concurrency_gate.runtime"):
        run(main)
    assert sorted(record.concurrency["job"] for record in caplog.records) == ["fail", "fail", "fail too"]  # type: ignore[attr-defined]
    tasks, threads = detached.pools
    assert tasks.stats().failures == {"fail": 2}
    assert threads.stats().failures == {"fail too": 1}


def test_a_timeout_ends_it() -> None:
    async def main() -> None:
        handle = detach(for_ever(), timeout=0.05)
        with pytest.raises(JobTimeout):
            await handle
        assert handle.outcome is Outcome.TIMED_OUT
        await asyncio.sleep(0)

    run(main)


def test_a_function_that_overruns_is_told_to_stop() -> None:
    def patient() -> None:
        while not current_job().stopping:  # the deadline ends the wait, the clock tells a moment later
            current_job().wait(10)
        ended.set()

    ended = threading.Event()
    handle = detach(patient, timeout=0.5)  # long enough to have begun: one that has not never does
    with pytest.raises(JobTimeout):
        handle.result(10)
    assert ended.wait(10)


def test_cancelling_before_and_after_the_start() -> None:
    async def main() -> None:
        never = detach(for_ever())
        assert never.cancel()
        with pytest.raises(JobCancelled):
            await never
        started = asyncio.Event()

        async def start() -> None:
            started.set()
            await for_ever()

        running = detach(start())
        await started.wait()
        assert running.cancel("changed my mind")
        with pytest.raises(JobCancelled, match="changed my mind"):
            await running
        assert not running.cancel()

    run(main)


def test_the_end_of_the_loop_is_accounted_for() -> None:
    handles = []

    async def main() -> None:
        handles.append(detach(for_ever()))  # is cancelled before its first step
        handles.append(detach(for_ever()))
        await asyncio.sleep(0)
        handles.append(detach(for_ever()))

    asyncio.run(main())
    assert [handle.outcome for handle in handles] == [Outcome.CANCELLED] * 3
    assert detached.pools[0].stats().running == 0


def test_it_is_bounded() -> None:
    async def main() -> None:
        handles = [detach(for_ever()) for _ in range(MAX_TASKS)]
        with pytest.raises(PoolFull):
            detach(for_ever())
        for handle in handles:
            handle.cancel()
        for handle in handles:
            with pytest.raises(JobCancelled):
                await handle

    run(main)


def test_it_carries_what_was_declared_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_module, "declared", ())
    trace: ContextVar[str] = ContextVar("trace", default="none")
    session: ContextVar[str] = ContextVar("session", default="none")
    carry(trace)

    def look() -> tuple[str, str]:
        return trace.get(), session.get()

    async def look_too() -> tuple[str, str]:
        return look()

    async def main() -> None:
        trace.set("t1")
        session.set("s1")
        assert await detach(look) == ("t1", "none")
        assert await detach(look_too()) == ("t1", "none")

    run(main)


def test_its_deadline_is_its_own() -> None:
    with job_scope("request", timeout=0.5):
        inside = detach(lambda: current_job().remaining(), timeout=20).result(10)
    assert 10 < inside <= 20


@pytest.mark.parametrize(
    ("work", "args", "timeout", "message"),
    [
        (3, (), 1.0, "work must be a coroutine"),
        (double, (1,), 0.0, "timeout must be seconds above 0 and up to 3600, not 0"),
        (double, (1,), 4000.0, "timeout must be seconds above 0 and up to 3600, not 4000"),
        (double, (1,), "soon", "timeout must be seconds above 0 and up to 3600, not 'soon'"),
    ],
)
def test_bad_arguments_are_named(work: Any, args: tuple[Any, ...], timeout: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        detach(work, *args, timeout=timeout)


def test_settling_waits_and_then_names_what_did_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("concurrency_gate.runtime.pool.CANCEL_PATIENCE", 0.05)
    release = threading.Event()
    detach(release.wait, name="stubborn")
    try:
        assert detached.settle(0.05) == ["stubborn"]
    finally:
        release.set()
