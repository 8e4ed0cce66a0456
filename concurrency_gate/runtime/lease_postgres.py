"""Leases in PostgreSQL: for the processes of many machines. Needs psycopg 3 (the extra `postgres`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .bounds import seconds
from .lease_sql import TABLE, Dialect, Row, SQLLeases, Values
from .postgres import Connect, connect, psycopg_module

if TYPE_CHECKING:
    import psycopg


class PostgresLeases(SQLLeases["psycopg.Connection[Any]"]):
    """A `LeaseStore` in a PostgreSQL table, over one connection a process, of its own and in autocommit.

    `source` is a conninfo string or a callable that returns a new psycopg connection. It is opened on first
    use, and anew when an operation finds it broken; it counts against the server's `max_connections`. Create
    the table with `create_table()`, or put `ddl` into a migration. `statement_timeout` (seconds) bounds each
    operation. Thread-safe and fork-safe.
    """

    def __init__(self, source: Connect, *, statement_timeout: float = 5.0) -> None:
        super().__init__(
            Dialect(
                now="extract(epoch FROM clock_timestamp())::double precision",
                real="double precision",
                parameter="%s",
                error=psycopg_module().Error,
            )
        )
        self._source = source
        limit = seconds("statement_timeout", statement_timeout, low=0.001, high=3600.0)
        self._statement_timeout = f"{limit * 1000:.0f}ms"

    def create_table(self) -> None:
        """Create the table where it is missing. Blocks. Several processes may do so at once."""
        # IF NOT EXISTS alone lets one of two creations at once fail, in several ways: they take turns.
        turn = f"PERFORM pg_advisory_xact_lock(hashtextextended('{TABLE}', 0))"
        self._rows(f"DO $$ BEGIN {turn}; {self.ddl}; END $$", ())

    def _open(self) -> psycopg.Connection[Any]:
        connection = connect(self._source)
        try:
            connection.execute("SELECT set_config('statement_timeout', %s, false)", [self._statement_timeout])
        except psycopg_module().Error:
            connection.close()
            raise
        return connection

    def _run(self, connection: psycopg.Connection[Any], statement: str, values: Values) -> list[Row]:
        cursor = connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []

    def _broken(self, connection: psycopg.Connection[Any], /) -> bool:
        return connection.closed

    def _close(self, connection: psycopg.Connection[Any]) -> None:
        connection.close()
