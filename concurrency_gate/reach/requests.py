"""Functions that are put into a transaction from elsewhere: views, and what `atomic(view)` wraps."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from concurrency_gate.facts.index import Index
from concurrency_gate.facts.modules import Function, Module
from concurrency_gate.facts.uses import frame_at
from concurrency_gate.facts.values import FunctionValue

from .openers import Opener
from .places import calls_in, modules_with
from .views import Views, Wrapped
from .wrappers import Wrappers

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

_APPLIED = r"(?<![\w\x80-\xff])%s(?:\([^()]*\))?\(\s*[A-Za-z_\x80-\xff][\w.\x80-\xff]*\s*\)"
"""A decorator that is called on a name: `atomic(view)`, `atomic(using="replica")(view)`."""


class Requests:
    """Searched once, when somebody asks."""

    def __init__(self, resolver: Resolver, wrappers: Wrappers) -> None:
        self._resolver = resolver
        self._wrappers = wrappers
        self._index = Index(resolver.project, "wrapped", self._search, _told)

    def of_module(self, module: Module) -> dict[Function, Opener]:
        """The module's functions that run in a transaction because of what stands elsewhere."""
        found: dict[Function, Opener] = {}
        for function, opener in self._index.get(module.path):
            found.setdefault(function, opener)
        return found

    def words(self) -> list[tuple[str, list[str]]]:
        """The functions' names, each with the files that hold them: what leads a search by words there."""
        found: dict[str, dict[str, None]] = {}
        for path, functions in self._index.told().items():
            for qualname, *_ in functions:
                found.setdefault(qualname.rpartition(".")[2], {})[path] = None
        return [(name, list(paths)) for name, paths in sorted(found.items())]

    def _search(self) -> Iterator[tuple[str, Wrapped, int]]:
        seen: set[Function] = set()
        for function, opener in (*self._applied(), *Views(self._resolver).found()):
            if function not in seen:
                seen.add(function)
                yield function.module.path, (function, opener), 0

    def _applied(self) -> Iterator[Wrapped]:
        """What a decorator is called on."""
        r = self._resolver
        words = r.libraries.words({"decorators"})
        for module in modules_with(r, words, _APPLIED):
            for node, scope in calls_in(r, module):
                named = node.func.func if isinstance(node.func, ast.Call) else node.func
                word = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
                if word not in words or not node.args:
                    continue
                frame = frame_at(r, scope)
                handed = [v for v in r.values(node.args[0], scope, frame) if isinstance(v, FunctionValue)]
                opener = self._wrappers.decorator(node.func, scope, frame) if handed else None
                if opener is not None:
                    yield from ((value.function, opener) for value in handed)


def _told(wrapped: Wrapped) -> Sequence[str]:
    function, opener = wrapped
    return function.qualname, str(function.line), opener.name, opener.library, opener.instead
