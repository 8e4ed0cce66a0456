"""The example service as a child process: used over HTTP, ended by SIGTERM."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from .threads import PATIENCE, in_thread, until

ROOT = Path(__file__).parents[2]


class Service:
    """A running service; everything it logs goes to one file."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._log = folder / "service.log"
        command = [sys.executable, "-m", "examples.service", "--data", str(folder / "service.db"), *options]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        until(lambda: self._address() or self.process.poll() is not None, "the service's address")
        assert self.process.poll() is None, self.log
        self.url = self._address()

    def _address(self) -> str:
        found = re.search(r"listening on (http://\S+)", self.log)
        return found.group(1) if found else ""

    @property
    def log(self) -> str:
        return self._log.read_text()

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as answer:
            text = answer.read().decode()
            return json.loads(text) if answer.headers["Content-Type"] == "application/json" else text

    def post(self, text: str) -> int:
        with urllib.request.urlopen(f"{self.url}/documents", text.encode(), timeout=PATIENCE) as answer:
            assert answer.status == 201
            return int(json.load(answer)["id"])

    def wait_for_index(self, document: int) -> None:
        until(lambda: self.get(f"/documents/{document}?wait=2")["indexed"], f"the index of {document}")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@pytest.fixture
def services() -> Iterator[list[Service]]:
    started: list[Service] = []
    yield started
    for service in started:
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait()


@pytest.fixture
def service(tmp_path: Path, services: list[Service]) -> Service:
    services.append(Service(tmp_path))
    return services[0]


def test_a_document_is_found_when_its_waiter_returns(service: Service) -> None:
    document = service.post("Bounded, time-limited, stoppable")
    assert service.get(f"/documents/{document}?wait=2") == {"id": document, "indexed": True}
    assert service.get("/search?word=stoppable") == {"documents": [document]}
    assert service.get("/documents/99") == {"id": 99, "indexed": False}
    metrics = service.get("/metrics")
    assert "index" in metrics
    assert metrics.endswith("# EOF\n")


def test_sigterm_ends_it_in_order_and_with_success(service: Service) -> None:
    document = service.post("the last words")
    service.get(f"/documents/{document}?wait=2")
    assert service.end() == 0, service.log
    assert "Traceback" not in service.log
    with pytest.raises(urllib.error.URLError):
        service.get("/health")


def test_what_was_accepted_before_the_end_is_done_after_the_next_start(
    tmp_path: Path, services: list[Service]
) -> None:
    services.append(Service(tmp_path))
    documents = [services[0].post(f"document number{number}") for number in range(50)]
    assert services[0].end() == 0, services[0].log
    (tmp_path / "service.log").unlink()
    services.append(Service(tmp_path))
    for document in documents:
        services[1].wait_for_index(document)
    assert services[1].end() == 0, services[1].log


class Receiver(BaseHTTPRequestHandler):
    received: list[str]

    def do_POST(self) -> None:
        self.received.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by http.server
        pass


def test_the_webhook_gets_each_document_once(tmp_path: Path, services: list[Service]) -> None:
    received: list[str] = []
    handler = type("Handler", (Receiver,), {"received": received})
    with HTTPServer(("127.0.0.1", 0), handler) as endpoint:
        serving: Future[None] = in_thread(lambda: endpoint.serve_forever(poll_interval=0.01))
        try:
            services.append(Service(tmp_path, "--webhook", f"http://127.0.0.1:{endpoint.server_port}/"))
            for number in range(5):
                services[0].post(f"text {number}")
            until(lambda: len(received) >= 5, "five calls")
            assert services[0].end() == 0, services[0].log
        finally:
            endpoint.shutdown()
        serving.result(PATIENCE)
    assert sorted(received) == [f"text {number}" for number in range(5)]


def test_a_silent_webhook_fills_its_own_queue_and_no_other(tmp_path: Path, services: list[Service]) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        services.append(
            Service(tmp_path, "--webhook", f"http://127.0.0.1:{silent.getsockname()[1]}/", "--grace", "0.5")
        )
        documents = [services[0].post(f"word{number}") for number in range(30)]
        stuck = 'running{pool="webhook",kind="thread"} 4'
        until(lambda: stuck in services[0].get("/metrics"), "every worker of the webhook queue calling")
        documents += [services[0].post(f"later{number}") for number in range(5)]
        for document in documents:
            services[0].wait_for_index(document)
        assert services[0].end() == 0, services[0].log
        assert "unfinished=4" in services[0].log, "what did not end must be reported"


def test_too_many_waiters_are_told_so_at_once(service: Service) -> None:
    def wait() -> int:
        try:
            service.get("/documents/99?wait=1")
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    codes = [waiter.result(PATIENCE) for waiter in [in_thread(wait) for _ in range(40)]]
    assert set(codes) == {200, 503}
    assert codes.count(200) >= 8, "as many as the hub has places"


def test_a_waiting_client_gets_an_answer_when_the_end_comes(service: Service) -> None:
    def wait() -> int:
        with pytest.raises(urllib.error.HTTPError) as answer:
            service.get("/documents/99?wait=2")
        return answer.value.code

    waiting = in_thread(wait)
    until(lambda: 'running{pool="requests",kind="thread"} 2' in service.get("/metrics"), "both requests")
    assert service.end() == 0, service.log
    assert waiting.result(PATIENCE) == 503


def test_it_passes_the_gate_with_all_rules_on_as_a_project_of_its_own(tmp_path: Path) -> None:
    """No infra path, no exclusion, every kind of network counted; and the gate does look at it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "concurrency-gate.toml").write_text("cache = true\nstorage = true\n")

    def gate() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "concurrency_gate", "check"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    clean = gate()
    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert f"Checked {len(list((tmp_path / 'examples').rglob('*.py')))} files" in clean.stdout
    with (tmp_path / "examples/service/web.py").open("a") as module:
        module.write("\nimport threading\n\nthreading.Thread(target=print).start()\n")
    planted = gate()
    assert planted.returncode == 1
    assert "CG101" in planted.stdout
