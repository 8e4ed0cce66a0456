"""A verdict rests on parts of other modules: on outlines and on the bodies of the functions that were read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from concurrency_gate import cache, config, gate
from concurrency_gate.rule import Report

SHOP = {
    "orders.py": "from django.db import transaction\nimport bank\n"
    "with transaction.atomic():\n    bank.{call}\n",
    "bank.py": "{bank}",
    "wire.py": "import requests\ndef send():\n    requests.post('x')\ndef idle():\n    pass\n",
}
CHANGES = {
    "a body": ("pay()", "def pay():\n    pass\n", "import wire\ndef pay():\n    wire.send()\n"),
    "a body alone": (
        "pay()",
        "import wire\ndef pay():\n    pass\n",
        "import wire\ndef pay():\n    wire.send()\n",
    ),
    "a decorator": (
        "pay()",
        "import wire\ndef loud(f):\n    def inner():\n        wire.send()\n    return inner\ndef pay():\n    pass\n",
        "import wire\ndef loud(f):\n    def inner():\n        wire.send()\n    return inner\n"
        "@loud\ndef pay():\n    pass\n",
    ),
    "a constant": (
        "pay()",
        "import wire\nON = None\ndef pay():\n    (ON or wire.idle)()\n",
        "import wire\nON = wire.send\ndef pay():\n    (ON or wire.idle)()\n",
    ),
    "a base class": (
        "Card().pay()",
        "import wire\nclass Loud:\n    def pay(self):\n        wire.send()\nclass Card:\n    pass\n",
        "import wire\nclass Loud:\n    def pay(self):\n        wire.send()\nclass Card(Loud):\n    pass\n",
    ),
    "a star import": ("send()", "from os import *\n", "from wire import *\n"),
    "a re-export": ("pay()", "from wire import idle as pay\n", "from wire import send as pay\n"),
    "a global name": (
        "pay()",
        "import wire\npay = wire.idle\ndef arm():\n    global pay\n    pay = wire.idle\n",
        "import wire\npay = wire.idle\ndef arm():\n    global pay\n    pay = wire.send\n",
    ),
    "what a constructor keeps": (
        "Card().pay()",
        "import wire\nclass Card:\n    def __init__(self):\n        self.pay = wire.idle\n",
        "import wire\nclass Card:\n    def __init__(self):\n        self.pay = wire.send\n",
    ),
    "what a method keeps from now on": (
        "Card().pay()",
        "import wire\nclass Card:\n    def arm(self):\n        print(self)\n",
        "import wire\nclass Card:\n    def arm(self):\n        self.pay = wire.send\n",
    ),
    "what a function puts into a list": (
        "pay()",
        "import wire\nWAYS = []\ndef arm():\n    print(WAYS)\ndef pay():\n    for way in WAYS:\n        way()\n",
        "import wire\nWAYS = []\ndef arm():\n    WAYS.append(wire.send)\n"
        "def pay():\n    for way in WAYS:\n        way()\n",
    ),
    "a registration inside a function": (
        "pay()",
        "import wire\nWAYS = []\ndef way(f):\n    WAYS.append(f)\n    return f\ndef arm():\n    def one():\n"
        "        wire.send()\ndef pay():\n    for each in WAYS:\n        each()\n",
        "import wire\nWAYS = []\ndef way(f):\n    WAYS.append(f)\n    return f\ndef arm():\n    @way\n    def one():\n"
        "        wire.send()\ndef pay():\n    for each in WAYS:\n        each()\n",
    ),
    "a class inside a function": (
        "Card().pay()",
        "import wire\nclass Card:\n    def pay(self):\n        for one in Card.__subclasses__():\n"
        "            one().go()\n"
        "def make():\n    class Loud:\n        def go(self):\n            wire.send()\n",
        "import wire\nclass Card:\n    def pay(self):\n        for one in Card.__subclasses__():\n"
        "            one().go()\n"
        "def make():\n    class Loud(Card):\n        def go(self):\n            wire.send()\n",
    ),
    "a default": (
        "pay()",
        "import wire\ndef pay(way=wire.idle):\n    way()\n",
        "import wire\ndef pay(way=wire.send):\n    way()\n",
    ),
}


def write(root: Path, name: str, text: str) -> None:
    """Write a file as if long ago, so that what `stat` says of it is trusted."""
    path = root / name
    path.write_text(text)
    old = time.time() - 3600 - len(text)
    os.utime(path, (old, old))


def shop(root: Path, call: str, bank: str) -> None:
    (root / "concurrency-gate.toml").write_text("")
    for name, text in SHOP.items():
        write(root, name, text.format(call=call, bank=bank))


def judged(root: Path, *, cached: bool) -> Report:
    settings = config.find_for([root])
    store = cache.open_store(settings) if cached else None
    report = gate.check([root], settings, store=store)
    if store is not None:
        store.save()
    return report


@pytest.mark.parametrize("change", CHANGES)
def test_a_part_that_changes_turns_the_verdicts_of_those_who_read_it(tmp_path: Path, change: str) -> None:
    call, before, after = CHANGES[change]
    shop(tmp_path, call, before)
    told = judged(tmp_path, cached=True)
    write(tmp_path, "bank.py", after)
    again = judged(tmp_path, cached=True)
    assert again == judged(tmp_path, cached=False)
    assert again != told, "the change makes no difference, so this shows nothing"
    write(tmp_path, "bank.py", before)
    assert judged(tmp_path, cached=True) == told


@pytest.mark.parametrize(
    "bank",
    [
        "import wire\n# a remark\n\ndef pay():\n    wire.send()\n\ndef other():\n    pass\n",
        "import wire\ndef pay():\n    wire.send()\n# a remark\ndef other():\n    pass\n# another\n",
        "import wire\ndef pay():\n    wire.send()\ndef other():\n    print()\n    print()\n",
    ],
)
def test_nobody_is_judged_again_for_what_he_did_not_read(tmp_path: Path, bank: str) -> None:
    """The lines of a chain move with the function that they stand in."""
    shop(tmp_path, "pay()", "import wire\ndef pay():\n    wire.send()\ndef other():\n    pass\n")
    judged(tmp_path, cached=True)
    write(tmp_path, "bank.py", bank)
    settings = config.find_for([tmp_path])
    session = gate.session([tmp_path], settings, store=cache.open_store(settings))
    assert session.known("orders.py") is not None
    assert session.known("bank.py") is None
    for _ in range(2):
        assert judged(tmp_path, cached=True) == judged(tmp_path, cached=False)


ATOMIC = "from django.db import transaction\n"
MODEL = "import requests\nfrom django.db import models\n"
SAVE = "    def save(self, *args, **kwargs):\n        super().save(*args, **kwargs)\n"
POST = "requests.post('x')\n"
FACTS = {
    "which storage is the default": (
        {
            "files.py": f"{ATOMIC}from django.core.files.storage import default_storage\n"
            "with transaction.atomic():\n    default_storage.save('a', None)\n"
        },
        "settings.py",
        "STORAGES = {'default': {'BACKEND': 'django.core.files.storage.FileSystemStorage'}}\n",
        "STORAGES = {'default': {'BACKEND': 'storages.backends.s3.S3Storage'}}\n",
    ),
    "whether anybody listens to a signal": (
        {
            "models.py": f"{MODEL}class Order(models.Model): ...\n",
            "views.py": "from models import Order\ndef drop(order: Order):\n    order.delete()\n",
        },
        "receivers.py",
        "import requests\ndef told(**kwargs):\n    " + POST,
        "import requests\nfrom django.db.models.signals import post_delete\nfrom django.dispatch import receiver\n"
        "@receiver(post_delete)\ndef told(**kwargs):\n    " + POST,
    ),
    "the default of a column": (
        {
            "views.py": f"{ATOMIC}from models import Order\nwith transaction.atomic():\n    Order.objects.create()\n"
        },
        "models.py",
        f"{MODEL}class Order(models.Model):\n    to = models.TextField(default='')\n{SAVE}        if self.to:\n"
        f"            {POST}",
        f"{MODEL}class Order(models.Model):\n    to = models.TextField(default='x')\n{SAVE}        if self.to:\n"
        f"            {POST}",
    ),
    "what a predicate answers": (
        {
            "views.py": f"{ATOMIC}import requests\nfrom flags import is_on\nwith transaction.atomic():\n"
            f"    if is_on():\n        {POST}"
        },
        "flags.py",
        "def is_on(flag=False):\n    return flag\n",
        "def is_on(flag=True):\n    return flag\n",
    ),
    "the body of a predicate": (
        {
            "views.py": f"{ATOMIC}import requests\nfrom flags import is_on\nwith transaction.atomic():\n"
            f"    if is_on():\n        {POST}"
        },
        "flags.py",
        "def is_on(flag=False):\n    return flag\n",
        "def is_on(flag=False):\n    return not flag\n",
    ),
    "the constant of a class": (
        {
            "views.py": f"{ATOMIC}import requests\nfrom base import Base\nclass View(Base):\n    def run(self):\n"
            f"        with transaction.atomic():\n            if self.posts:\n                {POST}"
        },
        "base.py",
        "class Base:\n    posts = False\n",
        "class Base:\n    posts = True\n",
    ),
    "what a constructor keeps of a column": (
        {
            "views.py": f"{ATOMIC}from models import Order\nwith transaction.atomic():\n    Order.objects.create()\n"
        },
        "models.py",
        f"{MODEL}class Order(models.Model):\n    to = models.TextField()\n    def __init__(self, *args):\n"
        f"        super().__init__(*args)\n        self.was = self.to\n{SAVE}        if self.to != self.was:\n"
        f"            {POST}",
        f"{MODEL}class Order(models.Model):\n    to = models.TextField()\n    def __init__(self, *args):\n"
        f"        super().__init__(*args)\n        self.was = None\n{SAVE}        if self.to != self.was:\n"
        f"            {POST}",
    ),
    "where mail goes": (
        {
            "views.py": f"{ATOMIC}from django.core.mail import mail_admins\nwith transaction.atomic():\n"
            "    mail_admins('a', 'b')\n",
            "backend.py": "class Rows:\n    def send_messages(self, messages):\n        pass\n",
        },
        "settings.py",
        "EMAIL_BACKEND = 'backend.Rows'\n",
        "EMAIL_BACKEND = 'backend.Row'\n",
    ),
}


@pytest.mark.parametrize("fact", FACTS)
def test_what_decides_a_branch_turns_the_verdicts_of_those_who_asked(tmp_path: Path, fact: str) -> None:
    files, name, before, after = FACTS[fact]
    (tmp_path / "concurrency-gate.toml").write_text("")
    for path, text in {**files, name: before}.items():
        write(tmp_path, path, text)
    told = judged(tmp_path, cached=True)
    assert told == judged(tmp_path, cached=True) == judged(tmp_path, cached=False)
    write(tmp_path, name, after)
    again = judged(tmp_path, cached=True)
    assert again == judged(tmp_path, cached=False)
    assert (again.findings, again.possible) != (told.findings, told.possible), (
        "the change makes no difference, so this shows nothing"
    )
    write(tmp_path, name, before)
    assert judged(tmp_path, cached=True) == told
