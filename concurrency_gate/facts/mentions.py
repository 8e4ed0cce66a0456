"""Which lines of a module can matter: those that mention a word, or a name that was bound on such a line.

A value keeps a word's trace wherever it goes inside a module: `Thread` stands on a line, so what is bound
there may be a thread class, so lines that mention that name matter too. Following this by lines, in the text,
costs next to nothing and spares the resolver everything else.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from .containers import stores
from .modules import Module
from .scopes import Binding, Scope

WORDS = bytes(c if c == 95 or c >= 128 or chr(c).isalnum() else 32 for c in range(256))
"""Translates all that cannot be part of an identifier to spaces."""

LONGEST = 400
"""Longer strings name nothing."""

ATTRIBUTE = r"""[.'"](?:\s|\\|#[^\n]*\n)*%s(?![\w\x80-\xff])"""
"""How a text must hold a word to use it as an attribute, or to give it as a text of its own. Texts are searched as
UTF-8, in which a letter of another alphabet is no `\\w`, so `\\b` would not do."""

_IDENTIFIER = re.compile(r"\w+")


class Mentions:
    """The lines of one module that matter for the words that were given so far, and the names bound on
    them."""

    def __init__(self, module: Module) -> None:
        self.names: set[str] = set()
        self._lines: set[int] = set()
        self._by_word: dict[str, list[int]] = {}
        for word, number in _words(module.tree):
            self._by_word.setdefault(word, []).append(number)
            if word[0] == ".":
                self._by_word.setdefault(word[1:], []).append(number)
        self._bound: dict[int, list[str]] = {}
        for name, first, last in _bound_lines(module):
            for number in range(first, last + 1):
                self._bound.setdefault(number, []).append(name)
        self._sorted: list[int] | None = None

    def spread(self, words: Iterable[str]) -> set[str]:
        """Take in more words. Gives the names that they made matter, the words themselves included."""
        queue = [word for word in words if word not in self.names]
        fresh = set(queue)
        for word in queue:
            for number in self._by_word.get(word, ()):
                if number in self._lines:
                    continue
                self._lines.add(number)
                for name in self._bound.get(number, ()):
                    if name not in self.names and name not in fresh:
                        fresh.add(name)
                        queue.append(name)
        self.names |= fresh
        self._sorted = None
        return fresh

    def settle(self) -> None:
        """No more words will come: keep the lines that matter and let go of the others, which take most memory."""
        self._by_word.clear()
        self._bound.clear()

    def touch(self, node: ast.AST) -> bool:
        """Whether the node stands, in part, on a line that matters. A node that has no place of its own
        does."""
        span = lines_of(node)
        if span is None:
            return True
        if self._sorted is None:
            self._sorted = sorted(self._lines)
        index = bisect_left(self._sorted, span[0])
        return index < len(self._sorted) and self._sorted[index] <= span[1]


def _words(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every identifier that the module uses, in its code or in a string that is no docstring, or calls a function or a
    class by, with its line; with a dot before it where it may be an attribute's."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Name:
            yield node.id, node.lineno  # type: ignore[attr-defined]
            continue
        if kind is ast.Constant:
            if isinstance(node.value, str) and len(node.value) < LONGEST:  # type: ignore[attr-defined]
                for word in _IDENTIFIER.findall(node.value):  # type: ignore[attr-defined]
                    yield word if word != node.value else f".{word}", node.lineno  # type: ignore[attr-defined]
            continue
        if kind is ast.Attribute:
            yield f".{node.attr}", node.end_lineno  # type: ignore[attr-defined]
        elif kind is ast.alias:
            for word in node.name.split("."):  # type: ignore[attr-defined]
                yield word, node.lineno  # type: ignore[attr-defined]
            continue
        elif kind is ast.FunctionDef or kind is ast.AsyncFunctionDef or kind is ast.ClassDef:
            yield node.name, node.lineno  # type: ignore[attr-defined]
        elif kind is ast.Expr and type(node.value) is ast.Constant:  # type: ignore[attr-defined]
            continue
        for name in node._fields:
            value = getattr(node, name)
            if isinstance(value, list):
                stack.extend(part for part in value if isinstance(part, ast.AST))
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                stack.append(value)


def lines_of(node: ast.AST) -> tuple[int, int] | None:
    """First and last line, decorators included."""
    first = getattr(node, "lineno", None)
    if first is None:
        return None
    decorators = getattr(node, "decorator_list", ())
    return (min([first, *(decorator.lineno for decorator in decorators)]), node.end_lineno)  # type: ignore[attr-defined]


def _bound_lines(module: Module) -> Iterator[tuple[str, int, int]]:
    """(name, first line, last line) for each name and each stretch of text that may say what it stands
    for."""
    for scope in module.scopes:
        for name, bindings in scope.bindings.items():
            for binding in bindings:
                for node in _sources(binding, scope):
                    span = lines_of(node)
                    if span is not None:
                        yield name, *span
                        if name.startswith("__") and scope.kind == "class":
                            # what an instance gives when it is called, entered, iterated
                            yield scope.name, *span
        for _, name, binding in scope.attributes:
            for node in _sources(binding, scope):
                span = lines_of(node)
                if span is not None:
                    yield name, *span
    for name, entries in stores(module).items():
        for _, key, value, _ in entries:
            for node in (value, *([key] if key is not None else [])):
                span = lines_of(node)
                if span is not None:
                    yield name, *span


def _sources(binding: Binding, scope: Scope) -> Iterator[ast.AST]:
    """The nodes that may say what a binding stands for."""
    if binding.annotation is not None:
        yield binding.annotation
    node = binding.node
    if binding.kind in ("def", "class"):
        yield from node.decorator_list  # type: ignore[attr-defined]
        inner = scope.module.scope_of[id(node)]
        yield from inner.returns
        yield from inner.yields
        if isinstance(node, ast.ClassDef):
            yield from node.bases
            yield from node.keywords
        elif node.returns is not None:  # type: ignore[attr-defined]
            yield node.returns  # type: ignore[attr-defined]
    elif binding.kind == "parameter":
        default = scope.module.function(scope).defaults.get(node.arg)  # type: ignore[attr-defined]
        if default is not None:
            yield default
    elif binding.kind in ("import", "from"):
        top = binding.target.partition(".")[0]
        for alias in node.names:  # type: ignore[attr-defined]
            if alias.name in (binding.item, binding.target) or alias.name.partition(".")[0] == top:
                yield alias
    elif binding.kind != "opaque":
        yield node
