"""Seeing it: stats, OpenMetrics text, structured records, the hook for tracing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from concurrency_gate.runtime import (
    AsyncPool,
    Job,
    PoolFull,
    ProcessPool,
    Queue,
    Runtime,
    ThreadPool,
    carry,
    current_job,
    instrument,
)
from concurrency_gate.runtime import context as context_module

from . import jobs
from .loops import run
from .threads import until

LINE = re.compile(
    r"# (TYPE [a-z_]+ (gauge|counter)|UNIT [a-z_]+ seconds|HELP [a-z_]+ .+|EOF)$"
    r'|[a-z_]+(\{[a-z]+="(\\.|[^"\\])*"(,[a-z]+="(\\.|[^"\\])*")*\})? [0-9.e+-]+$'
)


def test_stats_follow_a_queue() -> None:
    gate = threading.Event()
    with Runtime(queues=[Queue("q", max_workers=1, timeout=30, max_pending=1)]) as runtime:
        runtime["q"].submit(gate.wait)
        runtime["q"].submit(jobs.square, 1)
        with pytest.raises(PoolFull):
            runtime["q"].submit(jobs.square, 2)
        stats = runtime.stats()["q"]
        assert (stats.running, stats.pending, stats.refused, stats.submitted, stats.done) == (1, 1, 1, 2, 0)
        assert stats.oldest_age > 0
        gate.set()
        until(lambda: runtime.stats()["q"].done == 2)
        assert runtime.stats()["q"].oldest_age == 0
        assert not runtime.stats().stopping
    assert runtime.stats().stopping


def test_openmetrics_text_is_well_formed_and_says_the_same() -> None:
    with Runtime(queues=[Queue('odd "name"\\', max_workers=2, timeout=5)]) as runtime:
        handle = runtime['odd "name"\\'].submit(jobs.fail, "no", name="job\nname")
        handle.wait(10)
        until(lambda: runtime.stats()['odd "name"\\'].running == 0)
        text = runtime.openmetrics()
    lines = text.splitlines()
    assert [line for line in lines if not LINE.match(line)] == []
    assert lines[-1] == "# EOF"
    assert r'concurrency_gate_ended_total{pool="odd \"name\"\\",kind="thread",outcome="failed"} 1' in lines
    assert r'concurrency_gate_failures_total{pool="odd \"name\"\\",kind="thread",job="job\nname"} 1' in lines
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families))


def test_records_carry_their_fields(caplog: pytest.LogCaptureFixture) -> None:
    with ThreadPool("q", max_workers=1, timeout=5) as pool:
        pool.submit(jobs.fail, "no", name="send")
    record = next(record for record in caplog.records if record.levelno == logging.ERROR)
    fields = record.concurrency  # type: ignore[attr-defined]
    assert {name: fields[name] for name in ("pool", "job", "outcome", "attempt", "why")} == {
        "pool": "q",
        "job": "send",
        "outcome": "failed",
        "attempt": 1,
        "why": "no",
    }
    assert record.exc_info is not None


def stuck_record(caplog: pytest.LogCaptureFixture) -> dict[str, str]:
    """The fields of the record that says that a job is stuck, once it is there."""
    until(lambda: any("is stuck" in record.message for record in caplog.records), "the record")
    record = next(record for record in caplog.records if "is stuck" in record.message)
    return record.concurrency  # type: ignore[attr-defined, no-any-return]


def test_a_stuck_task_is_logged_with_its_stack(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AsyncPool, "stuck_after", 0.02)

    async def main() -> None:
        go = asyncio.Event()

        async def deaf() -> None:
            while not go.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await go.wait()

        async with AsyncPool("q", max_workers=1, timeout=0.05) as pool:
            pool.submit(deaf, name="deaf")
            fields = await asyncio.to_thread(stuck_record, caplog)
            go.set()
        assert "await go.wait()" in fields["stack"]

    run(main)


def test_a_task_that_blocks_its_loop_is_logged_with_the_stack_of_the_loop_s_thread(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AsyncPool, "stuck_after", 0.02)
    fields: dict[str, str] = {}

    async def block() -> None:
        fields.update(stuck_record(caplog))

    async def main() -> None:
        async with AsyncPool("q", max_workers=1, timeout=0.05) as pool:
            pool.submit(block)

    run(main)
    assert "fields.update(stuck_record(caplog))" in fields["stack"]


def test_the_names_of_failures_are_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "concurrency_gate.runtime")
    monkeypatch.setattr("concurrency_gate.runtime.ledger.NAMES", 2)
    with ThreadPool("q", max_workers=1, timeout=5) as pool:
        for number in range(5):
            pool.submit(jobs.fail, "no", name=f"job {number}")
    assert pool.stats().failures == {"job 0": 1, "job 1": 1, "(other)": 3}


class TestInstrument:
    @pytest.fixture
    def spans(self) -> Iterator[list[tuple[str, str]]]:
        seen: list[tuple[str, str]] = []

        @contextlib.contextmanager
        def span(job: Job) -> Iterator[None]:
            seen.append(("start", job.name))
            assert current_job() is job
            try:
                yield
            except ValueError:
                seen.append(("error", job.name))
                raise
            finally:
                seen.append(("end", job.name))

        withdraw = instrument(span)
        yield seen
        withdraw()

    def test_threads(self, spans: list[tuple[str, str]]) -> None:
        with ThreadPool("q", max_workers=1, timeout=5) as pool:
            pool.submit(jobs.square, 1, name="a").wait()
            pool.submit(jobs.fail, "no", name="b").wait()
        assert spans == [("start", "a"), ("end", "a"), ("start", "b"), ("error", "b"), ("end", "b")]

    def test_tasks(self, spans: list[tuple[str, str]]) -> None:
        async def main() -> None:
            async with AsyncPool("q", max_workers=1, timeout=5) as pool:
                await pool.run(asyncio.sleep, 0, name="a")

        run(main)
        assert spans == [("start", "a"), ("end", "a")]

    @pytest.mark.parametrize("kind", [ThreadPool, ProcessPool])
    def test_it_sees_what_the_job_was_given_to_carry(
        self, kind: type[ThreadPool], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(context_module, "declared", ())
        trace: ContextVar[str] = ContextVar("trace", default="none")
        carry(trace)
        trace.set("t1")
        seen: list[str] = []

        @contextlib.contextmanager
        def span(_: Job) -> Iterator[None]:
            seen.append(trace.get())
            yield

        withdraw = instrument(span)
        try:
            with kind("q", max_workers=1, timeout=20) as pool:
                assert pool.submit(jobs.square, 3).result(20) == 9
        finally:
            withdraw()
        assert seen == ["t1"]

    def test_what_it_raises_fails_its_job(self) -> None:
        def broken(job: Job) -> contextlib.AbstractContextManager[None]:
            raise OSError(job.name)

        withdraw = instrument(broken)
        try:
            with ThreadPool("q", max_workers=1, timeout=5) as pool, pytest.raises(OSError, match="a"):
                pool.submit(jobs.square, 1, name="a").result()
        finally:
            withdraw()
