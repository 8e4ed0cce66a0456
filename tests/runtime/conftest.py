"""One PostgreSQL for all the tests; and none may leave a thread or process behind that it did not find."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator

import pytest

from concurrency_gate.runtime.detached import detached

from .postgres import database, postgres_server

__all__ = ["database", "postgres_server"]


@pytest.fixture(autouse=True)
def _nothing_left_over() -> Iterator[None]:
    before = set(threading.enumerate())
    processes = set(multiprocessing.active_children())
    yield
    detached.settle(1.0)
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(timeout=5.0)
    assert [thread.name for thread in left if thread.is_alive()] == []
    assert set(multiprocessing.active_children()) - processes == set()
