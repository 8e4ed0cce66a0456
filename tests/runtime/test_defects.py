"""Seven defects seen in services: each made to happen with bare primitives, then ruled out with the runtime.

Every pair of tests does the same work twice. The first shows that the test can fail.
"""

from __future__ import annotations

import asyncio
import queue
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest

from concurrency_gate.runtime import (
    BudgetExceeded,
    Channel,
    ConnectionBudget,
    Fanout,
    JobTimeout,
    KeyLease,
    PostgresLeases,
    Queue,
    Runtime,
    ThreadPool,
    closing_on_stop,
    current_job,
    detach,
)

from .threads import PATIENCE, until

Address = tuple[str, int]

A_WHILE = 0.2
"""Seconds after which what should have happened at once counts as not happening."""


@pytest.fixture
def silent() -> Iterator[Address]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        host, port = server.getsockname()
        yield host, port


class TestReadThatCannotBeCancelled:
    def test_bare_the_flag_is_not_seen_while_the_read_blocks(self) -> None:
        ours, theirs = socket.socketpair()
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                ours.recv(100)

        reader = threading.Thread(target=read)
        reader.start()
        stop.set()
        reader.join(A_WHILE)
        assert reader.is_alive(), "it should have been waiting for the network"
        theirs.close()
        reader.join()
        ours.close()

    def test_stop_ends_the_read_at_once(self, silent: Address) -> None:
        reading = threading.Event()

        def read() -> None:
            with closing_on_stop(socket.create_connection(silent)) as connection:
                reading.set()
                while connection.recv(100):
                    pass

        pool = ThreadPool("reader", max_workers=1, timeout=60)
        handle = pool.submit(read)
        assert reading.wait(PATIENCE)
        begun = time.monotonic()
        assert pool.stop(grace=PATIENCE) == []
        assert time.monotonic() - begun < A_WHILE
        assert handle.outcome == "cancelled"


class TestStaleConnectionAfterAnError:
    ENOUGH = 1000

    def test_bare_the_loop_spins_on_the_closed_connection(self, silent: Address) -> None:
        connection = socket.create_connection(silent)
        failures = 0
        while failures < self.ENOUGH:
            try:
                if failures == 0:
                    connection.close()  # the error path that forgot to forget it
                connection.recv(100)
            except OSError:
                failures += 1
        assert failures == self.ENOUGH, "nothing but failures, as fast as the processor can"

    def test_the_read_loop_owns_its_connection_and_gives_it_up(self, silent: Address) -> None:
        opened: list[socket.socket] = []
        for attempt in range(3):
            with suppress(OSError), closing_on_stop(socket.create_connection(silent)) as connection:
                opened.append(connection)
                assert connection.fileno() != -1, f"attempt {attempt} got a connection that is closed"
                raise ConnectionResetError
        assert len(set(map(id, opened))) == 3
        assert [connection.fileno() for connection in opened] == [-1] * 3


class TestSlowClientStallsEveryone:
    def test_bare_one_client_that_does_not_read_stops_the_rest(self) -> None:
        slow: queue.Queue[int] = queue.Queue(1)
        quick: queue.Queue[int] = queue.Queue(1)
        over = threading.Event()

        def dispatch() -> None:
            for number in range(5):
                for client in (slow, quick):
                    client.put(number)
            over.set()

        dispatcher = threading.Thread(target=dispatch)
        dispatcher.start()
        assert quick.get(timeout=PATIENCE) == 0
        with pytest.raises(queue.Empty):
            quick.get(timeout=A_WHILE)
        assert not over.is_set()
        for _ in range(5):  # let it go
            slow.get()
            with suppress(queue.Empty):
                quick.get(timeout=A_WHILE)
        dispatcher.join()

    def test_each_client_has_a_small_buffer_and_a_policy(self) -> None:
        fanout: Fanout[int] = Fanout(maxsize=1, slow="drop_old")
        with fanout.subscribe() as slow, fanout.subscribe() as quick:
            for number in range(1000):
                fanout.publish(number)
                assert quick.receive() == number
            assert slow.dropped == 999


