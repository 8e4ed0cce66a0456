"""After a fork, the child has the parent's locks and queues but none of its threads: begin anew there."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forked(Protocol):
    def after_fork(self) -> None:
        """Forget threads, jobs and locks: they belong to the parent."""


_watched: weakref.WeakSet[Forked] = weakref.WeakSet()


def watch(thing: Forked) -> None:
    """Call `thing.after_fork()` in every child forked from now on."""
    _watched.add(thing)


def _begin_anew() -> None:
    for thing in list(_watched):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
