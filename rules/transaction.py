"""CG2, transactions: nothing slow while a database transaction is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from concurrency_gate.rule import ModuleRule

if TYPE_CHECKING:
    import libcst as cst

    from concurrency_gate.reach.findings import Reach

_SQLITE = "import sqlite3\nimport requests\ndef pay():\n    connection = sqlite3.connect('shop.db')\n"
_DJANGO = "from django.db import transaction\n"


class TransactionRule(ModuleRule):
    """What the rules have in common: a place in a block, the effect that it reaches, and the way there."""

    implicit: ClassVar[bool] = False
    """Whether the rule is about transactions that begin by themselves."""
    what: ClassVar[str]
    """Completes "... {what} inside ...", said of the effect."""

    def visit_Name(self, node: cst.Name) -> None:  # noqa: N802 - LibCST's spelling
        self._judge(node)

    def visit_Attribute(self, node: cst.Attribute) -> None:  # noqa: N802
        self._judge(node)

    def visit_Call(self, node: cst.Call) -> None:  # noqa: N802
        self._judge(node)

    def visit_Subscript(self, node: cst.Subscript) -> None:  # noqa: N802
        self._judge(node)

    def _judge(self, node: cst.CSTNode) -> None:
        for reach in self.file.reaches_at(node, self.effects):
            if reach.implicit != self.implicit:
                continue
            advice = f"{self.instead}; {reach.instead}" if reach.instead else self.instead
            chain = reach.chain if len(reach.chain) > 1 else ()
            self.report(node, self._message(reach), advice, chain, reach.unsure, reach.doubt)

    def _message(self, reach: Reach) -> str:
        text = f"{reach.effect} {self.what} inside {reach.opener} (line {reach.block_line})"
        return f"{text}, through {' -> '.join(reach.way)}" if reach.way else text


class NetworkInTransaction(TransactionRule):
    code = "CG201"
    name = "network-in-transaction"
    effects = frozenset({"network", "cache", "storage"})
    summary = "A call in a transaction block reaches the network."
    what = "reaches the network"
    why = (
        "The connection and its locks are held for as long as somebody else's server feels like taking: eight workers "
        "that wait 15 seconds each drain a pool, and every request queues behind them."
    )
    instead = "read what you need, leave the transaction, then call"
    red = (
        _DJANGO + "import requests\ndef pay(order):\n    with transaction.atomic():\n        order.save()\n"
        "        requests.post('https://bank.example/pay', timeout=5)\n",
        {
            "shop/__init__.py": "",
            "shop/gateway.py": "import httpx\nclass Gateway:\n    def capture(self):\n"
            "        return httpx.post('https://bank.example', timeout=5)\n",
            "shop/orders.py": _DJANGO + "from .gateway import Gateway\n@transaction.atomic\ndef pay(order):\n"
            "    charge(Gateway())\n    order.save()\ndef charge(gateway):\n    gateway.capture()\n",
        },
    )
    green = (
        _DJANGO + "import requests\ndef pay(order):\n    with transaction.atomic():\n        order.save()\n"
        "    requests.post('https://bank.example/pay', timeout=5)\n",
        _DJANGO + "import requests\ndef pay(order):\n    with transaction.atomic():\n        order.save()\n"
        "        transaction.on_commit(lambda: requests.post('https://bank.example/pay', timeout=5))\n",
    )
    plant = (
        _DJANGO + "import requests\n\n\ndef planted():\n    with transaction.atomic():\n"
        "        requests.post('https://planted.example', timeout=5)\n"
    )


class EnqueueInTransaction(TransactionRule):
    code = "CG202"
    name = "enqueue-in-transaction"
    effects = frozenset({"enqueue"})
    summary = "A message is published to a broker before the commit."
    what = "publishes before the commit"
    why = (
        "A worker can run before the row that the message speaks of exists, or although it was rolled back; and the "
        "connection is held while the broker answers."
    )
    instead = "publish after the commit, or write an outbox row in the transaction"
    red = (
        _DJANGO
        + "from celery import shared_task\n@shared_task\ndef mail(pk):\n    pass\n@transaction.atomic\n"
        "def pay(order):\n    order.save()\n    mail.delay(order.pk)\n",
    )
    green = (
        _DJANGO
        + "from functools import partial\nfrom celery import shared_task\n@shared_task\ndef mail(pk):\n"
        "    pass\n@transaction.atomic\ndef pay(order):\n    order.save()\n"
        "    transaction.on_commit(partial(mail.delay, order.pk))\n    mail.delay_on_commit(order.pk)\n",
    )
    plant = (
        _DJANGO
        + "from celery import shared_task\n\n\n@shared_task\ndef job():\n    pass\n\n\n@transaction.atomic\n"
        "def planted():\n    job.delay()\n"
    )


class WaitInTransaction(TransactionRule):
    code = "CG203"
    name = "wait-in-transaction"
    effects = frozenset({"wait"})
    summary = "A sleep, a subprocess or a wait while the connection is held."
    what = "waits"
    why = "The connection and its locks are held for nothing; whoever needs them waits too."
    instead = "wait before the transaction or after it"
    red = (
        _DJANGO + "import time\ndef retry(order):\n    with transaction.atomic():\n        order.save()\n"
        "        time.sleep(1)\n",
    )
    green = (
        _DJANGO + "import time\ndef retry(order):\n    with transaction.atomic():\n        order.save()\n"
        "    time.sleep(1)\n",
    )
    plant = (
        _DJANGO + "import time\n\n\ndef planted():\n    with transaction.atomic():\n        time.sleep(1)\n"
    )


class NetworkInOpenSession(TransactionRule):
    code = "CG204"
    name = "network-in-open-session"
    effects = frozenset({"network", "cache", "storage"})
    implicit = True
    summary = "A call reaches the network while a session's own transaction is open."
    what = "reaches the network"
    why = (
        "A session or connection begins a transaction at its first statement, and holds it until commit, rollback or "
        "close, whether or not a block says so."
    )
    instead = "commit, roll back or close first, then call"
    red = (
        _SQLITE + "    connection.execute('UPDATE orders SET paid = 1')\n"
        "    requests.post('https://bank.example', timeout=5)\n    connection.commit()\n",
    )
    green = (
        _SQLITE + "    connection.execute('UPDATE orders SET paid = 1')\n    connection.commit()\n"
        "    requests.post('https://bank.example', timeout=5)\n",
    )
    plant = (
        "import sqlite3\nimport requests\n\n\ndef planted():\n    connection = sqlite3.connect('planted.db')\n"
        "    connection.execute('DELETE FROM planted')\n    requests.post('https://planted.example', timeout=5)\n"
    )


RULES = (NetworkInTransaction, EnqueueInTransaction, WaitInTransaction, NetworkInOpenSession)
