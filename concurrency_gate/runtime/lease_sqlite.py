"""Leases in an SQLite file: for the processes of one machine, with nothing to install.

The file must be on a local disk: SQLite's locks do not hold on network file systems
(https://www.sqlite.org/faq.html#q5). Its clock is the machine's.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from .bounds import seconds
from .lease_sql import Dialect, Row, SQLLeases, Values

# unixepoch('subsec') would read better, but needs SQLite 3.42. Milliseconds, either way.
_DIALECT = Dialect(
    now="((julianday('now') - 2440587.5) * 86400.0)", real="REAL", parameter="?", error=sqlite3.Error
)
_NEEDED = (3, 35, 0)  # RETURNING: https://www.sqlite.org/lang_returning.html


class SQLiteLeases(SQLLeases[sqlite3.Connection]):
    """A `LeaseStore` in the file `path`, created with its table where it does not exist.

    `wait` is how many seconds an operation waits for another process that is writing before it raises
    `LeaseUnavailable`. Thread-safe and fork-safe; opens one connection a process, on first use.
    """

    def __init__(self, path: str | Path, *, wait: float = 5.0) -> None:
        if sqlite3.sqlite_version_info < _NEEDED:
            raise RuntimeError(f"SQLiteLeases needs SQLite 3.35 or newer, this is {sqlite3.sqlite_version}")
        super().__init__(_DIALECT)
        self._path = str(path)
        self._wait = seconds("wait", wait, high=3600.0)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=self._wait, isolation_level=None, check_same_thread=False
        )
        # The file survives the end of a process at any point. What a power failure may lose is the last
        # claims, and it ended their holders too. https://www.sqlite.org/pragma.html#pragma_synchronous
        try:
            for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", self.ddl):
                connection.execute(statement)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _run(self, connection: sqlite3.Connection, statement: str, values: Values) -> list[Row]:
        return connection.execute(
            statement, values
        ).fetchall()  # a statement commits when its last row is read

    def _broken(self, _connection: sqlite3.Connection, /) -> bool:
        return False

    def _close(self, connection: sqlite3.Connection) -> None:
        connection.close()
