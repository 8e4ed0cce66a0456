import asyncio

import anyio
import trio


async def fetch(name):
    return name


async def three():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fetch("a"))
    async with anyio.create_task_group() as group:
        group.start_soon(fetch, "b")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fetch, "c")
