"""Who calls a function: the arguments that the project hands to it, for registries that a decorator fills.

Only registration looks backwards. Everything else goes from a call to what it calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from . import calls
from .dependencies import Answers
from .modules import Function, Module
from .scopes import Scope
from .values import Arguments, ClassValue, Frame, FunctionValue, Value, Values

if TYPE_CHECKING:
    from .resolver import Resolver

MANY = 200
"""A function that is called from more places than this is no registration."""


class Callers:
    """Frames by which the project calls a function, found by its name and confirmed by resolving the call."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._known: Answers[Function, tuple[Frame, ...]] = Answers(resolver.project.dependencies)

    def frames_of_scope(self, scope: Scope) -> Sequence[Frame | None]:
        """The frames in which code of this scope runs; `None` for code at the level of a module or class."""
        while scope.kind not in ("function", "lambda"):
            if scope.parent is None:
                return (None,)
            scope = scope.parent
        function = scope.module.function(scope)
        return self.frames(function) or (self._resolver.default_frame(function),)

    def frames(self, function: Function) -> tuple[Frame, ...]:
        return self._known.once(function, lambda: tuple(dict.fromkeys(self._search(function))), ())

    def _search(self, function: Function) -> Iterator[Frame]:
        r = self._resolver
        if not function.node.args.args and not function.node.args.vararg:
            return
        outermost = function
        while outermost.parent is not None:
            outermost = outermost.parent
        word = outermost.name
        paths = r.project.files_with(word)
        if outermost.name.startswith("__") or len(paths) > MANY:
            return
        for module in r.project.modules(paths):
            for scope, node, argument in _sites(module, word):
                frame = self._frame_at(scope)
                for callee in r.values(node, scope, frame):
                    if isinstance(callee, FunctionValue) and callee.function is function:
                        given = (
                            r.arguments(argument, scope, frame)
                            if isinstance(argument, ast.Call)
                            else Arguments((self._defined(argument, scope, frame),))
                        )
                        yield calls.frame_of(r, callee, given)

    def _frame_at(self, scope: Scope) -> Frame | None:
        while scope.parent is not None and scope.kind not in ("function", "lambda"):
            scope = scope.parent
        return (
            self._resolver.default_frame(scope.module.function(scope)) if scope.parent is not None else None
        )

    def _defined(self, node: ast.AST, scope: Scope, frame: Frame | None) -> Values:
        """The function or class that a decorator is given."""
        inner = scope.children[id(node)]
        if inner.kind == "class":
            return (ClassValue(scope.module.cls(inner)),)
        value: Value = FunctionValue(scope.module.function(inner), None, frame)
        return (value,)


def _sites(module: Module, word: str) -> Iterator[tuple[Scope, ast.expr, ast.AST]]:
    """(scope, what is called, the call or the decorated definition) wherever the word is called or
    decorates."""
    for scope in module.all_scopes:
        node = scope.node
        if scope.parent is not None and isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            for decorator in node.decorator_list:
                if _mentions(decorator, word):
                    yield scope.parent, decorator, node
        if scope.kind in ("function", "lambda"):
            continue
        for statement in getattr(node, "body", ()):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and _mentions(call.func, word):
                yield scope, call.func, call


def _mentions(node: ast.expr, word: str) -> bool:
    return any(
        (isinstance(part, ast.Name) and part.id == word)
        or (isinstance(part, ast.Attribute) and part.attr == word)
        for part in ast.walk(node)
    )
