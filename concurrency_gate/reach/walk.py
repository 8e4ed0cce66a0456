"""The nodes of a body that run when the body runs, in this frame, while a transaction is open."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.values import Frame

from .branches import taken
from .layout import Guard, Visit, laid_out

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver


def running(r: Resolver, roots: Sequence[ast.AST], scope: Scope, frame: Frame | None) -> Iterator[Visit]:
    """The nodes that can lead anywhere, in the order of the text. Left out are nested functions, annotations,
    and the branches that cannot be taken: those under a parameter that this frame knows to be None, and those
    for "no transaction is open"."""
    scope.read()
    known: dict[int, bool | None] = {}
    begins = getattr(roots[0], "lineno", 0) if roots else 0
    for visit, guards in laid_out(r, roots, scope):
        unsure: list[Guard] = []
        raises = False
        for guard in guards:
            key = id(guard.node)
            if key not in known:
                known[key] = taken(r, guard, scope, frame)
            if known[key] is (not guard.branch):
                break
            if known[key] is None and not guard.is_check:
                unsure = [*(unsure[:-1] if unsure and guard.goes_on(unsure[-1]) else unsure), guard]
            raises |= guard.raises and guard.line >= begins
        else:
            yield visit._replace(raises=raises, unsure=tuple(unsure)) if unsure or raises else visit


__all__ = ["Visit", "running"]
