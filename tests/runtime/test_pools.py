"""What all three pools promise, and what each promises alone."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from concurrency_gate.runtime import (
    AsyncPool,
    Handle,
    JobCancelled,
    JobFailed,
    JobTimeout,
    Outcome,
    PoolFull,
    ProcessPool,
    Stopping,
    ThreadPool,
    WorkerLost,
    current_job,
    job_scope,
)

from . import jobs
from .loops import run
from .threads import in_thread, until


async def square(number: int) -> int:
    await asyncio.sleep(0)
    return number * number


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What blocked jobs wait for; opened at the end of the test whatever happens."""
    event = threading.Event()
    yield event
    event.set()


class TestThreadPool:
    def test_five_lines(self) -> None:
        with ThreadPool("squares", max_workers=2, timeout=5) as pool:
            assert list(pool.map(jobs.square, range(5))) == [0, 1, 4, 9, 16]

    def test_submit_refuses_at_once_when_full(self, gate: threading.Event) -> None:
        with ThreadPool("full", max_workers=1, timeout=30, max_pending=1) as pool:
            pool.submit(gate.wait)
            pool.submit(jobs.square, 1)
            with pytest.raises(PoolFull, match="1 of 1 workers busy, 1 of 1 jobs waiting"):
                pool.submit(jobs.square, 2)
            with pytest.raises(PoolFull):
                pool.submit_wait(jobs.square, 2, timeout=0.01)
            assert pool.stats().refused == 2
            gate.set()

    def test_submit_wait_gets_the_room_that_becomes_free(self, gate: threading.Event) -> None:
        with (
            ThreadPool("room", max_workers=1, timeout=30, max_pending=0) as pool,
            ThreadPool("callers", max_workers=4, timeout=30) as callers,
        ):
            pool.submit(gate.wait)

            def call(number: int) -> int:
                return pool.submit_wait(jobs.square, number, timeout=20).result()

            waiting = [callers.submit(call, number) for number in range(4)]
            until(lambda: len(pool._room) == 4, "four callers waiting for room")
            gate.set()
            assert [handle.result(20) for handle in waiting] == [0, 1, 4, 9]

    def test_run_replaces_run_in_executor(self) -> None:
        async def main() -> None:
            async with ThreadPool("run", max_workers=2, timeout=5) as pool:
                assert await asyncio.gather(*(pool.run(jobs.square, number) for number in range(5))) == [
                    0,
                    1,
                    4,
                    9,
                    16,
                ]
                with pytest.raises(ValueError, match="no"):
                    await pool.run(jobs.fail, "no")

        run(main)

    def test_cancelling_the_caller_cancels_the_job(self) -> None:
        reasons: list[str | None] = []

        async def main() -> None:
            started = asyncio.Event()
            loop = asyncio.get_running_loop()

            def patient() -> None:
                loop.call_soon_threadsafe(started.set)
                current_job().wait(30)
                reasons.append(current_job().reason)

            async with ThreadPool("cancel", max_workers=1, timeout=30) as pool:
                caller = asyncio.create_task(pool.run(patient))
                await started.wait()
                caller.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await caller

        run(main)
        assert reasons == ["its caller was cancelled"]

    def test_a_thread_that_overruns_keeps_its_slot_and_is_stuck(
        self, gate: threading.Event, caplog: pytest.LogCaptureFixture
    ) -> None:
        def stubborn() -> str:
            gate.wait()
            return "late"

        with ThreadPool("stuck", max_workers=1, timeout=0.5, max_pending=5) as pool:
            handle = pool.submit(stubborn)
            with pytest.raises(JobTimeout):
                handle.result(10)
            until(lambda: pool.stats().stuck == 1)
            behind = pool.submit(jobs.square, 3)
            stats = pool.stats()
            assert (stats.stuck, stats.running, stats.pending, stats.timed_out) == (1, 0, 1, 1)
            until(lambda: any("stubborn" in record.message for record in caplog.records))
            assert "gate.wait()" in next(
                r.message for r in caplog.records if r.message.startswith("job is stuck")
            )
            with caplog.at_level(logging.INFO, "concurrency_gate.runtime"):
                gate.set()
                assert behind.result(10) == 9
                until(lambda: any("a stuck job has ended" in record.message for record in caplog.records))
            assert handle.outcome is Outcome.TIMED_OUT
            assert pool.stats().stuck == 0

    def test_bounded_means_bounded(self, gate: threading.Event) -> None:
        with ThreadPool("bounded", max_workers=2, timeout=0.02, max_pending=8) as pool:
            handles = [pool.submit(gate.wait) for _ in range(10)]
            for handle in handles[:2]:
                with pytest.raises(JobTimeout):
                    handle.result(10)
            assert [t.name for t in threading.enumerate()].count("bounded worker") == 2
            gate.set()

    def test_an_exception_storm_loses_no_worker(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.CRITICAL, "concurrency_gate.runtime")
        kinds = [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError, StopIteration]

        def fail(number: int) -> None:
            raise kinds[number % len(kinds)](number)

        with ThreadPool("storm", max_workers=3, timeout=5, max_pending=1000) as pool:
            handles = [pool.submit(fail, number) for number in range(600)]
            assert all(handle.wait(10) for handle in handles)
            assert pool.stats().failed == 600
            assert len(pool._workers) <= 3
            assert list(pool.map(jobs.square, range(10))) == [number**2 for number in range(10)]

    def test_system_exit_reaches_the_caller_as_an_ordinary_error(self) -> None:
        with (
            ThreadPool("exit", max_workers=1, timeout=5) as pool,
            pytest.raises(JobFailed, match="SystemExit: 3"),
        ):
            pool.submit(jobs.leave, 3).result()

    def test_idle_workers_leave_and_come_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ThreadPool, "idle", 0.01)
        with ThreadPool("idle", max_workers=2, timeout=5) as pool:
            assert pool.submit(jobs.square, 2).result() == 4
            until(lambda: not pool._workers)
            assert pool.submit(jobs.square, 3).result() == 9


