"""Shadowing: a name is the library's only where Python would find the library under it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.facts.marked import verify

CASES = {
    "local class": "class Thread: ...\nThread()",
    "local class after import": """
        from threading import Thread
        Thread()  #> CG101 Thread
        class Thread: ...
        Thread()
    """,
    "local def": """
        from asyncio import create_task
        def create_task(x): ...
        create_task(1)
    """,
    "parameter": """
        import asyncio
        def f(asyncio):
            asyncio.create_task(1)
        def g(*asyncio, **threading):
            asyncio.create_task(1), threading.Thread()
        lambda asyncio: asyncio.create_task(1)
        asyncio.create_task(1)  #> CG102 asyncio.create_task
    """,
    "annotated parameter": """
        import asyncio
        def f(asyncio: "Thing"):
            asyncio.create_task(1)
    """,
    "loop variable": """
        import threading
        def f(things):
            for threading in things:
                threading.Thread()
    """,
    "after a loop that may not have run": """
        import threading
        for threading in []:
            pass
        threading.Thread()  #> CG101 threading.Thread
    """,
    "comprehension variable": """
        import threading
        [threading.Thread() for threading in "abc"]
        {threading: 1 for threading in "abc"}
        threading.Thread()  #> CG101 threading.Thread
    """,
    "comprehension's first iterable is evaluated outside": """
        import threading
        def f(things):
            return [threading for threading in threading.Thread()]  #> CG101 threading.Thread
        class A:
            from threading import Thread
            made = [Thread for Thread in Thread()]  #> CG101 Thread
    """,
    "except name": """
        import threading
        try:
            pass
        except Exception as threading:
            threading.Thread()
    """,
    "except name is deleted": """
        import threading as th
        try:
            pass
        except Exception as error:
            pass
        th.Thread()  #> CG101 th.Thread
    """,
    "del": """
        from threading import Thread
        del Thread
        from mine import Thread
        Thread()
    """,
    "match capture": """
        from threading import Thread
        def f(x):
            match x:
                case {"thread": Thread}:
                    Thread()
                case [Thread, *_]:
                    Thread()
                case Thread:
                    Thread()
    """,
    "match class pattern talks": """
        from threading import Thread
        def f(x):
            match x:
                case Thread(name="a"):
                    return 1
    """,
    "with": """
        import threading
        def f(open_it):
            with open_it() as threading:
                threading.Thread()
    """,
    "sequence": """
        from threading import Thread
        x = Thread  #> CG101 Thread
        x()  #> CG101 x
        x = len
        x()
    """,
    "branch": """
        from threading import Thread
        x = len
        if input():
            x = Thread  #> CG101 Thread
        x()  #> CG101 x
    """,
    "later in a loop": """
        from threading import Thread
        x = len
        while True:
            x()  #> CG101 x
            x = Thread  #> CG101 Thread
    """,
    "same name in two functions": """
        from threading import Thread
        def f():
            x = Thread  #> CG101 Thread
            x()  #> CG101 x
        def g():
            x = len
            x()
        def h():
            x()
    """,
    "function-level import stays there": """
        def f():
            from threading import Thread
        def g():
            Thread()
    """,
    "local everywhere in the function": """
        from threading import Thread
        def f():
            Thread()
            Thread = len
    """,
    "class scope is not seen from methods": """
        class A:
            from threading import Thread
            Thread()  #> CG101 Thread
            def f(self):
                Thread()
                self.Thread()  #> CG101 self.Thread
    """,
    "class scope is not seen from comprehensions": """
        class A:
            from threading import Thread
            made = [Thread() for _ in "a"]
    """,
    "class scope falls back to module": """
        from threading import Thread
        class A:
            Thread()  #> CG101 Thread
            Thread = len
            Thread()
    """,
    "nested class": """
        import threading
        class A:
            class B:
                make = threading.Thread  #> CG101 threading.Thread
                def f(self):
                    self.make()  #> CG101 self.make
            def g(self):
                self.B().make()  #> CG101 self.B().make
                A.B.make()  #> CG101 A.B.make
                self.make()
    """,
    "class in function": """
        import threading
        def f():
            class W(threading.Thread):  #> CG101 threading.Thread
                pass
            class V(W):  #> CG101 W
                pass
            return V()
    """,
    "global in one function only": """
        import threading
        make = len
        def f():
            make = threading.Thread  #> CG101 threading.Thread
        def g():
            make()
    """,
    "nonlocal of two levels": """
        import threading
        def a():
            make = None
            def b():
                def c():
                    nonlocal make
                    make = threading.Thread  #> CG101 threading.Thread
                c()
            b()
            make()  #> CG101 make
    """,
    "builtin of the same word": "Timer = 3\nprint(Timer)\nspawn = fork = lambda: 1\nspawn(); fork()",
    "unknown module": "import mine\nmine.Thread()\nmine.create_task(1)\nfrom other import Thread\nThread()",
    "unknown receiver": """
        def f(client, board):
            client.create_task("x")
            board.loop.create_task("y")
            board.Process()
            client.spawn(); client.fork(); client.run_in_executor(None, f)
    """,
    "attribute of that name on own class": """
        class Board:
            def create_task(self, title): ...
            def run(self):
                self.create_task("x")
        Board().create_task("y")
    """,
    "conditional definition": """
        import sys
        if sys.argv:
            def create_task(x): ...
        else:
            from asyncio import create_task
        create_task(1)  #> CG102 create_task
    """,
    "type parameter": """
        from threading import Thread
        def f[Thread](x: Thread) -> Thread:
            return x
    """,
    "keyword argument name": "def f(Thread=None): ...\nf(Thread=1)",
    "recursion": """
        import threading
        def f(n):
            return f(n - 1) if n else threading.Thread  #> CG101 threading.Thread
        f(3)()  #> CG101 f(3)
        def a(): return b()
        def b(): return a()
        a()()
        class A(A): ...
        class B(C): ...
        class C(B): ...
        B().x.y()
    """,
}


@pytest.mark.parametrize("name", CASES)
def test_shadowed(name: str, tmp_path: Path) -> None:
    verify(tmp_path, CASES[name])
