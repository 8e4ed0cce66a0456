"""What is made of a library's objects: attributes that may be methods, factories, operators, pools, decorators.

A line that ends in `#> CG201` expects that finding there; nothing else may be found.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from .test_reach import expected, found, judged

CASES = {
    "clients whose attributes are known by a wildcard": """
        import anthropic, hvac, openai, sendgrid
        from django.db import transaction
        from openai import OpenAI
        from stripe import StripeClient
        from twilio.rest import Client
        from xmlrpc.client import ServerProxy
        ai = OpenAI()
        sms = Client("sid", "token")
        class Odoo(ServerProxy): ...
        def f(url):
            completions = ai.chat.completions
            with transaction.atomic():
                answer = ai.chat.completions.create(model="x")  #> CG201
                answer.model_dump()
                completions.create(model="x")  #> CG201
                ai.with_options(timeout=1).responses.create(model="x")  #> CG201
                openai.chat.completions.create(model="x")  #> CG201
                anthropic.Anthropic().messages.create(model="x")  #> CG201
                sms.messages.create(to="x")  #> CG201
                sms.messages("sid").fetch()  #> CG201
                sms.verify.v2.services("sid").verifications.create(to="x")  #> CG201
                StripeClient("sk").v1.customers.retrieve("x")  #> CG201
                ServerProxy(url).models.execute_kw(1)  #> CG201
                Odoo(url).models.execute_kw(1)  #> CG201
                hvac.Client().secrets.kv.v2.read_secret_version()  #> CG201
                sendgrid.SendGridAPIClient("x").client.mail.send.post(request_body=1)  #> CG201
                ai.webhooks.unwrap(url)
                ai.chat.completions
        """,
    "classes in capitals, and what a class makes of itself": """
        import smtplib
        import redis
        from ftplib import FTP_TLS
        from django.db import transaction
        events = redis.Redis.from_url("redis://example")
        class Bus:
            def __init__(self):
                self.client = redis.StrictRedis.from_url("redis://example", decode_responses=True)
            def tell(self):
                self.client.publish("channel", "message")
        def f(message, annotated: smtplib.SMTP_SSL):
            server = smtplib.SMTP_SSL("mail.example")
            files = FTP_TLS("files.example")
            with transaction.atomic():
                events.publish("channel", "message")  #> CG202
                Bus().tell()  #> CG202
                server.send_message(message)  #> CG201
                annotated.send_message(message)  #> CG201
                files.storbinary("STOR x", message)  #> CG201
        """,
    "what a handler imported by name holds": """
        from django.db import connections
        import requests
        def f():
            with connections["replica"].schema_editor():
                requests.get("https://x.example", timeout=1)  #> CG201
        """,
    "signatures joined by an operator": """
        from celery import shared_task
        from django.db import transaction
        @shared_task
        def charge(pk): ...
        @shared_task
        def mail(pk): ...
        def f(pk):
            with transaction.atomic():
                (charge.s(pk) | mail.si(pk)).apply_async()  #> CG202
                flow = charge.s(pk) | mail.s()
                flow.delay()  #> CG202
                flow()  #> CG202
                {"a": pk} | {"b": pk}
        """,
    "a decorator that is given positional and keyword arguments": """
        import django_rq
        from django.db import transaction
        from rq.decorators import job
        @job("low", timeout=3)
        def mail(pk): ...
        @django_rq.job("low", timeout=3)
        def charge(pk): ...
        def f(pk):
            with transaction.atomic():
                mail.delay(pk)  #> CG202
                charge.delay(pk)  #> CG202
        """,
    "a task class that waits for the commit, wherever it is named": """
        from functools import partial
        from celery import Celery, Task
        from django.db import transaction
        class CommitTask(Task):
            def apply_async(self, *args, **kwargs):
                transaction.on_commit(partial(super().apply_async, *args, **kwargs))
        class Tasks(Celery):
            task_cls = CommitTask
        plain, by_class, by_name = Celery(), Celery("b", task_cls=CommitTask), Celery("c", task_cls="app.main:CommitTask")
        by_base = Tasks("d")
        @plain.task
        def first(pk): ...
        @plain.task(base=CommitTask)
        def second(pk): ...
        @by_class.task
        def third(pk): ...
        @by_name.task(name="x")
        def fourth(pk): ...
        @by_base.task
        def fifth(pk): ...
        def f(pk):
            with transaction.atomic():
                first.delay(pk)  #> CG202
                first.s(pk).delay()  #> CG202
                second.delay(pk)
                second.s(pk).delay()
                second.si(pk).apply_async()
                third.delay(pk)
                third.s(pk).delay()
                fourth.apply_async((pk,))
                fifth.delay(pk)
        """,
    "what is handed to a pool, and waited for": """
        import asyncio
        from concurrent.futures import ThreadPoolExecutor
        import httpx
        import requests
        from django.db import transaction
        pool = ThreadPoolExecutor()
        def post(pk):
            requests.post("https://x.example", timeout=1)
        def f(pks):
            with transaction.atomic():
                pool.submit(post, 1)
                pool.submit(post, 1).result()  #> CG201, CG203
                later = pool.submit(post, 2)
                later.result()  #> CG201, CG203
                with ThreadPoolExecutor() as inner:
                    inner.submit(post, 3)  #> CG201
                with ThreadPoolExecutor() as inner:
                    {inner.submit(post, pk): pk for pk in pks}  #> CG201
                with ThreadPoolExecutor() as inner:
                    pool.submit(post, 4)
            with ThreadPoolExecutor() as outer:
                with transaction.atomic():
                    outer.submit(post, 5)
        async def get():
            await httpx.AsyncClient().get("https://x.example")
        async def g(session):
            async with session.begin():
                pass
            with transaction.atomic():
                async with asyncio.TaskGroup() as group:
                    group.create_task(get())  #> CG201
        """,
    "stubs that are generated, here and elsewhere": """
        import grpc
        import orders_pb2, orders_pb2_grpc
        from django.db import transaction
        from app.bank_pb2_grpc import BankStub
        stub = orders_pb2_grpc.OrdersStub(grpc.insecure_channel("x"))
        class Client:
            def __init__(self, bank: BankStub, channel):
                self.bank = bank
                self.orders = orders_pb2_grpc.OrdersStub(channel)
        def f(client: Client):
            request = orders_pb2.Order(id=1)
            with transaction.atomic():
                request.SerializeToString()
                stub.Create(request)  #> CG201
                stub.Create.with_call(request)  #> CG201
                for order in stub.List(request):  #> CG201
                    print(order)
                client.bank.Pay(request)  #> CG201
                client.orders.Create(request)  #> CG201
        == app/bank_pb2_grpc.py
        class BankStub(object):
            def __init__(self, channel):
                self.Pay = channel.unary_unary("/Bank/Pay", _registered_method=True)
        """,
    "what entering a library's object does": """
        from django.core.mail import get_connection
        from django.core.mail.backends.smtp import EmailBackend
        from django.db import transaction
        import aiosmtplib
        async def f(messages):
            with transaction.atomic():
                with EmailBackend() as mail:  #> CG201
                    print(mail)
                with get_connection() as mail:  # of a queue or of an HTTP service: nothing is sent yet
                    mail.send_messages(messages)  #> CG201
                async with aiosmtplib.SMTP("mail.example") as server:  #> CG201
                    print(server)
        """,
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_what_is_made_of_a_librarys_objects(code: str, tmp_path: Path) -> None:
    first, *others = textwrap.dedent(code).lstrip("\n").split("== ")
    texts = {"app/__init__.py": "", "app/main.py": first}
    for other in others:
        path, _, text = other.partition("\n")
        texts[path] = text
    wanted = expected(texts)
    assert wanted
    assert found(judged(tmp_path, texts)) == wanted
