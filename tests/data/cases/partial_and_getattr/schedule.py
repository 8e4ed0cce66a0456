import asyncio
import functools
import importlib

later = functools.partial(asyncio.run_coroutine_threadsafe, loop=None)  # error: CG102 27
spawn = getattr(asyncio, "create_task")  # error: CG102 9
importlib.import_module("threading").Timer(5, print).start()  # error: CG101 1
