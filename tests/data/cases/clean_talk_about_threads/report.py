"""Counts threads; starts none: threading.Thread(target=print).start()."""

import threading
from concurrent.futures import Executor, Future


def describe(worker: threading.Thread | None, pool: Executor) -> str:
    if isinstance(worker, threading.Thread):
        return worker.name
    return f"{threading.active_count()} threads, {type(pool).__name__}"


def wait(future: "Future[int]") -> int:
    try:
        return future.result(timeout=5)
    except TimeoutError:
        return -1
