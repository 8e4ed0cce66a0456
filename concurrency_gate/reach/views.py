"""The project's views that run in the transaction of their request, and what a library calls of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from concurrency_gate.facts import exports, names
from concurrency_gate.facts.modules import Class, Function, Module
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.uses import frame_at
from concurrency_gate.facts.values import (
    ClassValue,
    Constant,
    External,
    FunctionValue,
    Object,
    Partial,
    Value,
    Values,
)

from . import hooks
from .exemptions import Exemptions
from .openers import Opener
from .places import calls_in, marked, modules_with, told
from .switches import Switches, method_marks

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Entry
    from concurrency_gate.facts.resolver import Resolver

Wrapped = tuple[Function, Opener]
"""A function that runs in a transaction, and what opens that."""


class Views:
    """Without a setting or a switch that asks for it, views are not looked for."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._switches = Switches(resolver)
        self._exemptions = Exemptions(resolver, self._switches)
        self._methods: dict[str, list[tuple[str, Opener]]] = {}
        marks = resolver.catalogue.data["marks"]["views"]
        self._words = frozenset(name.rpartition(".")[2] for name in marks)

    def found(self) -> Iterator[Wrapped]:
        for function, opener in self._candidates() if self._switches else ():
            if not function.is_async and not self._exemptions.has(
                function
            ):  # an asynchronous one never runs in it
                yield function, opener

    def _candidates(self) -> Iterator[Wrapped]:
        r = self._resolver
        yield from self._routed()
        words = r.libraries.words({"views", "routes"})
        for module in modules_with(r, words | hooks.words(r, self._words & words) | self._class_words()):
            for scope in module.scopes:
                if scope.kind == "class":
                    yield from self._of_class(module.cls(scope))
                if scope.kind in ("class", "function"):
                    yield from self._decorated(scope)

    # -- classes ----------------------------------------------------------------------------------------------

    def _class_words(self) -> frozenset[str]:
        """The names of the libraries' classes of views: a class derived from one may have all its methods elsewhere."""
        catalogue = self._resolver.catalogue
        owners = {name.rpartition(".")[0] for name in catalogue.data["marks"]["views"]}
        below = {cls for cls in catalogue.data["bases"] if any(catalogue.is_subclass(cls, o) for o in owners)}
        return frozenset(cls.rpartition(".")[2] for cls in owners | below if names.is_class_name(cls))

    def _of_class(self, cls: Class) -> Iterator[Wrapped]:
        r = self._resolver
        starts: dict[Opener, list[str]] = {}
        for base in r.classes.order(cls):
            for name, opener in self._methods_of(base) if isinstance(base, str) else ():
                starts.setdefault(opener, []).append(name)
        if starts and not self._exemptions.has_class(cls):
            for opener, called in starts.items():
                yield from ((function, opener) for function in hooks.run_by(r, cls, called))

    def _methods_of(self, base: str) -> list[tuple[str, Opener]]:
        """The methods of a library's class that are views."""
        if base not in self._methods:
            marks = self._resolver.catalogue.marks
            found = [
                (name, self._switches.opener(entry))
                for name in sorted(self._words)
                for entry in marks("views", f"{base}.{name}")
            ]
            self._methods[base] = [(name, opener) for name, opener in found if opener is not None]
        return self._methods[base]

    # -- decorators -------------------------------------------------------------------------------------------

    def _decorated(self, scope: Scope) -> Iterator[Wrapped]:
        around = scope.parent
        assert around is not None
        for entry, call in self._decorators(scope.node, around):
            opener = self._switches.opener(entry)
            if opener is None:
                continue
            if scope.kind == "class":
                methods = self._chosen(scope.module.cls(scope), entry, call, around)
                yield from ((method, opener) for method in methods)
                continue
            function = scope.module.function(scope)
            if function.owner is None or not self._exemptions.has_class(function.owner):
                yield function, opener

    def _decorators(self, node: ast.AST, scope: Scope) -> Iterator[tuple[Entry, ast.Call | None]]:
        """The entries of the decorators, of what is called for one, and of what such a call is handed."""
        for decorator in getattr(node, "decorator_list", ()):
            call = decorator if isinstance(decorator, ast.Call) else None
            for part in (call.func, *call.args[:1]) if call is not None else (decorator,):
                named = part.func if isinstance(part, ast.Call) else part
                for kind in ("views", "routes"):
                    yield from ((entry, call) for entry in marked(self._resolver, kind, named, scope))

    def _chosen(self, cls: Class, entry: Entry, call: ast.Call | None, scope: Scope) -> Iterator[Function]:
        """The method of a class that a route calls, where it tells which."""
        r = self._resolver
        if entry.when is not None:
            name = told(r, entry.when, call, scope) if call is not None else str(entry.when.value)
            yield from hooks.run_by(r, cls, [name] if name else ())

    # -- routes -----------------------------------------------------------------------------------------------

    def _routed(self) -> Iterator[Wrapped]:
        r = self._resolver
        words = r.libraries.words({"routes"})
        for module in modules_with(r, words):
            for node, scope in calls_in(r, module):
                if isinstance(node.func, ast.Attribute) and node.func.attr not in words:
                    continue  # most calls are told apart by their name, before anything is resolved
                for entry in method_marks(r, "routes", node, scope):
                    opener = self._switches.opener(entry)
                    view = next((k.value for k in node.keywords if k.arg == "view"), None)
                    if view is None and entry.argument < len(node.args):
                        view = node.args[entry.argument]
                    for value in self._handed(view, scope) if opener is not None and view is not None else ():
                        functions: Iterable[Function] = ()
                        if isinstance(value, FunctionValue):
                            functions = [value.function]
                        elif isinstance(value, ClassValue):
                            functions = self._chosen(value.cls, entry, node, scope)
                        yield from ((function, opener) for function in functions if opener is not None)

    def _handed(self, node: ast.expr, scope: Scope) -> Iterator[Value]:
        """The view that a route is given, also by its dotted name or through decorators that are called there."""
        r = self._resolver
        frame = frame_at(r, scope)
        for value in r.values(node, scope, frame):
            while isinstance(value, Partial):
                value = value.target
            if isinstance(value, Constant) and isinstance(value.value, str):
                yield from self._named(value.value, scope.module)
            else:
                yield value
        if isinstance(node, ast.Call) and node.args and not self._exemptions.has_call(node, scope):
            around = r.values(node.func, scope, frame)
            if any(
                isinstance(v, External) or (isinstance(v, Object) and v.type.endswith("()")) for v in around
            ):
                yield from self._handed(node.args[0], scope)

    def _named(self, dotted: str, module: Module) -> Values:
        """What a dotted name stands for; with dots before it, seen from a module."""
        name = dotted.lstrip(".")
        owner, _, word = name.rpartition(".")
        source = names.source_of(self._resolver, module, owner, len(dotted) - len(name))
        return exports.member(self._resolver, source, word) if source is not None else ()


__all__ = ["Views", "Wrapped"]
