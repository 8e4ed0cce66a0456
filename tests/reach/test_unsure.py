"""What the gate cannot tell decides whether something is a finding or a possible one: a way with many tests on it is
rarely the way that a program takes (docs/precision.md has the figures)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from concurrency_gate import cli

from .test_reach import files, judged

HELPERS = """
        class Gateway:
            def pay(self): ...
        class Bank(Gateway):
            def pay(self):
                requests.post("https://bank.example", timeout=1)
        class Card(Gateway):
            def pay(self):
                requests.post("https://card.example", timeout=1)
        class Sink:
            def pay(self): ...
        class Cash(Sink):
            def pay(self):
                pass
        class Loan(Sink):
            def pay(self):
                requests.post("https://loan.example", timeout=1)
        def one(order):
            if not order.due:
                return
            requests.post("https://bank.example", timeout=1)
        def two(order):
            if order.due:
                one(order)
        def handled(order):
            try:
                order.check()
            except ValueError:
                one(order)
        def two_or_one(order):
            two(order)
            if order.paid:
                requests.post("https://bank.example", timeout=1)
        def choose(order, sink: Sink):
            if order.due:
                sink.pay()
"""

UNSURE = {
    "tests of the function that opens the transaction do not count": ("""
        def pay(order):
            with transaction.atomic():
                if order.a:
                    if order.b and order.c:
                        requests.post("https://bank.example", timeout=1)
        """, [], 0),
    "one test in a helper": ("""
        def pay(order):
            with transaction.atomic():
                one(order)
        """, ["unless not order.due"], 1),
    "two tests on the way": ("""
        def pay(order):
            with transaction.atomic():
                two(order)
        """, ["if order.due", "unless not order.due"], 3),
    "a handler is a test": ("""
        def pay(order):
            with transaction.atomic():
                handled(order)
        """, ["except ValueError", "unless not order.due"], 2),
    "of two ways the one with fewer": ("""
        def pay(order):
            with transaction.atomic():
                two_or_one(order)
        """, ["if order.paid"], 2),
    "a call that may run something else is a test": ("""
        def pay(sink: Sink):
            with transaction.atomic():
                sink.pay()
        """, ["sink.pay runs this one of 3"], 1),
    "and counts beside others": ("""
        def pay(order, sink: Sink):
            with transaction.atomic():
                choose(order, sink)
        """, ["if order.due", "sink.pay runs this one of 3"], 3),
    "whichever it runs, it gets there": ("""
        def pay(order, gateways: list[Bank | Card]):
            with transaction.atomic():
                for gateway in gateways:
                    gateway.pay()
        """, [], 0),
    "a check that raises is no test": ("""
        def pay(order):
            with transaction.atomic():
                checked(order)
        def checked(order):
            if not order.sum:
                raise ValueError
            if order.paid:
                raise ValueError
            else:
                one(order)
        """, ["unless not order.due"], 1),
    "an elif goes on with the test before": ("""
        def pay(order):
            with transaction.atomic():
                by_kind(order)
        def by_kind(order):
            if order.kind == "a":
                pass
            elif order.kind == "b":
                pass
            elif order.kind == "c":
                requests.post("https://bank.example", timeout=1)
        """, ["if order.kind == 'c'"], 2),
    "a transaction that began on one way only": ("""
        from sqlalchemy.orm import Session
        def pay(engine, order):
            with Session(engine) as session:
                if not order.known:
                    session.execute("select 1")
                requests.post("https://bank.example", timeout=1)
        """, ["the transaction that session.execute began on this way"], 1),
    "and a call on another": ("""
        from sqlalchemy.orm import Session
        def pay(engine, order):
            with Session(engine) as session:
                if not order.known:
                    session.execute("select 1")
                if order.due:
                    requests.post("https://bank.example", timeout=1)
        """, ["the transaction that session.execute began on this way", "if order.due"], 3),
    "what may begin one is a transaction for its users": ("""
        from contextlib import contextmanager
        @contextmanager
        def unit(flag):
            if flag.on:
                transaction.set_autocommit(False)
            yield
            transaction.commit()
        def pay(order, flag):
            with unit(flag):
                if order.due:
                    requests.post("https://bank.example", timeout=1)
        """, [], 0),
    "on the same way it did begin": ("""
        from sqlalchemy.orm import Session
        def pay(engine, order):
            with Session(engine) as session:
                if order.known:
                    session.execute("select 1")
                if order.paid:
                    pass
                if order.known:
                    if order.due:
                        requests.post("https://bank.example", timeout=1)
        """, [], 0),
    "what is known is no test": ("""
        def pay(order):
            with transaction.atomic():
                two_if(order, True)
        def two_if(order, now):
            if now:
                one(order)
        """, ["unless not order.due"], 1),
}  # fmt: skip


@pytest.mark.parametrize(("code", "unsure", "doubt"), UNSURE.values(), ids=UNSURE)
def test_what_is_in_doubt(code: str, unsure: list[str], doubt: int, tmp_path: Path) -> None:
    """A branch that must be taken counts 2, anything else 1; a doubt of 1 is taken."""
    report = judged(tmp_path, files(HELPERS + code))
    (told,) = report.possible if doubt > 1 else report.findings
    assert not (report.findings if doubt > 1 else report.possible)
    assert [step.text for step in told.unsure] == unsure
    assert told.doubt == doubt


def test_a_comment_that_hides_what_is_possible_only_is_possible_only(tmp_path: Path) -> None:
    code = """
        # flake8: noqa
        def pay(order):
            with transaction.atomic():
                two(order)  # noqa: CG201
        """
    report = judged(tmp_path, files(HELPERS + code))
    assert [finding.code for finding in report.possible] == ["CG901", "CG201", "CG901"]
    assert not report.findings


def test_the_project_says_how_much_doubt_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, text in files(HELPERS + UNSURE["two tests on the way"][0]).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    codes = {}
    for most in (0, 1, 2, 3, 2):  # the last two with what the others left in the cache
        (tmp_path / "concurrency-gate.toml").write_text(f"max-doubt = {most}\n")
        done = CliRunner().invoke(cli.commands, ["check", "--format", "json"], obj=(), standalone_mode=False)
        codes[most] = (done.return_value, len(json.loads(done.output)["possible"]))
    assert codes == {0: (0, 1), 1: (0, 1), 2: (0, 1), 3: (1, 0)}
