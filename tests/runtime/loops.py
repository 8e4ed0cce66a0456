"""Running a coroutine test: to its end, within a limit, with no task left over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

LIMIT = 30.0


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """`asyncio.run(main())`, failing if it takes `LIMIT` seconds or leaves a task."""

    async def checked() -> T:
        before = asyncio.all_tasks()
        async with asyncio.timeout(LIMIT):
            result = await main()
        left = asyncio.all_tasks() - before
        assert left == set(), f"tasks left over: {left}"
        return result

    return asyncio.run(checked())
