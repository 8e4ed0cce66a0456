"""Keys and attempts: one in flight per key, retries, Refuse, Snooze, and the handler of dead jobs."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from concurrency_gate.runtime import (
    AsyncPool,
    Handle,
    JobTimeout,
    Outcome,
    Refuse,
    Retry,
    Snooze,
    ThreadPool,
    current_job,
)

from . import jobs
from .loops import run
from .threads import until

AT_ONCE = Retry(max_attempts=3, backoff=0.001)


class TestKeys:
    def test_at_most_one_per_key_in_the_order_they_came(self) -> None:
        running: dict[str, int] = {}
        order: list[int] = []
        lock = threading.Lock()

        def work(key: str, number: int) -> None:
            with lock:
                running[key] = running.get(key, 0) + 1
                assert running[key] == 1
                order.append(number)
            with lock:
                running[key] -= 1

        with ThreadPool("keys", max_workers=4, timeout=10, max_pending=1000) as pool:
            handles = [pool.submit(work, "a", number, key="a") for number in range(200)]
            for handle in handles:
                handle.result(10)
        assert order == list(range(200))

    def test_a_busy_key_takes_no_worker_and_spends_no_attempt(self) -> None:
        gate = threading.Event()
        with ThreadPool("parked", max_workers=2, timeout=10) as pool:
            first = pool.submit(gate.wait, key="a")
            second = pool.submit(lambda: current_job().attempt, key="a")
            other = pool.submit(jobs.square, 3, key="b")
            assert other.result(10) == 9
            assert second.outcome is None
            assert pool.stats().pending == 1
            gate.set()
            assert first.result(10) is True
            assert second.result(10) == 1
            assert pool.stats().snoozed == 1

    def test_the_key_of_a_stuck_job_stays_taken(self) -> None:
        gate = threading.Event()
        with ThreadPool("stuck", max_workers=2, timeout=0.5) as pool:
            first = pool.submit(gate.wait, key="a")
            with pytest.raises(JobTimeout):
                first.result(10)
            second = pool.submit(jobs.square, 2, key="a")
            assert pool.submit(jobs.square, 3).result(10) == 9
            assert second.outcome is None
            gate.set()
            assert second.result(10) == 4

    def test_cancelling_in_the_line(self) -> None:
        gate = threading.Event()
        with ThreadPool("line", max_workers=1, timeout=10) as pool:
            pool.submit(gate.wait, key="a")
            handles = [pool.submit(jobs.square, number, key="a") for number in range(3)]
            handles[1].cancel()
            gate.set()
            assert [handles[0].result(10), handles[2].result(10)] == [0, 4]

    def test_stopping_drops_the_parked(self) -> None:
        started = threading.Event()

        def work() -> None:
            started.set()
            current_job().wait(30)

        pool = ThreadPool("drop", max_workers=1, timeout=30)
        pool.submit(work, key="a")
        parked = [pool.submit(jobs.square, number, key="a") for number in range(3)]
        started.wait(10)
        pool.stop(10)
        assert [handle.outcome for handle in parked] == [Outcome.DROPPED] * 3

    def test_async(self) -> None:
        async def main() -> None:
            async def work() -> int:
                await asyncio.sleep(0)
                return len([name for name in pool.unfinished() if name == work.__qualname__])

            async with AsyncPool("keys", max_workers=8, timeout=5) as pool:
                assert await asyncio.gather(*(pool.run(work, key="k") for _ in range(20))) == [1] * 20

        run(main)


class TestAttempts:
    def test_a_failure_is_tried_again_with_the_attempt_counted(self) -> None:
        def flaky() -> int:
            if current_job().attempt < 3:
                raise OSError("not yet")
            return current_job().attempt

        with ThreadPool("flaky", max_workers=1, timeout=10, retry=AT_ONCE) as pool:
            assert pool.submit(flaky).result(10) == 3
            assert (pool.stats().retried, pool.stats().failed, pool.stats().done) == (2, 0, 1)

    def test_the_last_failure_goes_to_on_dead_once(self) -> None:
        dead: list[Handle[Any]] = []
        buried = threading.Event()

        def bury(handle: Handle[Any]) -> None:
            dead.append(handle)
            buried.set()

        with ThreadPool("dead", max_workers=1, timeout=10, retry=AT_ONCE, on_dead=bury) as pool:
            handle = pool.submit(jobs.fail, "no")
            with pytest.raises(ValueError, match="no"):
                handle.result(10)
            assert buried.wait(10)
        assert dead == [handle]
        assert (handle.attempt, handle.outcome) == (3, Outcome.FAILED)

    def test_refuse_ends_it_without_retry_and_without_alarm(self, caplog: pytest.LogCaptureFixture) -> None:
        dead: list[Handle[Any]] = []
        with ThreadPool("refuse", max_workers=1, timeout=10, retry=AT_ONCE, on_dead=dead.append) as pool:
            handle = pool.submit(jobs.refuse)
            with pytest.raises(Refuse):
                handle.result(10)
        assert (handle.outcome, handle.attempt, dead) == (Outcome.DECLINED, 1, [])
        assert caplog.records == []

    def test_snooze_spends_no_attempt(self) -> None:
        calls: list[int] = []

        def sleepy() -> int:
            calls.append(current_job().attempt)
            if len(calls) < 4:
                raise Snooze(0.001)
            return current_job().attempt

        with ThreadPool("snooze", max_workers=1, timeout=10) as pool:
            assert pool.submit(sleepy).result(10) == 1
        assert calls == [1, 1, 1, 1]
        assert pool.stats().snoozed == 3

    def test_an_overrun_is_tried_again_only_when_the_attempt_has_ended(self) -> None:
        gate, attempts = threading.Event(), []

        def slow_once() -> str:
            attempts.append(current_job().attempt)
            if len(attempts) == 1:
                gate.wait()
                raise OSError("late")
            return "second"

        with ThreadPool("overrun", max_workers=2, timeout=0.5, retry=AT_ONCE) as pool:
            handle = pool.submit(slow_once)
            until(lambda: pool.stats().stuck == 1)
            assert (handle.outcome, attempts) == (None, [1])
            gate.set()
            assert handle.result(10) == "second"
        assert attempts == [1, 2]

    def test_async_overruns_are_tried_again(self) -> None:
        async def main() -> None:
            async def slow_once() -> int:
                if current_job().attempt == 1:
                    await asyncio.Event().wait()
                return current_job().attempt

            async with AsyncPool("overrun", max_workers=1, timeout=0.5, retry=AT_ONCE) as pool:
                assert await pool.run(slow_once) == 2

        run(main)

    def test_cancelling_between_two_attempts(self) -> None:
        patient = Retry(max_attempts=2, backoff=60)
        with ThreadPool("between", max_workers=1, timeout=10, retry=patient) as pool:
            handle = pool.submit(jobs.fail, "no")
            until(lambda: pool.stats().retried == 1 and pool.stats().running == 0)
            assert handle.cancel()
            assert handle.outcome is Outcome.CANCELLED

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"max_attempts": 0}, "max_attempts must be an integer from 1 to 1000, not 0"),
            ({"backoff": -1}, "backoff must be seconds above 0"),
            ({"jitter": 2}, "jitter must be from 0 to 1, not 2"),
        ],
    )
    def test_bad_arguments_are_named(self, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Retry(**arguments)

    def test_the_backoff_doubles_up_to_its_limit(self) -> None:
        retry = Retry(max_attempts=9, backoff=1, max_backoff=5, jitter=0)
        assert [retry.delay(attempt) for attempt in (1, 2, 3, 4, 900)] == [1, 2, 4, 5, 5]


class TestTheLastAttempt:
    """A cancellation and a stop end a job for good; closing the pool lets it have its attempts."""

    @pytest.mark.parametrize(
        ("error", "outcome"), [(Snooze(0), Outcome.CANCELLED), (OSError("no"), Outcome.FAILED)]
    )
    def test_a_cancelled_job_is_not_tried_again(self, error: Exception, outcome: Outcome) -> None:
        started, attempts = threading.Event(), []

        def work() -> None:
            attempts.append(1)
            started.set()
            current_job().wait(20)
            raise error

        with ThreadPool("q", max_workers=1, timeout=30, retry=Retry(3, backoff=0.001)) as pool:
            handle = pool.submit(work)
            started.wait(10)
            handle.cancel()
            assert handle.wait(10)
        assert (handle.outcome, attempts) == (outcome, [1])

    def test_a_snooze_when_stop_has_come_is_no_failure(self) -> None:
        started = threading.Event()
        dead: list[Handle[Any]] = []

        def work() -> None:
            started.set()
            current_job().wait(20)
            raise Snooze(60)

        pool = ThreadPool("q", max_workers=1, timeout=30, on_dead=dead.append)
        handle = pool.submit(work)
        started.wait(10)
        assert pool.stop(10) == []
        assert (handle.outcome, dead) == (Outcome.DROPPED, [])

    def test_a_closed_pool_gives_its_jobs_their_attempts(self) -> None:
        gate = threading.Event()

        def work() -> int:
            gate.wait(20)
            if current_job().attempt == 1:
                raise OSError
            return current_job().attempt

        with ThreadPool("q", max_workers=1, timeout=30, retry=Retry(2, backoff=0.001)) as pool:
            handle = pool.submit(work)
            pool.close()
            gate.set()
        assert handle.result(10) == 2