class TestMap:
    def test_it_streams_from_an_endless_iterable(self) -> None:
        taken = 0

        def numbers() -> Iterator[int]:
            nonlocal taken
            while True:
                taken += 1
                yield taken

        with ThreadPool("endless", max_workers=2, timeout=5) as pool:
            squares = pool.map(jobs.square, numbers())
            assert [next(squares) for _ in range(10)] == [number**2 for number in range(1, 11)]
            assert taken <= 10 + 4
            squares.close()  # type: ignore[attr-defined]

    def test_the_first_exception_comes_in_its_place_and_the_rest_is_cancelled(self) -> None:
        with ThreadPool("raise", max_workers=2, timeout=5) as pool:
            results = pool.map(lambda number: 1 // (3 - number), range(100))
            assert [next(results) for _ in range(3)] == [0, 0, 1]
            with pytest.raises(ZeroDivisionError):
                next(results)
        assert pool.stats().submitted <= 8

    def test_async(self) -> None:
        async def main() -> None:
            async with AsyncPool("map", max_workers=3, timeout=5, max_pending=2) as pool:
                assert [value async for value in pool.map(square, range(20))] == [n**2 for n in range(20)]

        run(main)


class TestAsyncPool:
    def test_at_most_max_workers_run(self) -> None:
        async def main() -> None:
            running = most = 0

            async def work() -> None:
                nonlocal running, most
                running += 1
                most = max(most, running)
                await asyncio.sleep(0)
                running -= 1

            async with AsyncPool("bounded", max_workers=3, timeout=5) as pool:
                await asyncio.gather(*(pool.run(work) for _ in range(50)))
            assert most == 3

        run(main)

    def test_full_and_waiting_for_room(self) -> None:
        async def main() -> None:
            go = asyncio.Event()
            async with AsyncPool("full", max_workers=1, timeout=5, max_pending=0) as pool:
                pool.submit(go.wait)
                with pytest.raises(PoolFull):
                    pool.submit(square, 1)
                with pytest.raises(PoolFull):
                    await pool.submit_wait(square, 1, timeout=0.01)
                waiting = asyncio.create_task(pool.submit_wait(square, 3, timeout=5))
                given_up = asyncio.create_task(pool.submit_wait(square, 4, timeout=5))
                await asyncio.sleep(0)
                given_up.cancel()
                go.set()
                assert await (await waiting) == 9
                with pytest.raises(asyncio.CancelledError):
                    await given_up

        run(main)

    def test_an_overrun_is_cancelled_and_its_caller_told_at_once(self) -> None:
        async def main() -> None:
            cleaned = asyncio.Event()
            go = asyncio.Event()

            async def swallow() -> None:
                while not go.is_set():
                    try:
                        await go.wait()
                    except asyncio.CancelledError:
                        cleaned.set()

            async with AsyncPool("overrun", max_workers=1, timeout=0.5) as pool:
                with pytest.raises(JobTimeout):
                    await pool.run(swallow)
                await cleaned.wait()
                assert pool.unfinished() == [
                    swallow.__qualname__
                ]  # the slot is not free before the work ends
                go.set()
            assert pool.stats().timed_out == 1

        run(main)

    def test_a_job_that_swallows_its_cancellation_becomes_stuck(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(AsyncPool, "stuck_after", 0.02)

        async def main() -> None:
            go = asyncio.Event()

            async def swallow() -> None:
                while not go.is_set():
                    try:
                        await go.wait()
                    except asyncio.CancelledError:
                        continue

            async with AsyncPool("stuck", max_workers=1, timeout=0.5) as pool:
                handle = pool.submit(swallow)
                while pool.stats().stuck == 0:  # noqa: ASYNC110 - the clock's thread counts
                    await asyncio.sleep(0)
                go.set()
                with pytest.raises(JobTimeout):
                    await handle

        run(main)

    def test_submitting_from_a_thread(self) -> None:
        async def main() -> None:
            async with AsyncPool("threads", max_workers=1, timeout=5) as pool:
                assert await asyncio.to_thread(lambda: pool.submit(square, 3).result(10)) == 9

        run(main)

    def test_a_timeout_of_the_job_s_own_is_not_an_overrun(self) -> None:
        async def own_limit() -> None:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()

        async def main() -> None:
            async with AsyncPool("whose", max_workers=1, timeout=5) as pool:
                handle = pool.submit(own_limit)
                with pytest.raises(TimeoutError) as caught:
                    await handle
                assert not isinstance(caught.value, JobTimeout)
                assert handle.outcome is Outcome.FAILED

        run(main)


class TestProcessPool:
    def test_work_failures_and_deaths(self) -> None:
        with ProcessPool("processes", max_workers=1, timeout=20) as pool:
            assert list(pool.map(jobs.square, range(5))) == [0, 1, 4, 9, 16]
            with pytest.raises(ValueError, match="no") as caught:
                pool.submit(jobs.fail, "no").result()
            assert "jobs.py" in caught.value.__notes__[0]
            with pytest.raises(JobFailed, match="SystemExit"):
                pool.submit(jobs.leave, 3).result()
            with pytest.raises(WorkerLost, match="exit code 7"):
                pool.submit(jobs.die, 7).result()
            with pytest.raises(JobFailed, match="OddError: 1 and 2"):
                pool.submit(jobs.raise_odd).result()
            with pytest.raises(TypeError, match="must stand at the top of a module"):
                pool.submit(lambda: 1).result()
            name, attempt, remaining = pool.submit(jobs.look, name="looker").result()
            assert (name, attempt) == ("looker", 1)
            assert 15 < remaining <= 20
            assert pool.submit(os.getpid).result() == pool.submit(os.getpid).result() != os.getpid()

    def test_a_process_that_overruns_is_ended_and_replaced(self) -> None:
        with ProcessPool("overrun", max_workers=1, timeout=1.0) as pool:
            with pytest.raises(JobTimeout):
                pool.submit(jobs.for_ever).result(20)
            assert pool.submit(jobs.square, 3).result(20) == 9
            assert pool.stats().stuck == 0

    def test_a_process_that_died_idle_is_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("concurrency_gate.runtime.processes.FRESH", 0.0)
        with ProcessPool("idle", max_workers=1, timeout=20) as pool:
            pid = pool.submit(os.getpid).result(20)
            (child,) = multiprocessing.active_children()
            os.kill(pid, signal.SIGKILL)
            child.join(20)
            assert pool.submit(os.getpid).result(20) != pid

    def test_stop_reaches_into_the_process(self, tmp_path: Any) -> None:
        started = tmp_path / "started"
        pool = ProcessPool("stop", max_workers=1, timeout=20)
        handle = pool.submit(jobs.wait_for_stop, str(started))
        until(started.exists)
        assert pool.stop(10) == []
        assert "is stopping" in (handle.result() or "")

    def test_cancelling_ends_the_process(self, tmp_path: Any) -> None:
        started = tmp_path / "started"
        with ProcessPool("cancel", max_workers=1, timeout=20) as pool:
            handle = pool.submit(jobs.wait_for_stop, str(started))
            until(started.exists)
            handle.cancel()
            with pytest.raises(JobCancelled):
                handle.result(10)


class TestDeadlines:
    def test_they_flow_into_nested_pools_and_tasks(self) -> None:
        async def main() -> None:
            async with (
                AsyncPool("outer", max_workers=1, timeout=3) as outer,
                ThreadPool("inner", max_workers=1, timeout=60) as inner,
            ):

                async def work() -> tuple[float, float]:
                    direct = asyncio.create_task(remaining())
                    return await inner.run(lambda: current_job().remaining()), await direct

                async def remaining() -> float:
                    return current_job().remaining()

                assert max(await outer.run(work)) <= 3
                assert await inner.run(lambda: current_job().remaining()) > 3

        run(main)

    def test_the_caller_s_deadline_ends_a_job_that_never_got_a_slot(self, gate: threading.Event) -> None:
        with ThreadPool("queue", max_workers=1, timeout=30) as pool:
            pool.submit(gate.wait)
            with job_scope("request", timeout=0.05):
                handle = pool.submit(jobs.square, 1)
            with pytest.raises(JobTimeout):
                handle.result(10)
            gate.set()

    def test_handing_over_leaves_the_deadline_behind(self) -> None:
        with ThreadPool("handed", max_workers=1, timeout=30) as pool, job_scope("request", timeout=0.5):
            assert pool.submit(lambda: current_job().remaining(), inherit=False).result() > 10

    def test_http_timeout_is_shorter_than_what_is_left(self) -> None:
        with job_scope("request", timeout=5) as job:
            assert 4 < job.http_timeout() < job.remaining()
            assert job.http_timeout(cap=2) == 2
        assert current_job().http_timeout() == 10

    def test_stop_flows_down(self) -> None:
        with job_scope("request", timeout=5) as job, ThreadPool("below", max_workers=1, timeout=5) as pool:
            started = threading.Event()

            def work() -> bool:
                started.set()
                return current_job().wait(10)

            handle = pool.submit(work)
            started.wait(10)
            job.stop("the client has gone")
            assert handle.result(10) is True

    @pytest.mark.parametrize("way", ["threads", "tasks"])
    def test_waiting_for_room_ends_with_the_job_that_waits(self, way: str, gate: threading.Event) -> None:
        with ThreadPool("full", max_workers=1, timeout=30, max_pending=0) as full:
            full.submit(gate.wait)
            with job_scope("late", timeout=0.05), pytest.raises(JobTimeout):
                full.submit_wait(jobs.square, 1, timeout=20)
            with job_scope("request", timeout=30) as job:
                if way == "threads":
                    waiting = in_thread(lambda: full.submit_wait(jobs.square, 1, timeout=20))
                    until(lambda: len(full._room) == 1)
                    job.stop("the client has gone")
                    with pytest.raises(Stopping, match="the client has gone"):
                        waiting.result(10)
                else:

                    async def main() -> None:
                        async with AsyncPool("tasks", max_workers=1, timeout=30, max_pending=0) as tasks:
                            go = asyncio.Event()
                            tasks.submit(go.wait, inherit=False)
                            waiting = asyncio.create_task(tasks.submit_wait(square, 1, timeout=20))
                            await asyncio.sleep(0)
                            job.stop("the client has gone")
                            with pytest.raises(Stopping, match="the client has gone"):
                                await waiting
                            go.set()

                    run(main)
            assert not full._room
            gate.set()

    def test_check(self) -> None:
        with job_scope("request", timeout=5) as job:
            job.check()
            job.stop("enough")
            with pytest.raises(Stopping, match="enough"):
                job.check()


class TestTheEnd:
    def test_stop_drops_what_waits_and_tells_what_runs(self) -> None:
        started = threading.Event()

        def work() -> None:
            started.set()
            current_job().wait(30)
            current_job().check()

        pool = ThreadPool("stop", max_workers=1, timeout=30)
        running, waiting = pool.submit(work), pool.submit(jobs.square, 1)
        started.wait(10)
        assert pool.stop(10) == []
        assert (running.outcome, waiting.outcome) == (Outcome.CANCELLED, Outcome.DROPPED)
        with pytest.raises(Stopping):
            pool.submit(jobs.square, 1)

    def test_what_does_not_end_is_named(self, gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("concurrency_gate.runtime.pool.CANCEL_PATIENCE", 0.01)
        pool = ThreadPool("stop", max_workers=1, timeout=30)
        handle = pool.submit(gate.wait, name="stubborn")
        assert pool.stop(0.01) == ["stubborn"]
        assert handle.outcome is Outcome.CANCELLED

    def test_draining_runs_what_waits(self) -> None:
        pool = ThreadPool("drain", max_workers=1, timeout=30)
        handles = [pool.submit(jobs.square, number) for number in range(20)]
        assert pool.drain()
        assert all(handle.outcome is Outcome.DONE for handle in handles)

    def test_a_forked_child_gets_an_empty_pool_of_its_own(self, gate: threading.Event) -> None:
        with ThreadPool("fork", max_workers=1, timeout=30) as pool:
            handles: list[Handle[Any]] = [pool.submit(gate.wait), pool.submit(jobs.square, 2)]
            child = os.fork()
            if child == 0:
                told = all(handle.wait() and handle.outcome is Outcome.CANCELLED for handle in handles)
                right = pool.submit(jobs.square, 3).result(10) == 9 and pool.stats().submitted == 1
                os._exit(0 if told and right else 1)
            gate.set()
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert [handle.result(10) for handle in handles] == [True, 4]