class TestUntrackedStarter:
    def test_bare_the_shutdown_closes_the_database_under_it(self, tmp_path: Path) -> None:
        database = sqlite3.connect(tmp_path / "service.db", check_same_thread=False)
        database.execute("CREATE TABLE warm (number)")
        closed, failures = threading.Event(), []

        def warm_up() -> None:
            closed.wait(PATIENCE)  # work that takes longer than the service lives
            try:
                database.execute("INSERT INTO warm VALUES (1)")
            except sqlite3.ProgrammingError as error:
                failures.append(str(error))

        starter = threading.Thread(target=warm_up)
        starter.start()
        database.close()
        closed.set()
        starter.join()
        assert failures == ["Cannot operate on a closed database."]

    def test_the_shutdown_waits_for_whatever_was_started(self, tmp_path: Path) -> None:
        database = sqlite3.connect(tmp_path / "service.db", check_same_thread=False)
        database.execute("CREATE TABLE warm (number)")
        leaving = threading.Event()

        def warm_up() -> None:
            assert leaving.wait(PATIENCE)
            for _ in range(1000):
                database.execute("INSERT INTO warm VALUES (1)")

        with closing(database):
            with Runtime(grace=PATIENCE):
                handle = detach(warm_up)
                leaving.set()
            assert handle.outcome == "done"
            assert database.execute("SELECT count(*) FROM warm").fetchone() == (1000,)


class TestFireAndForgetOntoAFullChannel:
    EVENTS = 100

    def test_bare_every_event_leaves_a_task_behind(self) -> None:
        async def main() -> int:
            channel: asyncio.Queue[int] = asyncio.Queue(1)
            tasks = [asyncio.create_task(channel.put(event)) for event in range(self.EVENTS)]
            for _ in range(10):
                await asyncio.sleep(0)
            left = sum(not task.done() for task in tasks)
            for task in tasks:
                task.cancel()
            return left

        assert asyncio.run(main()) == self.EVENTS - 1

    def test_a_send_does_not_wait_and_a_drop_is_counted(self, caplog: pytest.LogCaptureFixture) -> None:
        async def main() -> int:
            channel: Channel[int] = Channel(1, full="drop_new", name="events")
            before = asyncio.all_tasks()
            for event in range(self.EVENTS):
                channel.send_nowait(event)
            assert asyncio.all_tasks() == before
            return channel.dropped

        assert asyncio.run(main()) == self.EVENTS - 1
        assert "a channel is full and drops items channel=events" in caplog.text


class TestFreshContextInsteadOfTheCallers:
    @staticmethod
    def insert_until(over: Callable[[], object]) -> tuple[list[int], Callable[[], None]]:
        rows: list[int] = []

        def insert() -> None:
            for number in count():
                if over():
                    return
                rows.append(number)
                threading.Event().wait(0.001)  # the database's answer

        return rows, insert

    def test_bare_rows_are_written_after_the_caller_was_cancelled(self) -> None:
        over = threading.Event()
        rows, insert = self.insert_until(over.is_set)

        async def request() -> None:
            await asyncio.get_running_loop().run_in_executor(executor, insert)

        async def main() -> None:
            with suppress(TimeoutError):
                await asyncio.wait_for(request(), 0.02)
            cancelled = len(rows)
            await asyncio.to_thread(until, lambda: len(rows) > cancelled + 5, "rows after the end")
            over.set()

        with ThreadPoolExecutor(1) as executor:
            asyncio.run(main())

    def test_stop_and_deadline_flow_down(self) -> None:
        rows, insert = self.insert_until(lambda: current_job().check())
        inserts = ThreadPool("inserts", max_workers=1, timeout=60)
        requests = ThreadPool("requests", max_workers=1, timeout=0.5)

        def request() -> None:
            inserts.submit(insert).result()

        with inserts, requests:
            with pytest.raises(JobTimeout):
                requests.submit(request).result()
            assert inserts.drain(PATIENCE), "the nested job should have ended with its caller"
        assert rows
        assert inserts.stats().done == 0


