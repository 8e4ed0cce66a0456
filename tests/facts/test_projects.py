"""Names across files: re-exports, layouts, circles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.facts.marked import verify

CASES = {
    "re-export": """
        == app/__init__.py
        == app/compat.py
        from asyncio import create_task as spawn
        == app/main.py
        from app.compat import spawn as go
        go(1)  #> CG102 go
    """,
    "relative": """
        == app/__init__.py
        == app/compat.py
        from asyncio import create_task as spawn
        == app/sub/__init__.py
        == app/sub/main.py
        from ..compat import spawn
        from .. import compat
        from ... import nothing
        from . import missing
        spawn(1)  #> CG102 spawn
        compat.spawn(1)  #> CG102 compat.spawn
        nothing(); missing()
    """,
    "package's own": """
        == app/__init__.py
        from .compat import go
        == app/compat.py
        from threading import Thread as go
        == main.py
        import app
        app.go()  #> CG101 app.go
        app.compat.go()  #> CG101 app.compat.go
    """,
    "chain of stars": """
        == a.py
        from asyncio import create_task as one
        == b.py
        from a import *
        == c.py
        from b import *
        two = one  #> CG102 one
        == d.py
        from c import *
        two(1)  #> CG102 two
        one(1)  #> CG102 one
    """,
    "star leaves out what is private, unless listed": """
        == a.py
        from asyncio import create_task as _one
        from asyncio import create_task as _two
        __all__ = ["_two"]
        == b.py
        from a import *
        _one(1)
        _two(1)  #> CG102 _two
    """,
    "star brings only what is listed": """
        == a.py
        from asyncio import create_task as one, ensure_future as two
        __all__ = ("two",)
        == b.py
        from a import *
        one(1)
        two(1)  #> CG102 two
    """,
    "star after own name": """
        == a.py
        from asyncio import create_task as go
        == b.py
        def go(x): ...
        from a import *
        go(1)  #> CG102 go
    """,
    "own name after star": """
        == a.py
        from asyncio import create_task as go
        == b.py
        from a import *
        def go(x): ...
        go(1)
    """,
    "circle": """
        == a.py
        from b import x, go
        from asyncio import create_task as go2
        x(1)
        go(1)  #> CG102 go
        == b.py
        from a import x, go2 as go
        from a import *
        go(1)  #> CG102 go
    """,
    "circle of stars": """
        == a.py
        from b import *
        from threading import Thread as T
        == b.py
        from a import *
        T()  #> CG101 T
        U()
    """,
    "src layout": """
        == src/app/__init__.py
        == src/app/compat.py
        from threading import Thread as T
        == src/app/main.py
        from app.compat import T
        T()  #> CG101 T
    """,
    "nested root": """
        == backend/app/__init__.py
        == backend/app/compat.py
        from threading import Thread as T
        == backend/app/main.py
        from app.compat import T
        T()  #> CG101 T
        import app.compat as c
        c.T()  #> CG101 c.T
    """,
    "namespace package": """
        == ns/one/compat.py
        from threading import Thread as T
        == ns/two/main.py
        from ns.one.compat import T
        from ns.one import compat
        import ns.one.compat
        T()  #> CG101 T
        compat.T()  #> CG101 compat.T
        ns.one.compat.T()  #> CG101 ns.one.compat.T
    """,
    "relative in a namespace package": """
        == ns/compat.py
        from threading import Thread as T
        == ns/main.py
        from .compat import T
        T()  #> CG101 T
    """,
    "scripts beside each other": """
        == tools/compat.py
        from threading import Thread as T
        == tools/main.py
        from compat import T
        import compat
        T()  #> CG101 T
        compat.T()  #> CG101 compat.T
    """,
    "a module like a library": """
        == gevent.py
        def spawn(x): ...
        == main.py
        import gevent
        from gevent import spawn
        gevent.spawn(1)
        spawn(1)
    """,
    "a module like one of the standard library, in a package": """
        == app/__init__.py
        == app/threading.py
        class Thread: ...
        == app/main.py
        import threading
        from . import threading as own
        from .threading import Thread
        threading.Thread()  #> CG101 threading.Thread
        own.Thread()
        Thread()
    """,
    "same module name in two packages": """
        == a/__init__.py
        == a/util.py
        from threading import Thread as make
        == b/__init__.py
        == b/util.py
        def make(): ...
        == a/main.py
        from .util import make
        make()  #> CG101 make
        == b/main.py
        from .util import make
        make()
    """,
    "base in another file": """
        == app/__init__.py
        == app/base.py
        from threading import Thread
        class Base(Thread):  #> CG101 Thread
            pass
        == app/mid.py
        from .base import Base as Mid
        == app/work.py
        from . import mid
        class Work(mid.Mid):  #> CG101 mid.Mid
            pass
        class More(Work): ...  #> CG101 Work
    """,
    "class-level alias in another file": """
        == base.py
        import threading
        class Base:
            thread_class = threading.Thread  #> CG101 threading.Thread
        == work.py
        from base import Base
        class Work(Base):
            def run(self):
                self.thread_class()  #> CG101 self.thread_class
    """,
    "attribute in another file": """
        == hub.py
        import asyncio
        class Hub:
            def __init__(self):
                self.go = asyncio.create_task  #> CG102 asyncio.create_task
                self.loop = asyncio.get_event_loop()
        hub = Hub()
        == main.py
        from hub import hub, Hub
        hub.go(1)  #> CG102 hub.go
        hub.loop.create_task(1)  #> CG102 hub.loop.create_task
        def f(h: Hub):
            h.go(1)  #> CG102 h.go
        def g(h: "Hub | None"):
            h.go(1)  #> CG102 h.go
        def k(h):
            h.go(1)
    """,
    "loop from another file": """
        == hub.py
        import asyncio
        loop = asyncio.new_event_loop()
        def current(): return asyncio.get_running_loop()
        def typed() -> asyncio.AbstractEventLoop: ...
        == main.py
        import hub
        from hub import loop, current, typed
        loop.create_task(1)  #> CG102 loop.create_task
        hub.loop.create_task(1)  #> CG102 hub.loop.create_task
        current().create_task(1)  #> CG102 current().create_task
        typed().create_task(1)  #> CG102 typed().create_task
    """,
    "partial in another file": """
        == a.py
        import functools, threading
        make = functools.partial(threading.Thread, daemon=True)  #> CG101 threading.Thread
        == b.py
        from a import make
        make()  #> CG101 make
    """,
    "function in another file": """
        == a.py
        import threading
        def kind():
            return threading.Thread  #> CG101 threading.Thread
        == b.py
        import a
        a.kind()()  #> CG101 a.kind()
    """,
    "table in another file": """
        == a.py
        import threading
        KINDS = {"a": threading.Thread}  #> CG101 threading.Thread
        class Box:
            kinds = [threading.Thread]  #> CG101 threading.Thread
        == b.py
        from a import KINDS, Box
        KINDS["a"]()  #> CG101 KINDS["a"]
        Box.kinds[0]()  #> CG101 Box.kinds[0]
    """,
    "module's getattr": """
        == a.py
        import asyncio
        def __getattr__(name):
            if name == "go":
                return asyncio.create_task  #> CG102 asyncio.create_task
            raise AttributeError(name)
        == b.py
        import a
        a.go(1)  #> CG102 a.go
        a.stop(1)
    """,
    "try, own fallback": """
        == a.py
        try:
            from gevent import spawn
        except ImportError:
            def spawn(f): ...
        == b.py
        from a import spawn
        spawn(1)  #> CG105 spawn
    """,
    "submodule through import of the top": """
        == app/__init__.py
        == app/sub.py
        from threading import Thread as T
        == main.py
        import app.sub
        app.sub.T()  #> CG101 app.sub.T
    """,
    "tests are not read": """
        == tests/helper.py
        from threading import Thread as T
        == main.py
        from tests.helper import T
        T()
    """,
    "infra hands on": """
        == pyproject.toml
        [tool.concurrency-gate]
        infra = ["infra.py"]
        == infra.py
        import threading, asyncio
        spawn = asyncio.create_task
        class Worker(threading.Thread): ...
        def start(f):
            threading.Thread(target=f).start()
        == main.py
        import infra
        from infra import Worker
        infra.spawn(1)  #> CG102 infra.spawn
        infra.start(print)
        Worker()
        class Mine(Worker): ...
    """,
    "own import function": """
        == helper.py
        import importlib
        def load(name, *, needed=True):
            try:
                return importlib.import_module(name)
            except ImportError:
                if needed:
                    raise
        def same(x):
            return x
        == main.py
        from helper import load, same
        threading = load("threading")
        threading.Thread()  #> CG101 threading.Thread
        same(threading.Thread)()  #> CG101 threading.Thread; CG101 same(threading.Thread)
    """,
    "stub beside": """
        == a.py
        from threading import Thread as T
        == a.pyi
        T: int
        == b.py
        from a import T
        T()  #> CG101 T
    """,
    "dynamic import of own module": """
        == app/__init__.py
        == app/low.py
        from threading import Thread as T
        == main.py
        import importlib
        importlib.import_module("app.low").T()  #> CG101 importlib.import_module("app.low").T
        importlib.import_module(".low", "app").T()  #> CG101 importlib.import_module(".low", "app").T
    """,
}


@pytest.mark.parametrize("name", CASES)
def test_across_files(name: str, tmp_path: Path) -> None:
    verify(tmp_path, CASES[name])
