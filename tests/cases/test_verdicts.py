"""A cached run says what a fresh one says, whatever changed in between, in the judged file or in another."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from concurrency_gate import cache, config, gate
from concurrency_gate.cli import commands
from concurrency_gate.rule import Report

PARTS = (
    "from django.db import transaction\nimport requests\ndef send{n}():\n    requests.get('x')\n",
    "from .m{a} import send{a}\ndef send{n}():\n    return send{a}()\n",
    "from django.db import transaction\nfrom .m{a} import *\ndef work{n}():\n    with transaction.atomic():\n"
    "        send{a}()\n",
    "from contextlib import contextmanager\nfrom django.db import transaction\n@contextmanager\n"
    "def unit{n}():\n    with transaction.atomic():\n        yield\ndef send{n}(): pass\n",
    "from .m{a} import unit{a} as unit{n}\nfrom .m{b} import send{b}\ndef work{n}():\n    with unit{n}():\n"
    "        send{b}()\n",
    "from threading import Thread as Worker{n}\ndef send{n}():\n    Worker{n}(target=print).start()\n",
    "from .m{a} import Worker{a}\nclass Job{n}(Worker{a}):\n    def send(self): pass\ndef send{n}(): Worker{a}()\n",
    "from .m{a} import Job{a}\nfrom django.db import transaction\nclass Other{n}(Job{a}):\n    def send(self):\n"
    "        import time\n        time.sleep(1)\n@transaction.atomic\ndef go{n}(job: Job{a}):\n    job.send()\n",
    "class Job{n}:\n    @property\n    def send(self):\n        import requests\n        return requests.get('x')\n"
    "def unit{n}(f): return f\n",
    "import .broken\n",  # cannot be parsed
    "",
    "from django.db.models.signals import post_save\nfrom django.dispatch import receiver\nimport requests\n"
    "@receiver(post_save)\ndef on{n}(**kw):\n    requests.get('x')\n",
    "from django.db import models, transaction\nclass Job{n}(models.Model):\n    pass\ndef go{n}():\n"
    "    with transaction.atomic():\n        Job{n}().save()\n",
    "from django.db import transaction\nfrom .m{a} import send{a}\nview{n} = transaction.atomic(send{a})\n",
    "from django.db import transaction\nfrom .m{a} import send{a}\nview{n} = transaction.atomic\n",
    "from django.db.models.signals import post_save\nfrom django.dispatch import receiver\nimport time\n"
    "from .m{a} import Job{a}\n@receiver(post_save, sender=Job{a})\ndef on{n}(**kw):\n    time.sleep(1)\n",
    "from .m{a} import send{a}\ndef send{n}(job):\n    job.delete()\n    send{a}()\n",
    "from django.db import models\nimport time\nfrom .m{a} import Job{a}\nclass Line{n}(models.Model):\n"
    "    job = models.ForeignKey(Job{a}, models.CASCADE, related_name='lines')\n"
    "    def save(self, **kw):\n        time.sleep(1)\n",
    "from django.db import models\nimport time\nclass Base{n}(models.Model):\n"
    "    class Meta:\n        abstract = True\n"
    "    job = models.ForeignKey('Job{a}', models.CASCADE, related_name='%(class)s_set')\n"
    "    def save(self, **kw):\n        time.sleep(1)\n",
    "from .m{a} import Base{a}\nclass Line(Base{a}):\n    pass\n",
    "from django.db import transaction\nfrom .m{a} import Job{a}\ndef go{n}(job: Job{a}):\n"
    "    with transaction.atomic():\n        job.lines.create()\n        job.line_set.create()\n",
    "from django.db.models.signals import post_save\nimport time\nfrom .m{a} import register{a}\n"
    "def on{n}(**kw):\n    time.sleep(1)\nregister{a}(on{n}, 'app.Job{b}')\n",
    "from django.db.models.signals import post_save\ndef register{n}(handler, sender):\n"
    "    post_save.connect(handler, sender=sender)\n",
)
COUNT = 5
Edit = tuple[int, int | None, int, int]
"""(which module, which part or None to delete it, the modules that it takes from)"""
EDITS = st.tuples(
    st.integers(0, COUNT - 1),
    st.none() | st.integers(0, len(PARTS) - 1),
    st.integers(0, COUNT - 1),
    st.integers(0, COUNT - 1),
)


def apply(root: Path, edit: Edit) -> None:
    number, part, a, b = edit
    path = root / "app" / f"m{number}.py"
    if part is None:
        path.unlink(missing_ok=True)
    else:
        path.write_text(PARTS[part].format(n=number, a=a, b=b))


def judged(root: Path, *, cached: bool) -> Report:
    settings = config.find_for([root])
    store = cache.open_store(settings) if cached else None
    report = gate.check([root], settings, store=store, jobs=1)
    if store is not None:
        store.save()
    return report


@pytest.mark.heavy
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(EDITS, min_size=COUNT, max_size=COUNT),
    st.lists(st.lists(EDITS, min_size=1, max_size=2), max_size=5),
)
def test_a_cached_run_says_what_a_fresh_one_says(
    tmp_path_factory: pytest.TempPathFactory, first: list[Edit], later: list[list[Edit]]
) -> None:
    root = tmp_path_factory.mktemp("project")
    (root / "app").mkdir()
    (root / "app" / "__init__.py").touch()
    (root / "concurrency-gate.toml").write_text("")
    for edits in ([(n, part, a, b) for n, (_, part, a, b) in enumerate(first)], *later):
        for edit in edits:
            apply(root, edit)
        assert judged(root, cached=True) == judged(root, cached=False)


def check(root: Path) -> list[tuple[str, str]]:
    result = CliRunner().invoke(commands, ["check", "--format", "json", str(root)], obj=("check", str(root)))
    return [(f["path"], f["code"]) for f in json.loads(result.stdout)["findings"]]


def write(path: Path, text: str) -> None:
    """Write a file as if long ago, so that what `stat` says of it is trusted."""
    path.write_text(text)
    old = time.time() - 3600
    os.utime(path, (old, old))


def test_a_library_that_comes_in_leads_to_what_was_found_by_its_words(tmp_path: Path) -> None:
    """No file imported Django in the run before: what is sought by its words was not there to be found."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").touch()
    (tmp_path / "concurrency-gate.toml").write_text("")
    helper, view, none = PARTS[0].partition("\n")[2], PARTS[13], PARTS[10]
    (tmp_path / "app" / "m1.py").write_text(helper.format(n=1))
    for text in (none, view.format(n=0, a=1), none, view.format(n=0, a=1)):
        (tmp_path / "app" / "m0.py").write_text(text)
        assert judged(tmp_path, cached=True) == judged(tmp_path, cached=False)
    assert judged(tmp_path, cached=True).findings


