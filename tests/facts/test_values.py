"""Types: loops, pools and contexts, however the code came by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from concurrency_gate.facts.values import LEVELS, Collection, Constant
from tests.facts.marked import verify

CASES = {
    "global set before it is declared": """
        import threading
        def setup():
            global make
            make = threading.Thread  #> CG101 threading.Thread
        make = None
        def run():
            make()  #> CG101 make
    """,
    "chained": """
        import asyncio
        asyncio.get_event_loop().create_task(1)  #> CG102 asyncio.get_event_loop().create_task
        asyncio.new_event_loop().run_in_executor(None, 1)  #> CG103 asyncio.new_event_loop().run_in_executor
        asyncio.get_event_loop_policy().new_event_loop().create_task(1)  #> CG102 asyncio.get_event_loop_policy().new_event_loop().create_task
    """,
    "variable": """
        from asyncio import get_event_loop as g
        def f():
            loop = g()
            loop.create_task(1)  #> CG102 loop.create_task
            go = loop.create_task  #> CG102 loop.create_task
            go(1)  #> CG102 go
    """,
    "self attribute": """
        import asyncio
        class A:
            def __init__(self, loop=None):
                self._loop = asyncio.get_running_loop()
                self.loop = loop or asyncio.get_event_loop()
                self.third = loop if loop is not None else asyncio.new_event_loop()
                self.spawn = asyncio.create_task  #> CG102 asyncio.create_task
            def run(self):
                self._loop.create_task(1)  #> CG102 self._loop.create_task
                self.loop.create_task(1)  #> CG102 self.loop.create_task
                self.third.create_task(1)  #> CG102 self.third.create_task
                self.spawn(1)  #> CG102 self.spawn
        class B(A):
            def more(self):
                self.loop.create_task(1)  #> CG102 self.loop.create_task
        A().loop.create_task(1)  #> CG102 A().loop.create_task
        a = A()
        a.spawn(1)  #> CG102 a.spawn
    """,
    "self attribute set from a nested function": """
        import asyncio
        class A:
            def start(self):
                def inner():
                    self.loop = asyncio.get_running_loop()
                inner()
            def run(self):
                self.loop.create_task(1)  #> CG102 self.loop.create_task
    """,
    "self attribute of a given parameter": """
        import asyncio
        class A:
            def __init__(self, loop: asyncio.AbstractEventLoop, other: "asyncio.AbstractEventLoop | None" = None):
                self.loop, self.other = loop, other
            def run(self):
                self.loop.create_task(1)  #> CG102 self.loop.create_task
                self.other.create_task(1)  #> CG102 self.other.create_task
    """,
    "parameters": """
        import asyncio
        from typing import Optional, Union, Annotated
        from asyncio import AbstractEventLoop as Loop
        def f(
            a: asyncio.AbstractEventLoop, b: "asyncio.AbstractEventLoop", c: Optional[Loop], d: Union[None, Loop],
            e: Loop | None, f: "Loop | None", g: Annotated[Loop, 1], h: "Optional[Loop]" = None, *i: Loop, j: Loop, **k: Loop,
        ):
            a.create_task(1)  #> CG102 a.create_task
            b.create_task(1)  #> CG102 b.create_task
            c.create_task(1)  #> CG102 c.create_task
            d.create_task(1)  #> CG102 d.create_task
            e.create_task(1)  #> CG102 e.create_task
            f.create_task(1)  #> CG102 f.create_task
            g.create_task(1)  #> CG102 g.create_task
            h.create_task(1)  #> CG102 h.create_task
            i[0].create_task(1)  #> CG102 i[0].create_task
            j.create_task(1)  #> CG102 j.create_task
            k["x"].create_task(1)  #> CG102 k["x"].create_task
            i.create_task(1)
    """,
    "containers of loops": """
        import asyncio
        def f(a: list[asyncio.AbstractEventLoop], b: dict[str, asyncio.AbstractEventLoop]):
            for x in a:
                x.create_task(1)  #> CG102 x.create_task
            for k, v in b.items():
                v.create_task(1)  #> CG102 v.create_task
            for v in b.values():
                v.create_task(1)  #> CG102 v.create_task
            b["x"].create_task(1)  #> CG102 b["x"].create_task
            b.get("x").create_task(1)  #> CG102 b.get("x").create_task
    """,
    "class-level annotation": """
        import asyncio
        from dataclasses import dataclass, field
        @dataclass
        class A:
            loop: asyncio.AbstractEventLoop
            other: "asyncio.AbstractEventLoop | None" = None
            third: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
            def run(self):
                self.loop.create_task(1)  #> CG102 self.loop.create_task
                self.other.create_task(1)  #> CG102 self.other.create_task
                self.third.create_task(1)  #> CG102 self.third.create_task
        def f(a: A):
            a.loop.create_task(1)  #> CG102 a.loop.create_task
    """,
    "named tuple": """
        import asyncio
        from typing import NamedTuple
        class A(NamedTuple):
            loop: asyncio.AbstractEventLoop
        def f(a: A):
            a.loop.create_task(1)  #> CG102 a.loop.create_task
    """,
    "attribute annotation in a method": """
        class A:
            def __init__(self, loop):
                import asyncio
                self.loop: asyncio.AbstractEventLoop = loop
            def run(self):
                self.loop.create_task(1)  #> CG102 self.loop.create_task
    """,
    "return annotation": """
        import asyncio
        def get() -> asyncio.AbstractEventLoop: ...
        def maybe() -> "asyncio.AbstractEventLoop | None": ...
        async def later() -> asyncio.AbstractEventLoop: ...
        get().create_task(1)  #> CG102 get().create_task
        maybe().create_task(1)  #> CG102 maybe().create_task
        async def f():
            (await later()).create_task(1)  #> CG102 (await later()).create_task
            later().create_task(1)
    """,
    "returned": """
        import asyncio
        def get():
            loop = asyncio.get_event_loop()
            return loop
        get().create_task(1)  #> CG102 get().create_task
        async def later():
            return asyncio.get_running_loop()
        async def f():
            loop = await later()
            loop.create_task(1)  #> CG102 loop.create_task
    """,
    "property": """
        import asyncio, functools
        class A:
            @property
            def loop(self):
                return asyncio.get_event_loop()
            @functools.cached_property
            def other(self) -> asyncio.AbstractEventLoop: ...
            def run(self):
                self.loop.create_task(1)  #> CG102 self.loop.create_task
                self.other.create_task(1)  #> CG102 self.other.create_task
    """,
    "static and class methods": """
        import asyncio
        class A:
            @staticmethod
            def loop():
                return asyncio.get_event_loop()
            @classmethod
            def other(cls):
                return cls.loop()
            def run(self):
                self.loop().create_task(1)  #> CG102 self.loop().create_task
                A.other().create_task(1)  #> CG102 A.other().create_task
    """,
    "context manager": """
        import asyncio, contextlib
        @contextlib.contextmanager
        def running():
            loop = asyncio.new_event_loop()
            yield loop
        with running() as loop:
            loop.create_task(1)  #> CG102 loop.create_task
        class M:
            def __enter__(self):
                return asyncio.new_event_loop()
        with M() as loop:
            loop.create_task(1)  #> CG102 loop.create_task
        with contextlib.closing(asyncio.new_event_loop()) as loop:
            loop.create_task(1)  #> CG102 loop.create_task
        with asyncio.Runner() as runner:
            runner.get_loop().create_task(1)  #> CG102 runner.get_loop().create_task
    """,
    "generator": """
        import asyncio
        def loops():
            yield asyncio.new_event_loop()
        for loop in loops():
            loop.create_task(1)  #> CG102 loop.create_task
        next(loops()).create_task(1)  #> CG102 next(loops()).create_task
    """,
    "uvloop": """
        import uvloop
        loop = uvloop.new_event_loop()
        loop.create_task(1)  #> CG102 loop.create_task
        def f(loop: uvloop.Loop):
            loop.run_in_executor(None, 1)  #> CG103 loop.run_in_executor
    """,
    "own loop": """
        import asyncio
        class Loop(asyncio.AbstractEventLoop):
            def create_task(self, x):
                return super().create_task(x)  #> CG102 super().create_task
        class Selector(asyncio.SelectorEventLoop):
            def go(self, x):
                return self.create_task(x)  #> CG102 self.create_task
        asyncio.SelectorEventLoop().create_task(1)  #> CG102 asyncio.SelectorEventLoop().create_task
        asyncio.ProactorEventLoop().create_task(1)  #> CG102 asyncio.ProactorEventLoop().create_task
    """,
    "super with arguments": """
        import asyncio
        class Loop(asyncio.AbstractEventLoop):
            def create_task(self, x):
                return super(Loop, self).create_task(x)  #> CG102 super(Loop, self).create_task
    """,
    "super through a mixin": """
        import threading
        class Base:
            kind = threading.Thread  #> CG101 threading.Thread
        class A(Base):
            def run(self):
                super().kind()  #> CG101 super().kind
    """,
    "class-level alias": """
        import threading
        class A:
            thread_class = threading.Thread  #> CG101 threading.Thread
            def run(self):
                self.thread_class()  #> CG101 self.thread_class
        class B(A):
            def run(self):
                self.thread_class()  #> CG101 self.thread_class
        class C(A):
            thread_class = len
            def run(self):
                self.thread_class("")
    """,
    "replaced below": """
        import threading
        class A:
            thread_class = len
            def run(self):
                self.thread_class()  #> CG101 self.thread_class
        class B(A):
            thread_class = threading.Thread  #> CG101 threading.Thread
    """,
    "class attribute reassigned": """
        import threading
        class A:
            make = threading.Thread  #> CG101 threading.Thread
            make = len
            def run(self):
                self.make()
    """,
    "context of multiprocessing": """
        import multiprocessing as mp
        ctx = mp.get_context("spawn")
        ctx.Process()  #> CG104 ctx.Process
        ctx.Pool()  #> CG104 ctx.Pool
        mp.get_context().Pool()  #> CG104 mp.get_context().Pool
        class A:
            def __init__(self, method=None):
                self.ctx = mp.get_context(method) if method else mp
            def run(self):
                self.ctx.Process()  #> CG104 self.ctx.Process
    """,
    "background tasks": """
        from fastapi import BackgroundTasks, FastAPI
        app = FastAPI()
        @app.get("/")
        async def view(tasks: BackgroundTasks):
            tasks.add_task(print)  #> CG106 tasks.add_task
    """,
    "type variable": """
        import asyncio
        from typing import TypeVar
        L = TypeVar("L", bound=asyncio.AbstractEventLoop)
        def f(loop: L) -> L:
            loop.create_task(1)  #> CG102 loop.create_task
    """,
    "type alias": """
        import asyncio
        from typing import TypeAlias, Optional
        Loop = asyncio.AbstractEventLoop
        Maybe: TypeAlias = "Optional[asyncio.AbstractEventLoop]"
        Other = Optional[Loop]
        Third = Loop | None
        type Fourth = Loop
        def f(a: Loop, b: Maybe, c: Other, d: Third, e: Fourth):
            a.create_task(1)  #> CG102 a.create_task
            b.create_task(1)  #> CG102 b.create_task
            c.create_task(1)  #> CG102 c.create_task
            d.create_task(1)  #> CG102 d.create_task
            e.create_task(1)  #> CG102 e.create_task
    """,
    "annotated local": """
        import asyncio
        def f(get):
            loop: asyncio.AbstractEventLoop = get()
            loop.create_task(1)  #> CG102 loop.create_task
            other: "asyncio.AbstractEventLoop"
            other = get()
            other.create_task(1)  #> CG102 other.create_task
    """,
    "cast and assert": """
        import asyncio
        from typing import cast
        def f(x, y):
            cast(asyncio.AbstractEventLoop, x).create_task(1)  #> CG102 cast(asyncio.AbstractEventLoop, x).create_task
            cast("asyncio.AbstractEventLoop", x).create_task(1)  #> CG102 cast("asyncio.AbstractEventLoop", x).create_task
    """,
    "instance of a project class by annotation": """
        import asyncio
        class Hub:
            def __init__(self):
                self.loop = asyncio.get_event_loop()
        class User:
            hub: "Hub"
            def run(self):
                self.hub.loop.create_task(1)  #> CG102 self.hub.loop.create_task
        def f(users: "list[User]"):
            users[0].hub.loop.create_task(1)  #> CG102 users[0].hub.loop.create_task
    """,
    "self type": """
        import asyncio
        from typing import Self
        class Hub:
            loop = asyncio.new_event_loop()
            def me(self) -> Self: ...
            def also(self): return self
            def run(self):
                self.me().loop.create_task(1)  #> CG102 self.me().loop.create_task
                self.also().also().loop.create_task(1)  #> CG102 self.also().also().loop.create_task
    """,
    "call": """
        import threading
        class Maker:
            def __call__(self):
                return threading.Thread  #> CG101 threading.Thread
        make = Maker()
        make()()  #> CG101 make()
    """,
    "partial over a loop's method": """
        import asyncio, functools
        loop = asyncio.new_event_loop()
        run = functools.partial(loop.run_in_executor, None)  #> CG103 loop.run_in_executor
        run(print)  #> CG103 run
    """,
    "tuple from a function": """
        import asyncio
        def pair():
            return asyncio.new_event_loop(), 1
        loop, one = pair()
        loop.create_task(1)  #> CG102 loop.create_task
        one.create_task(1)
    """,
    "loop of a task": """
        import asyncio
        async def f(task: asyncio.Task, future: asyncio.Future):
            task.get_loop().create_task(1)  #> CG102 task.get_loop().create_task
            future.get_loop().create_task(1)  #> CG102 future.get_loop().create_task
    """,
    "setattr": """
        import asyncio
        class A: ...
        a = A()
        a.loop = asyncio.new_event_loop()
        a.loop.create_task(1)  #> CG102 a.loop.create_task
    """,
    "class attribute set from outside": """
        import asyncio
        class A: ...
        A.loop = asyncio.new_event_loop()
        A.loop.create_task(1)  #> CG102 A.loop.create_task
    """,
}


@pytest.mark.parametrize("name", CASES)
def test_typed(name: str, tmp_path: Path) -> None:
    verify(tmp_path, CASES[name])


def test_collections_nest_no_deeper_than_they_tell() -> None:
    value, deepest = Collection(((Constant("leaf"),),)), 0
    for _ in range(3 * LEVELS):
        value = Collection(((value, Constant("beside")),))
        deepest = max(deepest, value.levels)
    assert deepest == LEVELS
