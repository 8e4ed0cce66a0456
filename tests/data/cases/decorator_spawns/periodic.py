import asyncio
import functools


def every(seconds):
    def decorate(work):
        async def loop():
            while True:
                await work()
                await asyncio.sleep(seconds)

        @functools.wraps(work)
        def start():
            return asyncio.get_event_loop().create_task(loop())  # error: CG102 20

        return start

    return decorate
