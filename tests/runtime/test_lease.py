"""KeyLease on both stores: one holder a key, over threads and processes, whatever becomes of the holder."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg
import pytest

from concurrency_gate.runtime import lease_sql
from concurrency_gate.runtime.errors import LeaseTooShort, Refuse, Snooze, Stopping
from concurrency_gate.runtime.lease import Claim, KeyBusy, KeyLease, LeaseStore, LeaseUnavailable
from concurrency_gate.runtime.lease_postgres import PostgresLeases
from concurrency_gate.runtime.lease_sql import TABLE
from concurrency_gate.runtime.lease_sqlite import SQLiteLeases

from .threads import PATIENCE, in_thread

PRELUDE = """
import pathlib, sys
from concurrency_gate.runtime.lease import KeyLease
from concurrency_gate.runtime.lease_postgres import PostgresLeases
from concurrency_gate.runtime.lease_sqlite import SQLiteLeases
"""

Store = tuple[LeaseStore, str, Callable[[str], None]]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store, an expression that makes the same store in another process, and SQL beside it."""
    if request.param == "sqlite":
        path = tmp_path / "leases.db"
        store: SQLiteLeases | PostgresLeases = SQLiteLeases(path)
        source = f"SQLiteLeases({str(path)!r})"

        def sql(statement: str) -> None:
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute(statement)
    else:
        conninfo: str = request.getfixturevalue("database")
        store = PostgresLeases(conninfo)
        store.create_table()
        source = f"PostgresLeases({conninfo!r})"

        def sql(statement: str) -> None:
            with psycopg.connect(conninfo) as connection:
                connection.execute(statement.encode())

    yield store, source, sql
    store.close()


@pytest.fixture
def lease(place: Store) -> KeyLease:
    return KeyLease(place[0], timeout=30, grace=5)


def taken(lease: KeyLease, key: str = "k") -> Claim:
    claim = lease.claim(key)
    assert claim is not None, f"{key} is busy"
    return claim


def run_out(place: Store) -> None:
    """Let every lease end now, by the only clock that counts."""
    place[2](f"UPDATE {TABLE} SET busy_until = 0")


