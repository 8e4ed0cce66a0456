"""What runs in a transaction because of what stands elsewhere: views under a setting or a switch, what a library calls
of them, what takes them out, the dependencies of a framework, and methods that are mixed into a handler.

A line that ends in `#> CG201` expects that finding there; nothing else may be found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_reach import expected, files, found, judged

ATOMIC = """
        == app/settings.py
        DATABASES = {"default": {"ENGINE": "postgresql", "ATOMIC_REQUESTS": True}, "logs": {"ENGINE": "postgresql"}}
"""

DJANGO = {
    "what generic views call": """
        == app/views.py
        import requests
        from django.views.generic import CreateView, DetailView, FormView
        from django.views.generic.list import ListView
        class Told(FormView):
            def form_valid(self, form):
                requests.post("https://x.example", timeout=1)  #> CG201
            def unrelated(self):
                requests.post("https://x.example", timeout=1)
        class Kept(CreateView):
            def form_valid(self, form):
                saved = super().form_valid(form)
                requests.post("https://x.example", timeout=1)  #> CG201
                return saved
        class Shown(DetailView):
            def get_context_data(self, **kwargs):
                return super().get_context_data(now=requests.get("https://x.example", timeout=1))  #> CG201
            def get_object(self):
                return requests.get("https://x.example", timeout=1)  #> CG201
        class Listed(ListView):
            def get_queryset(self):
                return requests.get("https://x.example", timeout=1)  #> CG201
        shown = Shown.as_view()
    """,
    "what an overridden method of a view no longer calls": """
        == app/views.py
        import requests
        from django.views.generic import CreateView, FormView
        class Own(CreateView):
            def post(self, request):
                return None
            def form_valid(self, form):
                requests.post("https://x.example", timeout=1)
        class Back(FormView):
            def post(self, request):
                return super().post(request)  #> CG201
            def form_valid(self, form):
                requests.post("https://x.example", timeout=1)
    """,
    "hooks of a mixin": """
        == app/mixins.py
        import requests
        class Pushing:
            def form_valid(self, form):
                requests.post("https://x.example", timeout=1)  #> CG201
                return super().form_valid(form)
        class Unused:
            def form_valid(self, form):
                requests.post("https://x.example", timeout=1)
        class Behind:
            def form_valid(self, form):
                requests.post("https://x.example", timeout=1)
        == app/views.py
        from django.views.generic import CreateView
        from app.mixins import Behind, Pushing
        class Order(Pushing, CreateView): ...
        class Other(CreateView, Behind): ...
    """,
    "viewsets, their hooks and their actions": """
        == app/api.py
        import requests
        from django.db import transaction
        from django.utils.decorators import method_decorator
        from rest_framework import generics, mixins, viewsets
        from rest_framework.decorators import action
        class Users(viewsets.ModelViewSet):
            def perform_create(self, serializer):
                serializer.save()
                requests.post("https://x.example", timeout=1)  #> CG201
            @action(detail=True, methods=["post"])
            def ping(self, request, pk=None):
                requests.post("https://x.example", timeout=1)  #> CG201
            def get_queryset(self):
                return requests.get("https://x.example", timeout=1)  #> CG201
        class Books(generics.ListCreateAPIView):
            def perform_create(self, serializer):
                requests.post("https://x.example", timeout=1)  #> CG201
        class Parts(mixins.UpdateModelMixin, viewsets.GenericViewSet):
            def perform_update(self, serializer):
                requests.post("https://x.example", timeout=1)  #> CG201
            def perform_create(self, serializer):
                requests.post("https://x.example", timeout=1)
        @method_decorator(transaction.non_atomic_requests, name="dispatch")
        class Free(viewsets.ModelViewSet):
            def perform_create(self, serializer):
                requests.post("https://x.example", timeout=1)
            @action(detail=False)
            def sync(self, request):
                requests.post("https://x.example", timeout=1)
    """,
    "classes that are taken out where they are routed": """
        == app/views.py
        import requests
        from django.db.transaction import non_atomic_requests
        from django.views import View
        class Free(View):
            def get(self, request):
                requests.get("https://x.example", timeout=1)
        class Named(View):
            def get(self, request):
                requests.get("https://x.example", timeout=1)
        class Both(View):
            def get(self, request):
                requests.get("https://x.example", timeout=1)  #> CG201
        class Wrapped(View):
            def get(self, request):
                requests.get("https://x.example", timeout=1)
        class Logs(View):
            def get(self, request):
                requests.get("https://x.example", timeout=1)  #> CG201
        named = non_atomic_requests(Named.as_view())
        == app/urls.py
        from django.contrib.auth.decorators import login_required
        from django.db import transaction
        from django.urls import path
        from app import views
        urlpatterns = [
            path("free", transaction.non_atomic_requests(views.Free.as_view())),
            path("named", views.named),
            path("both", transaction.non_atomic_requests(views.Both.as_view())),
            path("both/2", views.Both.as_view()),
            path("wrapped", login_required(transaction.non_atomic_requests(views.Wrapped.as_view()))),
            path("logs", transaction.non_atomic_requests(using="logs")(views.Logs.as_view())),
        ]
    """,
    "operations of a router": """
        == app/api.py
        import requests
        from ninja import NinjaAPI, Router
        router = Router()
        api = NinjaAPI()
        @router.post("/")
        def create(request):
            requests.get("https://x.example", timeout=1)  #> CG201
        @api.get("/later")
        async def later(request):
            requests.get("https://x.example", timeout=1)
        def other(request):
            requests.get("https://x.example", timeout=1)
    """,
    "another database's alias": """
        == app/views.py
        import requests
        from django.db import transaction
        from django.utils.decorators import method_decorator
        from django.views import View
        LOGS = "logs"
        @transaction.non_atomic_requests(using="logs")
        def logs(request):
            requests.get("https://x.example", timeout=1)  #> CG201
        @transaction.non_atomic_requests(using=LOGS)
        def named(request):
            requests.get("https://x.example", timeout=1)  #> CG201
        @transaction.non_atomic_requests(using="default")
        def default(request):
            requests.get("https://x.example", timeout=1)
        @transaction.non_atomic_requests
        def bare(request):
            requests.get("https://x.example", timeout=1)
        @transaction.non_atomic_requests("default")
        def by_position(request):
            requests.get("https://x.example", timeout=1)
        @method_decorator(transaction.non_atomic_requests(using="logs"), name="dispatch")
        class Logs(View):
            def get(self, request):
                requests.get("https://x.example", timeout=1)  #> CG201
        @method_decorator(transaction.non_atomic_requests(using="default"), name="dispatch")
        class Default(View):
            def get(self, request):
                requests.get("https://x.example", timeout=1)
        == app/urls.py
        from django.urls import path
        from django.views.decorators.cache import cache_page
        from app import views
        urlpatterns = [path("a", views.logs), path("b", cache_page(60)(views.named)), path("c", views.default)]
        urlpatterns += [path("d", views.bare), path("e", views.by_position)]
    """,
}

SETTINGS = {
    'DB = {"ATOMIC_REQUESTS": True}\nDATABASES = {"default": DB}': True,
    'ATOMIC = True\nDATABASES = {"default": {"ATOMIC_REQUESTS": ATOMIC}}': True,
    'ATOMIC = True\nDB = {"ATOMIC_REQUESTS": ATOMIC}\nDATABASES = {"default": {**DB, "NAME": "x"}}': True,
    'DATABASES = {"default": {"ATOMIC_REQUESTS": True}}\nDATABASES = {**DATABASES, "logs": {}}': True,
    'ATOMIC = False\nDATABASES = {"default": {"ATOMIC_REQUESTS": ATOMIC}}': False,
    'ATOMIC = env.bool("ATOMIC")\nDATABASES = {"default": {"ATOMIC_REQUESTS": ATOMIC}}': False,
    'DATABASES = {**DATABASES, "x": {"ATOMIC_REQUESTS": False}}': False,
}

PYRAMID = {
    "an untyped configurator": """
        == app/models.py
        def includeme(config):
            config.include("pyramid_tm")
        == app/routes.py
        from app import views
        def includeme(config):
            config.add_view("app.views.named", route_name="a")
            config.add_view(".views.relative", route_name="b")
            config.add_view(views.handed, route_name="c")
            config.add_view(views.Called, route_name="d")
            config.add_view(views.Chosen, attr="show", route_name="e")
            config.add_view("app.views.missing", route_name="f")
        == app/views.py
        import requests
        from pyramid.view import view_config
        @view_config(route_name="home")
        def home(request):
            requests.get("https://x.example", timeout=1)  #> CG201
        def named(request):
            requests.get("https://x.example", timeout=1)  #> CG201
        def relative(request):
            requests.get("https://x.example", timeout=1)  #> CG201
        def handed(request):
            requests.get("https://x.example", timeout=1)  #> CG201
        def other(request):
            requests.get("https://x.example", timeout=1)
        class Called:
            def __call__(self):
                requests.get("https://x.example", timeout=1)  #> CG201
            def show(self):
                requests.get("https://x.example", timeout=1)
        class Chosen:
            def __call__(self):
                requests.get("https://x.example", timeout=1)
            def show(self):
                requests.get("https://x.example", timeout=1)  #> CG201
        @view_config(route_name="g", attr="show")
        class Decorated:
            def show(self):
                requests.get("https://x.example", timeout=1)  #> CG201
            def hide(self):
                requests.get("https://x.example", timeout=1)
    """,
    "the module itself": """
        == app/views.py
        import requests
        import pyramid_tm
        from pyramid.config import Configurator
        def home(request):
            requests.get("https://x.example", timeout=1)  #> CG201
        def main(settings):
            config = Configurator(settings=settings)
            config.include(pyramid_tm)
            config.add_view("app.views.home")
    """,
    "another module, and somebody else's method": """
        == app/views.py
        import requests
        from pyramid.config import Configurator
        from pyramid.view import view_config
        class Parts:
            def include(self, name): ...
        @view_config(route_name="home")
        def home(request):
            requests.get("https://x.example", timeout=1)
        def main(settings, other):
            config = Configurator(settings=settings)
            config.include("pyramid_jinja2")
            other.include("pyramid_jinja2")
            other.exclude("pyramid_tm")
            Parts().include("pyramid_tm")
    """,
}

DEPENDENCIES = """
        == app/deps.py
        from sqlalchemy import create_engine
        from sqlalchemy.orm import sessionmaker
        Maker = sessionmaker(create_engine("postgresql://"))
        class Database:
            def begun(self):
                with Maker.begin() as session:
                    yield session
        database = Database()
        def tx():
            with Maker.begin() as session:
                yield session
        def plain():
            with Maker() as session:
                yield session
        def again():
            for session in database.begun():
                yield session
        def from_it():
            yield from again()
        def only_looked_at():
            for session in tx():
                print(session)
            yield None
