"""CG1, spawn: application code does not start its own threads, tasks, executors, processes or greenlets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from concurrency_gate.rule import ModuleRule

if TYPE_CHECKING:
    import libcst as cst

    from concurrency_gate.facts.uses import Use


class SpawnRule(ModuleRule):
    """What the six have in common: one kind of the catalogue, and a sentence for each form of use."""

    exempt_in_infra = True
    what: ClassVar[str]
    """Completes "... {what}", said of the name that was found."""

    def visit_Name(self, node: cst.Name) -> None:  # noqa: N802 - LibCST's spelling
        self._judge(node)

    def visit_Attribute(self, node: cst.Attribute) -> None:  # noqa: N802
        self._judge(node)

    def visit_Call(self, node: cst.Call) -> None:  # noqa: N802
        self._judge(node)

    def visit_Subscript(self, node: cst.Subscript) -> None:  # noqa: N802
        self._judge(node)

    def _judge(self, node: cst.CSTNode) -> None:
        for use in self.file.uses_at(node, self.kinds):
            self.report(node, self._message(use))

    def _message(self, use: Use) -> str:
        if use.form == "base" and use.through:
            return f"a class derived from {use.name} through {use.through} {self.what}"
        if use.form == "base":
            return f"a class derived from {use.name} {self.what}"
        if use.form == "reference":
            return f"{use.name}, handed on here, {self.what}"
        return f"{use.name} {self.what}"


class BareThread(SpawnRule):
    code = "CG101"
    name = "bare-thread"
    kinds = frozenset({"thread"})
    summary = "A thread is started by hand."
    what = "starts a thread that nobody bounds, times or stops"
    why = (
        "Nothing limits how many such threads there are or how long they run, an exception in one is printed and lost, "
        "and a shutdown either waits for it without end or cuts it off in the middle of its work."
    )
    instead = (
        "use concurrency_gate.runtime: detach(function, ...) for one piece of work, ThreadPool(name, max_workers=..., "
        "timeout=...) for many; or move the thread to an infra path"
    )
    red = (
        "import threading\nthreading.Thread(target=print).start()\n",
        "from threading import Timer as Later\nLater(5, print).start()\n",
        "import _thread as low\nlow.start_new_thread(print, ())\n",
        "from threading import Thread\nclass Worker(Thread):\n    pass\n",
        "from threading import Thread\nclass Base(Thread):\n    pass\nclass Worker(Base):\n    pass\n",
        {
            "app/base.py": "import threading\nclass Base(threading.Thread):\n    pass\n",
            "app/work.py": "from .base import Base\nclass Worker(Base):\n    pass\n",
            "app/__init__.py": "",
        },
        "import importlib\nimportlib.import_module('threading').Thread(target=print)\n",
        "import threading\ndef make(factory=threading.Thread):\n    return factory(target=print)\n",
    )
    green = (
        "from concurrency_gate.runtime import detach\ndetach(print, 'hello', name='greeting', timeout=5)\n",
        "import threading\nlock = threading.Lock()\nprint(threading.current_thread().name)\n",
        "class Thread:\n    pass\nThread()\n",
        "from threading import Thread\ndef stop(thread: Thread) -> None:\n    if isinstance(thread, Thread):\n"
        "        thread.join(5)\n",
        "def start(threading):\n    threading.Thread()\n",
    )
    plant = "import threading\n\nthreading.Thread(target=print).start()\n"


class BareTask(SpawnRule):
    code = "CG102"
    name = "bare-task"
    kinds = frozenset({"task"})
    summary = "An asyncio task is started by hand."
    what = "starts a task that nobody owns"
    why = (
        "The event loop keeps only a weak reference to a task, so one that nobody holds can vanish while it runs; its "
        "exception is reported late or never, nothing limits its number or its time, and a shutdown does not know it "
        "(docs.python.org/3/library/asyncio-task.html#asyncio.create_task)."
    )
    instead = (
        "use asyncio.TaskGroup where the work ends before the block does, concurrency_gate.runtime.detach(coroutine, "
        "timeout=...) where it outlives it, or AsyncPool for many; or move the task to an infra path"
    )
    red = (
        "import asyncio\nasync def main():\n    asyncio.create_task(asyncio.sleep(1))\n",
        "import asyncio\nloop = asyncio.get_event_loop()\nloop.create_task(asyncio.sleep(1))\n",
        "import asyncio\nclass Hub:\n    def __init__(self):\n        self._loop = asyncio.get_running_loop()\n"
        "    def run(self, work):\n        self._loop.create_task(work)\n",
        "import asyncio\ndef run(loop: 'asyncio.AbstractEventLoop', work):\n    loop.create_task(work)\n",
        "import asyncio\nfrom typing import Optional\nclass Hub:\n    loop: Optional[asyncio.AbstractEventLoop] = None\n"
        "    def run(self, work):\n        self.loop.create_task(work)\n",
        "import asyncio\ntasks = map(asyncio.create_task, [])\n",
        "import asyncio\nspawn = getattr(asyncio, 'create_task')\n",
        "import asyncio, functools\nspawn = functools.partial(asyncio.ensure_future, loop=None)\n",
        {
            "app/compat.py": "from asyncio import create_task as spawn\n",
            "app/main.py": "from app.compat import *\nasync def main(work):\n    spawn(work)\n",
            "app/__init__.py": "",
        },
    )
    green = (
        "import asyncio\nasync def main():\n    async with asyncio.TaskGroup() as group:\n"
        "        group.create_task(asyncio.sleep(1))\n",
        "from concurrency_gate.runtime import detach\nasync def main(work):\n    detach(work(), timeout=5)\n",
        "import asyncio\ndef name(task: asyncio.Task) -> str:\n    return task.get_name()\n",
        "def run(jira):\n    jira.create_task('write it')\n",
    )
    plant = "import asyncio\n\n\nasync def planted(work):\n    asyncio.create_task(work)\n"


class BareExecutor(SpawnRule):
    code = "CG103"
    name = "bare-executor"
    kinds = frozenset({"executor"})
    summary = "Work is handed to an executor made ad hoc, or to the loop's own."
    what = "hands work to threads or processes without a limit on its time or its queue"
    why = (
        "An executor's queue has no limit and its work cannot be cancelled: interpreter exit waits for it. The event "
        "loop's default executor also resolves host names, so slow work in it stops every connection of the process."
    )
    instead = (
        "use concurrency_gate.runtime: await ThreadPool(name, max_workers=..., timeout=...).run(function, ...), or "
        "ProcessPool for work that must be ended; or move the executor to an infra path"
    )
    red = (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(4)\n",
        "import asyncio\nasync def main():\n    await asyncio.to_thread(print)\n",
        "import asyncio\nasync def main():\n    loop = asyncio.get_running_loop()\n"
        "    await loop.run_in_executor(None, print)\n",
        "from multiprocessing.pool import ThreadPool\npool = ThreadPool(4)\n",
        "from asgiref.sync import sync_to_async\nask = sync_to_async(print, thread_sensitive=False)\n",
    )
    green = (
        "from concurrency_gate.runtime import ThreadPool\npool = ThreadPool('thumbnails', max_workers=4, timeout=30)\n",
        "from asgiref.sync import sync_to_async\nask = sync_to_async(print)\n",
        "from concurrent.futures import Executor, Future\ndef collect(future: Future) -> None:\n    future.result(5)\n",
    )
    plant = "from concurrent.futures import ThreadPoolExecutor\n\nplanted = ThreadPoolExecutor()\n"


class BareProcess(SpawnRule):
    code = "CG104"
    name = "bare-process"
    kinds = frozenset({"process"})
    summary = "A process is started, or forked, by hand."
    what = "starts a process that nobody bounds, times or stops"
    why = (
        "A child that nobody waits for outlives its parent or becomes a zombie, and a fork of a process with threads "
        "copies locks that are held for ever (docs.python.org/3/library/os.html#os.fork)."
    )
    instead = (
        "use concurrency_gate.runtime.ProcessPool(name, max_workers=..., timeout=...), which ends a job that overruns; "
        "or move the process to an infra path"
    )
    red = (
        "import multiprocessing\nmultiprocessing.Process(target=print).start()\n",
        "import multiprocessing as mp\ncontext = mp.get_context('spawn')\ncontext.Pool(4)\n",
        "import os\npid = os.fork()\n",
    )
    green = (
        "from concurrency_gate.runtime import ProcessPool\npool = ProcessPool('render', max_workers=2, timeout=60)\n",
        "import multiprocessing\ncount = multiprocessing.cpu_count()\n",
    )
    plant = "import multiprocessing\n\nmultiprocessing.Process(target=print).start()\n"


class BareGreenlet(SpawnRule):
    code = "CG105"
    name = "bare-greenlet"
    kinds = frozenset({"greenlet"})
    summary = "A gevent or eventlet greenlet is spawned by hand."
    what = "spawns a greenlet that nobody bounds, times or stops"
    why = (
        "A greenlet that nobody joins loses its exception, has no limit in number or time, and is unknown to the "
        "shutdown."
    )
    instead = (
        "use concurrency_gate.runtime: detach(function, ...) or ThreadPool(name, max_workers=..., timeout=...); or move "
        "the greenlet to an infra path"
    )
    red = (
        "import gevent\ngevent.spawn(print)\n",
        "from gevent.pool import Pool\npool = Pool(10)\n",
        "import eventlet\neventlet.spawn_n(print)\n",
    )
    green = ("import gevent\ngevent.sleep(0)\n",)
    plant = "import gevent\n\ngevent.spawn(print)\n"


class FrameworkSpawn(SpawnRule):
    code = "CG106"
    name = "framework-spawn"
    kinds = frozenset({"framework"})
    summary = "A framework is asked to run work behind the request's back."
    what = "runs work that nobody bounds, times or stops"
    why = (
        "A background task of a web framework shares the fate of the worker that served the request: it is cut off when "
        "the worker is recycled, has no limit of its own, and is lost without a trace when it fails."
    )
    instead = (
        "use concurrency_gate.runtime.detach(function, ..., timeout=...), or put a job into a queue that survives a "
        "restart; or move the call to an infra path"
    )
    red = (
        "from fastapi import BackgroundTasks\ndef view(tasks: BackgroundTasks):\n    tasks.add_task(print)\n",
        "from twisted.internet.threads import deferToThread\ndeferToThread(print)\n",
        "from tornado.ioloop import IOLoop\nIOLoop.current().spawn_callback(print)\n",
        "import trio\ntrio.lowlevel.spawn_system_task(print)\n",
    )
    green = (
        "import trio\nasync def main():\n    async with trio.open_nursery() as nursery:\n"
        "        nursery.start_soon(trio.sleep, 1)\n",
        "import anyio\nasync def main():\n    async with anyio.create_task_group() as group:\n"
        "        group.start_soon(anyio.sleep, 1)\n",
    )
    plant = "from twisted.internet.threads import deferToThread\n\ndeferToThread(print)\n"


RULES = (BareThread, BareTask, BareExecutor, BareProcess, BareGreenlet, FrameworkSpawn)
