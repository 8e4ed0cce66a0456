"""The way back of a field that points to a class: `order.lines`, under every name that it may have.

A line that ends in `#> CG201` expects that finding there; nothing else may be found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_reach import expected, files, found, judged

CASES = {
    "collections": """
        from django.db.models.signals import post_delete, post_save
        from django.dispatch import receiver
        class Order(models.Model): ...
        class Line(models.Model):
            order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
        class Note(models.Model):
            order = models.ForeignKey(Order, on_delete=models.CASCADE)
        @receiver(post_save, sender=Line)
        def saved(sender, **kw):
            requests.post("https://x.example", timeout=1)
        @receiver(post_delete, sender=Line)
        def deleted(sender, **kw):
            requests.post("https://x.example", timeout=1)
        def f(order: Order):
            with transaction.atomic():
                order.lines.create()  #> CG201
                order.lines.all().delete()  #> CG201
                for line in order.lines.filter(n=1):
                    line.save()  #> CG201
                order.lines.first().save()  #> CG201
                order.lines.get_or_create()  #> CG201
                order.lines.update(n=1)
                order.note_set.create()
                order.note_set.all().delete()
                order.line_set.create()
                order.lines.first().order.lines.create()  #> CG201
                Order.lines.create()
        """,
    "the class's own collection": """
        class Lines(models.QuerySet):
            def create(self, **kw):
                requests.post("https://x.example", timeout=1)
            def push(self):
                requests.post("https://x.example", timeout=1)
        class Logs(models.Manager):
            def push(self):
                requests.post("https://x.example", timeout=1)
        class Both(models.Manager.from_queryset(Lines)): ...
        class Order(models.Model): ...
        class Line(models.Model):
            order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
            objects = Lines.as_manager()
        class Log(models.Model):
            order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="logs")
            objects = Logs()
            others = models.Manager()
        class Plain(models.Model):
            order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="plain")
            objects = models.Manager()
            others = Logs()
        class Mixed(models.Model):
            order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="mixed")
            objects = Both()
        def f(order: Order):
            with transaction.atomic():
                order.lines.create()  #> CG201
                order.lines.filter(n=1).push()  #> CG201
                order.logs.push()  #> CG201
                order.plain.push()
                order.mixed.push()  #> CG201
        """,
    "names": """
        from .more import Child, Tag
        class Order(models.Model): ...
        class Saves(models.Model):
            class Meta:
                abstract = True
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
        class A(Saves):
            order = models.ForeignKey(Order, models.CASCADE, related_name="%(class)s_x")
        class B(Saves):
            order = models.ForeignKey(to=Order, on_delete=models.CASCADE)
            class Meta:
                default_related_name = "bees"
        class C(Saves):
            order = models.ForeignKey(to="Order", on_delete=models.CASCADE, related_name="+")
        class D(Saves):
            order = models.OneToOneField("app.Order", on_delete=models.CASCADE)
        class E(Saves):
            order = models.OneToOneField(Order, on_delete=models.CASCADE, related_name="e1")
        class F(Saves):
            orders = models.ManyToManyField(Order)
            up = models.ForeignKey("self", models.CASCADE, related_name="kids")
        class G(Saves):
            order = models.ForeignKey("other.Order", models.CASCADE, related_name="gees")
        NAME = "aitches"
        class H(Saves):
            order = models.ForeignKey("Order", models.CASCADE, related_name=NAME)
        def f(order: Order, child: Child, tag: Tag, six: F):
            with transaction.atomic():
                order.a_x.create()  #> CG201
                order.bees.create()  #> CG201
                order.b_set.create()
                order.c_set.create()
                order.d.save()  #> CG201
                order.e1.save()  #> CG201
                order.e.save()
                order.f_set.create()  #> CG201
                six.kids.create()  #> CG201
                order.gees.create()
                order.aitches.create()
                child.app_one_set.create()  #> CG201
                child.app_two_set.create()  #> CG201
                child.app_three_set.create()
                child.other_one_set.create()
                child.app_base_set.create()
                tag.once.create()  #> CG201
                tag.twice.create()
        == app/more.py
        from django.db import models
        import requests
        class Parent(models.Model): ...
        class Child(Parent): ...
        class Tag(models.Model): ...
        class Base(models.Model):
            parent = models.ForeignKey(Parent, models.CASCADE, related_name="%(app_label)s_%(class)s_set")
            tag = models.ForeignKey(Tag, models.CASCADE, related_name="twice")
            class Meta:
                abstract = True
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
        class One(Base): ...
        class Two(Base): ...
        class Three(One): ...
        class Single(models.Model):
            tag = models.ForeignKey(Tag, models.CASCADE, related_name="once")
            class Meta:
                abstract = True
        class Only(Single):
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
        """,
    "classes of one name in two applications": """
        from .models import Order
        from shop.models import Order as Other
        def f(order: Order, other: Other):
            with transaction.atomic():
                order.lines.create()
                other.lines.create()  #> CG201
                order.notes.create()
                other.notes.create()
        == app/models.py
        from django.db import models
        class Order(models.Model): ...
        == shop/__init__.py
        == shop/models.py
        from django.db import models
        class Order(models.Model): ...
        == more/__init__.py
        == more/models.py
        import requests
        from django.db import models
        class Line(models.Model):
            order = models.ForeignKey("shop.Order", models.CASCADE, related_name="lines")
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
        class Note(models.Model):
            order = models.ForeignKey("Order", models.CASCADE, related_name="notes")
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
        """,
    "what the collection fills in": """
        class Order(models.Model): ...
        class Line(models.Model):
            order = models.ForeignKey(Order, models.CASCADE, null=True, related_name="lines")
            def save(self, *args, **kwargs):
                if not self.order:
                    requests.post("https://x.example", timeout=1)
        class Note(models.Model):
            order = models.ForeignKey(Order, models.CASCADE, null=True, related_name="notes")
            def save(self, *args, **kwargs):
                if self.order:
                    requests.post("https://x.example", timeout=1)
        def f(order: Order):
            with transaction.atomic():
                order.lines.create()
                order.notes.create()  #> CG201
        """,
    "the project's user": """
        from django.conf import settings
        from django.contrib.auth import get_user_model
        from django.contrib.auth.models import AbstractUser
        from django.http import HttpRequest
        from django.shortcuts import get_object_or_404
        class Person(AbstractUser):
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
        class Address(models.Model):
            person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="addresses")
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
        def f(person: Person, address: Address):
            with transaction.atomic():
                person.addresses.create()  #> CG201
                address.person.save()  #> CG201
                get_user_model().objects.get(pk=1).save()  #> CG201
                get_object_or_404(get_user_model(), pk=1).addresses.create()  #> CG201
        def view(request: HttpRequest):
            with transaction.atomic():
                request.user.addresses.create()  #> CG201
        == app/settings.py
        AUTH_USER_MODEL = "app.Person"
        """,
    "a library's user": """
        from django.conf import settings
        from django.contrib.auth import get_user_model
        class User(models.Model):
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
        class Address(models.Model):
            person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="addresses")
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
        def f(user: User):
            with transaction.atomic():
                user.addresses.create()
                get_user_model().objects.get(pk=1).save()
        == app/settings.py
        AUTH_USER_MODEL = "auth.User"
        """,
    "classes that a registry gives": """
        from django.apps import apps
        class Order(models.Model):
            def save(self, *args, **kwargs):
                requests.post("https://x.example", timeout=1)
        def f(name):
            with transaction.atomic():
                apps.get_model("app", "Order").objects.create()  #> CG201
                apps.get_model("app.Order").objects.create()  #> CG201
                apps.get_model("shop", "Order").objects.create()
                apps.get_model("app", name).objects.create()
        """,
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_relations(code: str, tmp_path: Path) -> None:
    texts = files(code)
    assert found(judged(tmp_path, texts)) == expected(texts)
