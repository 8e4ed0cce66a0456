"""Runtime: the checks at its start, isolation between queues, relays and periodic jobs, and its end."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from concurrency_gate.runtime import (
    BudgetExceeded,
    ConnectionBudget,
    KeyLease,
    LeaseTooShort,
    Outcome,
    Periodic,
    Queue,
    Relay,
    Retry,
    Runtime,
    SQLiteLeases,
    Stopping,
    UnsafeTimeout,
    current_job,
    detach,
)
from concurrency_gate.runtime.detached import detached

from . import jobs
from .loops import run
from .threads import until

FIBER: Any = "fiber"


def nothing(limit: int) -> list[int]:  # noqa: ARG001 - a relay's fetch
    return []


class TestTheStart:
    def test_a_budget_of_20_refuses_21_and_spells_the_sum_out(self) -> None:
        queues = [
            Queue("webhook", max_workers=8, timeout=15),
            Queue("index", max_workers=6, timeout=5, connections=2),
        ]
        relay = Relay("outbox", "index", fetch=nothing, work=print)
        budget = ConnectionBudget(max_connections=40, reserved=0.5)
        with pytest.raises(BudgetExceeded) as refused, Runtime(queues=queues, relays=[relay], budget=budget):
            pytest.fail("it has started")
        text = str(refused.value)
        assert "wants 21 database connections and the budget gives 20" in text
        for line in ("queue webhook: 8 x 1 = 8", "queue index: 6 x 2 = 12", "relay outbox: 1 x 1 = 1"):
            assert line in text
        assert "Take 1 away, or raise max_connections to 42" in text

    def test_20_of_20_starts(self) -> None:
        with Runtime(queues=[Queue("all", max_workers=20, timeout=5)], budget=ConnectionBudget(40)):
            pass

    @pytest.mark.parametrize(
        ("budget", "available"),
        [
            (ConnectionBudget(40, 0.5), 20),
            (ConnectionBudget(10, 0.3), 7),
            (ConnectionBudget(5, 0.5), 2),
            (ConnectionBudget(3, 0), 3),
        ],
    )
    def test_what_is_available(self, budget: ConnectionBudget, available: int) -> None:
        assert budget.available == available

    def test_an_http_limit_has_to_be_shorter_than_the_job(self) -> None:
        queue = Queue("webhook", max_workers=1, timeout=10, http_timeout=10)
        with (
            pytest.raises(UnsafeTimeout, match=r"http_timeout is 10 s and the job's timeout 10 s"),
            Runtime(queues=[queue]),
        ):
            pytest.fail("it has started")

    def test_a_lease_has_to_outlast_timeout_and_grace(self, tmp_path: Path) -> None:
        lease = KeyLease(SQLiteLeases(tmp_path / "leases"), timeout=10, grace=5)
        queue = Queue("webhook", max_workers=1, timeout=10, lease=lease)
        with pytest.raises(
            LeaseTooShort, match=r"queue 'webhook': a lease lasts 16.5 s, and a job may run 10 s and 20 s"
        ):
            Runtime(queues=[queue], grace=20).check()
        Runtime(queues=[queue], grace=5).check()

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (
                lambda: Runtime(queues=[Queue("a", max_workers=1, timeout=1)] * 2),
                "queues must have different names",
            ),
            (
                lambda: Runtime(relays=[Relay("r", "a", fetch=nothing, work=print)]),
                "no queue|there is none of that name",
            ),
            (lambda: Runtime(grace=0), "grace must be seconds above 0"),
            (lambda: Queue("a", max_workers=0, timeout=1), "max_workers must be an integer"),
            (
                lambda: Queue("a", max_workers=1, timeout=1, kind=FIBER),
                "kind must be one of thread, async, process",
            ),
            (lambda: ConnectionBudget(0), "max_connections must be an integer from 1"),
            (lambda: ConnectionBudget(10, 1.0), "reserved must be a share from 0 to below 1"),
            (lambda: Periodic(print, every=0), "every must be seconds above 0"),
            (lambda: Relay("r", "a", fetch=nothing, work=print, batch=0), "batch must be an integer from 1"),
        ],
    )
    def test_bad_arguments_are_named(self, make: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            make()

    def test_it_runs_once(self) -> None:
        runtime = Runtime()
        with runtime:
            pass
        with pytest.raises(RuntimeError, match="runs once"):
            runtime.__enter__()

    def test_an_unknown_queue_is_named_with_the_known(self) -> None:
        with (
            Runtime(queues=[Queue("a", max_workers=1, timeout=1)]) as runtime,
            pytest.raises(KeyError, match="there are a"),
        ):
            runtime["b"]


def test_a_blocked_webhook_queue_leaves_index_jobs_finishing() -> None:
    gate = threading.Event()
    queues = [
        Queue("webhook", max_workers=2, timeout=30, max_pending=2),
        Queue("index", max_workers=2, timeout=30, max_pending=200),
    ]
    with Runtime(queues=queues, budget=ConnectionBudget(40)) as runtime:
        for _ in range(4):
            runtime["webhook"].submit(gate.wait)
        index = [runtime["index"].submit(jobs.square, number) for number in range(200)]
        assert [handle.result(30) for handle in index] == [number**2 for number in range(200)]
        assert runtime.stats()["webhook"].done == 0
        gate.set()


class TestRelays:
    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_it_takes_a_few_rows_at_a_time_and_every_row_once(self, asynchronous: bool) -> None:
        rows = list(range(500))
        done: Counter[int] = Counter()
        limits: list[int] = []

        def fetch(limit: int) -> list[int]:
            limits.append(limit)
            taken, rows[:] = rows[:limit], rows[limit:]
            return taken

        async def fetch_async(limit: int) -> list[int]:
            await asyncio.sleep(0)
            return fetch(limit)

        def work(row: int) -> None:
            done[row] += 1

        relay = Relay(
            "outbox", "q", fetch=fetch_async if asynchronous else fetch, work=work, batch=20, every=0.01
        )
        with Runtime(
            queues=[Queue("q", max_workers=1, timeout=10, max_pending=30)], relays=[relay]
        ) as runtime:
            until(lambda: sum(done.values()) == 500)
            assert runtime.stats()["q"].refused == 0
        assert done == Counter(range(500))
        assert max(limits) <= 20

    def test_a_full_queue_holds_the_relay_up(self) -> None:
        gate = threading.Event()
        taken: list[int] = []

        def fetch(limit: int) -> list[int]:
            taken.append(limit)
            return list(range(limit))

        relay = Relay("outbox", "q", fetch=fetch, work=lambda _: gate.wait(), batch=100, every=0.001)
        with Runtime(
            queues=[Queue("q", max_workers=1, timeout=10, max_pending=4)], relays=[relay]
        ) as runtime:
            until(lambda: runtime["q"].room == 0)
            assert sum(taken) == 5
            gate.set()
            until(lambda: sum(taken) > 5)

    def test_one_that_waits_for_room_does_not_hold_the_end_up(self) -> None:
        gate = threading.Event()
        runtime: Runtime

        def fetch(limit: int) -> list[int]:
            while runtime["q"].room:  # somebody else takes the room that there was for these rows
                runtime["q"].submit(gate.wait, inherit=False)
            return list(range(limit))

        runtime = Runtime(
            queues=[Queue("q", max_workers=1, timeout=0.05, max_pending=2)],
            relays=[Relay("outbox", "q", fetch=fetch, work=print)],
            grace=30,
        )
        try:
            with runtime:
                until(lambda: len(runtime["q"]._room) == 1, "the relay waiting for room")
            assert runtime.ended is not None
            assert runtime.ended.seconds < 10
        finally:
            gate.set()

    def test_its_jobs_have_the_queue_s_timeout_and_not_the_pass_s(self) -> None:
        left: list[float] = []
        rows = [1]

        def work(_: int) -> None:
            left.append(current_job().remaining())

        def fetch(limit: int) -> list[int]:  # noqa: ARG001
            return [rows.pop()] if rows else []

        relay = Relay("outbox", "q", fetch=fetch, work=work, timeout=1, every=0.01)
        with Runtime(queues=[Queue("q", max_workers=1, timeout=50)], relays=[relay]):
            until(lambda: left)
        assert left[0] > 10

    def test_a_failing_pass_is_logged_and_tried_again(self, caplog: pytest.LogCaptureFixture) -> None:
        calls: list[int] = []

        def fetch(limit: int) -> list[int]:
            calls.append(limit)
            if len(calls) == 1:
                raise OSError("the database is away")
            return list(range(limit + 1)) if len(calls) == 2 else []

        relay = Relay("outbox", "q", fetch=fetch, work=print, every=0.001)
        with Runtime(queues=[Queue("q", max_workers=1, timeout=5)], relays=[relay]):
            until(lambda: len(calls) >= 3)
        assert "the database is away" in caplog.text
        assert "more than it was given" in caplog.text

    def test_the_key_of_a_row_keeps_its_jobs_apart(self) -> None:
        rows = list(range(50))
        order: list[int] = []

        def fetch(limit: int) -> list[int]:
            taken, rows[:] = rows[:limit], rows[limit:]
            return taken

        relay = Relay("outbox", "q", fetch=fetch, work=order.append, key=lambda _: "one", every=0.001)
        with Runtime(queues=[Queue("q", max_workers=4, timeout=5)], relays=[relay]):
            until(lambda: len(order) == 50)
        assert order == list(range(50))


class TestPeriodics:
    def test_again_and_again_also_after_a_failure(self) -> None:
        calls: list[int] = []

        def work() -> None:
            calls.append(1)
            raise ValueError("again")

        with Runtime(periodics=[Periodic(work, every=0.001, name="tick")]) as runtime:
            until(lambda: len(calls) > 5)
            until(lambda: runtime.stats()["passes"].failures.get("tick pass", 0) > 4)

    def test_never_two_at_a_time_even_when_stuck(self) -> None:
        gate, calls = threading.Event(), []

        def work() -> None:
            calls.append(1)
            gate.wait()

        with Runtime(periodics=[Periodic(work, every=0.001, timeout=0.02)]) as runtime:
            until(lambda: runtime.stats()["passes"].stuck == 1)
            until(lambda: runtime.stats()["passes"].pending == 1)
            assert len(calls) == 1
            gate.set()

    def test_one_that_is_stuck_does_not_hold_the_end_up(self) -> None:
        gate = threading.Event()
        try:
            with Runtime(periodics=[Periodic(gate.wait, every=0.001, timeout=0.02)], grace=30) as runtime:
                until(lambda: runtime.stats()["passes"].stuck == 1)
                until(lambda: runtime.stats()["passes"].pending == 1)
            assert runtime.ended is not None
            assert runtime.ended.seconds < 10
            assert runtime.ended.unfinished == ("Event.wait pass",)
            assert runtime.stats()["passes"].pending == 0
        finally:
            gate.set()

    def test_coroutine_functions_and_the_first_call(self) -> None:
        async def main() -> None:
            ticked = asyncio.Event()

            async def tick() -> None:
                ticked.set()

            async with Runtime(periodics=[Periodic(tick, every=3600, at_start=True)]):
                await ticked.wait()

        run(main)


class TestTheEnd:
    def test_phases_in_order_with_counts(self, caplog: pytest.LogCaptureFixture) -> None:
        started = threading.Event()

        def patient() -> None:
            started.set()
            current_job().wait(30)

        caplog.set_level(logging.INFO, "concurrency_gate.runtime")
        with Runtime(queues=[Queue("q", max_workers=1, timeout=30)], grace=10) as runtime:
            running, waiting = runtime["q"].submit(patient), runtime["q"].submit(patient)
            started.wait(10)
        assert (running.outcome, waiting.outcome) == (Outcome.DONE, Outcome.DROPPED)
        phases = [
            record.message.split(" seconds=")[0] for record in caplog.records if "shutdown" in record.message
        ]
        assert phases == [
            "shutdown begins reason=its block has ended grace=10",
            "shutdown: relays and periodic jobs have stopped count=0",
            "shutdown: queues claim nothing more dropped=1",
            "shutdown: the grace of running jobs is over ended=1 cancelled=0",
            "shutdown: done unfinished=0",
        ]
        assert runtime.ended is not None
        assert (runtime.ended.dropped, runtime.ended.cancelled, runtime.ended.unfinished) == (1, 0, ())

    def test_the_grace_shows_in_what_remains(self) -> None:
        left: list[float] = []
        started = threading.Event()

        def patient() -> None:
            started.set()
            current_job().wait(30)
            left.append(current_job().remaining())

        with Runtime(queues=[Queue("q", max_workers=1, timeout=30)], grace=5) as runtime:
            runtime["q"].submit(patient)
            started.wait(10)
        assert 0 < left[0] <= 5

    def test_after_the_grace_tasks_are_cancelled_and_threads_are_named(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("concurrency_gate.runtime.shutdown.CANCEL_PATIENCE", 0.05)
        gate = threading.Event()
        cancelled: list[bool] = []

        async def main() -> Runtime:
            started = asyncio.Event()

            async def deaf() -> None:
                started.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cancelled.append(True)
                    raise

            queues = [
                Queue("t", max_workers=1, timeout=30),
                Queue("a", max_workers=1, timeout=30, kind="async"),
            ]
            async with Runtime(queues=queues, grace=0.05) as runtime:
                runtime["t"].submit(gate.wait, name="stubborn")
                runtime["a"].submit(deaf)
                await started.wait()
            return runtime

        try:
            runtime = run(main)
            assert cancelled == [True]
            assert runtime.ended is not None
            assert (runtime.ended.cancelled, runtime.ended.unfinished) == (2, ("stubborn",))
        finally:
            gate.set()

    def test_detached_work_is_waited_for_and_open_again_afterwards(self) -> None:
        seen: list[str | None] = []
        started = threading.Event()

        def work() -> None:
            started.set()
            current_job().wait(30)
            seen.append(current_job().reason)

        with Runtime(grace=5):
            detach(work)
            started.wait(10)
        assert seen == ["its block has ended"]
        assert detach(jobs.square, 3).result(10) == 9

    def test_a_job_may_still_detach_in_its_grace(self) -> None:
        buried = threading.Event()
        started = threading.Event()

        def fail_late() -> None:
            started.set()
            current_job().wait(30)
            raise ValueError("late")

        queue = Queue("q", max_workers=1, timeout=30, retry=Retry(3), on_dead=lambda _: buried.set())
        with Runtime(queues=[queue], grace=5) as runtime:
            runtime["q"].submit(fail_late)
            started.wait(10)
        assert buried.wait(10)

    def test_jobs_are_not_told_before_the_queues_have_stopped_claiming(self) -> None:
        """Else the first to end would make room for one that should have been dropped."""
        started = threading.Event()

        def patient() -> None:
            started.set()
            current_job().wait(30)

        with Runtime(queues=[Queue("q", max_workers=1, timeout=30)], grace=10) as runtime:
            running = runtime["q"].submit(patient)
            started.wait(10)
            runtime.stop("a signal")
            assert current_job().stopping
            assert not running.job.stopping
        assert running.outcome is Outcome.DONE

    def test_the_main_code_sees_the_stop(self) -> None:
        with Runtime() as runtime:
            assert not current_job().stopping
            runtime.stop("enough")
            assert current_job().reason == "enough"
        assert not current_job().stopping

    def test_nothing_is_taken_afterwards(self) -> None:
        with Runtime(queues=[Queue("q", max_workers=1, timeout=1)]) as runtime:
            pool = runtime["q"]
        with pytest.raises(Stopping):
            pool.submit(jobs.square, 1)
        assert all(not pool.unfinished() for pool in detached.pools)

    def test_a_coroutine_from_a_thread_runs_in_the_runtime_s_loop(self) -> None:
        async def main() -> None:
            here = asyncio.get_running_loop()

            async def where() -> bool:
                return asyncio.get_running_loop() is here

            async with Runtime(queues=[Queue("t", max_workers=1, timeout=10)]) as runtime:
                assert await runtime["t"].run(lambda: detach(where()).result(5))

        run(main)
