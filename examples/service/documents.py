"""What the service does with documents: HTTP calls the first half, the queues the second."""

from __future__ import annotations

import logging
import urllib.request

from concurrency_gate.runtime import WaiterHub, current_job

from .store import Store, Work

log = logging.getLogger("examples.service")

INDEXED = "indexed"


class Documents:
    """Thread-safe. `hub` carries the news of what was indexed; `webhook` is told of every document."""

    def __init__(self, store: Store, hub: WaiterHub, webhook: str) -> None:
        self._store = store
        self._hub = hub
        self._webhook = webhook
        self.add = store.add
        self.search = store.search

    def is_indexed(self, document: int, *, wait: float) -> bool:
        """Whether it is, at the latest in `wait` seconds. Raises `Refused` when too many wait already."""
        if not wait > 0:
            return self._store.is_indexed(document)
        return self._hub.wait_for(
            lambda: self._store.is_indexed(document), INDEXED, str(document), timeout=wait
        )

    def index(self, work: Work) -> None:
        self._store.index(work.document)
        self._store.settle(work)
        self._hub.notify(INDEXED, str(work.document))

    def tell(self, work: Work) -> None:
        """Read, give the connection back, call, settle: nothing is held while the other side thinks."""
        text = self._store.text(work.document)
        if self._webhook:
            request = urllib.request.Request(self._webhook, data=text.encode(), method="POST")
            urllib.request.urlopen(request, timeout=current_job().http_timeout()).close()
        self._store.settle(work)

    def report(self) -> None:
        log.info("%d documents, %d words", *self._store.totals())
