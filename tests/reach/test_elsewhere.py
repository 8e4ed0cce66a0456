"""What stands in another file, or is put together there: packages, sessions, runners, units of work, interfaces.

A line that ends in `#> CG201` expects that finding there; nothing else may be found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_reach import expected, files, found, judged

CASES = {
    "a package that imports its own parts": """
        from app import gateway, mail as mailing
        from . import gateway as again
        def pay(order):
            with transaction.atomic():
                gateway.charge(order)  #> CG201
                again.charge(order)  #> CG201
                mailing.local(order)
        == app/__init__.py
        from . import gateway
        from app import mail
        == app/gateway.py
        import requests
        def charge(order):
            requests.post("https://x.example", timeout=1)
        == app/mail.py
        def local(order): ...
        """,
    "sessions that another file makes": """
        from .db import AsyncLocal, Local, get_session, scope
        def factory(query):
            with Local() as session:
                session.execute(query)
                requests.get("https://x.example", timeout=1)  #> CG204
        def function(query):
            session = get_session()
            session.execute(query)
            requests.get("https://x.example", timeout=1)  #> CG204
            session.commit()
            requests.get("https://x.example", timeout=1)
        async def asynchronous(query):
            async with AsyncLocal() as session:
                await session.execute(query)
                requests.get("https://x.example", timeout=1)  #> CG204
        == app/db.py
        from contextlib import contextmanager
        from sqlalchemy import create_engine
        from sqlalchemy.ext.asyncio import async_sessionmaker
        from sqlalchemy.orm import Session, sessionmaker
        Local = sessionmaker(create_engine("sqlite://"))
        AsyncLocal = async_sessionmaker()
        def get_session() -> Session:
            return Local()
        @contextmanager
        def scope():
            with Local() as session:
                yield session
        """,
    "connections that an object or a function keeps": """
        import psycopg2
        def connect():
            return psycopg2.connect("")
        class Store:
            def __init__(self):
                self.connection = psycopg2.connect("")
            def read(self):
                cursor = self.connection.cursor()
                cursor.execute("SELECT 1")
                requests.get("https://x.example", timeout=1)  #> CG204
        def read():
            cursor = connect().cursor()
            cursor.execute("SELECT 1")
            requests.get("https://x.example", timeout=1)  #> CG204
        """,
    "a query begins when it is asked for": """
        from sqlalchemy.orm import Session
        def read(db: Session, User):
            query = db.query(User).filter(User.id == 1)
            requests.get("https://x.example", timeout=1)
            query.all()
            requests.get("https://x.example", timeout=1)  #> CG204
        def listed(db: Session, User):
            users = list(db.query(User).outerjoin(User.orders).group_by(User.id))
            requests.get("https://x.example", timeout=1)  #> CG204
        def handed(db: Session, User, run):
            reads = []
            reads.append(db.execute)
            requests.get("https://x.example", timeout=1)
        def loop(db: Session, User):
            for user in db.query(User):
                requests.get("https://x.example", timeout=1)  #> CG204
        def nested(db: Session, row):
            with db.begin_nested():
                db.execute(row)
            requests.get("https://x.example", timeout=1)  #> CG204
        """,
    "closing only closes": """
        import sqlite3
        from contextlib import closing
        def read():
            with closing(sqlite3.connect("x")) as connection:
                requests.get("https://x.example", timeout=1)
                connection.execute("INSERT INTO x")
                requests.get("https://x.example", timeout=1)  #> CG204
            requests.get("https://x.example", timeout=1)
        """,
    "pools whose connections commit by themselves": """
        from psycopg_pool import ConnectionPool
        pool = ConnectionPool("dbname=x")
        own = ConnectionPool("dbname=x", kwargs={"autocommit": True})
        class Store:
            def __init__(self):
                self.own = ConnectionPool("dbname=x", kwargs={"autocommit": True})
            def read(self):
                with self.own.connection() as connection:
                    requests.get("https://x.example", timeout=1)
        def read():
            with pool.connection() as connection:
                requests.get("https://x.example", timeout=1)  #> CG201
                connection.commit()
                requests.get("https://x.example", timeout=1)
            with own.connection() as connection:
                requests.get("https://x.example", timeout=1)
        """,
    "functions that run what they are handed in a transaction": """
        def in_transaction(work, *args):
            requests.get("https://x.example", timeout=1)
            with transaction.atomic():
                return work(*args)
        def by_keyword(*, work):
            with transaction.atomic():
                work()
        class Runner:
            def run(self, work):
                with transaction.atomic():
                    work()
        def charge(order):
            requests.post("https://x.example", timeout=1)
        def local(order): ...
        def pay(order):
            in_transaction(charge, order)  #> CG201
            in_transaction(local, order)
            in_transaction(lambda: requests.get("https://x.example", timeout=1))  #> CG201
            Runner().run(lambda: charge(order))  #> CG201
            by_keyword(work=lambda: charge(order))  #> CG201
        """,
    "a unit of work that commits": """
        from sqlalchemy import create_engine
        from sqlalchemy.orm import sessionmaker
        Local = sessionmaker(create_engine("sqlite://"))
        class Work:
            def __enter__(self):
                self.session = Local()
                self.session.begin()
                return self
            def __exit__(self, *args):
                self.session.close()
            def commit(self):
                self.session.commit()
        class Database:
            def __init__(self):
                self.engine = create_engine("sqlite://")
            def begin(self):
                return self.engine.begin()
        def f(flag):
            with Work() as work:
                requests.post("https://x.example", timeout=1)  #> CG201
                if flag:
                    requests.post("https://x.example", timeout=1)  #> CG201
                work.commit()
                requests.post("https://x.example", timeout=1)
        class Service:
            def __init__(self):
                self.work = Work()
            def run(self):
                with self.work:
                    requests.post("https://x.example", timeout=1)  #> CG201
                    self.work.session.commit()
                    requests.post("https://x.example", timeout=1)
        def g(flag):
            with Local.begin() as session:
                if flag:
                    session.rollback()
                    requests.post("https://x.example", timeout=1)
                    return
                requests.post("https://x.example", timeout=1)  #> CG201
            with Database().begin() as connection:
                requests.post("https://x.example", timeout=1)  #> CG201
            session = Local()
            with session.begin():
                requests.post("https://x.example", timeout=1)  #> CG201
                session.commit()
                requests.post("https://x.example", timeout=1)
            later = Local.begin()
            with later as session:
                requests.post("https://x.example", timeout=1)  #> CG201
        """,
    "a unit of work known by its base": """
        from .work import AbstractWork
        def pay(work: AbstractWork):
            with work:
                requests.post("https://x.example", timeout=1)  #> CG201
        == app/work.py
        import abc
        class AbstractWork(abc.ABC):
            def __enter__(self):
                return self
            def __exit__(self, *args): ...
        == app/sql.py
        from sqlalchemy.orm import Session
        from .work import AbstractWork
        class SqlWork(AbstractWork):
            def __enter__(self):
                self.session = Session()
                self.session.begin()
                return super().__enter__()
        """,
    "what a protocol, an interface or a type variable stands for": """
        from abc import ABC, abstractmethod
        from typing import Protocol, TypeVar
        T = TypeVar("T")
        class Mailer:
            def send(self, text):
                requests.post("https://x.example", timeout=1)
        class Quiet:
            def send(self, text, loud=False): ...
        class Other:
            def send(self, pk):
                requests.post("https://x.example", timeout=1)
        class Strict:
            def send(self, text, channel):
                requests.post("https://x.example", timeout=1)
        class Asynchronous:
            async def send(self, text):
                requests.post("https://x.example", timeout=1)
        class Sender(Protocol):
            def send(self, text) -> None: ...
        class Base(ABC):
            @abstractmethod
            def push(self): ...
        class Push(Base):
            def push(self):
                requests.post("https://x.example", timeout=1)
        class Container:
            def get(self, wanted: type[T]) -> T:
                return self._made[wanted]
            def find(self, wanted: type[T], default: T | None = None) -> T:
                return self._made.get(wanted, default)
        def pay(sender: Sender, base: Base):
            with transaction.atomic():
                sender.send("paid")  #> CG201
                base.push()  #> CG201
                Container().get(Mailer).send("paid")  #> CG201
                Container().get(Quiet).send("paid")
                Container().find(Mailer).send("paid")  #> CG201
        """,
    "an annotation says more than a library's value": """
        from django.conf import settings
        class Net:
            def go(self):
                requests.post("https://x.example", timeout=1)
        def client() -> Net:
            return settings.CLIENT
        class Service:
            net: Net = settings.NET
        def pay():
            with transaction.atomic():
                client().go()  #> CG201
                Service().net.go()  #> CG201
        """,
    "names that are put together": """
        class Handler:
            def handle_paid(self):
                requests.post("https://x.example", timeout=1)
            def handle_sent(self): ...
            def other(self):
                requests.post("https://x.example", timeout=1)
            def run(self, kind, event):
                name = f"handle_{event.kind}"
                with transaction.atomic():
                    getattr(self, f"handle_{kind}")()  #> CG201
                    getattr(self, name, None)()  #> CG201
                    getattr(self, "on_" + kind)()
                    self.pick("paid")  #> CG201
                    self.pick("sent")
            def pick(self, kind):
                getattr(self, "handle_{}".format(kind))()
        """,
    "what an object is handed to keep": """
        class Promise:
            def __init__(self):
                self.callbacks = []
            def then(self, callback):
                self.callbacks.append(callback)
                return self
            def resolve(self):
                for callback in self.callbacks:
                    callback()
        class Steps:
            def __init__(self):
                self.steps = []
            def extend(self, *steps):
                self.steps.extend(steps)
            def run(self):
                for step in self.steps:
                    step()
        class Later:
            def __init__(self, callback=None):
                self.callback = callback
            def then(self, callback):
                self.callback = callback
                return self
            def run(self):
                self.callback()
        def load():
            requests.get("https://x.example", timeout=1)
        def local(): ...
        def build():
            made = Promise()
            made.then(load)
            return made
        def f():
            first, second = Promise(), Later()
            loud = Promise()
            loud.then(load)
            quiet = Promise()
            quiet.then(local)
            steps = Steps()
            steps.extend(local, load)
            with transaction.atomic():
                steps.run()  #> CG201
                loud.resolve()  #> CG201
                quiet.resolve()
                Promise().then(local).then(load).resolve()  #> CG201
                Promise().then(local).resolve()
                Later().then(load).run()  #> CG201
                Later().then(local).run()
                replaced = Later(load)
                replaced.then(local)
                replaced.run()
                build().resolve()  #> CG201
                later = Promise()
                later.then(load)
            later.resolve()
        """,
    "forms and serializers that save their model": """
        from django import forms
        from django.db import models
        from rest_framework import serializers, viewsets
        class Order(models.Model):
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
                super().save(*args, **kwargs)
        class Note(models.Model): ...
        class OrderForm(forms.ModelForm):
            class Meta:
                model = Order
        class OwnForm(forms.ModelForm):
            class Meta:
                model = Order
            def save(self, commit=True):
                return super().save(commit=commit)
        class OrderSerializer(serializers.ModelSerializer):
            class Meta:
                model = Order
        class NoteSerializer(serializers.ModelSerializer):
            class Meta:
                model = Note
        class Orders(viewsets.ModelViewSet):
            serializer_class = OrderSerializer
            def pay(self, request):
                with transaction.atomic():
                    self.get_serializer(data=request.data).save()  #> CG201
        def pay(request):
            with transaction.atomic():
                OrderForm(request.POST).save()  #> CG201
                order = OrderForm(request.POST).save(commit=False)
                order.save()  #> CG201
                OwnForm(request.POST).save()  #> CG201
                OwnForm(request.POST).save(commit=False)
                OrderSerializer(data=request.data).save()  #> CG201
                NoteSerializer(data=request.data).save()
        """,
    "contexts that a stack enters, and tasks that are called directly": """
        from contextlib import ExitStack
        from functools import partial
        from celery import Celery, Task
        class Lock:
            def __enter__(self):
                requests.post("https://x.example", timeout=1)
            def __exit__(self, *args): ...
        class CommitTask(Task):
            def apply_async(self, *args, **kwargs):
                transaction.on_commit(partial(super().apply_async, *args, **kwargs))
        app = Celery("shop", task_cls=CommitTask)
        @app.task
        def charge(pk):
            requests.post("https://x.example", timeout=1)
        def pay(pk):
            with transaction.atomic(), ExitStack() as stack:
                stack.enter_context(Lock())  #> CG201
                charge(pk)  #> CG201
                charge.delay(pk)
        """,
    "generators that run when the block is over": """
        from django.http import StreamingHttpResponse
        def rows():
            yield requests.get("https://x.example", timeout=1)
        class Lazy:
            def __init__(self, rows):
                self.rows = rows
        class Eager:
            def __init__(self, rows):
                self.rows = list(rows)
        def view(request):
            with transaction.atomic():
                list(rows())  #> CG201
                kept = Lazy(rows())
                waiting = rows()
                list(waiting)  #> CG201
                Eager(rows())  #> CG201
                return StreamingHttpResponse(rows())
        @transaction.atomic
        def lazily():
            yield requests.get("https://x.example", timeout=1)
        """,
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_what_stands_elsewhere_is_found(code: str, tmp_path: Path) -> None:
    texts = files(code)
    wanted = expected(texts)
    assert wanted
    assert found(judged(tmp_path, texts)) == wanted