def test_a_changed_helper_changes_the_verdict_of_files_that_were_not_touched(tmp_path: Path) -> None:
    (tmp_path / "concurrency-gate.toml").write_text("")
    write(tmp_path / "helper.py", "def pay():\n    pass\n")
    write(tmp_path / "bridge.py", "from helper import pay\ndef charge():\n    pay()\n")
    write(
        tmp_path / "orders.py",
        "from django.db import transaction\nfrom bridge import charge\n"
        "@transaction.atomic\ndef order():\n    charge()\n",
    )
    assert check(tmp_path) == []
    assert check(tmp_path) == []
    write(tmp_path / "helper.py", "import requests\ndef pay():\n    requests.post('https://bank.example')\n")
    assert check(tmp_path) == [("orders.py", "CG201")]
    assert check(tmp_path) == [("orders.py", "CG201")]
    (tmp_path / "helper.py").unlink()
    assert check(tmp_path) == []


def test_only_what_rests_on_a_change_is_judged_again(tmp_path: Path) -> None:
    (tmp_path / "concurrency-gate.toml").write_text("")
    write(tmp_path / "a.py", "from threading import Thread\nThread(target=print)\n")
    write(tmp_path / "b.py", "from threading import Thread\ndef f(): return Thread(target=print)\n")
    judged(tmp_path, cached=True)
    write(tmp_path / "b.py", "from threading import Thread\ndef f(): return Thread(target=f)\n")
    settings = config.find_for([tmp_path])
    session = gate.session([tmp_path], settings, store=cache.open_store(settings))
    assert session.known("a.py") is not None
    assert session.known("b.py") is None
    assert not session.project.is_parsed("a.py")


def test_a_field_that_is_added_elsewhere_turns_verdicts(tmp_path: Path) -> None:
    (tmp_path / "concurrency-gate.toml").write_text("")
    write(tmp_path / "models.py", "from django.db import models\nclass Order(models.Model):\n    pass\n")
    write(
        tmp_path / "orders.py",
        "from django.db import transaction\nfrom models import Order\ndef f(order: Order):\n"
        "    with transaction.atomic():\n        order.lines.create()\n        order.line_set.create()\n",
    )
    line = (
        "from django.db import models\nimport requests\nfrom models import Order\nclass Line(models.Model):\n"
        "    order = models.{field}\n    def save(self, **kw):\n        requests.get('x')\n"
    )
    fields = {
        "CharField()": 0,
        "ForeignKey(Order, models.CASCADE, related_name='lines')": 1,
        "ForeignKey(Order, models.CASCADE)": 1,
        "ForeignKey(Order, models.CASCADE, related_name='+')": 0,
        "ForeignKey('Line', models.CASCADE, related_name='lines')": 0,
        "ForeignKey('Order', models.CASCADE, related_name='lines')": 1,
    }
    for field, count in fields.items():
        write(tmp_path / "lines.py", line.format(field=field))
        assert check(tmp_path) == [("orders.py", "CG201")] * count
    (tmp_path / "lines.py").unlink()
    assert check(tmp_path) == []


def test_the_order_of_judging_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").touch()
    (tmp_path / "concurrency-gate.toml").write_text("")
    for number, part in enumerate((0, 1, 2, 3, 4)):
        apply(tmp_path, (number, part, max(number - 1, 0), 0))
    settings = config.find_for([tmp_path])
    outcomes = set()
    for seed in range(4):
        session = gate.session([tmp_path], settings)
        order = sorted(session.judged)
        random.Random(seed).shuffle(order)
        outcomes.add(tuple(sorted(finding for path in order for finding in session.judge(path))))
    assert len(outcomes) == 1
