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
    "signals of a class below, which does not come by here": """
        import requests
        from django.db import models, transaction
        from django.db.models.signals import post_delete
        from django.dispatch import receiver
        class Sorted(models.Model):
            @transaction.atomic
            def delete(self):
                super().delete()
        class Media(Sorted):
            def delete(self):
                super(Sorted, self).delete()  #> CG201 super(Sorted, self).delete
        class Page(Sorted):
            pass
        @receiver(post_delete, sender=Media)
        def purge(sender, instance, **kwargs):
            requests.delete("https://files.example", timeout=1)
        def clear(media: Media, page: Page, other: Sorted):
            with transaction.atomic():
                media.delete()  #> CG201 media.delete
                page.delete()
                Sorted().delete()
    """,
    "signals of a class below, which comes by here": """
        import requests
        from django.db import models, transaction
        from django.db.models.signals import post_delete
        from django.dispatch import receiver
        class Sorted(models.Model):
            @transaction.atomic
            def delete(self):
                super().delete()  #> CG201 super().delete
        class Media(Sorted):
            def delete(self):
                self.closed = True
                super().delete()
        @receiver(post_delete, sender=Media)
        def purge(sender, instance, **kwargs):
            requests.delete("https://files.example", timeout=1)
    """,
    "what follows a return on a parameter that this call fills": """
        import requests
        from django.db import transaction
        def tell(client, url):
            if client is None:
                return
            requests.get(url, timeout=1)
        def purge(dry):
            for _ in range(3):
                if dry:
                    continue
                requests.get("https://x.example", timeout=1)
        def call_event(function):
            if not transaction.get_connection().in_atomic_block:
                function()
                return
            transaction.on_commit(function)
        def call_later(function):
            if transaction.get_connection().in_atomic_block:
                transaction.on_commit(function)
                return
            function()
        def ping():
            requests.get("https://x.example", timeout=1)
        def pay(client):
            with transaction.atomic():
                tell(None, "https://x.example")
                tell(client, "https://x.example")  #> CG201 tell
                purge(True)
                purge(False)  #> CG201 purge
                call_event(ping)
                call_later(ping)
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
