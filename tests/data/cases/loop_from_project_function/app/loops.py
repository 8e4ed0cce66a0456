import asyncio


def current() -> asyncio.AbstractEventLoop:
    return asyncio.get_event_loop()
