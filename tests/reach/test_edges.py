"""What real services taught: ways that look as if they led out of a transaction and do not, and some that do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.facts.marked import check, files, found, verify

CASES = {
    "a task of a class that hands work over after the commit": """
        import celery
        from celery import shared_task
        from django.db import transaction
        app = celery.Celery()
        class AfterCommit(celery.Task):
            def apply_async(self, *args, **kwargs):
                transaction.on_commit(lambda: super(AfterCommit, self).apply_async(*args, **kwargs))
        class Quiet(AfterCommit):
            pass
        class Timed(celery.Task):
            def on_success(self, *args):
                pass
        @app.task(base=Quiet, acks_late=True)
        def later():
            pass
        @shared_task(base=AfterCommit)
        def shared():
            pass
        @app.task(base=Timed)
        def soon():
            pass
        def pay():
            with transaction.atomic():
                later.apply_async(args=(1,))
                later.delay()
                shared.delay()
                soon.delay()  #> CG202 soon.delay
    """,
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_edges(code: str, tmp_path: Path) -> None:
    verify(tmp_path, code)


def test_a_chain_names_decorated_functions_by_what_they_wrap(tmp_path: Path) -> None:
    texts = files("""
        import functools
        import requests
        from django.db import transaction
        def retried(function):
            @functools.wraps(function)
            def wrapped(*args):
                return function(*args)
            return wrapped
        def traced(name):
            def decorator(function):
                def wrapped(*args):
                    return function(*args)
                return wrapped
            return decorator
        @retried
        @traced("charge")
        def charge():
            requests.post("https://bank.example", timeout=1)
        def pay():
            with transaction.atomic():
                charge()
    """)
    report = check(tmp_path, texts)
    assert found(texts, report) == [("main.py", 21, "CG201", "charge")]
    (finding,) = report.findings
    assert finding.message.endswith("through charge()")
    assert [(step.line, step.text) for step in finding.chain] == [
        (21, "charge runs retried(charge)"),
        (7, "function runs traced(charge)"),
        (12, "function runs charge"),
        (18, "requests.post"),
    ]
