"""HTTP with a bound on everything: how many are answered at a time, for how long, how many wait for news.

`http.server` has a threading server too, which starts a thread for whoever knocks. Here one thread accepts,
and a pool of the runtime answers; when it is full, the next client hears so at once.
"""

from __future__ import annotations

import json
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from concurrency_gate.runtime import PoolFull, Refused, Runtime, Stopping, closing_on_stop, current_job

from .documents import Documents

LARGEST = 1_000_000
"""Bytes that a document may have."""
BUSY = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class Server(HTTPServer):
    """Accepts in the thread that calls `serve`, answers in the queue "requests" of `runtime`."""

    def __init__(self, address: tuple[str, int], documents: Documents, runtime: Runtime) -> None:
        super().__init__(address, Handler)
        self.documents = documents
        self.runtime = runtime

    def serve(self) -> None:
        """Blocks until stop comes to the current job, then raises `Stopping`."""
        with closing_on_stop(self.socket):
            while not current_job().stopping:
                self.handle_request()

    def process_request(self, request: Any, client_address: Any) -> None:
        try:
            self.runtime["requests"].submit(self._answer, request, client_address, inherit=False)
        except (PoolFull, Stopping):
            request.sendall(BUSY)
            self.shutdown_request(request)

    def _answer(self, request: socket.socket, client_address: tuple[str, int]) -> None:
        try:
            self.finish_request(request, client_address)
        finally:
            self.shutdown_request(request)


class Handler(BaseHTTPRequestHandler):
    """POST /documents, GET /documents/<id>?wait=<seconds>, GET /search?word=, GET /metrics, GET /health."""

    server: Server
    timeout = 5  # seconds for the client to say what it wants, and to take the answer

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if self.path != "/documents" or not 0 < length <= LARGEST:
            self._json({"error": f"POST /documents, with 1 to {LARGEST} bytes"}, HTTPStatus.BAD_REQUEST)
            return
        text = self.rfile.read(length).decode("utf-8", "replace")
        self._json({"id": self.server.documents.add(text)}, HTTPStatus.CREATED)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        match url.path.split("/")[1:]:
            case ["documents", number] if number.isdecimal():
                self._document(int(number), float(query.get("wait", ["0"])[0]))
            case ["search"]:
                self._json({"documents": self.server.documents.search(query.get("word", [""])[0])})
            case ["metrics"]:
                kind = "application/openmetrics-text; version=1.0.0; charset=utf-8"
                self._send(self.server.runtime.openmetrics(), kind)
            case ["health"]:
                self._json({"stopping": current_job().stopping})
            case _:
                self._json({"error": "no such page"}, HTTPStatus.NOT_FOUND)

    def _document(self, document: int, wait: float) -> None:
        try:
            indexed = self.server.documents.is_indexed(document, wait=min(wait, 2.0))
        except (Refused, Stopping) as error:
            self._json({"error": str(error)}, HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self._json({"id": document, "indexed": indexed})

    def _json(self, answer: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(json.dumps(answer), "application/json", status)

    def _send(self, text: str, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by http.server
        """Say nothing: the runtime logs jobs."""
