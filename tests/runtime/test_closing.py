"""closing_on_stop: a read that is blocked on a real connection ends with stop, and says that it was stop."""

from __future__ import annotations

import asyncio
import http.client
import os
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from concurrency_gate.runtime.closing import closing_on_stop
from concurrency_gate.runtime.errors import JobTimeout, Stopping
from concurrency_gate.runtime.job import StopToken, current_job, job_scope

from .threads import PATIENCE, in_thread, until

AT_ONCE = 0.1
"""Seconds within which a blocked read must end after stop."""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that accepts and then says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.fixture
def address(listener: socket.socket) -> tuple[str, int]:
    host, port = listener.getsockname()
    return host, port


def in_kernel(thread_id: int) -> bool:
    """Whether that thread of this process sleeps in the kernel."""
    with open(f"/proc/self/task/{thread_id}/stat") as stat:  # noqa: PTH123 - opened in a loop
        return stat.read().rpartition(")")[2].split()[0] == "S"


def ended_by_stop(blocked: Callable[[StopToken], object]) -> float:
    """Run `blocked` in a thread, stop it when it sleeps; seconds from stop to its `Stopping`."""
    stop = StopToken()
    thread: list[int] = []
    ended: list[float] = []

    def run() -> None:
        thread.append(threading.get_native_id())
        try:
            blocked(stop)
        finally:
            ended.append(time.monotonic())

    running = in_thread(run)
    until(lambda: thread and stop._registered and in_kernel(thread[0]), "the read asleep")
    stopped = time.monotonic()
    stop.stop("shutdown")
    with pytest.raises(Stopping, match="shutdown"):
        running.result(PATIENCE)
    return ended[0] - stopped


def read_socket(stop: StopToken, address: tuple[str, int], timeout: float | None) -> None:
    with closing_on_stop(socket.create_connection(address, timeout), stop=stop) as connection:
        while connection.recv(100):
            pass


def read_response(stop: StopToken, address: tuple[str, int]) -> None:
    connection = http.client.HTTPConnection(*address)
    connection.connect()
    with closing_on_stop(connection, stop=stop):
        connection.request("GET", "/")
        connection.getresponse()


def read_file(stop: StopToken, address: tuple[str, int]) -> None:
    with closing_on_stop(socket.create_connection(address).makefile("rb"), stop=stop) as lines:
        lines.readline()


def read_selected(stop: StopToken, address: tuple[str, int]) -> None:
    with closing_on_stop(socket.create_connection(address), stop=stop) as connection:
        select.select([connection], [], [])
        connection.recv(1)


READS: dict[str, Callable[[StopToken, tuple[str, int]], None]] = {
    "socket": lambda stop, address: read_socket(stop, address, None),
    "socket with a long timeout": lambda stop, address: read_socket(stop, address, 60),
    "http response": read_response,
    "file of a socket": read_file,
    "select": read_selected,
}


@pytest.mark.parametrize("how", READS)
def test_a_blocked_read_ends_within_milliseconds_of_stop(how: str, address: tuple[str, int]) -> None:
    assert ended_by_stop(lambda stop: READS[how](stop, address)) < AT_ONCE


def test_a_blocked_accept_ends() -> None:
    def accept(stop: StopToken) -> None:
        with closing_on_stop(socket.create_server(("127.0.0.1", 0)), stop=stop) as server:
            server.accept()

    assert ended_by_stop(accept) < AT_ONCE


def test_a_blocked_datagram_read_ends() -> None:
    def read(stop: StopToken) -> None:
        with closing_on_stop(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), stop=stop) as connection:
            connection.bind(("127.0.0.1", 0))
            connection.recv(100)

    assert ended_by_stop(read) < AT_ONCE


def tls(side: int) -> ssl.SSLContext:
    """TLS without certificates, which a test of reading has no use for."""
    context = ssl.SSLContext(side)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("aNULL:@SECLEVEL=0")
    return context


