"""WaiterHub: bounded, no notice lost, one listener a process that survives its connection."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from functools import partial

import psycopg
import pytest

from concurrency_gate.runtime.errors import JobTimeout, Refused, Stopping
from concurrency_gate.runtime.job import job_scope
from concurrency_gate.runtime.waiter import WaiterHub
from concurrency_gate.runtime.waiter_postgres import PostgresNotices

from .threads import PATIENCE, in_thread, until

AT_ONCE = 1.0
"""Seconds: far more than a wakeup takes, far less than a wait that nothing ends (`PATIENCE`)."""


def test_sixty_four_wait_and_the_next_is_refused_at_once() -> None:
    hub = WaiterHub()

    def wait() -> bool:
        with hub.ticket("indexed") as ticket:
            return ticket.wait(PATIENCE)

    waiters = [in_thread(wait) for _ in range(64)]
    until(lambda: hub.waiting == 64, "64 waiters")
    with pytest.raises(Refused, match=r"64 already wait \(max_waiters=64\)"), hub.ticket("other"):
        pass
    looked = []
    with pytest.raises(Refused):
        hub.wait_for(lambda: looked.append(1), "indexed", timeout=1)
    assert not looked, "a refused waiter must not load the database"
    assert hub.refused == 2
    assert hub.notify("indexed") == 64
    assert all(waiter.result(PATIENCE) for waiter in waiters)
    assert hub.waiting == 0
    with hub.ticket("other"):
        pass


def test_a_notice_between_ticket_and_wait_is_not_lost() -> None:
    hub = WaiterHub()
    begun = time.monotonic()
    with hub.ticket("indexed", "42") as ticket:
        hub.notify("indexed", "42")
        assert ticket.wait(PATIENCE)
        assert not ticket.wait(0), "one notice wakes once"
    assert time.monotonic() - begun < AT_ONCE


def test_a_notice_while_the_waiter_looks_is_not_lost() -> None:
    hub = WaiterHub(poll=PATIENCE)
    rows: list[str] = []

    def look() -> list[str]:
        seen = list(rows)
        if not rows:  # the writer commits and notifies just after the look
            rows.append("42")
            hub.notify("indexed", "42")
        return seen

    begun = time.monotonic()
    assert hub.wait_for(look, "indexed", "42", timeout=PATIENCE) == ["42"]
    assert time.monotonic() - begun < AT_ONCE


@pytest.mark.parametrize(
    ("notice", "woken"),
    [(("indexed", "42"), "ab"), (("indexed", "7"), "bc"), (("indexed", ""), "abc"), (("deleted", "42"), "")],
)
def test_a_notice_wakes_whom_it_concerns(notice: tuple[str, str], woken: str) -> None:
    hub = WaiterHub()
    with hub.ticket("indexed", "42") as a, hub.ticket("indexed") as b, hub.ticket("indexed", "7") as c:
        assert hub.notify(*notice) == len(woken)
        heard = [name for name, ticket in zip("abc", (a, b, c), strict=True) if ticket.wait(0)]
    assert heard == list(woken)


def test_sleeping_threads_and_tasks_are_woken_by_one_notice() -> None:
    hub = WaiterHub()
    asleep = threading.Semaphore(0)

    def thread() -> bool:
        with hub.ticket("indexed") as ticket:
            asleep.release()
            return ticket.wait(PATIENCE)

    async def task() -> bool:
        with hub.ticket("indexed") as ticket:
            asleep.release()
            return await ticket.wait_async(PATIENCE)

    async def tasks() -> list[bool]:
        return await asyncio.gather(*(task() for _ in range(5)))

    threads, loop = [in_thread(thread) for _ in range(5)], in_thread(lambda: asyncio.run(tasks()))
    for _ in range(10):
        assert asleep.acquire(timeout=PATIENCE)
    assert hub.notify("indexed") == 10
    assert [waiter.result(PATIENCE) for waiter in threads] == loop.result(PATIENCE) == [True] * 5


def test_without_any_notice_wait_for_looks_now_and_then_and_ends_in_time() -> None:
    hub = WaiterHub(poll=0.005)
    looks = iter([0, 0, 0, 5])
    assert hub.wait_for(lambda: next(looks), "indexed", timeout=PATIENCE) == 5
    begun = time.monotonic()
    assert hub.wait_for(lambda: None, "indexed", timeout=0.05) is None
    assert 0.05 <= time.monotonic() - begun < 1
    assert hub.waiting == 0


def test_wait_for_async_looks_with_a_coroutine() -> None:
    hub = WaiterHub(poll=PATIENCE)
    rows: list[str] = []

    async def look() -> list[str]:
        return list(rows)

    async def main() -> list[str]:
        waiting = asyncio.create_task(hub.wait_for_async(look, "indexed", timeout=PATIENCE))
        await asyncio.to_thread(until, lambda: hub.waiting == 1, "a waiter")
        rows.append("42")
        hub.notify("indexed", "42")
        return await waiting

    assert asyncio.run(main()) == ["42"]


def test_a_cancelled_waiter_gives_its_place_back() -> None:
    hub = WaiterHub(max_waiters=1)

    async def wait() -> bool:
        with hub.ticket("indexed") as ticket:
            return await ticket.wait_async(PATIENCE)

    async def main() -> None:
        waiting = asyncio.create_task(wait())
        await asyncio.to_thread(until, lambda: hub.waiting == 1, "a waiter")
        waiting.cancel()
        await asyncio.wait([waiting])

    asyncio.run(main())
    assert hub.waiting == 0


def test_stop_and_the_deadline_of_the_job_end_the_wait() -> None:
    hub = WaiterHub()
    with job_scope("request", timeout=PATIENCE) as job:
        waiting = in_thread(lambda: hub.wait_for(lambda: None, "indexed", timeout=PATIENCE))
        until(lambda: hub.waiting == 1, "a waiter")
        job.stop("shutdown")
        with pytest.raises(Stopping, match="shutdown"):
            waiting.result(PATIENCE)
    with job_scope("request", timeout=0.02), pytest.raises(JobTimeout):
        hub.wait_for(lambda: None, "indexed", timeout=PATIENCE)


def test_closing_the_hub_ends_every_wait() -> None:
    with WaiterHub() as hub:
        waiting = in_thread(lambda: hub.wait_for(lambda: None, "indexed", timeout=PATIENCE))
        until(lambda: hub.waiting == 1, "a waiter")
    with pytest.raises(Stopping, match="closed"):
        waiting.result(PATIENCE)
    with pytest.raises(Stopping, match="closed"), hub.ticket("indexed"):
        pass


@pytest.mark.parametrize("arguments", [{"max_waiters": 0}, {"poll": 0}])
def test_bad_arguments_are_named(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(arguments))} must be"):
        WaiterHub(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="channels must"):
        PostgresNotices("", [])


def test_a_forked_child_has_a_hub_without_the_parents_waiters() -> None:
    hub = WaiterHub(max_waiters=1)
    with hub.ticket("indexed"), hub._lock:
        child = os.fork()
        if child == 0:
            with hub.ticket("indexed"):
                os._exit(hub.notify("indexed"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert hub.waiting == 0


class Writer:
    """Another session of the database, as the worker that writes what people wait for."""

    def __init__(self, database: str) -> None:
        self.connection = psycopg.connect(database, autocommit=True)

    def notify(self, key: str, channel: str = "indexed") -> None:
        self.connection.execute("SELECT pg_notify(%s, %s)", [channel, key])

    def listeners(self) -> list[int]:
        rows = self.connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"  # and not the server's own, such as autovacuum
        )
        return [pid for (pid,) in rows]

    def end_listeners(self) -> None:
        self.connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )


@pytest.fixture
def writer(database: str) -> Iterator[Writer]:
    writer = Writer(database)
    with writer.connection:
        yield writer


@pytest.fixture
def notices(database: str) -> PostgresNotices:
    return PostgresNotices(database, ["indexed", "Deleted Rows"])


@pytest.fixture
def hub(notices: PostgresNotices) -> Iterator[WaiterHub]:
    with WaiterHub(source=notices, poll=PATIENCE) as hub:
        yield hub
    until(no_listener, "the end of the listener")  # which may still have been connecting


def no_listener() -> bool:
    return not any(thread.name == "concurrency-gate-listen" for thread in threading.enumerate())


@pytest.mark.parametrize("channel", ["indexed", "Deleted Rows"])
def test_postgres_notices_wake_waiters(
    hub: WaiterHub, notices: PostgresNotices, writer: Writer, channel: str
) -> None:
    with hub.ticket(channel, "42") as ticket:
        assert ticket.wait(PATIENCE), "who waits when the listener comes up is woken to look"
        writer.notify("7", channel)
        writer.notify("42", channel)
        assert ticket.wait(PATIENCE)
        assert not ticket.wait(0)
    assert len(writer.listeners()) == notices.connects == 1


def test_a_notice_comes_with_the_commit_and_not_before(hub: WaiterHub, writer: Writer) -> None:
    with hub.ticket("indexed", "42") as ticket, hub.ticket("indexed", "7") as fence:
        assert ticket.wait(PATIENCE)
        fence.wait(0)  # woken too, unless the listener was there before it
        with psycopg.connect(writer.connection.info.dsn) as other:
            other.execute("SELECT pg_notify('indexed', '42')")
            writer.notify("7")
            assert fence.wait(PATIENCE)
            assert not ticket.wait(0)
        assert ticket.wait(PATIENCE)


def test_many_waiters_share_one_connection(hub: WaiterHub, writer: Writer) -> None:
    looked = threading.Semaphore(0)
    rows: list[int] = []

    def look() -> bool:
        looked.release()
        return bool(rows)

    waiting = [
        in_thread(partial(hub.wait_for, look, "indexed", str(number), timeout=PATIENCE))
        for number in range(64)
    ]
    for _ in range(64):
        assert looked.acquire(timeout=PATIENCE)
    assert len(writer.listeners()) <= 1
    rows.append(1)
    writer.notify("")
    assert all(waiter.result(PATIENCE) for waiter in waiting)


def test_a_dropped_connection_wakes_everybody_and_is_opened_again(
    hub: WaiterHub, notices: PostgresNotices, writer: Writer
) -> None:
    with hub.ticket("indexed", "42") as ticket:
        assert ticket.wait(PATIENCE)
        waiting = in_thread(lambda: ticket.wait(PATIENCE))
        writer.end_listeners()
        assert waiting.result(PATIENCE), "notices may have been lost meanwhile: look again"
        assert notices.connects == 2
        writer.notify("42")
        assert ticket.wait(PATIENCE), "and the new connection listens"


def test_what_was_notified_while_nobody_listened_is_found_by_looking(hub: WaiterHub, writer: Writer) -> None:
    rows: list[str] = []
    lost: list[bool] = []

    def look() -> list[str]:
        if not lost and writer.listeners():
            writer.end_listeners()
            rows.append("42")
            writer.notify("42")
            lost.append(True)
            return []
        return list(rows) if lost else []

    assert hub.wait_for(look, "indexed", "42", timeout=PATIENCE) == ["42"]


def test_a_server_that_is_down_costs_the_notices_only(tmp_path: object) -> None:
    source = PostgresNotices(f"host={tmp_path} user=nobody", ["indexed"])
    with WaiterHub(source=source, poll=0.01) as hub:
        looks = iter([0, 0, 1])
        assert hub.wait_for(lambda: next(looks), "indexed", timeout=PATIENCE) == 1
    assert source.connects == 0


def test_a_channel_that_nobody_listens_to_is_an_error_and_not_a_silence(hub: WaiterHub) -> None:
    with pytest.raises(ValueError, match=r"channel must be one of \['Deleted Rows', 'indexed'\]"):
        hub.wait_for(lambda: True, "index", timeout=1)
    assert hub.waiting == 0


def test_one_source_serves_one_hub(hub: WaiterHub, notices: PostgresNotices) -> None:
    with hub.ticket("indexed"):
        pass
    other = WaiterHub(source=notices)
    with pytest.raises(ValueError, match="give each hub its own"), other.ticket("indexed"):
        pass
    assert other.waiting == 0


def test_a_silent_connection_is_asked_whether_it_lives(
    hub: WaiterHub, notices: PostgresNotices, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("concurrency_gate.runtime.waiter_postgres.HEARTBEAT", 0.01)
    with hub.ticket("indexed", "42") as ticket:
        assert ticket.wait(PATIENCE)
        asked = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT 1' AND state = 'idle'"

        def alive() -> bool:
            return writer.connection.execute(asked).fetchall() == [(1,)]

        until(alive, "a heartbeat")
        writer.notify("42")
        assert ticket.wait(PATIENCE)
    assert notices.connects == 1


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_listens_for_itself(hub: WaiterHub, notices: PostgresNotices, writer: Writer) -> None:
    with hub.ticket("indexed", "42") as ticket:
        assert ticket.wait(PATIENCE)
        child = os.fork()
        if child == 0:
            with hub.ticket("indexed", "42") as own:
                os._exit(3 if own.wait(PATIENCE) and own.wait(PATIENCE) else 4)

        def notified() -> bool:  # again and again: the child may not listen yet
            writer.notify("42")
            return os.waitpid(child, os.WNOHANG) == (child, 3 << 8)

        until(notified, "the child's notice")
        assert ticket.wait(PATIENCE)
    assert notices.connects == 1
