"""A pool that holds the lease of a job's key: in threads, in processes, and in tasks, where a claim must not
block.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from concurrency_gate.runtime import (
    AsyncPool,
    AttemptsSpent,
    JobCancelled,
    JobTimeout,
    KeyLease,
    LeaseUnavailable,
    Outcome,
    ProcessPool,
    Queue,
    Retry,
    Runtime,
    SQLiteLeases,
    ThreadPool,
    current_job,
)
from concurrency_gate.runtime.detached import detached

from . import jobs
from .loops import run
from .threads import until


async def square_async(number: int) -> int:
    await asyncio.sleep(0)
    return number * number


@pytest.fixture(autouse=True)
def _short_snoozes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("concurrency_gate.runtime.leasing.SNOOZE", 0.05)


class TestEveryKind:
    @pytest.mark.parametrize(
        ("kind", "work"),
        [("thread", jobs.square), ("process", jobs.square), ("async", square_async)],
    )
    def test_a_key_leased_elsewhere_snoozes_the_job(self, kind: Any, work: Any, tmp_path: Path) -> None:
        lease = KeyLease(SQLiteLeases(tmp_path / "leases"), timeout=10, grace=1)
        elsewhere = lease.claim("customer 1")
        assert elsewhere is not None
        queue = Queue("q", max_workers=1, timeout=10, lease=lease, kind=kind)
        with Runtime(queues=[queue], grace=1) as runtime:
            handle = runtime["q"].submit(work, 3, key="customer 1")
            until(lambda: runtime.stats()["q"].snoozed)
            elsewhere.release()
            assert handle.result(20) == 9
            assert handle.attempt == 1
        lease.store.close()

    def test_attempts_that_a_process_died_of_count(self, tmp_path: Path) -> None:
        """Claims that were never settled are what a process leaves behind that a job has killed."""
        store = SQLiteLeases(tmp_path / "leases")
        lease = KeyLease(store, timeout=10, grace=1)
        dead: list[int] = []
        ran: list[int] = []
        retry = Retry(max_attempts=3, backoff=0.001)

        def fail() -> None:
            ran.append(current_job().attempt)
            raise OSError

        with ThreadPool(
            "q", max_workers=1, timeout=10, lease=lease, retry=retry, on_dead=lambda h: dead.append(h.attempt)
        ) as pool:
            for killed, attempts in ((1, [2, 3]), (3, []), (0, [1, 2, 3])):
                for _ in range(killed):
                    assert store.claim("k", f"process {_}", 0.0) is not None
                handle = pool.submit(fail, key="k")
                assert handle.wait(20)
                assert (handle.outcome, ran) == (Outcome.FAILED, attempts)
                assert isinstance(handle.error, OSError if attempts else AttemptsSpent)
                ran.clear()
        detached.settle(5.0)
        assert dead == [3, 4, 3]
        store.close()

    def test_a_cancelled_process_gives_its_attempt_back(self, tmp_path: Path) -> None:
        lease = KeyLease(SQLiteLeases(tmp_path / "leases"), timeout=20, grace=1)
        started = tmp_path / "started"
        with ProcessPool("q", max_workers=1, timeout=20, lease=lease) as pool:
            handle = pool.submit(jobs.wait_for_stop, str(started), key="k")
            until(started.exists)
            handle.cancel()
            assert handle.wait(20)
            assert pool.submit(jobs.square, 3, key="k").result(20) == 9
        lease.store.close()

    def test_a_stuck_thread_keeps_its_key_beyond_the_lease(self, tmp_path: Path) -> None:
        store = SQLiteLeases(tmp_path / "leases")
        lease = KeyLease(store, timeout=0.5, grace=0.1, seconds=0.7)
        gate, begun = threading.Event(), time.monotonic()
        with ThreadPool("q", max_workers=1, timeout=0.5, lease=lease) as pool:
            handle = pool.submit(gate.wait, key="k")
            until(lambda: handle.outcome is Outcome.TIMED_OUT)
            while time.monotonic() < begun + 2 * lease.seconds:  # one extension would not last so long
                assert lease.claim("k") is None, "a second holder while the first is at work"
            gate.set()
            until(lambda: pool.stats().stuck == 0)
        claim = lease.claim("k")
        assert claim is not None
        assert claim.attempt == 1
        store.close()


class GatedLeases(SQLiteLeases):
    """A store that answers a claim only after `gate` is open; `asked` tells that one has come."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked = threading.Event()
        self.gate = threading.Event()

    def claim(self, key: str, owner: str, seconds: float) -> int | None:
        self.asked.set()
        self.gate.wait(20)
        return super().claim(key, owner, seconds)


