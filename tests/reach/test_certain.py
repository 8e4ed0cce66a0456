"""What is sure of a call decides which branches it can take: the rows it saves, the keywords it gives, the classes.

Each of these was told wrongly for a service. A line that ends in `#> CG201` expects that finding there; nothing else
may be found.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from .test_reach import expected, found, judged

BESIDE = {
    "app/dev.py": "NOTIFY = False\n",
    "app/prod.py": "NOTIFY = True\n",
    "app/flags.py": "STARRED = False\ntry:\n    from .local import *\nexcept ImportError:\n    pass\n",
    "app/local.py": "STARRED = True\n",
}

CASES = {
    "a row is of the class whose manager gave it": """
        import requests
        from django.db import models, transaction
        from django.db.models.signals import post_save

        class Form(models.Model):
            name = models.TextField()
            count = models.IntegerField(default=0)

            def save(self, *args, **kwargs):
                self.name = self.name.strip()
                super().save(*args, **kwargs)

        class Dictionary(Form):
            class Meta:
                proxy = True

        def publish(sender, instance=None, **kwargs):
            requests.post("https://example.org", timeout=3)

        post_save.connect(publish, sender=Dictionary)

        def green(pk):
            with transaction.atomic():
                form = Form.objects.select_for_update().get(pk=pk)
                form.count -= 1
                form.save(update_fields=["count"])

        def green_created(name):
            Form.objects.get_or_create(name=name)

        def red(pk):
            with transaction.atomic():
                Dictionary.objects.get(pk=pk).save()  #> CG201
        """,
    "save is given no keyword of the project's own": """
        import requests
        from django.db import models, transaction

        class Profile(models.Model):
            name = models.TextField()

            def save(self, *args, update_image=False, **kwargs):
                if update_image:
                    requests.post("https://example.org", timeout=3)
                super().save(*args, **kwargs)

        class Parsed(models.Model):
            name = models.TextField()

            def save(self, asynchronous=False, *args, **kwargs):
                super().save(*args, **kwargs)
                self.update(asynchronous)

            def update(self, asynchronous=False):
                if asynchronous:
                    requests.post("https://example.org", timeout=3)

        def green(name):
            Profile.objects.update_or_create(name=name, defaults={"name": "b"})

        def green_positional(name):
            Parsed.objects.get_or_create(name=name)

        def green_create(name):
            with transaction.atomic():
                Profile.objects.create(name=name)

        def red(pk):
            with transaction.atomic():
                Profile.objects.get(pk=pk).save(update_image=True)  #> CG201
        """,
    "a case of another class": """
        import requests
        from django.db import models, transaction

        class Section(models.Model):
            name = models.TextField()

        class Reservation(models.Model):
            name = models.TextField()

        class Client:
            @classmethod
            def delete_section(cls, obj: Section):
                requests.delete("https://example.org/section", timeout=3)

            @classmethod
            def forget(cls, obj: Reservation):
                obj.name = ""

        class Service:
            @classmethod
            def delete(cls, obj: Section | Reservation) -> None:
                match obj:
                    case Section():
                        Client.delete_section(obj)
                    case Reservation():
                        Client.forget(obj)
                    case _:
                        raise TypeError(obj)

        def told(obj: Section | Reservation) -> None:
            if isinstance(obj, Section):
                Client.delete_section(obj)

        def green(instance: Reservation) -> None:
            with transaction.atomic():
                Service.delete(obj=instance)

        def green_read(pk):
            with transaction.atomic():
                Service.delete(Reservation.objects.get(pk=pk))

        def green_isinstance(instance: Reservation) -> None:
            with transaction.atomic():
                told(instance)

        def red(instance: Section) -> None:
            with transaction.atomic():
                Service.delete(obj=instance)  #> CG201
        """,
    "a constant of a module that nothing sets": """
        import os
        import requests
        from django.db import transaction
        from app import main

        OFF = False
        ON = True
        TOLD = os.environ.get("TOLD")
        TURNED = False
        COUNTED = False

        def switch():
            global TURNED
            TURNED = True

        def turn():
            main.COUNTED = True

        def post():
            requests.post("https://example.org", timeout=3)

        def off():
            if not OFF:
                return
            post()

        def quiet():
            if main.OFF:
                post()

        def on():
            if ON:
                post()

        def told():
            if TOLD:
                post()

        def turned():
            if TURNED:
                post()

        def counted():
            if COUNTED:
                post()

        def shadowed(OFF):
            if OFF:
                post()

        @transaction.atomic
        def pay():
            off()
            quiet()
            on()  #> CG201
            told()  #> CG201
            turned()  #> CG201
            counted()  #> CG201
            shadowed(load())  #> CG201
        """,
    "what is looked for may be false, a number, or nothing": """
        import requests
        from django.db import models, transaction

        class Subscription(models.Model):
            trial = models.BooleanField()
            count = models.IntegerField()
            coupon = models.ForeignKey("Coupon", null=True, on_delete=models.CASCADE)
            note = models.TextField(null=True)
            code = models.TextField()

            def save(self, *args, **kwargs):
                if not self.trial or not self.count or not self.coupon or not self.note or not self.code:
                    requests.post("https://example.org", timeout=3)
                super().save(*args, **kwargs)

        @transaction.atomic
        def red(trial, count, coupon, note, code, extra):
            Subscription.objects.get_or_create(trial=trial)  #> CG201
            Subscription.objects.get_or_create(count=count)  #> CG201
            Subscription.objects.get_or_create(coupon=coupon)  #> CG201
            Subscription.objects.get_or_create(note=note)  #> CG201
            Subscription.objects.update_or_create(code=code, defaults={"code": ""})  #> CG201
            Subscription.objects.update_or_create(code=code, defaults=extra)  #> CG201
        """,
    "a constant that may come from elsewhere": """
        import os
        import requests
        from django.db import transaction
        from . import flags

        try:
            from deployment import ON
        except ImportError:
            ON = False
        AGAIN = False
        AGAIN |= "AGAIN" in os.environ
        for LOOPED in (False, True):
            pass
        if os.environ.get("ENV") == "dev":
            from . import dev as env
        else:
            from . import prod as env

        def post():
            requests.post("https://example.org", timeout=3)

        def on():
            if ON:
                post()

        def again():
            if AGAIN:
                post()

        def looped():
            if LOOPED:
                post()

        def by_environment():
            if env.NOTIFY:
                post()

        def starred():
            if flags.STARRED:
                post()

        @transaction.atomic
        def pay():
            on()  #> CG201
            again()  #> CG201
            looped()  #> CG201
            by_environment()  #> CG201
            starred()  #> CG201
        """,
    "a constant that is set by its name as a text": """
        import sys
        import requests
        from django.conf import settings
        from django.db import transaction

        NOTIFY = False
        this = sys.modules[__name__]
        for name in ("NOTIFY",):
            setattr(this, name, getattr(settings, "SHOP_" + name, False))

        def tell():
            if NOTIFY:
                requests.post("https://example.org", timeout=3)

        @transaction.atomic
        def pay():
            tell()  #> CG201
        """,
    "a row that was looked for by a column has it": """
        import requests
        from django.db import models, transaction

        class Image(models.Model):
            checksum = models.CharField(max_length=64)
            title = models.TextField()

            def save(self, *args, **kwargs):
                if not self.checksum:
                    self.checksum = requests.get("https://example.org", timeout=3).text
                super().save(*args, **kwargs)

        @transaction.atomic
        def green(found, title):
            Image.objects.get_or_create(checksum=found, defaults={"title": title})
            Image.objects.update_or_create(checksum=found, defaults={"title": title})

        @transaction.atomic
        def red(found, title):
            Image.objects.get_or_create(title=title, defaults={"checksum": found})  #> CG201
            Image.objects.get_or_create(checksum="")  #> CG201
            Image.objects.get_or_create(checksum__startswith=found)  #> CG201
            Image.objects.create(checksum=found)  #> CG201
            Image(checksum=found).save()  #> CG201
        """,
    "a new row has no key before it is saved": """
        import requests
        from django.db import models, transaction
        from django.db.models.signals import pre_save
        from django.dispatch import receiver

        class Purpose(models.Model):
            name = models.TextField()
            image = models.TextField(null=True)

        @receiver(pre_save, sender=Purpose, dispatch_uid="purpose")
        def purge(sender, **kwargs):
            instance = kwargs["instance"]
            if instance.pk is not None:
                previous: Purpose | None = Purpose.objects.filter(pk=instance.pk).first()
                if previous is not None and previous.image is not None:
                    requests.post("https://example.org", timeout=3)

        def green(name):
            Purpose.objects.get_or_create(name=name)

        @transaction.atomic
        def green_create(name):
            Purpose.objects.create(name=name)

        @transaction.atomic
        def green_new(name):
            Purpose(name=name).save()

        @transaction.atomic
        def red(pk):
            Purpose.objects.get(pk=pk).save()  #> CG201
        """,
    "a row that is built and saved is created": """
        from celery import shared_task
        from django.db import models, transaction
        from django.db.models.signals import post_save
        from django.dispatch import receiver

        @shared_task
        def disconnect(pk):
            return pk

        class Channel(models.Model):
            name = models.TextField()
            deleted_at = models.DateTimeField(null=True)

            @classmethod
            def create(cls, **kwargs):
                with transaction.atomic():
                    channel = cls(**kwargs)
                    channel.name = "a"
                    channel.save()
                return channel

            def save(self, *args, **kwargs):
                if self.name == "b":
                    raise ValueError(self.name)
                return super().save(*args, **kwargs)

        @receiver(post_save, sender=Channel)
        def saved(sender: Channel, instance: Channel, created: bool, *args, **kwargs) -> None:
            if created:
                instance.name = "c"
            elif instance.deleted_at:
                disconnect.apply_async((instance.pk,), countdown=5)
            else:
                instance.name = "d"

        def green():
            with transaction.atomic():
                Channel.create(name="x")

        @transaction.atomic
        def red(pk):
            channel = Channel.objects.get(pk=pk)
            channel.save()  #> CG202
        """,
    "a row that was read is not created": """
        import requests
        from django.db import models, transaction
        from django.db.models.signals import post_save

        class Datum(models.Model):
            value = models.TextField()
            deleted = models.BooleanField(default=False)

            def soft_delete(self):
                self.deleted = True
                self.save()

        def linked(sender, instance=None, created=False, **kwargs):
            if created and instance.value:
                requests.post("https://example.org", timeout=3)

        post_save.connect(linked, sender=Datum)

        def iterate(queryset):
            for row in queryset:
                yield row

        @transaction.atomic
        def green(pk):
            datum = Datum.objects.select_for_update().get(pk=pk)
            datum.save(update_fields=["value"])

        @transaction.atomic
        def green_method(pk):
            Datum.objects.get(pk=pk).soft_delete()

        @transaction.atomic
        def green_loop():
            for datum in Datum.objects.filter(value="a"):
                datum.soft_delete()

        @transaction.atomic
        def green_generator():
            for datum in iterate(Datum.objects.filter(value="a")):
                datum.soft_delete()

        @transaction.atomic
        def red(value):
            Datum(value=value).save()  #> CG201

        class Project(models.Model):
            status = models.TextField()

            def save(self, *args, **kwargs):
                if self.pk:
                    old = Project.objects.get(pk=self.pk)
                    if old.status != self.status:
                        super().save(update_fields=["status"])
                super().save(*args, **kwargs)

        def validation(sender, **kwargs):
            created = kwargs["created"]
            if created:
                requests.post("https://example.org", timeout=3)

        post_save.connect(validation, sender=Project)

        class Location(models.Model):
            project = models.ForeignKey(Project, on_delete=models.CASCADE)

            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)
                self.project.status = "b"
                self.project.save()

        @transaction.atomic
        def green_project(pk):
            project = Project.objects.get(pk=pk)
            project.status = "a"
            project.save(update_fields=["status"])

        @transaction.atomic
        def green_related(pk):
            Location.objects.get(pk=pk).save()  #> CG201

        @transaction.atomic
        def green_second_save(name):
            project = Project.objects.get(pk=name)
            Location.objects.create(project=project)  #> CG201

        @transaction.atomic
        def red_project():
            Project.objects.create(status="a")  #> CG201
        """,
    "a keyword that is popped from kwargs": """
        import requests
        from django.db import models, transaction

        class SignUp(models.Model):
            name = models.TextField()

            @transaction.atomic
            def delete(self, *args, **kwargs):
                cancelled = kwargs.pop("payment_cancelled", False)
                bypass = kwargs.pop("bypass", False)
                if not bypass:
                    requests.post("https://example.org", timeout=3)  #> CG201
                if not bypass and cancelled:
                    return
                super().delete(*args, **kwargs)

        @transaction.atomic
        def green(pk):
            SignUp.objects.get(pk=pk).delete(bypass=True, payment_cancelled=True)

        @transaction.atomic
        def green_dict(pk, amount):
            options = {"bypass": True, "refunded": amount > 3}
            if amount:
                options["partially"] = amount < 9
            SignUp.objects.get(pk=pk).delete(**options)

        @transaction.atomic
        def red(pk):
            SignUp.objects.get(pk=pk).delete(payment_cancelled=True)  #> CG201
        """,
    "the default of a column of a new row": """
        import requests
        from django.db import models, transaction
        from django.db.models.signals import pre_save
        from django.dispatch import receiver

        class Employment(models.Model):
            user = models.TextField()
            is_approved = models.BooleanField(default=False)

        @receiver(pre_save, sender=Employment)
        def mail(sender, **kwargs):
            employment = kwargs.get("instance", None)
            if not employment:
                return
            try:
                obj = sender.objects.get(pk=employment.pk)
            except sender.DoesNotExist:
                if employment.is_approved:
                    requests.post("https://example.org/added", timeout=3)
            else:
                if not obj.is_approved and employment.is_approved:
                    requests.post("https://example.org/approved", timeout=3)

        def green(user):
            Employment.objects.get_or_create(user=user)

        @transaction.atomic
        def green_create(user):
            Employment.objects.create(user=user)

        def red(user):
            Employment.objects.get_or_create(user=user, defaults=dict(is_approved=True))  #> CG201
        """,
    "a setting that nothing sets is set by whoever runs it": """
        import requests
        from django.conf import settings
        from django.db import transaction

        @transaction.atomic
        def red():
            url = getattr(settings, "HOOK_URL", None)
            if url:
                requests.post(url, timeout=3)  #> CG201
        """,
    "a dict that something else fills may hold any key": """
        import requests
        from django.db import models, transaction
        def deliver(**kwargs):
            if kwargs.get("send"):
                requests.post("https://x.example", timeout=1)
        def a(flag):
            with transaction.atomic():
                options = {}
                options["send"] = True
                deliver(**options)  #> CG201
        def b(flag):
            with transaction.atomic():
                options = {"x": 1}
                options.update(send=True)
                deliver(**options)  #> CG201
        def c(flag, **kwargs):
            with transaction.atomic():
                kwargs["send"] = True
                deliver(**kwargs)  #> CG201
        def d(flag):
            with transaction.atomic():
                options = dict(x=1)
                options.setdefault("send", True)
                deliver(**options)  #> CG201
        def e(flag):
            with transaction.atomic():
                options = {"send": True}
                options |= {"y": 1}
                deliver(**options)  #> CG201
        def f(flag):
            with transaction.atomic():
                options = {}
                fill(options)
                deliver(**options)  #> CG201
        def fill(options):
            options["send"] = True
        def g(flag):
            c(flag)
        """,
    "a list that is filled in a branch that is not taken": """
        from celery import Celery, chain
        from django.db import models, transaction

        app = Celery("shop")


        @app.task
        def extract(pk):
            return pk


        class Document(models.Model):
            name = models.TextField()

            def save(self, do_extraction=False, *args, **kwargs):
                super().save(*args, **kwargs)
                tasks = []
                if do_extraction and self.name:
                    tasks.append(extract.si(self.pk))
                if len(tasks) > 0:
                    chain(*tasks)()


        def green(name):
            with transaction.atomic():
                Document.objects.create(name=name)


        def green_save(pk):
            with transaction.atomic():
                Document.objects.get(pk=pk).save()


        def red(pk):
            with transaction.atomic():
                Document.objects.get(pk=pk).save(do_extraction=True)  #> CG202
        """,
    "what stays empty, and what a predicate answers": """
        import requests
        from django.db import transaction

        def deliver(items, flag=False):
            todo = []
            if flag:
                todo.append(items)
            if todo:
                post()
            for item in todo:
                post()

        def is_open(flag=False):
            return flag is True

        def tell(flag=False):
            if is_open(flag):
                post()

        def hand_over(items, flag=False):
            todo = []
            fill(todo)
            if todo:
                post()

        def loop(items, flag=False):
            todo = []
            while items:
                if todo or items:
                    todo.append(items.pop())
            if len(todo) > 0:
                post()

        def batch(rows, flag=False):
            todo = []
            for row in rows:
                if len(todo) > 10:
                    todo.append(row)
            if len(todo) > 0:
                return

        def picked(rows, flag=False):
            todo = []
            if "all" in rows and len(todo) > 1:
                todo.remove("all")
            for item in todo:
                print(item)

        def fill(todo):
            todo.append(1)

        def post():
            requests.post("https://example.org", timeout=3)

        @transaction.atomic
        def green(items):
            deliver(items)
            batch(items)
            picked(items)
            tell()
            tell(flag=False)

        @transaction.atomic
        def red(items, flag):
            deliver(items, flag=True)  #> CG201
            deliver(items, flag)  #> CG201
            tell(flag=True)  #> CG201
            tell(flag)  #> CG201
            hand_over(items)  #> CG201
            loop(items)  #> CG201
        """,
    "a field that is compared with what the constructor kept of it": """
        import requests
        from django.db import models, transaction


        class Organisation(models.Model):
            name = models.TextField()
            enforce = models.BooleanField(default=False)

            __original = False

            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.__original = self.enforce

            def save(self, *args, **kwargs):
                if self.enforce != self.__original:
                    requests.post("https://example.org", timeout=3)
                super().save(*args, **kwargs)
                self.__original = self.enforce


        @transaction.atomic
        def green(name):
            Organisation.objects.create(name=name)


        @transaction.atomic
        def green_read(pk):
            row = Organisation.objects.get(pk=pk)
            row.name = "b"
            row.save()


        @transaction.atomic
        def red(pk):
            row = Organisation.objects.get(pk=pk)
            row.enforce = True
            row.save()  #> CG201
        """,
    "a new row is not found by its key": """
        import uuid

        import requests
        from django.db import models, transaction
        from django.db.models.signals import pre_save
        from django.dispatch import receiver


        class Company(models.Model):
            id = models.UUIDField(primary_key=True, default=uuid.uuid4)
            owner_id = models.IntegerField(null=True)

            @transaction.atomic()
            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)  #> CG201


        @receiver(pre_save, sender=Company)
        def changed(sender, instance, **kwargs):
            try:
                original = sender.objects.get(pk=instance.pk)
            except sender.DoesNotExist:
                pass
            else:
                if original.owner_id is not instance.owner_id:
                    requests.post("https://example.org", timeout=3)


        @transaction.atomic
        def green(owner):
            Company.objects.create(owner_id=owner)


        @transaction.atomic
        def red(pk):
            company = Company.objects.get(pk=pk)
            company.owner_id = 3
            company.save()  #> CG201
        """,
    "a save of named columns updates": """
        import requests
        from django.db import models, transaction
        from django.db.models.signals import post_save
        from django.dispatch import receiver

        class Order(models.Model):
            paid = models.BooleanField(default=False)

            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)

            def pay(self):
                self.paid = True
                self.save(update_fields=["paid"])

        @receiver(post_save, sender=Order)
        def told(sender, **kwargs):
            if kwargs["created"]:
                requests.post("https://example.org", timeout=3)

        @transaction.atomic
        def green(order: Order):
            order.save(update_fields=["paid"])
            order.pay()

        @transaction.atomic
        def red(order: Order):
            order.save()  #> CG201
            order.save(update_fields=None)  #> CG201
        """,
    "an object that others had in hand may have changed": """
        import requests
        from django.db import models, transaction

        class Order(models.Model):
            paid = models.BooleanField(default=False)

            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self._was_paid = self.paid

            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)
                if self.paid != self._was_paid:
                    requests.post("https://example.org", timeout=3)

        def pay(order):
            order.paid = True

        def paid(pk):
            order = Order.objects.get(pk=pk)
            order.paid = True
            return order

        @transaction.atomic
        def red(pk, order: Order):
            handed = Order.objects.get(pk=pk)
            pay(handed)
            handed.save()  #> CG201
            made = paid(pk)
            made.save()  #> CG201
            order.save()  #> CG201
        """,
    "a traversal that hands on what it has filled comes to an end": """
        import requests
        from django.db import transaction

        class Concept:
            def __init__(self):
                self.above: list[Concept] = []
                self.below: list[Concept] = []

            def traverse(self, func, scope=None, **kwargs):
                seen = kwargs.pop("seen", [])
                seen.append(self)
                if scope is None:
                    func(self, **kwargs)
                else:
                    func(self, scope, **kwargs)
                for concept in self.below:
                    concept.traverse(func, scope, seen=seen, **kwargs)
                for concept in self.above:
                    concept.traverse(func, scope, seen=seen, **kwargs)

            def save(self):
                def relate(concept, **kwargs):
                    requests.post("https://example.org", timeout=3)

                for concept in self.below:
                    concept.traverse(relate)

        def red(concept: Concept):
            with transaction.atomic():
                concept.save()  #> CG201
        """,
    "what a row says of itself: whether it is being added": """
        import requests
        from django.db import models, transaction

        class User(models.Model):
            status = models.TextField(default="new")

            _adding = True

            @classmethod
            def from_db(cls, db, field_names, values):
                instance = super().from_db(db, field_names, values)
                instance._adding = False
                return instance

            def save(self, *args, **kwargs):
                if not self._adding:
                    requests.post("https://example.org", timeout=3)
                super().save(*args, **kwargs)

        class Order(models.Model):
            def save(self, *args, **kwargs):
                is_new = self._state.adding
                super().save(*args, **kwargs)
                if not is_new:
                    requests.post("https://example.org", timeout=3)

        class Bill(models.Model):
            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)
                if self._state.adding:
                    return
                requests.post("https://example.org", timeout=3)

        @transaction.atomic
        def green():
            User.objects.create()
            Order.objects.create()
            Order().save()

        @transaction.atomic
        def red(pk, user: User):
            user.save()  #> CG201
            Order.objects.get(pk=pk).save()  #> CG201
            Bill.objects.create()  #> CG201
        """,
    "the constant of a class that is picked by its name": """
        from typing import ClassVar

        import requests
        from django.db import models, transaction


        class Config:
            name: ClassVar[str]
            stored_as_secret: ClassVar[bool] = False


        class UrlConfig(Config):
            name: ClassVar[str] = "url"


        class KeyConfig(Config):
            name: ClassVar[str] = "key"
            stored_as_secret: ClassVar[bool] = True


        class Factory:
            ALL: dict[str, type[Config]] = {UrlConfig.name: UrlConfig, KeyConfig.name: KeyConfig}

            @classmethod
            def get(cls, name: str) -> type[Config]:
                if name not in cls.ALL:
                    raise ValueError(name)
                return cls.ALL[name]


        class Row(models.Model):
            key = models.TextField()


        def read(name):
            model = None
            try:
                model = Factory.get(name)
            except ValueError:
                pass
            if model and model.stored_as_secret:
                return requests.get("https://example.org", timeout=3).json()
            return Row.objects.get(key=name)


        @transaction.atomic
        def green():
            return read(UrlConfig.name)


        @transaction.atomic
        def green_literal():
            return read("url")


        @transaction.atomic
        def red():
            return read(KeyConfig.name)  #> CG201
        """,
    "a constant of a class and of those below it": """
        from dataclasses import dataclass

        import requests
        from django.db import transaction
        from django.views import View

        class Base:
            sends = False
            logs = False
            keeps = False

            def run(self):
                if self.sends:
                    post()
                if self.logs:
                    return
                if self.keeps:
                    post()

        class Sending(Base):
            sends = True

        class Quiet(Base):
            pass

        def switch(runner):
            runner.keeps = True

        def post():
            requests.post("https://example.org", timeout=3)

        class Plain:
            sends = False

            def run(self):
                if self.sends:
                    post()

        @dataclass
        class Request:
            asked: bool = False

            def run(self):
                if self.asked:
                    post()

        class Shown(View):
            raises = False

            def run(self):
                if self.raises:
                    post()

        shown = Shown.as_view(raises=True)

        @transaction.atomic
        def green(plain: Plain):
            plain.run()
            Plain().run()

        @transaction.atomic
        def red(base: Base, request: Request, view: Shown):
            base.run()  #> CG201
            request.run()  #> CG201
            view.run()  #> CG201
            Sending().run()  #> CG201
            Quiet().run()  #> CG201
        """,
    "an object that was saved is there": """
        import requests
        from django.db import models, transaction
        from django.db.models.signals import post_save
        from django.dispatch import receiver

        class Order(models.Model):
            def pay(self):
                self.save()

        @receiver(post_save, sender=Order)
        def told(sender, instance, created, **kwargs):
            if created:
                requests.post("https://example.org", timeout=3)

        def green(items):
            order = Order()
            order.save()
            with transaction.atomic():
                order.pay()
                order.save()

        @transaction.atomic
        def red(items):
            order = Order()
            if items:
                order.save()  #> CG201
            order.pay()  #> CG201
            order.pay()  #> CG201
        """,
    "a keyword that a function gives itself anew comes to an end": """
        import requests
        from django.db import transaction

        def chunk(name, binary=None, callback=None, **kwargs):
            found = []
            for url in kwargs.get("urls", ()):
                try:
                    found.extend(chunk(url, b"", callback=callback, is_root=False, **kwargs))
                except OSError:
                    found.extend(chunk("x", b"", callback=callback, is_root=False, **kwargs))
            requests.post("https://example.org", json=found, timeout=3)
            return found

        @transaction.atomic
        def red(name):
            return chunk(name)  #> CG201
        """,
    "what is put on a row for sure, and what may be": """
        import requests
        from django.db import models, transaction

        class Order(models.Model):
            state = models.TextField()

            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)
                if self.state == "late":
                    requests.post("https://example.org", timeout=3)

        @transaction.atomic
        def green(pk):
            order = Order.objects.get(pk=pk)
            order.state = "paid"
            order.save()

        @transaction.atomic
        def red(pk, flag):
            order = Order.objects.get(pk=pk)
            if flag:
                order.state = "paid"
            order.save()  #> CG201
            second = Order.objects.get(pk=pk)
            second.save()  #> CG201
            second.state = "paid"
            third = Order.objects.get(pk=pk)
            third.state = "late"
            third.save()  #> CG201
            fourth = Order.objects.get(pk=pk)
            fourth.state = "paid"
            fourth.state = "late"
            fourth.save()  #> CG201
        """,
    "what may be filled, popped, added to or asked of another class is not sure": """
        import requests
        from django.db import models, transaction
        from django.db.models.signals import post_save
        from django.dispatch import receiver
        def post():
            requests.post("https://x.example", timeout=1)
        class Base(models.Model):
            class Meta:
                abstract = True
            @classmethod
            def make(cls):
                with transaction.atomic():
                    return cls.objects.create()  #> CG201
        class Order(Base):
            def save(self, *args, **kwargs):
                super().save(*args, **kwargs)
                post()
        class Bill(models.Model):
            def store(self, update_fields=None):
                self.save(update_fields=update_fields)
        @receiver(post_save, sender=Bill)
        def told(sender, instance, created, **kwargs):
            if created:
                post()
        @transaction.atomic
        def b(fields=None):
            bill = Bill()
            bill.store()  #> CG201
        def deliver(send=False, **kwargs):
            if send:
                post()
        def maybe(flag, **kwargs):
            if flag:
                kwargs.pop("send")
            deliver(**kwargs)
        @transaction.atomic
        def c(flag):
            maybe(flag, send=True)  #> CG201
        @transaction.atomic
        def d(rows):
            todo = []
            for each in [todo]:
                each.append(rows)
            if todo:
                post()  #> CG201
        @transaction.atomic
        def e(rows):
            todo = []
            other: list = todo
            other.append(rows)
            if todo:
                post()  #> CG201
        @transaction.atomic
        def f(rows):
            flag = False
            flag |= bool(rows)
            if flag:
                post()  #> CG201
        class Plain:
            on = False
            def arm(self, x):
                self.on |= x
            def run(self):
                if self.on:
                    post()
        @transaction.atomic
        def g(plain: Plain):
            plain.run()  #> CG201
        class T:
            on = False
            def arm(self, x):
                self.on, self.y = x, 1
            def run(self):
                if self.on:
                    post()
        @transaction.atomic
        def j(t: T):
            t.run()  #> CG201
        """,
    "a text that is, or is not, in a list of texts": """
        import requests
        from django.db import transaction

        class Mailbox:
            def command(self, name):
                if name in ["FETCH", "SORT"]:
                    return None
                requests.post("https://x.example", timeout=1)

        def either(name):
            if name not in ("a", "b"):
                requests.post("https://x.example", timeout=1)

        @transaction.atomic
        def f(mailbox: Mailbox, name):
            mailbox.command("FETCH")
            mailbox.command("EXPUNGE")  #> CG201
            mailbox.command(name)  #> CG201
            either("a")
            either("c")  #> CG201
        """,
    "an isinstance tells which object it is": """
        import requests
        from django.db import transaction

        class Channel:
            def send(self): ...

        class Net(Channel):
            def send(self):
                requests.post("https://x.example", timeout=1)

        class Mail(Channel):
            def send(self):
                requests.post("https://x.example", timeout=1)

        class Local(Channel):
            def send(self): ...

        @transaction.atomic
        def f(channel: Channel, other: Channel):
            channel.send()  #> CG201
            if isinstance(channel, Local):
                channel.send()
            elif isinstance(channel, (Net, Mail)):
                channel.send()  #> CG201
            if isinstance(channel, Local):
                channel = other
                channel.send()  #> CG201

        @transaction.atomic
        def g(channel: Channel):
            if isinstance(channel, (Net, Mail)):
                return
            channel.send()
        """,
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_only_what_a_call_can_reach_is_told(code: str, tmp_path: Path) -> None:
    texts = {"app/__init__.py": "", "app/main.py": textwrap.dedent(code).lstrip("\n"), **BESIDE}
    wanted = expected(texts)
    assert wanted
    assert found(judged(tmp_path, texts)) == wanted