"""

FASTAPI = {
    "classes": """
        == app/api.py
        from typing import Annotated
        import requests
        from fastapi import Depends, FastAPI
        from app.deps import plain, tx
        from app.services import Inherited, Service
        app = FastAPI()
        class Own:
            def __init__(self, session: Annotated[object, Depends(tx)]):
                self.session = session
        class Checker:
            def __call__(self, session=Depends(tx)): ...
        class Plain:
            def __init__(self, session=Depends(plain)): ...
        OwnDep = Annotated[Own, Depends()]
        @app.get("/a")
        def a(service: Service = Depends()):
            requests.get("https://x.example", timeout=1)  #> CG201
        @app.get("/b")
        def b(service=Depends(Service)):
            requests.get("https://x.example", timeout=1)  #> CG201
        @app.get("/c")
        def c(own: OwnDep):
            requests.get("https://x.example", timeout=1)  #> CG201
        @app.get("/d")
        def d(checked=Depends(Checker())):
            requests.get("https://x.example", timeout=1)  #> CG201
        @app.get("/e")
        def e(plain: Plain = Depends(), other: Annotated[Plain, Depends()] = None):
            requests.get("https://x.example", timeout=1)
        @app.get("/f")
        def f(service: Service):
            requests.get("https://x.example", timeout=1)
        @app.get("/g")
        def g(service: Inherited = Depends()):
            requests.get("https://x.example", timeout=1)  #> CG201
        == app/services.py
        from fastapi import Depends
        from app.deps import tx
        class Service:
            def __init__(self, session=Depends(tx)):
                self.session = session
        class Inherited(Service): ...
    """,
    "of a router": """
        == app/api.py
        import requests
        from fastapi import APIRouter, Depends, FastAPI
        from app.deps import plain, tx
        from app.routers import shared
        app = FastAPI(dependencies=[Depends(tx)])
        router = APIRouter(prefix="/x", dependencies=[Depends(plain)])
        @app.get("/a")
        def a():
            requests.get("https://x.example", timeout=1)  #> CG201
        @router.get("/b")
        def b():
            requests.get("https://x.example", timeout=1)
        @shared.get("/c")
        def c():
            requests.get("https://x.example", timeout=1)  #> CG201
        def d():
            requests.get("https://x.example", timeout=1)
        == app/routers.py
        from fastapi import APIRouter, Depends
        from app.deps import tx
        shared = APIRouter(dependencies=[Depends(tx)])
        == app/more.py
        import requests
        from app.routers import shared as routes
        @routes.post("/e")
        def e():
            requests.get("https://x.example", timeout=1)  #> CG201
    """,
    "that yield on": """
        == app/api.py
        import requests
        from fastapi import Depends, FastAPI
        from app.deps import again, from_it, only_looked_at
        app = FastAPI()
        @app.get("/a")
        def a(session=Depends(again)):
            requests.get("https://x.example", timeout=1)  #> CG201
        @app.get("/b")
        def b(session=Depends(from_it)):
            requests.get("https://x.example", timeout=1)  #> CG201
        @app.get("/c")
        def c(session=Depends(only_looked_at)):
            requests.get("https://x.example", timeout=1)
    """,
    "that are a class, and call the network": """
        == app/api.py
        import requests
        from fastapi import Depends, FastAPI
        from app.deps import Maker
        app = FastAPI()
        class Bank:
            def charge(self):
                requests.get("https://x.example", timeout=1)
        @app.get("/a")
        def a(bank=Depends(Bank)):
            with Maker.begin():
                bank.charge()  #> CG201
    """,
}

HANDLERS = {
    "mixed into a handler": """
        == app/mixins.py
        import requests
        class Pushing:
            def save_model(self, request, obj, form, change):
                super().save_model(request, obj, form, change)
                self.push(obj)  #> CG201
            def push(self, obj):
                requests.post("https://x.example", timeout=1)
        class Behind:
            def save_model(self, request, obj, form, change):
                requests.post("https://x.example", timeout=1)
        class Overridden:
            def save_model(self, request, obj, form, change):
                requests.post("https://x.example", timeout=1)
        class Other:
            def save_model(self, request, obj, form, change):
                requests.post("https://x.example", timeout=1)
        == app/admin.py
        from django.contrib import admin
        from app.mixins import Behind, Other, Overridden, Pushing
        class Order(Pushing, admin.ModelAdmin): ...
        class Item(admin.ModelAdmin, Behind): ...
        class Part(Overridden, admin.ModelAdmin):
            def save_model(self, request, obj, form, change): ...
        class Form(Other): ...
    """,
    "a decorated class, and what its method calls": """
        == app/views.py
        import requests
        from django.db import transaction
        from django.utils.decorators import method_decorator
        from django.views.generic import CreateView
        @method_decorator(transaction.atomic, name="dispatch")
        class Pay(CreateView):
            def form_valid(self, form):
                requests.post("https://x.example", timeout=1)  #> CG201
            def other(self):
                requests.post("https://x.example", timeout=1)
    """,
}

CASES = {
    f"{group}: {name}": code
    for group, cases in {
        "Django": {name: code + ATOMIC for name, code in DJANGO.items()},
        "pyramid": PYRAMID,
        "FastAPI": {name: code + DEPENDENCIES for name, code in FASTAPI.items()},
        "handler": HANDLERS,
    }.items()
    for name, code in cases.items()
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_requests(code: str, tmp_path: Path) -> None:
    texts = files(code)
    assert found(judged(tmp_path, texts)) == expected(texts)


@pytest.mark.parametrize(("setting", "on"), SETTINGS.items(), ids=range(len(SETTINGS)))
def test_settings_by_name(setting: str, on: bool, tmp_path: Path) -> None:
    texts = {
        "app/__init__.py": "",
        "app/settings.py": f"import environ\nenv = environ.Env()\n{setting}\n",
        "app/views.py": "import requests\ndef pay(request):\n    requests.post('https://x.example', timeout=1)\n",
        "app/urls.py": "from django.urls import path\nfrom app import views\nurlpatterns = [path('', views.pay)]\n",
    }
    assert found(judged(tmp_path, texts)) == ({("app/views.py", 3, "CG201")} if on else set())
