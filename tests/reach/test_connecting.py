"""Receivers that are connected somewhere, to senders that are named in some way.

A line that ends in `#> CG201` expects that finding there; nothing else may be found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_reach import expected, files, found, judged

MODELS = """
        == app/models.py
        from django.db import models
        class A(models.Model): ...
        class B(models.Model): ...
        class C(models.Model): ...
        class D(models.Model): ...
        class E(models.Model): ...
"""

USE = """
        from .models import A, B, C, D, E
        def a(row: A):
            with transaction.atomic():
                row.save(){a}
        def b(row: B):
            with transaction.atomic():
                row.save(){b}
        def c(row: C):
            with transaction.atomic():
                row.save(){c}
        def d(row: D):
            with transaction.atomic():
                row.save(){d}
        def e(row: E):
            with transaction.atomic():
                row.save()
        == app/signals.py
        import requests
        from django.db.models.signals import post_save, pre_delete
        from django.dispatch import receiver
        def push(sender, **kw):
            requests.post("https://x.example", timeout=1)
"""

CASES = {
    "statements inside others": (
        "abcd",
        """
        from django.conf import settings
        from .models import A, B, C, D
        if settings.SYNC:
            post_save.connect(push, sender=A)
        for model in (B,):
            post_save.connect(push, sender=model)
        def setup():
            try:
                with open("x"):
                    post_save.connect(push, sender=C)
            except OSError:
                pass
        [post_save.connect(push, sender=model) for model in [D]]
        """,
    ),
    "senders by their labels": (
        "abcd",
        """
        post_save.connect(push, sender="app.A")
        @receiver(post_save, sender="app.B")
        def one(sender, **kw):
            requests.post("https://x.example", timeout=1)
        for name in ["app.C"]:
            post_save.connect(push, name)
        @receiver([post_save, pre_delete], sender="app.D")
        def two(sender, **kw):
            requests.post("https://x.example", timeout=1)
        post_save.connect(push, sender="shop.E")
        post_save.connect(push, sender="E")
        """,
    ),
    "the user that the settings name": (
        "ab",
        """
        from django.conf import settings
        from django.contrib.auth import get_user_model
        post_save.connect(push, sender=settings.AUTH_USER_MODEL)
        @receiver(post_save, sender=get_user_model())
        def one(sender, **kw):
            requests.post("https://x.example", timeout=1)
        post_save.connect(push, sender="app.B")
        == app/settings.py
        AUTH_USER_MODEL = "app.A"
        """,
    ),
    "a library's user": (
        "",
        """
        from django.conf import settings
        post_save.connect(push, sender=settings.AUTH_USER_MODEL)
        == app/settings.py
        AUTH_USER_MODEL = "auth.A"
        """,
    ),
    "an application's own registry": (
        "abc",
        """
        == app/apps.py
        from django.apps import AppConfig, apps
        from django.db.models import signals
        class App(AppConfig):
            name = "app"
            def ready(self):
                from .signals import push
                A = self.get_model("A")
                signals.post_save.connect(push, sender=A)
                signals.post_save.connect(push, sender=self.get_model("B"))
                signals.post_save.connect(push, sender=apps.get_model("app", "C"))
                signals.post_save.connect(push, sender=apps.get_model("shop", "D"))
        """,
    ),
    "functions that are given the sender": (
        "abcd",
        """
        from .models import A, B, C, D
        def register(signal, handler, model):
            signal.connect(handler, sender=model)
        register(post_save, push, A)
        def each(models):
            for model in models:
                register(post_save, push, model)
        def ready():
            each([B])
        class Sync:
            def __init__(self, model):
                post_save.connect(self.handle, sender=model)
            def handle(self, sender, **kw):
                requests.post("https://x.example", timeout=1)
        sync = Sync(C)
        def make(model):
            @receiver(post_save, sender=model)
            def one(sender, **kw):
                requests.post("https://x.example", timeout=1)
        make(D)
        """,
    ),
    "functions that nobody calls": (
        "",
        """
        def register(model):
            post_save.connect(push, sender=model)
        """,
    ),
}


@pytest.mark.parametrize(("told", "code"), CASES.values(), ids=CASES)
def test_connecting(told: str, code: str, tmp_path: Path) -> None:
    marks = {name: "  #> CG201" if name in told else "" for name in "abcd"}
    parts = (USE.format(**marks), code, MODELS)
    texts = files("\n".join(part.strip("\n").rstrip() for part in parts))
    assert found(judged(tmp_path, texts)) == expected(texts)


def test_one_name_in_two_applications(tmp_path: Path) -> None:
    texts = files("""
        from .models import Tag
        from shop.models import Tag as Other
        def f(tag: Tag, other: Other):
            with transaction.atomic():
                tag.save()
                other.save()  #> CG201
        == app/models.py
        from django.db import models
        class Tag(models.Model): ...
        == app/types.py
        class Tag(dict): ...
        == shop/__init__.py
        == shop/models.py
        from django.db import models
        class Tag(models.Model): ...
        == shop/types.py
        class Tag(dict): ...
        == shop/signals.py
        import requests
        from django.db.models.signals import post_save
        def push(sender, **kw):
            requests.post("https://x.example", timeout=1)
        post_save.connect(push, sender="shop.Tag")
        """)
    assert found(judged(tmp_path, texts)) == expected(texts)