def child(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_key_has_one_holder_and_others_are_free(lease: KeyLease) -> None:
    first = taken(lease)
    assert lease.claim("k") is None
    assert lease.claim("other") is not None
    assert 30 < first.remaining() <= lease.seconds
    assert first.release()
    assert taken(lease).attempt == 1


def test_of_many_claims_at_once_one_succeeds(lease: KeyLease) -> None:
    together = threading.Barrier(8)
    claims: list[Claim | None] = []

    def claim() -> None:
        together.wait()
        claims.append(lease.claim("k"))

    for claiming in [in_thread(claim) for _ in range(8)]:
        claiming.result(PATIENCE)
    assert sum(claim is not None for claim in claims) == 1


def test_processes_never_hold_a_key_together(place: Store, tmp_path: Path) -> None:
    """Four processes count in a file that only the lease protects: a lost update would show."""
    workers = [
        child(f"""
            lease = KeyLease({place[1]}, timeout=30)
            counter = pathlib.Path(sys.stdin.readline().strip())
            done = 0
            while done < 25:
                if (claim := lease.claim("counter")) is not None:
                    counter.write_text(str(int(counter.read_text()) + 1))
                    done += claim.release()
        """)
        for _ in range(4)
    ]
    counter = tmp_path / "counter"
    counter.write_text("0")
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(f"{counter}\n")
        worker.stdin.close()
    assert [worker.wait(60) for worker in workers] == [0, 0, 0, 0]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.close()
    assert counter.read_text() == "100"


def test_a_holder_that_is_killed_loses_the_key_when_the_lease_runs_out(place: Store, lease: KeyLease) -> None:
    holder = child(f"""
        claim = KeyLease({place[1]}, timeout=30).claim("k")
        print(claim.attempt, flush=True)
        sys.stdin.read()
    """)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "1\n"
        assert lease.claim("k") is None
        os.kill(holder.pid, signal.SIGKILL)
        assert holder.wait(10) == -signal.SIGKILL
        assert lease.claim("k") is None, "the lease must hold until it has run out"
        run_out(place)
        assert taken(lease).attempt == 2, "the attempt that killed the process must have been counted"


def test_a_lease_runs_out_by_the_databases_clock(place: Store) -> None:
    short = KeyLease(place[0], timeout=0.02, grace=0, seconds=0.05)
    first = taken(short)
    while (second := short.claim("k")) is None:
        assert first.remaining() <= 0.05
    assert second.attempt == 2
    assert first.remaining() == 0.0


def test_who_lost_a_key_can_no_longer_settle_it(
    place: Store, lease: KeyLease, caplog: pytest.LogCaptureFixture
) -> None:
    late = taken(lease)
    run_out(place)
    now = taken(lease)
    assert not late.release()
    assert not late.postpone(spent=True)
    assert not late.extend()
    assert lease.claim("k") is None, "the second holder's claim must stand"
    assert now.release()
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 3


def test_a_late_holder_keeps_the_key_if_nobody_took_it(place: Store, lease: KeyLease) -> None:
    late = taken(lease)
    run_out(place)
    assert late.extend()
    assert late.remaining() > 30
    assert lease.claim("k") is None


def test_attempts_are_counted_at_the_claim_and_given_back_by_a_snooze(lease: KeyLease) -> None:
    assert taken(lease).postpone(spent=True)
    second = taken(lease)
    assert second.attempt == 2
    assert second.postpone(spent=False)
    third = taken(lease)
    assert third.attempt == 2
    third.release()
    assert taken(lease).attempt == 1


def test_a_postponed_key_is_busy_until_then(place: Store, lease: KeyLease) -> None:
    taken(lease).postpone(60, spent=True)
    assert lease.claim("k") is None
    run_out(place)
    assert taken(lease).attempt == 2


@pytest.mark.parametrize(
    ("ending", "attempt"),
    [
        (None, 1),
        (Refuse("never again"), 1),
        (RuntimeError("failed"), 2),
        (TimeoutError("overran"), 2),
        (SystemExit(1), 2),
        (Stopping("stop"), 1),
    ],
    ids=repr,
)
def test_hold_settles_by_how_the_block_ends(
    lease: KeyLease, ending: BaseException | None, attempt: int
) -> None:
    def work() -> None:
        with lease.hold("k"):
            if ending is not None:
                raise ending

    if ending is None:
        work()
    else:
        with pytest.raises(type(ending)):
            work()
    assert taken(lease).attempt == attempt


def test_hold_lets_a_snooze_decide_when_the_key_is_free(place: Store, lease: KeyLease) -> None:
    with pytest.raises(Snooze), lease.hold("k"):
        raise Snooze(60)
    assert lease.claim("k") is None
    run_out(place)
    assert taken(lease).attempt == 1


def test_hold_of_a_busy_key_snoozes_the_job(lease: KeyLease) -> None:
    taken(lease)
    with pytest.raises(KeyBusy, match=r"key 'k' is in flight elsewhere; try again in 7 s") as busy:
        lease.hold("k", snooze=7).__enter__()
    assert isinstance(busy.value, Snooze)
    assert busy.value.seconds == 7


def test_purge_forgets_what_has_been_free_for_long(place: Store, lease: KeyLease) -> None:
    taken(lease, "old").postpone(spent=True)
    run_out(place)
    taken(lease, "fresh").postpone(spent=True)
    taken(lease, "held")
    assert lease.store.purge(3600) == 1
    assert taken(lease, "fresh").attempt == 2
    assert taken(lease, "old").attempt == 1
    assert lease.claim("held") is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"timeout": 30, "grace": 5, "seconds": 35}, r"seconds must be .* more than timeout \+ grace"),
        ({"timeout": 30, "seconds": 40}, r"seconds must be"),
        ({"timeout": 30, "seconds": float("inf")}, r"seconds must be finite"),
        ({"timeout": 0}, "timeout must be"),
        ({"timeout": 30, "grace": -1}, "grace must be"),
    ],
    ids=str,
)
def test_a_lease_that_would_not_outlast_its_job_is_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        KeyLease(SQLiteLeases(":memory:"), **arguments)
    assert isinstance(refusal.value, LeaseTooShort) == message.startswith("seconds")


