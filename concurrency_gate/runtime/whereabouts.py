"""Where a stuck job stands: the stack of its thread, or the coroutines that its task waits through."""

from __future__ import annotations

import asyncio
import sys
import traceback
from typing import Any

DEEPEST = 50
"""The most awaits that are followed into a task."""


def of_thread(ident: int | None) -> str:
    """The stack of a thread, as lines. From any thread."""
    frame = sys._current_frames().get(ident or -1)
    return "".join(traceback.format_stack(frame)) if frame else "(its thread has ended)"


def of_task(task: asyncio.Task[Any]) -> str:
    """The lines at which a task's coroutines wait for each other; if one of them runs, it blocks its loop,
    and the lines are those of the loop's thread. From any thread.

    `Task.get_stack` gives only the outermost coroutine of a task that waits.
    """
    lines: list[str] = []
    awaited: Any = task.get_coro()
    while awaited is not None and len(lines) < DEEPEST:
        if getattr(awaited, "cr_running", False):
            return of_thread(getattr(task.get_loop(), "_thread_id", None))
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if frame is not None:
            lines += traceback.format_stack(frame, limit=1)
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)
    return "".join(lines) or "(its task has ended)"
