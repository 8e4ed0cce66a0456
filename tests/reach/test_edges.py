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
    "a receiver whose sender is not known": """
        import requests
        from django.db import models, transaction
        from django.db.models.signals import post_save
        from somewhere import models_to_index
        class Order(models.Model):
            pass
        class Note(models.Model):
            pass
        def index(sender, **kwargs):
            requests.post("https://search", timeout=1)
        def archive(sender, **kwargs):
            requests.post("https://archive", timeout=1)
        for model in models_to_index():
            post_save.connect(index, sender=model)
        post_save.connect(archive, Order)
        def work():
            with transaction.atomic():
                Note().save()
                Order().save()  #> CG201 Order().save
    """,
    "a receiver that is told to leave": """
        import requests
        from django.db import transaction
        from django.dispatch import Signal, receiver
        changed = Signal()
        @receiver(changed)
        def tell(sender, **kwargs):
            if kwargs.get("quiet", False):
                return
            requests.post("https://index", timeout=1)
        def work():
            with transaction.atomic():
                changed.send(sender=None, quiet=True)
                changed.send(sender=None, loud=True)  #> CG201 changed.send
    """,
    "what is awaited in a loop is told once": """
        import httpx
        from django.db import transaction
        async def fetch(key):
            async with httpx.AsyncClient() as client:
                return (await client.get(key)).text
        async def fill():
            with transaction.atomic():
                for key in "abc":
                    await fetch(key)  #> CG201 fetch
    """,
    "a task that goes on beside the block": """
        import asyncio
        from asyncio import create_task
        import asyncpg
        class Publisher:
            async def __aenter__(self):
                async def periodically():
                    while True:
                        await asyncio.sleep(5)
                self.task = asyncio.create_task(periodically())  #> CG102 asyncio.create_task
                return self
            async def __aexit__(self, *args):
                self.task.cancel()
        async def later():
            await asyncio.sleep(5)
        async def create(connection: asyncpg.Connection):
            async with connection.transaction():
                async with Publisher():
                    create_task(later())  #> CG102 create_task
                await asyncio.wait_for(later(), 1)  #> CG203 asyncio.wait_for; CG203 later
                await later()  #> CG203 later
    """,
    "tasks that the block waits for": """
        import asyncio
        import asyncpg
        import httpx
        async def fetch(key):
            async with httpx.AsyncClient() as client:
                return (await client.get(key)).text
        async def work(connection: asyncpg.Connection):
            async with connection.transaction():
                await asyncio.gather(fetch("a"), fetch("b"))  #> CG201 fetch; CG201 fetch
                await asyncio.gather(*(fetch(key) for key in "abc"))  #> CG201 fetch
                first = fetch("a")  #
                await asyncio.gather(first)  #> CG201 asyncio.gather
                task = asyncio.create_task(fetch("a"))  #> CG102 asyncio.create_task
                await task  #> CG201 task
                tasks = []
                for key in "abc":
                    tasks.append(asyncio.create_task(fetch(key)))  #> CG102 asyncio.create_task
                await asyncio.gather(*tasks)  #> CG201 asyncio.gather
                async with asyncio.TaskGroup() as group:
                    group.create_task(fetch("a"))  #> CG201 fetch
    """,
    "a receiver that asks whose signal it is": """
        import requests
        import time
        from django.db import models, transaction
        from django.db.models import signals
        from django.dispatch import receiver
        class Status(models.Model):
            pass
        class Comment(Status):
            pass
        class Connector(models.Model):
            pass
        @receiver(signals.post_save)
        def add(sender, instance, created, **kwargs):
            if not issubclass(sender, Status):
                return
            requests.post("https://stream", timeout=1)
        @receiver(signals.post_save)
        def answer(sender, instance, created, **kwargs):
            if isinstance(instance, Comment):
                time.sleep(1)
        @receiver(signals.post_save)
        def preview(instance, sender, **kwargs):
            if sender not in (Status, Connector) or sender == Status:
                return
            input()
        def work(any_model):
            with transaction.atomic():
                Connector.objects.create(name="x")  #> CG203 Connector.objects.create
                Comment.objects.create(text="x")  #> CG201 Comment.objects.create; CG203 Comment.objects.create
    """,
    "what a constructor was told": """
        import requests
        from django.db import transaction
        class Metrics:
            def __init__(self, immediate=False, loud=True):
                self.immediate = immediate
                self.loud = loud
            def set(self, value):
                if self.immediate is True:
                    requests.post("https://metrics", timeout=1)
            def shout(self):
                if self.loud:
                    requests.post("https://metrics", timeout=1)
        def quiet(metrics):
            metrics.loud = False
        def work(how):
            with transaction.atomic():
                metrics = Metrics(immediate=False)
                metrics.set(1)
                Metrics().set(1)
                Metrics(immediate=True).set(1)  #> CG201 Metrics(immediate=True).set
                Metrics(how).set(1)  #> CG201 Metrics(how).set
                Metrics(loud=False).shout()  #> CG201 Metrics(loud=False).shout
    """,
    "what the settings say": """
        == manage.py
        import os
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
        == shop/__init__.py
        == shop/settings.py
        import os
        EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        EAGER = False
        LOUD = os.environ.get("LOUD") == "1"
        == shop/testing_settings.py
        EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
        EAGER = True
        == shop/mail.py
        import requests
        from django.conf import settings
        from django.db import transaction
        def send():
            if "locmem" in settings.EMAIL_BACKEND:
                requests.post("https://mail", timeout=1)
        def work():
            if settings.EAGER:
                requests.post("https://work", timeout=1)
        def shout():
            if settings.LOUD:
                requests.post("https://loud", timeout=1)
        def confirm():
            with transaction.atomic():
                send()
                work()
                shout()  #> CG201 shout
    """,
    "a queue that is worked off after the commit": """
        import requests
        from django.db import transaction
        from flask import g
        def do_send(mail):
            requests.post("https://mail", timeout=1)
        def send(mail):
            if "queue" in g:
                g.queue.append((do_send, mail))
            else:
                do_send(mail)
        def send_too(mail):
            if "queue" in g:
                g.queue.append(mail)
            else:
                do_send(mail)
        def work():
            with transaction.atomic():
                send("hello")
                send_too("hello")  #> CG201 send_too
    """,
    "a flag left at its default": """
        import enum
        import time
        import requests
        from django.db import transaction
        class Mode(enum.StrEnum):
            background = "background"
            sync = "sync"
        def busy():
            return True
        def dispatch(name, immediate=False):
            now = immediate and not busy()
            if now:
                time.sleep(1)
        def create(*, mode=Mode.background):
            if mode == Mode.sync:
                requests.post("https://pay", timeout=1)
        def schedule(other):
            with transaction.atomic():
                dispatch("nightly")
                dispatch("nightly", immediate=True)  #> CG203 dispatch
                dispatch("nightly", other)  #> CG203 dispatch
                create()
                create(mode=other)  #> CG201 create
                create(**other)  #> CG201 create
    """,
    "what is handed on twice decides too": """
        import requests
        from django.db import transaction
        def execute(command, remote="none"):
            if remote == "pull":
                requests.get("https://git", timeout=1)
        def locked(lock=True, auto=False):
            if lock and not auto:
                requests.get("https://lock", timeout=1)
        def lock(user=None, auto=True):
            locked(auto=auto)
        def prefix(name, place):
            if place:
                requests.get("https://places", timeout=1)
        def build(name, place):
            return prefix(name, place)
        def listed(names, place=None):
            return [build(name, place) for name in names]
        def work(how):
            with transaction.atomic():
                execute("status")
                execute("pull", remote="push")
                execute("pull", remote="pull")  #> CG201 execute
                execute("pull", how)  #> CG201 execute
                lock()
                lock(auto=False)  #> CG201 lock
                lock(auto=how)  #> CG201 lock
                listed("abc")
                listed("abc", "x")  #> CG201 listed
    """,
    "a flag of the function around": """
        import requests
        from django.db import transaction
        def run(callback):
            callback()
        def deliver(hook, save=True):
            def done():
                if save:
                    requests.post(hook, timeout=1)
            run(done)
        def work(hook, how):
            with transaction.atomic():
                deliver(hook, save=False)
                deliver(hook)  #> CG201 deliver
                deliver(hook, how)  #> CG201 deliver
    """,
    "a decorator that tries again": """
        import functools
        import time
        from django.db import transaction
        def retried(retry_on, wait):
            def decorate(fn):
                @functools.wraps(fn)
                def wrapper(*args, **kwargs):
                    while True:
                        try:
                            return fn(*args, **kwargs)
                        except Exception as error:
                            if not retry_on(error):
                                raise
                        time.sleep(wait)
                return wrapper
            return decorate
        def paced(fn):
            @functools.wraps(fn)
            def wrapper(*args):
                time.sleep(1)
                return fn(*args)
            return wrapper
        @retried(retry_on=bool, wait=1)
        def name(session):
            return session.name
        @retried(retry_on=bool, wait=1)
        def slow(session):
            time.sleep(5)
        @paced
        def limited(session):
            return session.name
        def poll(ready):
            while not ready():
                try:
                    ready()
                except OSError:
                    time.sleep(1)
        def work(session, ready):
            with transaction.atomic():
                name(session)
                slow(session)  #> CG203 slow
                limited(session)  #> CG203 limited
                poll(ready)  #> CG203 poll
    """,
    "a keyword that decides": """
        import requests
        from django.db import transaction
        class Manager:
            def create(self, event, **kwargs):
                if kwargs.get("recipients") is not None:
                    return
                if "silent" in kwargs or kwargs.get("quiet"):
                    return
                self.system(event)
            def system(self, event):
                requests.post("https://chat", timeout=1)
        def changed(**kwargs):
            kwargs["quiet"] = False
            if kwargs.get("quiet"):
                return
            requests.post("https://chat", timeout=1)
        def closed(lead, more):
            with transaction.atomic():
                Manager().create("x", recipients=lead)  #> CG201 Manager().create
                Manager().create("x", recipients="all")
                Manager().create("x", silent=lead)
                Manager().create("x", quiet=True)
                Manager().create("x", quiet=False)  #> CG201 Manager().create
                Manager().create("x")  #> CG201 Manager().create
                Manager().create("x", **more)  #> CG201 Manager().create
                changed(quiet=True)  #> CG201 changed
    """,
    "None that is not certain": """
        import requests
        from django.db import transaction
        def ask(client):
            if client is None:
                return
            requests.post("https://bank", timeout=1)
        def found(key):
            if key:
                return unknown(key)
            return None
        def maybe(key):
            if key:
                return False
        def run(flag):
            if flag == False:
                return
            requests.post("https://bank", timeout=1)
        def pay(key, other):
            late = None
            if key:
                late = other.client
            with transaction.atomic():
                ask(None)
                ask(other if key else None)  #> CG201 ask
                ask(other or None)  #> CG201 ask
                ask(found(key))  #> CG201 ask
                ask(late)  #> CG201 ask
                run(False)
                run(maybe(key))  #> CG201 run
    """,
    "an argument that is read before the call opens a transaction": """
        import github
        from django.db import models
        class Link(models.Model):
            pass
        def make(rpc: github.Github):
            issue = rpc.get_repo("a").create_issue(title="x")
            Link.objects.get_or_create(url=issue.html_url, execution=1)
    """,
    "a recursion that builds trees": """
        import requests
        from django.db import transaction
        def spread(rules):
            if not isinstance(rules, dict):
                return rules
            operator = list(rules.keys())[0]
            values = rules[operator]
            for one in values:
                if isinstance(one, dict) and operator in one:
                    return {operator: [{"and": [spread(one), other]} for other in values]}
            return {operator: [spread(one) for one in values]}
        def simple(rules):
            if not isinstance(rules, dict):
                return rules
            operator = list(rules.keys())[0]
            found = []
            for value in rules[operator]:
                if operator not in value:
                    found.append(value)
                else:
                    found += value[operator]
            return {operator: found}
        def normal(rules):
            if not isinstance(rules, dict):
                return rules
            old = rules
            while True:
                rules = spread(rules)
                operator = list(rules.keys())[0]
                values = rules[operator]
                rules = {operator: [normal(one) for one in values] if values else normal(values[0])}
                if old == rules:
                    break
                old = rules
            return simple(rules)
        def check(given):
            with transaction.atomic():
                normal({"and": [check, {"or": [simple, given]}]})
                requests.post("https://rules", timeout=1)  #> CG201 requests.post
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
