"""Every way in which a call inside a transaction can lead to the network, and what only looks like one.

A line that ends in `#> CG201` expects that finding there; nothing else may be found. `== path` begins another
file.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from concurrency_gate import config, gate
from concurrency_gate.rule import Report

MARK = "#> "

HEAD = """
import time
import requests
from django.db import models, transaction
"""


def files(code: str) -> dict[str, str]:
    """The files of a case, by path. The first one begins with the imports that every case needs."""
    found = {"app/__init__.py": ""}
    path, lines = "app/main.py", HEAD.strip().split("\n")
    for line in [*textwrap.dedent(code).strip("\n").split("\n"), "== "]:
        if line.startswith("== "):
            found[path] = "\n".join(lines) + "\n"
            path, lines = line.removeprefix("== "), []
        else:
            lines.append(line)
    return found


def judged(folder: Path, texts: dict[str, str]) -> Report:
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    report = gate.check([folder], config.find(folder))
    assert not report.errors
    return report


def found(report: Report) -> set[tuple[str, int, str]]:
    """All that is reached, however unsure the way is."""
    told = (*report.findings, *report.possible)
    return {(f.path, f.line, f.code) for f in told if f.code.startswith("CG2")}


def expected(texts: dict[str, str]) -> set[tuple[str, int, str]]:
    return {
        (path, number, code.strip())
        for path, text in texts.items()
        for number, line in enumerate(text.split("\n"), start=1)
        if MARK in line
        for code in line.partition(MARK)[2].split(",")
    }


REACHED = {
    "function": """
        def call():
            requests.get("https://x.example", timeout=1)
        def pay():
            with transaction.atomic():
                call()  #> CG201
        """,
    "function of another package": """
        from shop.remote import calls
        def pay():
            with transaction.atomic():
                calls.call()  #> CG201
        == shop/__init__.py
        == shop/remote/__init__.py
        == shop/remote/calls.py
        import requests
        def call():
            requests.get("https://x.example", timeout=1)
        """,
    "relative imports": """
        from . import helpers
        from .helpers import call as renamed
        def pay():
            with transaction.atomic():
                helpers.call()  #> CG201
                renamed()  #> CG201
        == app/helpers.py
        import requests
        def call():
            requests.get("https://x.example", timeout=1)
        """,
    "relative import of the package above": """
        from .sub.inner import call
        def pay():
            with transaction.atomic():
                call()  #> CG201
        == app/sub/__init__.py
        == app/sub/inner.py
        from ..helpers import Client
        def call():
            Client().send()
        == app/helpers.py
        import requests
        class Client:
            def send(self):
                requests.get("https://x.example", timeout=1)
        """,
    "re-export": """
        from shop import call
        def pay():
            with transaction.atomic():
                call()  #> CG201
        == shop/__init__.py
        from .api import *
        == shop/api.py
        from ._calls import call
        __all__ = ["call"]
        == shop/_calls.py
        import requests
        def call():
            requests.get("https://x.example", timeout=1)
        """,
    "import inside the function": """
        def pay():
            from .helpers import call
            with transaction.atomic():
                call()  #> CG201
        == app/helpers.py
        import requests
        def call():
            requests.get("https://x.example", timeout=1)
        """,
    "self": """
        class Pay:
            def call(self):
                requests.get("https://x.example", timeout=1)
            @transaction.atomic
            def run(self):
                self.call()  #> CG201
        """,
    "cls": """
        class Pay:
            @staticmethod
            def call():
                requests.get("https://x.example", timeout=1)
            @classmethod
            def run(cls):
                with transaction.atomic():
                    cls.call()  #> CG201
        """,
    "super": """
        class Base:
            def run(self):
                requests.get("https://x.example", timeout=1)
        class Pay(Base):
            def run(self):
                with transaction.atomic():
                    super().run()  #> CG201
        """,
    "super of a mixin goes on in the class that mixes": """
        class Mixin:
            def run(self):
                with transaction.atomic():
                    super().run()  #> CG201
        class Base:
            def run(self):
                requests.get("https://x.example", timeout=1)
        class Pay(Mixin, Base):
            pass
        """,
    "inherited method": """
        from .base import Base
        class Pay(Base):
            def run(self):
                with transaction.atomic():
                    self.call()  #> CG201
        == app/base.py
        import requests
        class Root:
            def call(self):
                requests.get("https://x.example", timeout=1)
        class Base(Root):
            pass
        """,
    "override of a hook, called from the base": """
        class Base:
            def run(self):
                with transaction.atomic():
                    self.hook()  #> CG201
            def hook(self):
                raise NotImplementedError
        class Pay(Base):
            def hook(self):
                requests.get("https://x.example", timeout=1)
        """,
    "receiver by construction": """
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        def pay():
            client = Client()
            with transaction.atomic():
                client.call()  #> CG201
                Client().call()  #> CG201
        """,
    "receiver by annotation": """
        from typing import Optional
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        def pay(client: Client, other: "Optional[Client]", third: Client | None, all: list[Client]):
            with transaction.atomic():
                client.call()  #> CG201
                other.call()  #> CG201
                third.call()  #> CG201
                for each in all:
                    each.call()  #> CG201
        """,
    "receiver by annotation under TYPE_CHECKING": """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from .client import Client
        def pay(client: Client):
            with transaction.atomic():
                client.call()  #> CG201
        == app/client.py
        import requests
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        """,
    "receiver by return annotation": """
        from .client import Client, make
        def pay():
            with transaction.atomic():
                make().call()  #> CG201
        == app/client.py
        import requests
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        def make() -> Client:
            ...
        """,
    "receiver by what a factory returns": """
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        def make(kind):
            if kind:
                return None
            return Client()
        def pay():
            with transaction.atomic():
                client = make(3)
                if client:
                    client.call()  #> CG201
        """,
    "receiver by attribute assignment": """
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        class Pay:
            def __init__(self):
                self.client = Client()
            def run(self):
                with transaction.atomic():
                    self.client.call()  #> CG201
        """,
    "receiver by constructor argument": """
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        class Pay:
            def __init__(self, client):
                self.client = client
            def run(self):
                self.client.call()
        def pay():
            with transaction.atomic():
                Pay(Client()).run()  #> CG201
        """,
    "receiver by annotated attribute of a dataclass": """
        from dataclasses import dataclass
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        @dataclass
        class Pay:
            client: Client
            def run(self):
                with transaction.atomic():
                    self.client.call()  #> CG201
        """,
    "receiver handed down": """
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        def inner(client):
            client.call()
        def pay():
            client = Client()
            with transaction.atomic():
                inner(client)  #> CG201
        """,
    "module-level instance": """
        from .client import client
        from . import client as module
        def pay():
            with transaction.atomic():
                client.call()  #> CG201
                module.client.call()  #> CG201
        == app/client.py
        import requests
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        client = Client()
        """,
    "static and class methods": """
        class Client:
            @staticmethod
            def still():
                requests.get("https://x.example", timeout=1)
            @classmethod
            def of_class(cls):
                cls.still()
        def pay():
            with transaction.atomic():
                Client.still()  #> CG201
                Client.of_class()  #> CG201
        """,
    "properties": """
        from functools import cached_property
        class Client:
            @property
            def balance(self):
                return requests.get("https://x.example", timeout=1)
            @cached_property
            def total(self):
                return requests.get("https://x.example", timeout=1)
        def pay(client: Client):
            with transaction.atomic():
                client.balance  #> CG201
                print(client.total)  #> CG201
        """,
    "partial": """
        from functools import partial
        def call(url):
            requests.get(url, timeout=1)
        def pay():
            later = partial(call, "https://x.example")
            with transaction.atomic():
                later()  #> CG201
        """,
    "decorated function": """
        import functools
        def retried(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                return function(*args, **kwargs)
            return inner
        @retried
        def call():
            requests.get("https://x.example", timeout=1)
        def pay():
            with transaction.atomic():
                call()  #> CG201
        """,
    "decorator with arguments, stacked": """
        import functools
        def retried(times):
            def around(function):
                @functools.wraps(function)
                def inner(*args, **kwargs):
                    return function(*args, **kwargs)
                return inner
            return around
        @retried(3)
        @retried(times=2)
        def call():
            requests.get("https://x.example", timeout=1)
        def pay():
            with transaction.atomic():
                call()  #> CG201
        """,
    "decorator that itself calls": """
        def reported(function):
            def inner(*args):
                requests.post("https://x.example", timeout=1)
                return function(*args)
            return inner
        @reported
        def local():
            pass
        def pay():
            with transaction.atomic():
                local()  #> CG201
        """,
    "context manager entered in the block": """
        from contextlib import contextmanager
        @contextmanager
        def locked():
            requests.get("https://x.example", timeout=1)
            yield
        class Lock:
            def __enter__(self):
                return self
            def __exit__(self, *exc):
                requests.get("https://x.example", timeout=1)
        def pay():
            with transaction.atomic():
                with locked():  #> CG201
                    pass
                with Lock():  #> CG201
                    pass
        """,
    "__call__": """
        class Client:
            def __call__(self):
                requests.get("https://x.example", timeout=1)
        def pay():
            client = Client()
            with transaction.atomic():
                client()  #> CG201
        """,
    "constructor": """
        class Client:
            def __init__(self):
                requests.get("https://x.example", timeout=1)
        def pay():
            with transaction.atomic():
                Client()  #> CG201
        """,
    "callback that is called": """
        def each(items, action):
            for item in items:
                action(item)
        def call(item):
            requests.get("https://x.example", timeout=1)
        class Pay:
            def method(self, item):
                requests.get("https://x.example", timeout=1)
            def run(self):
                with transaction.atomic():
                    each([1], self.method)  #> CG201
        def pay():
            with transaction.atomic():
                each([1], call)  #> CG201
                each([1], action=lambda item: call(item))  #> CG201
                each([1], print)
        """,
    "callback kept for then": """
        class Promise:
            def __init__(self, action):
                self.action = action
            def then(self, action):
                self.action()
                return Promise(action)
            def run(self):
                self.action()
        def call():
            requests.get("https://x.example", timeout=1)
        def local():
            pass
        def pay():
            with transaction.atomic():
                Promise(call).then(local)  #> CG201
                Promise(local).then(call).run()  #> CG201
                Promise(local).then(local).run()
        """,
    "comprehensions": """
        def call(item):
            return requests.get("https://x.example", timeout=1)
        def pay(items):
            with transaction.atomic():
                [call(item) for item in items]  #> CG201
                {item: call(item) for item in items}  #> CG201
                list(map(call, items))  #> CG201
                any(call(item) for item in items)  #> CG201
                sorted(items, key=call)  #> CG201
        """,
    "await": """
        import httpx
        from sqlalchemy.ext.asyncio import AsyncSession
        async def call():
            async with httpx.AsyncClient() as client:
                await client.get("https://x.example")
        async def pay(session: AsyncSession):
            async with session.begin():
                await call()  #> CG201
        """,
    "awaited later, and gathered": """
        import asyncio
        import httpx
        from sqlalchemy.ext.asyncio import AsyncSession
        async def call():
            async with httpx.AsyncClient() as client:
                await client.get("https://x.example")
        async def pay(session: AsyncSession):
            async with session.begin():
                work = call()
                await work  #> CG201
                await asyncio.gather(call(), call())  #> CG201
                await asyncio.wait_for(call(), 3)  #> CG201
        """,
    "generator consumed by a loop": """
        def pages():
            while True:
                yield requests.get("https://x.example", timeout=1)
        def all_pages():
            yield from pages()
        def pay():
            with transaction.atomic():
                for page in pages():  #> CG201
                    print(page)
                for page in all_pages():  #> CG201
                    print(page)
        """,
    "iterator class": """
        class Pages:
            def __iter__(self):
                return self
            def __next__(self):
                return requests.get("https://x.example", timeout=1)
        def pay():
            with transaction.atomic():
                for page in Pages():  #> CG201
                    print(page)
        """,
    "signal receivers of save, create and delete": """
        from .models import Order, Other
        def pay(order: Order, other: Other):
            with transaction.atomic():
                order.save()  #> CG201
                Order.objects.create()  #> CG201
                order.delete()  #> CG201
                other.save()
        == app/models.py
        from django.db import models
        class Order(models.Model):
            pass
        class Other(models.Model):
            pass
        == app/receivers.py
        import requests
        from django.db.models.signals import post_delete, post_save
        from django.dispatch import receiver
        from .models import Order
        @receiver([post_save, post_delete], sender=Order)
        def tell(sender, instance, **kwargs):
            requests.post("https://x.example", timeout=1)
        """,
    "signal of the project": """
        from .signals import paid, refused
        def pay():
            with transaction.atomic():
                paid.send(sender=None)  #> CG201
                refused.send(sender=None)
        == app/signals.py
        from django.dispatch import Signal
        paid = Signal()
        refused = Signal()
        == app/apps.py
        import requests
        from django.apps import AppConfig
        from .signals import paid
        def tell(sender, **kwargs):
            requests.post("https://x.example", timeout=1)
        class Config(AppConfig):
            def ready(self):
                paid.connect(tell)
        """,
    "Celery task called directly": """
        from celery import shared_task
        @shared_task
        def tell():
            requests.post("https://x.example", timeout=1)
        @shared_task(bind=True)
        def bound(self):
            requests.post("https://x.example", timeout=1)
        def pay():
            with transaction.atomic():
                tell()  #> CG201
                bound()  #> CG201
                tell.run()  #> CG201
                tell.apply()  #> CG201
        """,
    "handed to a thread and waited for": """
        import asyncio
        from concurrent.futures import ThreadPoolExecutor
        from sqlalchemy.ext.asyncio import AsyncSession
        def call():
            requests.get("https://x.example", timeout=1)
        async def pay(session: AsyncSession):
            async with session.begin():
                await asyncio.to_thread(call)  #> CG201
                await asyncio.get_running_loop().run_in_executor(None, call)  #> CG201
        """,
    "override of a receiver's base class": """
        from .plugins import Plugin
        def pay(plugin: Plugin):
            with transaction.atomic():
                plugin.charge()  #> CG201
                plugin.describe()
        == app/plugins.py
        from abc import ABC, abstractmethod
        class Plugin(ABC):
            @abstractmethod
            def charge(self): ...
            @abstractmethod
            def describe(self): ...
        == app/stripe.py
        import requests
        from .plugins import Plugin
        class Stripe(Plugin):
            def charge(self):
                requests.post("https://x.example", timeout=1)
            def describe(self):
                return "stripe"
        """,
    "getattr with a constant handed down": """
        class Client:
            def charge(self):
                requests.post("https://x.example", timeout=1)
            def describe(self):
                return "x"
        def run(client, name):
            return getattr(client, name)()
        def outer(name, client):
            return run(client, name)
        def pay():
            with transaction.atomic():
                outer("charge", Client())  #> CG201
                outer("describe", Client())
        """,
    "plugin manager": """
        class Plugin:
            def charge(self, order): ...
            def describe(self, order): ...
        class Stripe(Plugin):
            def charge(self, order):
                requests.post("https://x.example", timeout=1)
        class Manager:
            plugins: list[Plugin] = []
            def __init__(self):
                self.plugins = []
            def _run_on_plugins(self, name, default, *args):
                value = default
                for plugin in self.plugins:
                    value = self._run_on_plugin(plugin, name, value, *args)
                return value
            def _run_on_plugin(self, plugin: Plugin, name, value, *args):
                method = getattr(plugin, name, NotImplemented)
                return method(*args)
            def charge(self, order):
                return self._run_on_plugins("charge", None, order)
            def describe(self, order):
                return self._run_on_plugins("describe", None, order)
        def get_manager() -> Manager:
            return Manager()
        def pay(order):
            with transaction.atomic():
                get_manager().charge(order)  #> CG201
                get_manager().describe(order)
        """,
    "dicts and lists of callables": """
        def call():
            requests.get("https://x.example", timeout=1)
        def local():
            pass
        HANDLERS = {"call": call, "local": local}
        STEPS = [local, call]
        def pay(kind):
            with transaction.atomic():
                HANDLERS[kind]()  #> CG201
                HANDLERS["local"]()
                HANDLERS.get(kind, local)()  #> CG201
                for step in STEPS:
                    step()  #> CG201
                for name, handler in HANDLERS.items():
                    handler()  #> CG201
        """,
    "dict of plugin classes": """
        class Stripe:
            def charge(self):
                requests.post("https://x.example", timeout=1)
        class Cash:
            def charge(self):
                pass
        PROVIDERS = {"stripe": Stripe, "cash": Cash}
        def pay(kind):
            with transaction.atomic():
                PROVIDERS[kind]().charge()  #> CG201
                PROVIDERS["cash"]().charge()
                provider = PROVIDERS.get(kind)
                provider().charge()  #> CG201
        """,
    "registry filled by a decorator": """
        from .registry import registry
        from . import handlers
        def pay(kind):
            with transaction.atomic():
                registry.get(kind)()  #> CG201
        == app/registry.py
        class Registry:
            def __init__(self):
                self.known = {}
            def register(self, name):
                def inner(function):
                    self.known[name] = function
                    return function
                return inner
            def get(self, name):
                return self.known[name]
        registry = Registry()
        == app/handlers.py
        import requests
        from .registry import registry
        @registry.register("charge")
        def charge():
            requests.post("https://x.example", timeout=1)
        """,
    "registry filled by calls": """
        from .registry import find
        def pay(kind):
            with transaction.atomic():
                find(kind).charge()  #> CG201
        == app/registry.py
        _known = {}
        def register(name, provider):
            _known[name] = provider
        def find(name):
            return _known[name]
        == app/stripe.py
        import requests
        from .registry import register
        class Stripe:
            def charge(self):
                requests.post("https://x.example", timeout=1)
        register("stripe", Stripe())
        """,
    "type variable of a generic base": """
        from typing import Generic, List, Optional, Self, Type, TypeVar
        class Row:
            def push(self):
                pass
        class Order(Row):
            def push(self):
                requests.post("https://x.example", timeout=1)
        class Note(Row):
            def push(self):
                pass
        T = TypeVar("T", bound=Row)
        K = TypeVar("K")
        class Reader(Generic[K, T]):
            kind: Type[T]
            last: Optional[T] = None
            def find(self, key: K) -> T:
                return load(key)
            def all(self) -> List[T]:
                return load(None)
            def send(self, one: T):
                one.push()  # the row of the class that reads
        class Repository(Reader[int, T]):
            def __init__(self):
                self.kept: dict[str, T] = {}
            def keep(self, row: T):
                self.kept[row.name] = row
            @classmethod
            def made(cls) -> Self:
                return build(cls)
        class Orders(Repository[Order]):
            pass
        class Notes(Repository[Note]):
            pass
        def red(orders: Orders, x):
            with transaction.atomic():
                orders.find(1).push()  #> CG201
                orders.send(x)  #> CG201
                orders.kept["a"].push()  #> CG201
                orders.last.push()  #> CG201
                orders.kind().push()  #> CG201
                Orders.made().find(2).push()  #> CG201
                for each in orders.all():
                    each.push()  #> CG201
        def green(notes: Notes, x):
            with transaction.atomic():
                notes.find(1).push()
                notes.send(x)
                notes.kept["a"].push()
                notes.last.push()
                notes.kind().push()
                for each in notes.all():
                    each.push()
        def open(repository: Repository):
            with transaction.atomic():
                repository.find(1).push()  #> CG201
        """,
    "registries that share a base hold what each was given": """
        from .registry import jobs, pages
        from . import handlers
        def run(kind):
            with transaction.atomic():
                jobs.get(kind).save()  #> CG201
                pages.get(kind).save()
        == app/registry.py
        class Registry:
            def __init__(self):
                self.known = {}
            def register(self, one):
                self.known[one.name] = one
            def get(self, name):
                return self.known[name]
        class JobRegistry(Registry):
            pass
        class PageRegistry(Registry):
            pass
        jobs = JobRegistry()
        pages = PageRegistry()
        == app/handlers.py
        import requests
        from .registry import jobs, pages
        class Job:
            name = "job"
            def save(self):
                requests.post("https://x.example", timeout=1)
        class Page:
            name = "page"
            def save(self):
                pass
        jobs.register(Job())
        pages.register(Page())
        """,
    "class attribute that names a class": """
        class Form:
            def save(self):
                pass
        class UploadForm(Form):
            def save(self):
                requests.post("https://x.example", timeout=1)
        class View:
            form = Form
            def post(self):
                with transaction.atomic():
                    self.form().save()  #> CG201
        class Upload(View):
            form = UploadForm
        class Direct:
            form = UploadForm
            def post(self, data):
                form = self.form(data)
                with transaction.atomic():
                    form.save()  #> CG201
        """,
    "locator of the project": """
        from .services import locate
        from .ports import Mail
        def pay():
            with transaction.atomic():
                locate(Mail).send()  #> CG201
        == app/ports.py
        class Mail:
            def send(self): ...
        == app/services.py
        from .ports import Mail
        _services = {}
        def provide(interface, service):
            _services[interface] = service
        def locate(interface):
            return _services[interface]
        == app/wiring.py
        import requests
        from .ports import Mail
        from .services import provide
        class Remote:
            def send(self):
                requests.post("https://x.example", timeout=1)
        provide(Mail, Remote())
        """,
    "custom managers and querysets": """
        from .models import Order
        def pay():
            with transaction.atomic():
                Order.objects.push()  #> CG201
                Order.objects.filter(a=1).publish()  #> CG201
                Order.mine.filter(a=1).publish()  #> CG201
                Order.objects.get(a=1).tell()  #> CG201
                for order in Order.objects.filter(a=1).exclude(b=2):
                    order.tell()  #> CG201
        == app/models.py
        import requests
        from django.db import models
        class Orders(models.QuerySet):
            def publish(self):
                requests.post("https://x.example", timeout=1)
        class Manager(models.Manager):
            def push(self):
                requests.post("https://x.example", timeout=1)
        class Order(models.Model):
            objects = Manager.from_queryset(Orders)()
            mine = Orders.as_manager()
            def tell(self):
                requests.post("https://x.example", timeout=1)
        """,
    "model's own save": """
        class Order(models.Model):
            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)
                requests.post("https://x.example", timeout=1)
        def pay(order: Order):
            with transaction.atomic():
                order.save()  #> CG201
                Order.objects.create()  #> CG201
                Order.objects.get_or_create(a=1)  #> CG201
        """,
    "foreign key": """
        class User(models.Model):
            def tell(self):
                requests.post("https://x.example", timeout=1)
        class Order(models.Model):
            user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="orders")
            parent = models.ForeignKey("self", on_delete=models.CASCADE)
            def push(self):
                requests.post("https://x.example", timeout=1)
        def pay(order: Order, user: User):
            with transaction.atomic():
                order.user.tell()  #> CG201
                order.parent.push()  #> CG201
        """,
    "recursion and cycles": """
        def even(n):
            if n:
                odd(n - 1)
        def odd(n):
            if n:
                even(n - 1)
            else:
                requests.get("https://x.example", timeout=1)
        def endless():
            endless()
        def pay():
            with transaction.atomic():
                even(4)  #> CG201
                endless()
        """,
    "wait and enqueue by the same ways": """
        from celery import shared_task
        @shared_task
        def job():
            pass
        def call():
            time.sleep(3)
            job.delay()
        def slow():
            time.sleep(3)
        def pay():
            with transaction.atomic():
                slow()  #> CG203
                Later().go()  #> CG202
        class Later:
            def go(self):
                job.apply_async()
        """,
}

REACHED["a soft delete is a save"] = """
        from django.db.models.signals import post_save, pre_delete
        from django.dispatch import receiver
        from django_softdelete.models import SoftDeleteModel
        from model_utils.models import SoftDeletableModel
        from safedelete.models import SafeDeleteModel
        class Document(SoftDeleteModel): ...
        class Page(SoftDeletableModel): ...
        class Sheet(SafeDeleteModel): ...
        @receiver([post_save, pre_delete])
        def tell(sender, **kwargs):
            requests.post("https://x.example", timeout=1)
        def trash(document: Document, page: Page, sheet: Sheet):
            with transaction.atomic():
                document.delete()  #> CG201
                page.delete()  #> CG201
                sheet.delete()  #> CG201
                Document.objects.filter(old=True).delete()  #> CG201
                Sheet.objects.filter(old=True).delete()  #> CG201
                Page.objects.filter(old=True).delete()
        """
REACHED["what a new row can do"] = """
        from django.db.models.signals import post_save
        from django.dispatch import receiver
        class Given(models.Model):
            remote = models.CharField(max_length=9, blank=True)
            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)
                if self.remote:
                    post()
        class Filled(models.Model):
            remote = models.CharField(max_length=9, blank=True)
            def save(self, *args, **kwargs):
                self.remote = self.remote or "x"
                super().save(*args, **kwargs)
                if self.remote:
                    post()
        class Default(models.Model):
            remote = models.CharField(max_length=9, default="x")
            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)
                if self.remote:
                    post()
        class Announced(models.Model): ...
        @receiver(post_save, sender=Announced)
        def told(sender, instance, created, **kwargs):
            if created:
                post()
        def post():
            requests.post("https://x.example", timeout=1)
        def make(values):
            with transaction.atomic():
                Given.objects.create(remote="x")  #> CG201
                Given.objects.create(**values)  #> CG201
                Given.objects.get_or_create(pk=1, defaults={"remote": "x"})  #> CG201
                Given.objects.get_or_create(pk=1, defaults=values)  #> CG201
                Given.objects.update_or_create(pk=1)  #> CG201
                Given.objects.create()
                Filled.objects.create()  #> CG201
                Default.objects.create()  #> CG201
                Announced.objects.create()  #> CG201
        """
REACHED["an optional argument that may be None"] = """
        def note(event, to=None):
            if to is None:
                requests.post("https://x.example", timeout=1)
        def closed(lead, unknown):
            with transaction.atomic():
                note("closed")  #> CG201
                note("closed", to=None)  #> CG201
                note("closed", to=lead)  #> CG201
                note("closed", to=[lead] if lead else None)  #> CG201
        class Metrics:
            def __init__(self, namespace, send=True, **kwargs):
                self.send = send
            def inc(self):
                if self.send:
                    requests.post("https://x.example", timeout=1)
        class Mine(Metrics):
            def __init__(self, *args, **kwargs):
                super().__init__("mine", *args, **kwargs)
        def count(flag):
            with transaction.atomic():
                Mine().inc()  #> CG201
                Mine(send=flag).inc()  #> CG201
        """
REACHED["mail by a library's backend that publishes"] = """
        from django.core.mail import send_mail
        def tell(messages):
            with transaction.atomic():
                send_mail("a", "b", "a@example.org", ["b@example.org"])  #> CG202
        == settings.py
        EMAIL_BACKEND = "djcelery_email.backends.CeleryEmailBackend"
        """
REACHED["mail by a backend of which nothing is known"] = """
        from django.core.mail import send_mail
        def tell(messages):
            with transaction.atomic():
                send_mail("a", "b", "a@example.org", ["b@example.org"])  #> CG201
        == settings.py
        EMAIL_BACKEND = "anymail.backends.mailgun.EmailBackend"
        """
REACHED["mail by a backend of the project's that publishes"] = """
        from django.core.mail import EmailMessage, get_connection, send_mail
        def tell(messages):
            with transaction.atomic():
                send_mail("a", "b", "a@example.org", ["b@example.org"])  #> CG202
                EmailMessage("a").send()  #> CG202
        == manage.py
        import os
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
        == settings.py
        EMAIL_BACKEND = "mails.backends.RowBackend"
        == mails/__init__.py
        == mails/models.py
        from django.db import models
        class RawEmail(models.Model): ...
        == mails/backends.py
        from django.core.mail.backends.base import BaseEmailBackend
        from celery import shared_task
        @shared_task
        def publish(count): ...
        class RowBackend(BaseEmailBackend):
            def send_messages(self, email_messages):
                publish.delay(len(email_messages))
        """
_LEFT_OPEN = """
        from django.core.mail import send_mail
        def tell(messages):
            with transaction.atomic():
                send_mail("a", "b", "a@example.org", ["b@example.org"])  #> {code}
        == settings.py
        from environment import env
        EMAIL_BACKEND = {setting}
        == backends.py
        from django.core.mail.backends.base import BaseEmailBackend
        from celery import shared_task
        @shared_task
        def publish(count): ...
        class NotifyBackend(BaseEmailBackend):
            def send_messages(self, email_messages):
                publish.delay(len(email_messages))
        """
REACHED["mail by the project's backend, named by the environment"] = _LEFT_OPEN.format(
    code="CG202", setting="env.email_backend"
)
REACHED["mail by a backend of a library's unless the environment names another"] = _LEFT_OPEN.format(
    code="CG201", setting='env("EMAIL_BACKEND", default="django.core.mail.backends.smtp.EmailBackend")'
)
REACHED["mail by a queueing backend unless the environment, or development, names another"] = (
    _LEFT_OPEN.format(
        code="CG202", setting='env("EMAIL_BACKEND", default="djcelery_email.backends.CeleryEmailBackend")'
    )
    + """
        == local.py
        EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
        """
)
REACHED["mail by a backend for development"] = """
        from django.core.mail import send_mail
        def tell(messages):
            with transaction.atomic():
                send_mail("a", "b", "a@example.org", ["b@example.org"])  #> CG201
        == local.py
        EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
        """
REACHED["mail by one of two backends of the project's, named by the environment"] = (
    _LEFT_OPEN.format(code="CG201", setting="env.email_backend")
    + """
        class LogBackend(BaseEmailBackend):
            def send_messages(self, email_messages): ...
        """
)
REACHED["an app that an unknown library sets up"] = """
        from celery import Celery
        from watch import healthcheck
        app = Celery("shop")
        app = healthcheck.setup(app, interval=5)
        @app.task
        def check(pk): ...
        def pay(pk):
            with transaction.atomic():
                check.delay(pk)  #> CG202
        """
REACHED["modules beside manage.py, in a folder that is a package"] = """
        == src/__init__.py
        == src/backend/__init__.py
        == src/backend/manage.py
        import sys
        == src/backend/tasks/__init__.py
        == src/backend/tasks/tasks.py
        from celery import shared_task
        @shared_task
        def check(pk): ...
        == src/backend/views.py
        from django.db import transaction
        from tasks.tasks import check
        def pay(pk):
            with transaction.atomic():
                check.delay(pk=pk)  #> CG202
        """
REACHED["published before a raise that comes after the commit"] = """
        from celery import shared_task
        @shared_task
        def tidy(pk): ...
        def pay(order):
            try:
                check(order)
            except LookupError:
                with transaction.atomic():
                    tidy.delay(order.pk)  #> CG202
                raise
        def wait(order):
            with transaction.atomic():
                try:
                    check(order)
                except LookupError:
                    requests.post("https://x.example", timeout=1)  #> CG201
                    raise
        """

REACHED["service locator, and an interface that a decorator says who implements"] = """
        from .interfaces import IMail
        def pay(request):
            mail = request.find_service(IMail)
            with transaction.atomic():
                mail.send()  #> CG201
        == app/interfaces.py
        from zope.interface import Interface
        class IMail(Interface):
            def send(): ...
        == app/services.py
        import requests
        from zope.interface import implementer
        from .interfaces import IMail
        @implementer(IMail)
        class Mail:
            def send(self):
                requests.post("https://x.example", timeout=1)
        def includeme(config):
            config.register_service(Mail(), IMail)
        """

CLEAN = {
    "mail by a library's backend that writes rows": """
        from django.core.mail import send_mail
        def tell(messages):
            with transaction.atomic():
                send_mail("a", "b", "a@example.org", ["b@example.org"])
        == settings.py
        EMAIL_BACKEND = "mailer.backend.DbBackend"
        if DEBUG:
            EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
        """,
    "a receiver that asks for fixtures, or for the class by its name": """
        from django.db import models
        from django.db.models.signals import post_save
        from django.dispatch import receiver
        class Event_Order(models.Model): ...
        class Order(models.Model): ...
        @receiver(post_save)
        def fixtures(sender, instance, **kwargs):
            if not kwargs["raw"]:
                return
            requests.post("https://x.example", timeout=1)
        @receiver(post_save)
        def events(sender, **kwargs):
            if not sender.__name__.startswith("Event_"):
                return
            requests.post("https://x.example", timeout=1)
        def pay():
            with transaction.atomic():
                Order.objects.create()
        """,
    "a session that commits each statement": """
        from .db import Local
        def read(query):
            session = Local()
            session.execute(query)
            requests.get("https://x.example", timeout=1)
        == app/db.py
        from sqlalchemy.orm import sessionmaker
        Local = sessionmaker(autocommit=True)
        """,
    "mail by a backend of the project's that writes rows": """
        from django.core.mail import EmailMessage, get_connection, send_mail
        def tell(messages):
            with transaction.atomic():
                send_mail("a", "b", "a@example.org", ["b@example.org"])
                EmailMessage("a").send()
        == manage.py
        import os
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
        == settings.py
        EMAIL_BACKEND = "mails.backends.RowBackend"
        == mails/__init__.py
        == mails/models.py
        from django.db import models
        class RawEmail(models.Model): ...
        == mails/backends.py
        from django.core.mail.backends.base import BaseEmailBackend
        from .models import RawEmail
        class RowBackend(BaseEmailBackend):
            def send_messages(self, email_messages):
                RawEmail.objects.bulk_create([RawEmail() for _ in email_messages])
        """,
    "an optional argument that is given is not None": """
        class Manager:
            def create(self, event, **kwargs):
                if kwargs.get("recipients") is not None:
                    return
                post()
        def tell(event, recipients=None, **kwargs):
            Manager().create(event=event, recipients=recipients, **kwargs)
        def note(event, to=None):
            if to is None:
                post()
        def post():
            requests.post("https://x.example", timeout=1)
        def closed(lead):
            with transaction.atomic():
                tell("closed", recipients=[lead])
                note("closed", [lead])
                note("closed", to=Manager())
        """,
    "a flag that a constructor hands to the one above": """
        class Metrics:
            def __init__(self, namespace, send=True, **kwargs):
                self.namespace = namespace
                self.send = send
            def inc(self):
                if self.send is True:
                    requests.post("https://x.example", timeout=1)
        class Mine(Metrics):
            def __init__(self, *args, **kwargs):
                super().__init__("mine", *args, **kwargs)
        def count():
            with transaction.atomic():
                Mine(send=False).inc()
        """,
    "what a new row cannot do": """
        from django.db.models.signals import post_save
        from django.dispatch import receiver
        class Base(models.Model):
            remote = models.CharField(max_length=9, blank=True)
        class Profile(Base):
            user = models.IntegerField()
            avatar = models.FileField(null=True)
            closed = models.BooleanField(default=False)
            current = models.ForeignKey("self", null=True, on_delete=models.CASCADE)
            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)
                told = self.current
                if told is not None:
                    post()
                if not self.closed:
                    return
                post()
        @receiver(post_save, sender=Profile)
        def told(sender, instance, created, **kwargs):
            if instance.remote or instance.avatar:
                post()
            if not created:
                post()
        def post():
            requests.post("https://x.example", timeout=1)
        def make(user):
            Profile.objects.get_or_create(user=user)
            Profile.objects.get_or_create(user=user, defaults={"user": 2})
            with transaction.atomic():
                Profile.objects.create(user=user)
        """,
    "a soft delete sends no post_delete": """
        from django.db.models.signals import post_delete
        from django.dispatch import receiver
        from django_softdelete.models import SoftDeleteModel
        from model_utils.models import SoftDeletableModel
        from safedelete.models import SafeDeleteModel
        class Owned(models.Model):
            class Meta:
                abstract = True
        class Document(SoftDeleteModel, Owned):
            def delete(self, *args, **kwargs):
                return super().delete(*args, **kwargs)
        class Page(SoftDeletableModel): ...
        class Sheet(SafeDeleteModel): ...
        @receiver(post_delete)
        def forget(sender, **kwargs):
            requests.delete("https://x.example", timeout=1)
        def trash(document: Document, page: Page, sheet: Sheet):
            with transaction.atomic():
                document.delete()
                page.delete()
                sheet.delete()
            Document.objects.filter(old=True).delete()
            Page.objects.filter(old=True).delete()
            Sheet.objects.all().delete()
        """,
    "published where the transaction is given up": """
        from contextlib import contextmanager
        from celery import shared_task
        @shared_task
        def tidy(pk): ...
        def check(order):
            if order.gone:
                tidy.delay(order.pk)
                raise LookupError(order)
        @contextmanager
        def cleaned(order):
            try:
                yield
            except LookupError:
                report(order)
                raise
        def report(order):
            tidy.delay(order.pk)
        def pay(order):
            with transaction.atomic(), cleaned(order):
                check(order)
        """,
    "on_commit": """
        from functools import partial
        def call(pk):
            requests.get("https://x.example", timeout=1)
        def pay(order):
            with transaction.atomic():
                transaction.on_commit(lambda: call(order))
                transaction.on_commit(partial(call, order))
                transaction.on_commit(func=lambda: call(order))
                @transaction.on_commit
                def later():
                    call(order)
                def named():
                    call(order)
                transaction.on_commit(named)
                transaction.on_commit(named, using="default")
        """,
    "project wrappers of on_commit": """
        from functools import partial, wraps
        from .later import after, call_event, deferred
        def call(pk=None):
            requests.get("https://x.example", timeout=1)
        @deferred
        def tell():
            requests.get("https://x.example", timeout=1)
        def pay(order):
            with transaction.atomic():
                after(call, order)
                call_event(call, order)
                tell()
        == app/later.py
        from functools import partial, wraps
        from django.db import transaction
        def after(function, *args):
            transaction.on_commit(partial(function, *args))
        def call_event(function, *args, **kwargs):
            connection = transaction.get_connection()
            if connection.in_atomic_block:
                transaction.on_commit(lambda: function(*args, **kwargs))
            else:
                function(*args, **kwargs)
        def deferred(function):
            @wraps(function)
            def inner(*args, **kwargs):
                transaction.on_commit(lambda: function(*args, **kwargs))
            return inner
        """,
    "after_commit listener": """
        from sqlalchemy import event
        from sqlalchemy.orm import Session
        def pay(session: Session):
            with session.begin():
                @event.listens_for(session, "after_commit")
                def tell(session):
                    requests.get("https://x.example", timeout=1)
        """,
    "nested function only defined": """
        def pay(order):
            with transaction.atomic():
                def call():
                    requests.get("https://x.example", timeout=1)
                later = lambda: requests.get("https://x.example", timeout=1)
            call()
            later()
        """,
    "nested function returned": """
        def make():
            def call():
                requests.get("https://x.example", timeout=1)
            return call
        def pay(order):
            with transaction.atomic():
                later = make()
            later()
        """,
    "code after, else and finally": """
        def pay(order):
            try:
                with transaction.atomic():
                    order.save()
            except ValueError:
                requests.get("https://x.example", timeout=1)
            else:
                requests.get("https://x.example", timeout=1)
            finally:
                requests.get("https://x.example", timeout=1)
            requests.get("https://x.example", timeout=1)
        """,
    "enqueue that defers by itself": """
        from functools import partial
        from celery import shared_task, Task
        class Patient(Task):
            def apply_async(self, *args, **kwargs):
                transaction.on_commit(lambda: super(Patient, self).apply_async(*args, **kwargs))
        @shared_task
        def job():
            pass
        @shared_task(base=Patient)
        def patient():
            pass
        def pay(order):
            with transaction.atomic():
                job.delay_on_commit(order)
                job.apply_async_on_commit()
                transaction.on_commit(partial(job.delay, order))
                patient.delay()
        """,
    "only handed to something that runs it later": """
        class Queue:
            def __init__(self):
                self.waiting = []
            def put(self, function):
                self.waiting.append(function)
        queue = Queue()
        def call():
            requests.get("https://x.example", timeout=1)
        def pay(order):
            with transaction.atomic():
                queue.put(call)
        """,
    "a coroutine or generator that nothing runs in the block": """
        def pages():
            yield requests.get("https://x.example", timeout=1)
        def pay(order):
            with transaction.atomic():
                later = pages()
            for page in later:
                print(page)
        """,
    "signal of another model": """
        from django.db.models.signals import post_save
        from django.dispatch import receiver
        class Order(models.Model):
            pass
        class User(models.Model):
            pass
        @receiver(post_save, sender=Order)
        def tell(sender, **kwargs):
            requests.get("https://x.example", timeout=1)
        def pay(user: User):
            with transaction.atomic():
                user.save()
        """,
    "a method of the same name on another class": """
        class Client:
            def call(self):
                requests.get("https://x.example", timeout=1)
        class Local:
            def call(self):
                pass
        def pay(local: Local, unknown):
            with transaction.atomic():
                local.call()
                unknown.call()
        """,
    "a call under an argument that is None here": """
        def save(order, client=None):
            if client is not None:
                requests.get("https://x.example", timeout=1)
        def pay(order):
            with transaction.atomic():
                save(order)
                save(order, client=None)
        """,
}


@pytest.mark.parametrize("code", REACHED.values(), ids=REACHED)
def test_what_a_block_reaches_is_found(code: str, tmp_path: Path) -> None:
    texts = files(code)
    wanted = expected(texts)
    assert wanted
    assert found(judged(tmp_path, texts)) == wanted


@pytest.mark.parametrize("code", CLEAN.values(), ids=CLEAN)
def test_what_runs_later_or_elsewhere_is_clean(code: str, tmp_path: Path) -> None:
    assert found(judged(tmp_path, files(code))) == set()


def test_a_chain_of_eighteen_hops_is_found_and_told(tmp_path: Path) -> None:
    texts = files("""
        from .hop0 import hop
        def pay():
            with transaction.atomic():
                hop()  #> CG201
        """)
    for index in range(18):
        texts[f"app/hop{index}.py"] = f"from .hop{index + 1} import hop as on\ndef hop():\n    on()\n"
    texts["app/hop18.py"] = "import requests\ndef hop():\n    requests.get('https://x.example', timeout=1)\n"
    report = judged(tmp_path, texts)
    assert found(report) == expected(texts)
    (finding,) = (f for f in report.findings if f.code == "CG201")
    assert [step.path for step in finding.chain] == ["app/main.py", *(f"app/hop{n}.py" for n in range(19))]
    assert finding.chain[-1].text == "requests.get"


def test_the_finding_says_which_way_reaches(tmp_path: Path) -> None:
    texts = files("""
        class Plugin:
            def charge(self): ...
        class Cash(Plugin):
            def charge(self):
                pass
        class Stripe(Plugin):
            def charge(self):
                self.post()
            def post(self):
                requests.post("https://x.example", timeout=1)
        def pay(plugin: Plugin):
            with transaction.atomic():
                plugin.charge()  #> CG201
        """)
    report = judged(tmp_path, texts)
    assert found(report) == expected(texts)
    (finding,) = (f for f in report.findings if f.code == "CG201")
    assert "requests.post reaches the network inside transaction.atomic (line 15)" in finding.message
    assert "through Stripe.charge() -> Stripe.post()" in finding.message


def test_of_two_ways_the_one_with_fewer_tests_on_it_is_told(tmp_path: Path) -> None:
    texts = files("""
        def post():
            requests.post("https://x.example", timeout=1)
        def seldom(order):
            if order.late:
                post()
        def always():
            onwards()
        def onwards():
            post()
        def pay(order):
            with transaction.atomic():
                charge(order)  #> CG201
        def charge(order):
            seldom(order)
            always()
        """)
    report = judged(tmp_path, texts)
    assert found(report) == expected(texts)
    (finding,) = (f for f in report.findings if f.code == "CG201")
    assert "through charge() -> always() -> onwards() -> post()" in finding.message
