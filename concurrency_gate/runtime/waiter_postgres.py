"""Notices from PostgreSQL: LISTEN on one connection a process. Needs psycopg 3 (the extra `postgres`).

Send them where the data is written, in the same transaction, so that they come with the commit:
`SELECT pg_notify('indexed', '42')`, the key being the payload.
"""

from __future__ import annotations

import random
import selectors
import socket
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import fork
from .job import StopToken
from .postgres import Connect, connect, psycopg_module
from .records import WARNING, record

if TYPE_CHECKING:
    import psycopg

Notify = Callable[[str, str], object]

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two attempts to reconnect: doubled each time, with jitter."""
HEARTBEAT = 15.0
"""Seconds of silence after which the listener asks the server whether it is still there."""


class PostgresNotices:
    """A `NoticeSource` for the given PostgreSQL `channels`, over one connection and one thread a process.

    `source` is a conninfo string or a callable that returns a new psycopg connection; it must lead to the
    server itself or to a pooler in session mode, since LISTEN belongs to a session. A lost connection is
    opened again for as long as it takes, and everybody is woken then. Serves one hub. Thread-safe, fork-safe.
    """

    def __init__(self, source: Connect, channels: Iterable[str]) -> None:
        self.channels = frozenset([channels] if isinstance(channels, str) else channels)
        if not self.channels:
            raise ValueError("channels must name at least one channel to listen to")
        psycopg_module()  # what is missing is said here, not in the listener's thread
        self._source = source
        self.after_fork()
        fork.watch(self)

    def after_fork(self) -> None:
        """Begin without a listener: its thread and its connection are the parent's."""
        self._lock = threading.Lock()
        self._listener: _Listener | None = None

    @property
    def connects(self) -> int:
        """How often the running listener has connected; 0 while it never has."""
        return self._listener.connects if self._listener is not None else 0

    def start(self, notify: Notify, wake_all: Callable[[], object]) -> None:
        """See `NoticeSource`. The connection is made in the background, so a server that is down costs nobody
        anything but the notices.
        """
        with self._lock:
            if self._listener is None:
                self._listener = _Listener(self._source, sorted(self.channels), notify, wake_all)
            elif self._listener.notify != notify:
                raise ValueError("source already serves another WaiterHub; give each hub its own")

    def stop(self) -> None:
        """See `NoticeSource`. Waits for the listener's end up to a second: it may be busy connecting."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()


class _Listener:
    """The thread that owns the connection, and gives it up whatever ended the listening."""

    def __init__(
        self, source: Connect, channels: list[str], notify: Notify, wake_all: Callable[[], object]
    ) -> None:
        self.notify = notify
        self.connects = 0
        self._source = source
        self._channels = channels
        self._wake_all = wake_all
        self._stop = StopToken()
        self._thread = threading.Thread(target=self._run, name="concurrency-gate-listen", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.stop()
        self._thread.join(1.0)

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stop.stopping:
            before = self.connects
            try:
                with connect(self._source) as connection:
                    self._listen(connection)
            except Exception as error:  # whatever it is, the listener must outlive it
                record(WARNING, "listening to PostgreSQL was interrupted", channels=self._channels, why=error)
            if self.connects > before:
                pause = FIRST_PAUSE
            self._stop.wait(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE)

    def _listen(self, connection: psycopg.Connection[Any]) -> None:
        sql = psycopg_module().sql
        connection.add_notify_handler(self._on_notice)
        for channel in self._channels:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        self.connects += 1
        self._wake_all()
        ring, bell = socket.socketpair()
        withdraw = self._stop.on_stop(lambda: ring.send(b"!"))
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(connection, selectors.EVENT_READ)
                selector.register(bell, selectors.EVENT_READ)
                while not self._stop.stopping:
                    self._pass_on(connection, heard=bool(selector.select(HEARTBEAT)))
        finally:
            withdraw()
            ring.close()
            bell.close()

    def _on_notice(self, notice: psycopg.Notify) -> None:
        self.notify(notice.channel, notice.payload)

    def _pass_on(self, connection: psycopg.Connection[Any], *, heard: bool) -> None:
        if not heard:
            connection.execute("SELECT 1")  # a notice that comes with the answer goes to the handler
            return
        connection.pgconn.consume_input()
        while (notice := connection.pgconn.notifies()) is not None:
            self.notify(notice.relname.decode(), notice.extra.decode())
