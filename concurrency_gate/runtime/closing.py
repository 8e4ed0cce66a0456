"""Reads that end when stop comes: `closing_on_stop` ends the connection, and so whatever is blocked on it.

A stop flag is only seen between two reads, and a read may take as long as the network likes. Ending the
connection ends the read. That alone does not say why it ended, so the block then raises `Stopping`:

    with closing_on_stop(socket.create_connection(address)) as connection:
        while data := connection.recv(65536):
            handle(data)
"""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
import stat
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .errors import Stopping
from .job import Job, StopToken, current_job
from .records import DEBUG, record
from .wakeup import call_soon

T = TypeVar("T")
End = Callable[[], object]


class closing_on_stop(Generic[T]):  # noqa: N801 - named as contextlib.closing is
    """Closes `connection` after the block, and ends it the moment `stop` comes (by default: the current
    job's).

    It takes what has a socket: a `socket.socket`, with TLS or without, or an object whose `socket`, `sock` or
    `fileno()` is one (an HTTP response, a database connection, a websocket). `async with` also takes what has
    an asyncio `transport`, which it aborts, and anything whose `aclose` or `close` is a coroutine function,
    which it runs. For anything else pass `end`: a short callable that makes the blocked calls return; it runs
    in whichever thread stops. TypeError for what cannot be ended, such as a pipe: closing one does not wake
    its reader.

    Raises `Stopping` (or `JobTimeout`, if that was why) when stop came before the block or in it, whether the
    block raised, which is then the cause, or returned: what it read may have been cut short.

    A socket is shut down by whoever stops, and closed only by the block, in its own thread. A descriptor that
    is closed under its reader may be another connection's by the time it is read.
    """

    def __init__(self, connection: T, *, stop: StopToken | None = None, end: End | None = None) -> None:
        self._connection = connection
        self._stop = current_job() if stop is None else stop
        self._given_end = end
        self._ended = False
        self._undo: list[End] = []

    def __enter__(self) -> T:
        try:
            self._begin(self._given_end or self._socket_end() or self._refuse("with"))
        except BaseException:
            self._connection.close()  # type: ignore[attr-defined]
            raise
        return self._connection

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._finish()
        try:
            self._connection.close()  # type: ignore[attr-defined]
        except OSError as failure:
            error = self._excuse(failure)
        self._explain(error)

    async def __aenter__(self) -> T:
        try:
            end = self._given_end or self._transport_end() or self._socket_end() or self._coroutine_end()
            self._begin(end or self._refuse("async with"))
        except BaseException:
            await self._aclose()
            raise
        return self._connection

    async def __aexit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._finish()
        try:
            await self._aclose()
        except OSError as failure:
            error = self._excuse(failure)
        self._explain(error)

    def _begin(self, end: End) -> None:
        if self._stop.stopping:
            self._raise(None)

        def on_stop() -> None:
            self._ended = True
            end()

        self._undo.insert(0, self._stop.on_stop(on_stop))

    def _finish(self) -> None:
        for undo in self._undo:
            undo()

    def _explain(self, error: BaseException | None) -> None:
        if self._ended and (error is None or isinstance(error, Exception)):
            self._raise(error)

    def _raise(self, cause: BaseException | None) -> None:
        if isinstance(self._stop, Job):
            try:
                self._stop.check()
            except Exception as why:
                raise why from cause
        raise Stopping(f"the connection was ended by stop: {self._stop.reason}") from cause

    def _excuse(self, failure: OSError) -> OSError:
        if not self._ended:
            raise failure
        return failure  # what was still to be written went with the connection

    async def _aclose(self) -> None:
        closing = _close_method(self._connection)()
        if inspect.isawaitable(closing):
            await closing

    def _socket_end(self) -> End | None:
        for thing in (
            self._connection,
            *(getattr(self._connection, name, None) for name in ("socket", "sock")),
        ):
            if isinstance(thing, socket.socket):
                return lambda: _shut_down(thing)
        return self._descriptor_end()

    def _descriptor_end(self) -> End | None:
        try:
            number: int = self._connection.fileno()  # type: ignore[attr-defined]
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                return None
        except (AttributeError, OSError, ValueError, TypeError):  # no descriptor, or it is closed
            return None
        # shutdown() is the connection's, whichever descriptor it comes through; and this one stays ours even
        # if the owner closes its own. Making the object may switch the connection to non-blocking.
        blocking = os.get_blocking(number)
        ours = socket.socket(fileno=os.dup(number))
        os.set_blocking(number, blocking)
        self._undo.append(ours.close)
        return lambda: _shut_down(ours)

    def _transport_end(self) -> End | None:
        transport = getattr(self._connection, "transport", self._connection)
        if not isinstance(transport, asyncio.WriteTransport):
            return None
        loop = asyncio.get_running_loop()
        return lambda: call_soon(loop, transport.abort)

    def _coroutine_end(self) -> End | None:
        close = _close_method(self._connection)
        if not inspect.iscoroutinefunction(close):
            return None
        loop = asyncio.get_running_loop()
        tasks: list[asyncio.Task[Any]] = []  # the loop itself would not keep it
        return lambda: call_soon(loop, lambda: tasks.append(loop.create_task(close())))

    def _refuse(self, form: str) -> End:
        raise TypeError(
            f"connection must have a socket to be ended in a `{form}` block, and a"
            f" {type(self._connection).__name__} shows none: pass end=, a callable that ends its calls"
        )


def _shut_down(connection: socket.socket) -> None:
    try:
        # Not SSLSocket.shutdown, which takes the TLS state from under the reader.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError as error:  # not connected any more, or closed: there is no read left to end
        record(DEBUG, "there was no connection left to shut down", connection=connection, why=error)


def _close_method(connection: object) -> Callable[[], Any]:
    return getattr(connection, "aclose", None) or connection.close  # type: ignore[attr-defined,no-any-return]
