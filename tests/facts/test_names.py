"""Renaming: however a primitive is imported, assigned and handed on, its use is found where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.facts.marked import verify

CASES = {
    "import": "import threading\nthreading.Thread()  #> CG101 threading.Thread",
    "import as": "import threading as t\nt.Thread()  #> CG101 t.Thread",
    "from as": "from asyncio import create_task as go\ngo(1)  #> CG102 go",
    "submodule": "import concurrent.futures\nconcurrent.futures.ThreadPoolExecutor()  #> CG103 concurrent.futures.ThreadPoolExecutor",
    "submodule as": "import concurrent.futures as cf\ncf.ThreadPoolExecutor()  #> CG103 cf.ThreadPoolExecutor",
    "from package": "from concurrent import futures\nfutures.ProcessPoolExecutor()  #> CG103 futures.ProcessPoolExecutor",
    "private spelling": "from concurrent.futures.thread import ThreadPoolExecutor as T\nT()  #> CG103 T",
    "module of the implementation": "import asyncio.tasks\nasyncio.tasks.create_task(1)  #> CG102 asyncio.tasks.create_task",
    "in function": """
        def f():
            from threading import Thread
            Thread()  #> CG101 Thread
    """,
    "in method, used in closure": """
        class A:
            def f(self):
                import threading as th
                def g():
                    return th.Timer(1, print)  #> CG101 th.Timer
                return g
    """,
    "try": """
        try:
            from fast import Thread
        except ImportError:
            from threading import Thread
        Thread()  #> CG101 Thread
    """,
    "type checking": """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from asyncio import AbstractEventLoop
        def f(loop: "AbstractEventLoop"):
            loop.create_task(1)  #> CG102 loop.create_task
    """,
    "conditional": """
        import sys
        if sys.platform == "win32":
            from threading import Thread as Base
        else:
            Base = object
        Base()  #> CG101 Base
    """,
    "external star": "from threading import *\nThread()  #> CG101 Thread",
    "external star, unknown name": "from threading import *\nthread()\nPool()",
    "assignment": "import asyncio\nspawn = asyncio.create_task  #> CG102 asyncio.create_task\nspawn(1)  #> CG102 spawn",
    "chained assignment": """
        import asyncio
        a = b = asyncio.create_task  #> CG102 asyncio.create_task
        a(1)  #> CG102 a
        b(1)  #> CG102 b
    """,
    "module alias": "import threading\nlib = threading\nlib.Thread()  #> CG101 lib.Thread",
    "annotated assignment": """
        import threading
        from typing import Any
        make: Any = threading.Thread  #> CG101 threading.Thread
        make()  #> CG101 make
    """,
    "tuple": """
        import threading, asyncio
        make, (go, _) = threading.Thread, (asyncio.create_task, 1)  #> CG101 threading.Thread; CG102 asyncio.create_task
        make()  #> CG101 make
        go(1)  #> CG102 go
        _()
    """,
    "starred": """
        import threading
        first, *rest = [threading.Thread]  #> CG101 threading.Thread
        first()  #> CG101 first
    """,
    "walrus": """
        import threading
        if (make := threading.Thread):  #> CG101 threading.Thread
            make()  #> CG101 make
    """,
    "walrus in comprehension": """
        import threading
        [(make := threading.Thread) for _ in "a"]  #> CG101 threading.Thread
        make()  #> CG101 make
    """,
    "getattr": """
        import asyncio
        getattr(asyncio, "create_task")(1)  #> CG102 getattr(asyncio, "create_task")
        go = getattr(asyncio, "create_task", None)  #> CG102 getattr(asyncio, "create_task", None)
        go(1)  #> CG102 go
    """,
    "getattr by constant": """
        import asyncio
        NAME = "create_task"
        getattr(asyncio, NAME)(1)  #> CG102 getattr(asyncio, NAME)
    """,
    "getattr by escapes": r"""
        import asyncio
        getattr(asyncio, "create\x5ftask")(1)  #> CG102 getattr(asyncio, "create\x5ftask")
        getattr(asyncio, "create_" "task")(1)  #> CG102 getattr(asyncio, "create_" "task")
        asyncio.create_task
    """,
    "import_module": """
        import importlib
        importlib.import_module("threading").Thread()  #> CG101 importlib.import_module("threading").Thread
        from importlib import import_module as load
        load("threading").Thread()  #> CG101 load("threading").Thread
        lib = load("concurrent.futures")
        lib.ThreadPoolExecutor()  #> CG103 lib.ThreadPoolExecutor
    """,
    "dunder import": """
        __import__("threading").Thread()  #> CG101 __import__("threading").Thread
    """,
    "sys.modules": """
        import sys, threading
        sys.modules["threading"].Thread()  #> CG101 sys.modules["threading"].Thread
    """,
    "partial": """
        import functools, threading
        from functools import partial
        make = functools.partial(threading.Thread, daemon=True)  #> CG101 threading.Thread
        make()  #> CG101 make
        partial(make)()  #> CG101 make; CG101 partial(make)
    """,
    "partialmethod": """
        import functools, threading
        class A:
            make = functools.partialmethod(threading.Thread)  #> CG101 threading.Thread
            def run(self):
                self.make()  #> CG101 self.make
    """,
    "global": """
        import threading
        make = None
        def setup():
            global make
            make = threading.Thread  #> CG101 threading.Thread
        def run():
            make()  #> CG101 make
    """,
    "nonlocal": """
        import threading
        def outer():
            make = None
            def setup():
                nonlocal make
                make = threading.Thread  #> CG101 threading.Thread
            setup()
            make()  #> CG101 make
    """,
    "global def and class": """
        import threading
        def setup():
            global make, Work
            def make():
                return threading.Thread  #> CG101 threading.Thread
            class Work(threading.Thread):  #> CG101 threading.Thread
                pass
        def run():
            make()()  #> CG101 make()
        class More(Work):  #> CG101 Work
            pass
    """,
    "global import": """
        def setup():
            global th
            import threading as th
        def run():
            th.Thread()  #> CG101 th.Thread
    """,
    "function that returns it": """
        import threading
        def kind():
            return threading.Thread  #> CG101 threading.Thread
        kind()()  #> CG101 kind()
        made = kind()
        made()  #> CG101 made
    """,
    "lambda that returns it": """
        import threading
        kind = lambda: threading.Thread  #> CG101 threading.Thread
        kind()()  #> CG101 kind()
    """,
    "dict": """
        import threading
        KINDS = {"thread": threading.Thread, "none": print}  #> CG101 threading.Thread
        KINDS["thread"]()  #> CG101 KINDS["thread"]
        KINDS["none"]()
        KINDS.get("thread")()  #> CG101 KINDS.get("thread")
        def run(name):
            KINDS[name]()  #> CG101 KINDS[name]
    """,
    "registry filled later": """
        import threading
        KINDS = {}
        KINDS["thread"] = threading.Thread  #> CG101 threading.Thread
        KINDS["thread"]()  #> CG101 KINDS["thread"]
    """,
    "list": """
        import threading
        kinds = [threading.Thread]  #> CG101 threading.Thread
        for kind in kinds:
            kind()  #> CG101 kind
        [k() for k in kinds]  #> CG101 k
        kinds[0]()  #> CG101 kinds[0]
    """,
    "conditional expression": """
        import threading
        def f(x):
            make = threading.Thread if x else None  #> CG101 threading.Thread
            make()  #> CG101 make
    """,
    "or": """
        import asyncio
        def f(spawn=None):
            spawn = spawn or asyncio.create_task  #> CG102 asyncio.create_task
            spawn(1)  #> CG102 spawn
    """,
    "self-reference": """
        import threading
        make = threading.Thread  #> CG101 threading.Thread
        make = make  #> CG101 make
        make()  #> CG101 make
        x = x
        x()
    """,
    "with as": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor() as pool:  #> CG103 ThreadPoolExecutor
            pool.submit(print)
    """,
    "identity through a decorator": """
        import threading, functools
        def passes(function):
            @functools.wraps(function)
            def inner(*args):
                return function(*args)
            return inner
        @passes
        def start():
            threading.Thread()  #> CG101 threading.Thread
        start()
    """,
    "fullwidth letters": "import asyncio\nasyncio.ｃreate_task(1)  #> CG102 asyncio.ｃreate_task",
    "namespace class": """
        import threading
        class NS:
            make = threading.Thread  #> CG101 threading.Thread
        NS.make()  #> CG101 NS.make
    """,
    "attribute of a function": """
        import threading
        def f(): ...
        f.make = threading.Thread  #> CG101 threading.Thread
    """,
    "match on value": """
        import threading
        match threading.Thread:  #> CG101 threading.Thread
            case x:
                x()
    """,
    "type parameters": """
        from threading import Thread
        class Box[T: Thread](dict[str, T]):
            def put[K](self, x: K, make=Thread): ...  #> CG101 Thread
        type Both = Thread | int
        def f[T](x: T): Thread(x)  #> CG101 Thread
    """,
    "nested quotes": """
        from threading import Thread
        text = f"{d["a"]} {Thread()} {f"{Thread("b")}"}"  #> CG101 Thread; CG101 Thread
    """,
}


@pytest.mark.parametrize("name", CASES)
def test_renamed(name: str, tmp_path: Path) -> None:
    verify(tmp_path, CASES[name])