def test_a_forked_child_claims_over_a_connection_of_its_own(lease: KeyLease) -> None:
    mine = taken(lease)
    child_pid = os.fork()
    if child_pid == 0:
        refused = lease.claim("k") is None
        # The parent's connection is kept, untouched: collecting it would close it.
        os._exit(0 if refused and taken(lease, "child") and len(lease_sql._inherited) == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child_pid, 0)[1]) == 0
    assert mine.release(), "the parent's connection must have survived the child"


def test_a_store_that_does_not_answer_says_so(tmp_path: Path) -> None:
    with pytest.raises(LeaseUnavailable, match="did not answer"):
        KeyLease(SQLiteLeases(tmp_path / "no such folder" / "leases.db"), timeout=1).claim("k")
    with pytest.raises(LeaseUnavailable, match="did not answer"):
        KeyLease(PostgresLeases(f"host={tmp_path} user=nobody"), timeout=1).claim("k")


def test_a_file_that_is_locked_for_too_long_is_unavailable(tmp_path: Path) -> None:
    lease = KeyLease(SQLiteLeases(tmp_path / "leases.db", wait=0.01), timeout=1)
    taken(lease, "first")
    with closing(sqlite3.connect(tmp_path / "leases.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LeaseUnavailable, match="locked"):
            lease.claim("k")
    taken(lease)


def test_a_file_that_is_no_database_costs_no_descriptor(tmp_path: Path) -> None:
    (tmp_path / "leases.db").write_bytes(b"not a database" * 100)
    lease = KeyLease(SQLiteLeases(tmp_path / "leases.db"), timeout=1)
    before = len(list(Path("/dev/fd").iterdir()))
    errors = []
    for _ in range(3):
        with pytest.raises(LeaseUnavailable, match="not a database") as refused:
            lease.claim("k")
        errors.append(refused)  # with its stack, and what stands in it
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_work_that_ended_well_stays_so_if_the_release_gets_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lease = KeyLease(SQLiteLeases(tmp_path / "leases.db", wait=0.01), timeout=1)
    with closing(sqlite3.connect(tmp_path / "leases.db", isolation_level=None)) as other:
        with lease.hold("k"):
            other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    assert "will run out by itself" in caplog.text
    assert lease.claim("k") is None


def test_postgres_leases_come_back_after_their_connection_was_ended(database: str) -> None:
    with closing(PostgresLeases(database)) as store, psycopg.connect(database, autocommit=True) as other:
        store.create_table()
        lease = KeyLease(store, timeout=30)
        first = taken(lease)
        end_the_others(other)
        assert lease.claim("k") is None
        end_the_others(other)
        assert first.release()


def test_a_claim_sent_twice_counts_once(place: Store) -> None:
    """What a reconnect may do: the first sending got through, its answer did not."""
    store = place[0]
    assert [store.claim("k", "me", 30), store.claim("k", "me", 30)] == [1, 1]
    assert store.claim("k", "other", 30) is None


def test_postgres_leases_stay_out_of_transactions_and_bound_each_statement(database: str) -> None:
    with (
        psycopg.connect(database) as blocker,
        closing(PostgresLeases(database, statement_timeout=0.05)) as store,
    ):
        store.create_table()
        lease = KeyLease(store, timeout=30)
        blocker.execute(f"LOCK TABLE {TABLE}".encode())
        with pytest.raises(LeaseUnavailable, match="statement timeout"):
            lease.claim("k")
        blocker.rollback()
        taken(lease)
        states = blocker.execute(
            "SELECT state FROM pg_stat_activity WHERE application_name = 'concurrency-gate'"
        )
        assert states.fetchall() == [("idle",)]


def test_many_sessions_may_create_the_table_at_once(database: str) -> None:
    stores = [PostgresLeases(database) for _ in range(6)]
    together = threading.Barrier(len(stores))

    def create(store: PostgresLeases) -> None:
        together.wait()
        store.create_table()

    with psycopg.connect(database, autocommit=True) as connection:
        for _ in range(10):
            creating = [in_thread(partial(create, store)) for store in stores]
            for creation in creating:
                creation.result(PATIENCE)
            connection.execute(f"DROP TABLE {TABLE}".encode())
    for store in stores:
        store.close()


def end_the_others(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """End every other session of this database, and return when they have ended."""
    connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
