"""A small service: documents come in over HTTP, are indexed, and a webhook is told of them.

python -m examples.service --port 8080 --data documents.db --webhook https://example.org/hook
"""

from __future__ import annotations

import argparse
import logging
from contextlib import suppress
from functools import partial
from pathlib import Path

from concurrency_gate.runtime import (
    ConnectionBudget,
    KeyLease,
    Periodic,
    Queue,
    Relay,
    Retry,
    Runtime,
    SQLiteLeases,
    Stopping,
    WaiterHub,
)

from .documents import Documents, log
from .store import Store, Work
from .web import Server

WEBHOOK_TIMEOUT = 15.0


def build(documents: Documents, store: Store, data: Path, grace: float) -> Runtime:
    """Everything that runs beside the requests, with its bounds."""
    lease = KeyLease(SQLiteLeases(data.with_suffix(".leases")), timeout=WEBHOOK_TIMEOUT, grace=grace)
    return Runtime(
        queues=[
            Queue("index", max_workers=2, timeout=10),
            # Across all processes at most one call for a document at a time. A webhook that is slow or down
            # fills this queue; its relay then takes no more, and nothing else notices.
            Queue("webhook", max_workers=4, timeout=WEBHOOK_TIMEOUT, retry=Retry(3), lease=lease),
            # Requests live off the connections that the budget reserves for them.
            Queue("requests", max_workers=16, max_pending=16, timeout=10, connections=0),
        ],
        relays=[
            Relay("index outbox", "index", partial(store.take, "index"), documents.index, every=0.05),
            Relay("webhook outbox", "webhook", partial(store.take, "webhook"), documents.tell, key=key),
        ],
        periodics=[Periodic(documents.report, every=60)],
        budget=ConnectionBudget(max_connections=20, reserved=0.5),
        grace=grace,
    )


def key(work: Work) -> str:
    return f"document:{work.document}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.service", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    parser.add_argument("--data", type=Path, default=Path("documents.db"))
    parser.add_argument("--webhook", default="", help="a URL that gets each document by POST")
    parser.add_argument("--grace", type=float, default=10.0, help="seconds for running work at the end")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")

    store = Store(options.data)
    with WaiterHub(max_waiters=8) as hub:
        documents = Documents(store, hub, options.webhook)

        def serve(runtime: Runtime) -> None:
            with Server(("127.0.0.1", options.port), documents, runtime) as server:
                log.info("listening on http://127.0.0.1:%d", server.server_port)
                with suppress(Stopping):  # the orderly end
                    server.serve()

        build(documents, store, options.data, options.grace).run(serve)
    log.info("given back: %d", store.give_back())


if __name__ == "__main__":
    main()
