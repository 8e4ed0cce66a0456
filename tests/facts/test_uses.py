"""Which uses count: a call, a reference that hands the primitive on, a base class; and what only talks about
it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.facts.marked import verify

COUNTS = {
    "map": "import asyncio\nt = map(asyncio.create_task, [])  #> CG102 asyncio.create_task",
    "argument": "from threading import Thread\nrun(Thread)  #> CG101 Thread",
    "keyword argument": "from threading import Thread\nrun(kind=Thread)  #> CG101 Thread",
    "starred argument": "from threading import Thread\nrun(*[Thread], **{'a': Thread})  #> CG101 Thread; CG101 Thread",
    "default argument": "from threading import Thread\ndef f(a, kind=Thread, *, other=Thread):  #> CG101 Thread; CG101 Thread\n    ...",
    "default argument is called": """
        from threading import Thread
        def f(kind=Thread):  #> CG101 Thread
            kind()  #> CG101 kind
    """,
    "lambda default": "from threading import Thread\nf = lambda kind=Thread: 1  #> CG101 Thread",
    "lambda body": "import asyncio\nf = lambda x: asyncio.create_task(x)  #> CG102 asyncio.create_task",
    "class attribute": "from threading import Thread\nclass A:\n    kind = Thread  #> CG101 Thread",
    "decorator": "from asyncio import create_task\n@create_task  #> CG102 create_task\ndef f(): ...",
    "decorator argument": "from threading import Thread\n@wrap(Thread)  #> CG101 Thread\nclass A: ...",
    "return": "from threading import Thread\ndef f():\n    return Thread  #> CG101 Thread",
    "yield": "from threading import Thread\ndef f():\n    yield Thread  #> CG101 Thread",
    "yield from": "from threading import Thread\ndef f():\n    yield from (Thread,)  #> CG101 Thread",
    "set": "from threading import Thread\nx = {Thread}  #> CG101 Thread",
    "dict key": "from threading import Thread\nx = {Thread: 1}  #> CG101 Thread",
    "f-string": "from threading import Thread\nx = f'{Thread()}'  #> CG101 Thread",
    "subscript of result": "import os\nx = [os.fork()][0]  #> CG104 os.fork",
    "assert, raise, del, return tuple": """
        import os
        assert os.fork()  #> CG104 os.fork
        def f():
            return 1, os.fork()  #> CG104 os.fork
    """,
    "await": "import asyncio\nasync def f():\n    await asyncio.create_task(1)  #> CG102 asyncio.create_task",
    "comparison with a call": "import os\nif os.fork() == 0: ...  #> CG104 os.fork",
    "comprehension condition": "import os\n[x for x in 'a' if os.fork()]  #> CG104 os.fork",
    "slice": "import os\nx = 'a'[os.fork():]  #> CG104 os.fork",
    "augmented": "import asyncio\nt = []\nt += [asyncio.create_task(1)]  #> CG102 asyncio.create_task",
    "metaclass keyword": "from threading import Thread\nclass A(metaclass=make(Thread)): ...  #> CG101 Thread",
    "chained call": "import threading\nthreading.Thread(target=print).start()  #> CG101 threading.Thread",
    "several lines": """
        import asyncio
        (
            asyncio  #> CG102 asyncio .get_event_loop() .create_task
            .get_event_loop()
            .create_task(1)
        )
    """,
    "behind the end of a text": 'from os import fork\nx = """\n"""; fork(); y = """  #> CG104 fork\n"""',
    "one line": "import os; os.fork(); x = os.fork  #> CG104 os.fork; CG104 os.fork",
    "one-line compound": "import os\nif 1: os.fork()  #> CG104 os.fork\nelse: os.fork()  #> CG104 os.fork",
    "elif": "import os\nif 1:\n    pass\nelif os.fork():  #> CG104 os.fork\n    pass",
    "with item": "import os\nwith a, b(os.fork()) as c: ...  #> CG104 os.fork",
    "for header and else": """
        import os
        for x in os.fork():  #> CG104 os.fork
            pass
        else:
            os.fork()  #> CG104 os.fork
    """,
    "try's parts": """
        import os
        try:
            os.fork()  #> CG104 os.fork
        except ValueError:
            os.fork()  #> CG104 os.fork
        else:
            os.fork()  #> CG104 os.fork
        finally:
            os.fork()  #> CG104 os.fork
    """,
    "match's parts": """
        import os
        match os.fork():  #> CG104 os.fork
            case 1 if os.fork():  #> CG104 os.fork
                os.fork()  #> CG104 os.fork
    """,
    "continued line": "import os\nx = 1 + \\\n    os.fork()  #> CG104 os.fork",
    "wide characters before": "import os\nx = 'äöü€😀', os.fork()  #> CG104 os.fork",
    "decorated one": "import os\n@a(os.fork())  #> CG104 os.fork\n@b\ndef f(x=os.fork()): ...  #> CG104 os.fork",
    "base": "from threading import Thread\nclass A(Thread): ...  #> CG101 Thread",
    "base through alias": "import threading as t\nB = t.Thread  #> CG101 t.Thread\nclass A(B): ...  #> CG101 B",
    "base among others": "from threading import Thread\nclass A(dict, Thread, metaclass=M): ...  #> CG101 Thread",
    "instance class": """
        from threading import Thread
        class A(Thread):  #> CG101 Thread
            def f(self):
                type(self)()
                super().__init__()
    """,
    "asgiref": """
        from asgiref.sync import sync_to_async
        sync_to_async(print)
        sync_to_async(print, thread_sensitive=True)
        sync_to_async(print, thread_sensitive=False)  #> CG103 sync_to_async
        @sync_to_async(thread_sensitive=False)  #> CG103 sync_to_async
        def f(): ...
    """,
}