class TestTasks:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SQLiteLeases]:
        store = SQLiteLeases(tmp_path / "leases")
        yield store
        store.close()

    def test_two_pools_never_hold_a_key_together(self, store: SQLiteLeases) -> None:
        async def main() -> None:
            lease = KeyLease(store, timeout=20, grace=1)
            retry = Retry(max_attempts=3, backoff=0.001)
            inside = most = 0

            async def work() -> None:
                nonlocal inside, most
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

            async with (
                AsyncPool("one", max_workers=4, timeout=20, lease=lease, retry=retry) as one,
                AsyncPool("two", max_workers=4, timeout=20, lease=lease, retry=retry) as two,
            ):
                handles = [pool.submit(work, key="k") for pool in (one, two) for _ in range(3)]
                for handle in handles:
                    await handle
            assert most == 1
            assert {handle.attempt for handle in handles} == {1}

        run(main)

    def test_a_failure_spends_the_attempt_and_frees_the_key_for_the_next(self, store: SQLiteLeases) -> None:
        async def main() -> None:
            lease = KeyLease(store, timeout=20, grace=1)
            attempts: list[int] = []

            async def fail() -> None:
                attempts.append(current_job().attempt)
                raise OSError("no")

            retry = Retry(max_attempts=3, backoff=0.001)
            async with AsyncPool("q", max_workers=1, timeout=20, lease=lease, retry=retry) as pool:
                assert store.claim("k", "a process that died", 0.0) == 1
                handle = pool.submit(fail, key="k")
                with pytest.raises(OSError, match="no"):
                    await handle
                assert attempts == [2, 3]
                assert await pool.submit(square_async, 3, key="k") == 9
                for _ in range(3):
                    assert store.claim("k", f"process {_} that died", 0.0)
                with pytest.raises(AttemptsSpent):
                    await pool.submit(fail, key="k")

        run(main)

    def test_an_overrun_and_a_cancellation_settle_before_the_job_has_ended(self, store: SQLiteLeases) -> None:
        async def main() -> None:
            lease = KeyLease(store, timeout=20, grace=1)
            async with AsyncPool("q", max_workers=1, timeout=0.5, lease=lease) as pool:
                for expected in (JobTimeout, JobCancelled):
                    started = asyncio.Event()

                    async def work(started: asyncio.Event = started) -> None:
                        started.set()
                        await asyncio.Event().wait()

                    handle = pool.submit(work, key="k")
                    await started.wait()
                    if expected is JobCancelled:
                        handle.cancel()
                    with pytest.raises(expected):
                        await handle
                    while pool.unfinished():  # noqa: ASYNC110 - it has been told, and now it ends
                        await asyncio.sleep(0)
                    claim = lease.claim("k")
                    assert claim is not None, "the key is free"
                    claim.release()

        run(main)

    def test_a_claim_that_comes_too_late_is_given_back(self, tmp_path: Path) -> None:
        store = GatedLeases(tmp_path / "leases")

        async def main() -> None:
            lease = KeyLease(store, timeout=20, grace=1)
            async with AsyncPool("q", max_workers=2, timeout=20, lease=lease) as pool:
                handle = pool.submit(square_async, 3, key="k")
                # The loop goes on, although the store does not answer.
                while not store.asked.is_set():  # noqa: ASYNC110 - a thread sets it
                    await asyncio.sleep(0)
                assert await pool.submit(square_async, 2) == 4
                handle.cancel()
                with pytest.raises(JobCancelled):
                    await handle
                store.gate.set()
                assert await pool.submit(square_async, 3, key="k") == 9
                assert store.claim("k", "another", 1.0) == 1

        run(main)
        store.close()

    def test_a_store_that_does_not_answer_fails_the_job_and_not_the_pool(self, tmp_path: Path) -> None:
        async def main() -> None:
            store = SQLiteLeases(tmp_path / "no such folder" / "leases")
            lease = KeyLease(store, timeout=20, grace=1)
            async with AsyncPool("q", max_workers=1, timeout=20, lease=lease) as pool:
                with pytest.raises(LeaseUnavailable):
                    await pool.submit(square_async, 3, key="k")
                assert await pool.submit(square_async, 3) == 9

        run(main)

    def test_the_runtime_holds_it_to_timeout_and_grace_as_for_threads(self, store: SQLiteLeases) -> None:
        lease = KeyLease(store, timeout=5, grace=1)
        queue = Queue("q", max_workers=1, timeout=6, kind="async", lease=lease)
        with pytest.raises(ValueError, match=r"queue 'q': a lease lasts 6.6 s"):
            Runtime(queues=[queue], grace=1).check()