def test_a_blocked_tls_read_ends(listener: socket.socket, address: tuple[str, int]) -> None:
    def serve() -> ssl.SSLSocket:
        return tls(ssl.PROTOCOL_TLS_SERVER).wrap_socket(listener.accept()[0], server_side=True)

    server = in_thread(serve)

    def read(stop: StopToken) -> None:
        plain = socket.create_connection(address)
        connection = tls(ssl.PROTOCOL_TLS_CLIENT).wrap_socket(plain)
        server.result(PATIENCE)
        with closing_on_stop(connection, stop=stop):
            connection.recv(100)

    assert ended_by_stop(read) < AT_ONCE
    server.result().close()


def test_a_query_that_runs_is_ended(database: str) -> None:
    def query(stop: StopToken) -> None:
        with closing_on_stop(psycopg.connect(database), stop=stop) as connection:
            connection.execute("SELECT pg_sleep(60)")

    assert ended_by_stop(query) < AT_ONCE


def test_a_pipe_is_refused_and_can_be_ended_by_its_process() -> None:
    silent = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]
    with subprocess.Popen(silent, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        refused = open(os.dup(process.stdout.fileno()), "rb")  # noqa: PTH123, SIM115 - closed by what is tested
        with (
            pytest.raises(TypeError, match=r"BufferedReader shows none: pass end="),
            closing_on_stop(refused),
        ):
            pass
        assert refused.closed

        def read(stop: StopToken) -> None:
            with closing_on_stop(process.stdout, stop=stop, end=process.kill) as output:
                assert output is not None
                output.read()

        assert ended_by_stop(read) < 10 * AT_ONCE  # a process takes a little longer than a socket


def test_what_was_read_is_not_taken_for_whole(address: tuple[str, int]) -> None:
    """A reader sees stop as an ordinary end of the stream; the block must not return as if it were one."""
    stop, connection = StopToken(), socket.create_connection(address)

    def read() -> None:
        with closing_on_stop(connection, stop=stop):
            stop.stop()
            assert connection.recv(100) == b""

    with pytest.raises(Stopping):
        read()
    assert connection.fileno() == -1


def test_an_error_without_stop_stays_what_it_is(address: tuple[str, int]) -> None:
    with (
        pytest.raises(ConnectionResetError),
        closing_on_stop(socket.create_connection(address), stop=StopToken()) as connection,
    ):
        raise ConnectionResetError
    assert connection.fileno() == -1


def test_an_error_after_stop_is_its_cause(address: tuple[str, int]) -> None:
    stop = StopToken()

    def read() -> None:
        with closing_on_stop(socket.create_connection(address), stop=stop):
            stop.stop()
            raise OSError("reset")

    with pytest.raises(Stopping) as stopped:
        read()
    assert repr(stopped.value.__cause__) == "OSError('reset')"


def test_what_can_no_longer_be_written_is_not_the_news(address: tuple[str, int]) -> None:
    stop = StopToken()

    def write() -> None:
        with closing_on_stop(socket.create_connection(address).makefile("wb"), stop=stop) as output:
            output.write(b"buffered until it is closed")
            stop.stop()

    with pytest.raises(Stopping) as stopped:
        write()
    assert isinstance(stopped.value.__cause__, BrokenPipeError)


def test_a_stop_before_the_block_closes_and_does_not_enter(address: tuple[str, int]) -> None:
    stop = StopToken()
    stop.stop("shutdown")
    connection = socket.create_connection(address)
    with pytest.raises(Stopping, match="shutdown"), closing_on_stop(connection, stop=stop):
        pytest.fail("entered")
    assert connection.fileno() == -1


def test_the_current_job_is_the_default_and_its_deadline_is_told_from_stop(address: tuple[str, int]) -> None:
    def read(first: Callable[[], object]) -> None:
        with closing_on_stop(socket.create_connection(address)) as connection:
            first()
            current_job().stop("shutdown")  # as a pool does at the deadline too
            connection.recv(1)

    with job_scope("read", timeout=60), pytest.raises(Stopping, match="shutdown"):
        read(first=current_job)
    with job_scope("read", timeout=0.01) as job, pytest.raises(JobTimeout):
        read(first=lambda: job.wait(None))


def test_nothing_is_left_behind(address: tuple[str, int]) -> None:
    stop = StopToken()
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with closing_on_stop(socket.create_connection(address), stop=stop):
        pass
    connection = http.client.HTTPConnection(*address)
    connection.connect()
    with closing_on_stop(connection, stop=stop):
        pass
    stream = socket.create_connection(address)
    with closing_on_stop(stream.makefile("rb"), stop=stop):
        stream.close()
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    assert not stop._registered


def test_looking_at_a_descriptor_does_not_change_its_mode(address: tuple[str, int]) -> None:
    stream = socket.create_connection(address).makefile("rb")
    socket.setdefaulttimeout(5)
    try:
        with closing_on_stop(stream, stop=StopToken()):
            assert os.get_blocking(stream.fileno())
    finally:
        socket.setdefaulttimeout(None)


# asyncio


async def ended_by_stop_async(connection: Any, read: Callable[[], Any]) -> float:
    """Block a task on `read()`, stop it from another thread; seconds from stop to its `Stopping`."""
    stop = StopToken()
    entered = asyncio.Event()

    async def run() -> None:
        async with closing_on_stop(connection, stop=stop):
            entered.set()
            await read()

    task = asyncio.create_task(run())
    await entered.wait()
    stopped = time.monotonic()
    await asyncio.to_thread(stop.stop, "shutdown")
    with pytest.raises(Stopping, match="shutdown"):
        await task
    return time.monotonic() - stopped


def test_a_stream_that_is_awaited_ends(address: tuple[str, int]) -> None:
    async def main() -> float:
        reader, writer = await asyncio.open_connection(*address)
        taken = await ended_by_stop_async(writer, lambda: reader.read(100))
        assert writer.is_closing()
        return taken

    assert asyncio.run(main()) < AT_ONCE


def test_a_socket_that_the_loop_reads_ends(address: tuple[str, int]) -> None:
    async def main() -> float:
        connection = socket.create_connection(address)
        connection.setblocking(False)
        return await ended_by_stop_async(
            connection, lambda: asyncio.get_running_loop().sock_recv(connection, 100)
        )

    assert asyncio.run(main()) < AT_ONCE


class Session:
    """What has neither socket nor transport to show, as the websockets of some clients."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.closed = 0

    async def receive(self) -> None:
        await self.over.wait()
        raise ConnectionError("closed")

    async def close(self) -> None:
        self.closed += 1
        self.over.set()


def test_what_can_only_be_closed_by_a_coroutine_ends() -> None:
    async def main() -> float:
        session = Session()
        taken = await ended_by_stop_async(session, session.receive)
        assert session.closed == 2, "once by stop, once by the block"
        return taken

    assert asyncio.run(main()) < AT_ONCE


def test_a_cancelled_block_stays_cancelled(address: tuple[str, int]) -> None:
    async def main() -> None:
        stop = StopToken()
        reader, writer = await asyncio.open_connection(*address)

        async def run() -> None:
            async with closing_on_stop(writer, stop=stop):
                await reader.read(100)

        task = asyncio.create_task(run())
        await asyncio.to_thread(until, lambda: stop._registered, "the block entered")
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert writer.is_closing()

    asyncio.run(main())


def test_an_asyncio_stream_is_refused_by_the_plain_form(address: tuple[str, int]) -> None:
    async def main() -> None:
        _, writer = await asyncio.open_connection(*address)
        with pytest.raises(TypeError, match="to be ended in a `with` block"), closing_on_stop(writer):
            pass

    asyncio.run(main())
    assert not current_job().stopping