TALKS = {
    "annotation": """
        from threading import Thread
        x: Thread
        y: "Thread | None" = None
        def f(a: Thread, *b: Thread, c: list[Thread] = [], **d: "Thread") -> Thread: ...
        class A:
            t: Thread
            u: dict[str, Thread]
    """,
    "isinstance": """
        from threading import Thread
        from multiprocessing import Process
        def f(x):
            isinstance(x, Thread)
            issubclass(x, (Thread, Process))
            isinstance(x, Thread | Process)
            type(x) is Thread
            type(x) in (Thread, Process)
            return x == Thread
    """,
    "asked about": """
        import os
        from threading import Thread
        def f(make=None):
            make = make or Thread.mine
            if Thread: ...
            if not Thread or make is Thread: ...
            if getattr(os, "fork", None) is None: ...
            if getattr(os, "fork", None): ...
            while Thread and not make: ...
            assert Thread
            return 1 if Thread else 2
    """,
    "except": """
        from threading import Thread
        try: ...
        except Thread: ...
        except (ValueError, Thread) as e: ...
    """,
    "docstring": '"""Start with threading.Thread or asyncio.create_task."""\n"asyncio.create_task"\n# threading.Thread()',
    "string": "x = 'threading.Thread'\nprint('asyncio.create_task(x)')",
    "typing": """
        from threading import Thread
        from typing import Optional, Union, cast, TypeVar, Callable, NewType, TypeAlias, Any
        T = TypeVar("T", bound=Thread)
        A = Optional[Thread]
        B = Union[Thread, None]
        C = Callable[[Thread], None]
        D: TypeAlias = Thread
        E = Thread | None
        cast(Thread, 1)
        N = NewType("N", Thread)
        class G(list[Thread]): ...
    """,
    "other attributes": """
        import threading, asyncio
        threading.Lock(); threading.current_thread(); asyncio.sleep(1); asyncio.gather()
        threading.Thread.name
        threading.Thread.__doc__
    """,
    "task group": """
        import asyncio
        async def f(given: asyncio.TaskGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(1)
                t = group.create_task
            given.create_task(1)
        class A:
            group: asyncio.TaskGroup
            def __init__(self, group: "asyncio.TaskGroup | None" = None):
                self.own = group
            def f(self):
                self.group.create_task(1)
                self.own.create_task(1)
        async def g(group):
            group.create_task(1)
    """,
    "anyio, trio": """
        import anyio, trio
        async def f():
            async with anyio.create_task_group() as group, trio.open_nursery() as nursery:
                group.start_soon(print)
                nursery.start_soon(print)
                await group.start(print)
            await anyio.to_thread.run_sync(print)
            await trio.to_thread.run_sync(print)
    """,
    "importing alone": "from threading import Thread\nimport asyncio\nfrom asyncio import create_task as _",
    "dunder all": "from threading import Thread\n__all__ = ['Thread']",
    "patching in a string": "mock.patch('threading.Thread')",
    "overload and stub": """
        import typing
        from threading import Thread
        @typing.overload
        def f(x: Thread) -> Thread: ...
    """,
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str, tmp_path: Path) -> None:
    verify(tmp_path, COUNTS[name])


@pytest.mark.parametrize("name", TALKS)
def test_only_talks(name: str, tmp_path: Path) -> None:
    verify(tmp_path, TALKS[name])
