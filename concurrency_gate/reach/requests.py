"""Functions that are put into a transaction from elsewhere: views, and what `atomic(view)` wraps."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from concurrency_gate.facts.conditions import holds
from concurrency_gate.facts.index import Index
from concurrency_gate.facts.modules import Class, Function, Module
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.uses import frame_at
from concurrency_gate.facts.values import External, FunctionValue, Partial, Value

from .openers import Opener
from .settings import said
from .walk import running
from .wrappers import Wrappers

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Entry
    from concurrency_gate.facts.resolver import Resolver

Wrapped = tuple[Function, Opener]
"""A function that runs in a transaction, and what opens that."""

_APPLIED = r"(?<![\w\x80-\xff])%s(?:\([^()]*\))?\(\s*[A-Za-z_\x80-\xff][\w.\x80-\xff]*\s*\)"
"""A decorator that is called on a name: `atomic(view)`, `atomic(using="replica")(view)`."""


class Requests:
    """Searched once; without a setting or a switch that asks for it, views are not looked for."""

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
        for function, opener in (*self._applied(), *self._views()):
            yield function.module.path, (function, opener), 0

    # -- decorators that are called -----

    def _applied(self) -> Iterator[tuple[Function, Opener]]:
        r = self._resolver
        words = r.libraries.words({"decorators"})
        for module in self._modules_with(words, _APPLIED):
            for node, scope in self._calls(module):
                named = node.func.func if isinstance(node.func, ast.Call) else node.func
                word = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
                if word not in words or not node.args:
                    continue
                frame = frame_at(r, scope)
                handed = [v for v in r.values(node.args[0], scope, frame) if isinstance(v, FunctionValue)]
                opener = self._wrappers.decorator(node.func, scope, frame) if handed else None
                if opener is not None:
                    yield from ((value.function, opener) for value in handed)

    # -- views ---------------------------------------------------------------------------

    def _views(self) -> Iterator[tuple[Function, Opener]]:
        on = dict(self._switched_on())
        if not on:
            return
        yield from self._routed(on)
        words = self._resolver.libraries.words({"views", "routes"})
        for module in self._modules_with(words):
            for scope in module.scopes:
                if scope.kind == "class":
                    yield from self._methods(module.cls(scope), on)
                elif scope.kind == "function":
                    yield from self._decorated(module.function(scope), on)

    def _switched_on(self) -> Iterator[tuple[str, Opener]]:
        """(library, opener) where a setting or a call puts the views into transactions. A library that has
        no switch of its own stands under its framework's setting: its name here is empty."""
        r = self._resolver
        for setting in r.catalogue.settings:
            if setting.role == "requests" and any(_is_true(value) for value in said(r, setting.path)):
                opener = Opener(
                    setting.path.rpartition(".")[2], setting.library, self._advice(setting.library)
                )
                yield setting.library, opener
                yield "", opener
        for given in r.catalogue.switches:
            for module in self._modules_with([given]):
                for node, scope in self._calls(module):
                    for entry in self._switches(node, scope):
                        yield entry.library, Opener(given, entry.library, entry.instead)

    def _switches(self, node: ast.Call, scope: Scope) -> Iterator[Entry]:
        r = self._resolver
        for value in r.values(node.func, scope, frame_at(r, scope)):
            for entry in r.catalogue.marks("switches", value.name) if isinstance(value, External) else ():
                if entry.when is not None and holds(entry.when, node):
                    yield entry

    def _advice(self, library: str) -> str:
        advice: str = self._resolver.catalogue.data["instead"].get(library, "")
        return advice

    def _opener(self, entry: Entry, on: dict[str, Opener]) -> Opener | None:
        catalogue = self._resolver.catalogue
        switching = [row[1] for rows in catalogue.data["marks"]["switches"].values() for row in rows]
        switching += [setting.library for setting in catalogue.settings if setting.role == "requests"]
        own = entry.library in switching
        return on.get(entry.library) if own else on.get("")

    def _routed(self, on: dict[str, Opener]) -> Iterator[tuple[Function, Opener]]:
        r = self._resolver
        for module in self._modules_with(r.libraries.words({"routes"})):
            for node, scope in self._calls(module):
                for value in r.values(node.func, scope, frame_at(r, scope)):
                    for entry in (
                        r.catalogue.marks("routes", value.name) if isinstance(value, External) else ()
                    ):
                        opener = self._opener(entry, on)
                        given = next((k.value for k in node.keywords if k.arg == "view"), None)
                        if given is None and entry.argument < len(node.args):
                            given = node.args[entry.argument]
                        if opener is not None and given is not None:
                            for function in self._handed(given, scope):
                                if self._runs(function):
                                    yield function, opener

    def _handed(self, node: ast.expr, scope: Scope) -> Iterator[Function]:
        """The view that a route is given, also through decorators that are called there."""
        r = self._resolver
        frame = frame_at(r, scope)
        for value in r.values(node, scope, frame):
            while isinstance(value, Partial):
                value = value.target
            if isinstance(value, FunctionValue):
                yield value.function
        if isinstance(node, ast.Call) and node.args:
            around = r.values(node.func, scope, frame)
            if not any(self._exempts(value) for value in around) and any(
                isinstance(v, External) for v in around
            ):
                yield from self._handed(node.args[0], scope)

    def _methods(self, cls: Class, on: dict[str, Opener]) -> Iterator[tuple[Function, Opener]]:
        r = self._resolver
        for base in r.classes.order(cls):
            for name in cls.methods if isinstance(base, str) else ():
                for entry in r.catalogue.marks("views", f"{base}.{name}"):
                    opener = self._opener(entry, on)
                    if opener is not None and not self._is_exempt_class(cls):
                        yield from ((method, opener) for method in cls.methods[name] if self._runs(method))

    def _decorated(self, function: Function, on: dict[str, Opener]) -> Iterator[tuple[Function, Opener]]:
        r = self._resolver
        scope = function.scope.parent
        assert scope is not None
        for value in self._decorators(function.node, scope):
            if isinstance(value, External):
                for kind in ("views", "routes"):
                    for entry in r.catalogue.marks(kind, value.name):
                        opener = self._opener(entry, on)
                        if opener is not None and self._runs(function):
                            yield function, opener

    # -- those that are taken out ---------------------------------------------------------------------------

    def _runs(self, function: Function) -> bool:
        """Whether a view runs in its request's transaction; an asynchronous one never does."""
        scope = function.scope.parent
        assert scope is not None
        return not function.is_async and not any(map(self._exempts, self._decorators(function.node, scope)))

    def _is_exempt_class(self, cls: Class) -> bool:
        for base in self._resolver.classes.order(cls):
            if isinstance(base, Class):
                around = base.scope.parent
                assert around is not None
                found = [*self._decorators(base.node, around)]
                for method in base.methods.get("dispatch", ()):
                    found += self._decorators(method.node, base.scope)
                for method in base.methods.get("as_view", ()):
                    found += self._wraps(method)
                if any(map(self._exempts, found)):
                    return True
        return False

    def _decorators(self, node: ast.AST, scope: Scope) -> Iterator[Value]:
        """The decorators, what is called for one, and what such a call is handed."""
        frame = frame_at(self._resolver, scope)
        for decorator in getattr(node, "decorator_list", ()):
            parts = [decorator]
            if isinstance(decorator, ast.Call):
                parts = [decorator.func, *decorator.args[:1]]
            for part in parts:
                inner = part.func if isinstance(part, ast.Call) else part
                yield from self._resolver.values(inner, scope, frame)

    def _wraps(self, method: Function) -> Iterator[Value]:
        """What a method calls on what it returns."""
        method.scope.read()
        for node in method.scope.returns:
            if isinstance(node, ast.Call):
                yield from self._resolver.values(
                    node.func, method.scope, frame_at(self._resolver, method.scope)
                )

    def _exempts(self, value: Value) -> bool:
        return isinstance(value, External) and bool(self._resolver.catalogue.marks("exempts", value.name))

    # -- reading ---------------------------------------------------------------------------

    def _modules_with(self, words: Iterable[str], form: str = "") -> Iterator[Module]:
        """The modules that hold a word; `form` is a regular expression that stands around it."""
        project = self._resolver.project
        paths = {
            path for word in sorted(words) for path in project.files_with(word, form % word if form else "")
        }
        yield from project.modules(path for path in project.files if path in paths)

    def _calls(self, module: Module) -> Iterator[tuple[ast.Call, Scope]]:
        for scope in module.scopes:
            if scope.kind in ("module", "class", "function"):
                body = scope.node.body  # type: ignore[attr-defined]
                for visit in running(self._resolver, body, scope, frame_at(self._resolver, scope)):
                    if isinstance(visit.node, ast.Call):
                        yield visit.node, visit.scope


def _told(wrapped: Wrapped) -> Sequence[str]:
    function, opener = wrapped
    return function.qualname, str(function.line), opener.name, opener.library, opener.instead


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)