class TestPoolDrainedBySomebodyElsesServer:
    """Four workers, four connections, and a server that takes its time."""

    WORKERS = 4

    @pytest.fixture
    def connections(self, database: str) -> Iterator[queue.Queue[psycopg.Connection]]:
        with psycopg.connect(database) as setup:
            setup.execute("CREATE TABLE payment (id int, state text)")
            setup.execute("INSERT INTO payment SELECT number, 'new' FROM generate_series(1, 4) number")
        pool: queue.Queue[psycopg.Connection] = queue.Queue()
        everyone = [psycopg.connect(database) for _ in range(self.WORKERS)]
        for connection in everyone:
            pool.put(connection)
        yield pool
        for connection in everyone:
            connection.close()

    def test_bare_a_call_inside_the_transaction_holds_every_connection(
        self, connections: queue.Queue[psycopg.Connection], silent: Address
    ) -> None:
        calls = [socket.create_connection(silent) for _ in range(self.WORKERS)]
        calling = threading.Semaphore(0)

        def pay(call: socket.socket, number: int) -> None:
            connection = connections.get()
            with connection.transaction():
                connection.execute("SELECT * FROM payment WHERE id = %s FOR UPDATE", [number])
                calling.release()
                call.recv(100)
                connection.execute("UPDATE payment SET state = 'paid' WHERE id = %s", [number])
            connections.put(connection)

        with ThreadPoolExecutor(self.WORKERS) as executor:
            paying = [executor.submit(pay, call, number) for number, call in enumerate(calls)]
            for _ in range(self.WORKERS):
                assert calling.acquire(timeout=PATIENCE)
            with pytest.raises(queue.Empty):
                connections.get(timeout=A_WHILE)  # a request asks for one
            for call in calls:
                call.shutdown(socket.SHUT_RDWR)
            for payment in paying:
                payment.result(PATIENCE)
        for call in calls:
            call.close()

    def test_lease_read_give_back_call_settle(
        self, connections: queue.Queue[psycopg.Connection], database: str, silent: Address
    ) -> None:
        calling = threading.Semaphore(0)
        answered = threading.Event()

        def query(statement: str, number: int) -> None:
            connection = connections.get(timeout=PATIENCE)
            try:
                with connection.transaction():
                    connection.execute(statement.encode(), [number])
            finally:
                connections.put(connection)

        def pay(number: int) -> None:
            with lease.hold(f"payment:{number}"):
                query("SELECT * FROM payment WHERE id = %s", number)
                with closing_on_stop(socket.create_connection(silent, current_job().http_timeout())):
                    calling.release()
                    assert answered.wait(PATIENCE)
                query("UPDATE payment SET state = 'paid' WHERE id = %s", number)

        with closing(PostgresLeases(database)) as store:
            store.create_table()
            lease = KeyLease(store, timeout=60)
            with ThreadPool("webhook", max_workers=self.WORKERS, timeout=60) as pool:
                paying = [pool.submit(pay, number) for number in range(1, 5)]
                for _ in range(self.WORKERS):
                    assert calling.acquire(timeout=PATIENCE)
                free = [connections.get(timeout=PATIENCE) for _ in range(self.WORKERS)]
                with pytest.raises(Exception, match="in flight elsewhere"):
                    lease.hold("payment:1").__enter__()
                paid = free[0].execute("SELECT count(*) FROM payment WHERE state = 'paid'")
                assert paid.fetchone() == (0,)
                for connection in free:
                    connection.rollback()
                    connections.put(connection)
                answered.set()
                for payment in paying:
                    payment.result(PATIENCE)
        last = connections.get()
        assert last.execute("SELECT count(*) FROM payment WHERE state = 'paid'").fetchone() == (4,)

    def test_and_the_budget_leaves_requests_their_half(self) -> None:
        budget = ConnectionBudget(max_connections=2 * self.WORKERS - 1, reserved=0.5)
        queues = [Queue("webhook", max_workers=self.WORKERS, timeout=15)]
        with pytest.raises(BudgetExceeded, match="webhook"), Runtime(queues=queues, budget=budget):
            pytest.fail("it should have refused to start")
