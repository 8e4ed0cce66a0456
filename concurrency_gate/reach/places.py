"""Where to look: the modules that hold a word, the calls that stand in them, and what these are given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from concurrency_gate.facts.conditions import given
from concurrency_gate.facts.modules import Module
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.uses import frame_at
from concurrency_gate.facts.values import Constant, External

from .walk import running

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Condition, Entry
    from concurrency_gate.facts.resolver import Resolver


def modules_with(r: Resolver, words: Iterable[str], form: str = "") -> Iterator[Module]:
    """The modules that hold a word; `form` is a regular expression that stands around it."""
    project = r.project
    paths = {path for word in sorted(words) for path in project.files_with(word, form % word if form else "")}
    yield from project.modules(path for path in project.files if path in paths)


def calls_in(r: Resolver, module: Module) -> Iterator[tuple[ast.Call, Scope]]:
    for scope in module.scopes:
        if scope.kind in ("module", "class", "function"):
            body = scope.node.body  # type: ignore[attr-defined]
            for visit in running(r, body, scope, frame_at(r, scope)):
                if isinstance(visit.node, ast.Call):
                    yield visit.node, visit.scope


def marked(r: Resolver, kind: str, node: ast.expr, scope: Scope) -> Iterator[Entry]:
    """The catalogue's entries of a kind for what an expression stands for."""
    for value in r.values(node, scope, frame_at(r, scope)):
        if isinstance(value, External):
            yield from r.catalogue.marks(kind, value.name)


def told(r: Resolver, condition: Condition, node: ast.Call, scope: Scope) -> str | None:
    """The text that a call gives a condition's parameter; the condition's own where it gives none, None where that is
    not known. By position other things than texts may be given."""
    by_name = any(keyword.arg == condition.parameter for keyword in node.keywords)
    argument = given(condition, node)
    values = r.values(argument, scope, frame_at(r, scope)) if argument is not None else ()
    texts = [value.value for value in values if isinstance(value, Constant)]
    if len(texts) == len(values) == 1 and isinstance(texts[0], str):
        return texts[0]
    return None if by_name and texts != [None] else str(condition.value)


__all__ = ["calls_in", "marked", "modules_with", "told"]
