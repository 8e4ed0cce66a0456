"""The one table behind every lease, and the statements on it, for databases that speak SQL with upserts.

Each operation is one statement in autocommit: nothing is read first and written later, no transaction of the
caller's is touched, and the only clock asked is the database's. What differs between databases is in
`Dialect`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from . import fork
from .lease import LeaseUnavailable

TABLE = "concurrency_gate_lease"

Row = tuple[Any, ...]
Values = Sequence[str | float]
Connection = TypeVar("Connection")

# A forked child must neither use its parent's connection nor close it: it is kept here, where nothing
# collects it. (For SQLite see https://www.sqlite.org/howtocorrupt.html, 2.6.)
_inherited: list[object] = []


@dataclass(frozen=True)
class Dialect:
    """`now`: the database's clock, in seconds since 1970; `real`: a type that holds it."""

    now: str
    real: str
    parameter: str
    error: type[Exception]


class SQLLeases(ABC, Generic[Connection]):
    """A `LeaseStore` over one table and one connection a process. Thread-safe and fork-safe."""

    def __init__(self, dialect: Dialect) -> None:
        self._connection: Connection | None = None
        self.after_fork()
        fork.watch(self)
        self._error = dialect.error
        self.ddl = (
            f"CREATE TABLE IF NOT EXISTS {TABLE} (key text PRIMARY KEY, owner text NOT NULL,"
            f" busy_until {dialect.real} NOT NULL, attempts integer NOT NULL)"
        )
        now, p = dialect.now, dialect.parameter
        # The second condition makes a claim safe to send again after a lost connection: whoever holds the row
        # under this very owner took it with the first sending, and that attempt is not counted twice.
        self._claim = (
            f"INSERT INTO {TABLE} (key, owner, busy_until, attempts) VALUES ({p}, {p}, {now} + {p}, 1)"
            f" ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, busy_until = {now} + {p}, attempts ="
            f" CASE WHEN {TABLE}.owner = excluded.owner THEN {TABLE}.attempts ELSE {TABLE}.attempts + 1 END"
            f" WHERE {TABLE}.busy_until <= {now} OR {TABLE}.owner = excluded.owner RETURNING attempts"
        )
        mine = f"WHERE key = {p} AND owner = {p}"
        self._extend = f"UPDATE {TABLE} SET busy_until = {now} + {p} {mine} RETURNING attempts"
        self._postpone = (
            f"UPDATE {TABLE} SET owner = '', busy_until = {now} + {p}, attempts = attempts - {p} {mine}"
            f" RETURNING attempts"
        )
        self._release = f"DELETE FROM {TABLE} {mine} RETURNING attempts"
        self._purge = f"DELETE FROM {TABLE} WHERE busy_until <= {now} - {p} RETURNING key"

    def after_fork(self) -> None:
        """Begin without a connection: it is the parent's."""
        if self._connection is not None:
            _inherited.append(self._connection)
        self._connection, self._lock = None, threading.Lock()

    def claim(self, key: str, owner: str, seconds: float) -> int | None:
        """See `LeaseStore`."""
        rows = self._rows(self._claim, (key, owner, seconds, seconds))
        return int(rows[0][0]) if rows else None

    def extend(self, key: str, owner: str, seconds: float) -> bool:
        """See `LeaseStore`."""
        return bool(self._rows(self._extend, (seconds, key, owner)))

    def postpone(self, key: str, owner: str, seconds: float, *, spent: bool) -> bool:
        """See `LeaseStore`."""
        return bool(self._rows(self._postpone, (seconds, 0 if spent else 1, key, owner)))

    def release(self, key: str, owner: str) -> bool:
        """See `LeaseStore`."""
        return bool(self._rows(self._release, (key, owner)))

    def purge(self, idle: float) -> int:
        """See `LeaseStore`."""
        return len(self._rows(self._purge, (idle,)))

    def close(self) -> None:
        """Close the connection. The next operation opens a new one."""
        with self._lock:
            if self._connection is not None:
                self._close(self._connection)
                self._connection = None

    def _rows(self, statement: str, values: Values) -> list[Row]:
        """Run one statement and return its rows; twice where the connection turned out to be broken."""
        with self._lock:
            try:
                if self._connection is not None:
                    try:
                        return self._run(self._connection, statement, values)
                    except self._error:
                        if not self._broken(self._connection):
                            raise
                        self._connection = None
                self._connection = self._open()
                return self._run(self._connection, statement, values)
            except self._error as error:
                raise LeaseUnavailable(f"the lease database did not answer: {error}") from error

    @abstractmethod
    def _open(self) -> Connection: ...

    @abstractmethod
    def _run(self, connection: Connection, statement: str, values: Values) -> list[Row]: ...

    @abstractmethod
    def _broken(self, _connection: Connection, /) -> bool: ...

    @abstractmethod
    def _close(self, connection: Connection) -> None: ...
