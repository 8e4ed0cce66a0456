import asyncio
import signal


def install(loop, stop):
    loop.call_later(5, asyncio.ensure_future, stop())  # error: CG102 24
    signal.signal(signal.SIGTERM, lambda *_: stop())


async def all_at_once(coroutines):
    return await asyncio.gather(*map(asyncio.create_task, coroutines))  # error: CG102 38
