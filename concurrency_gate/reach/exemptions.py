"""Views that are taken out of the request's transaction: by a decorator, or where they are routed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from concurrency_gate.facts.modules import Class, Function
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.uses import frame_at
from concurrency_gate.facts.values import ClassValue, External, FunctionValue

from .places import calls_in, marked, modules_with, told
from .switches import Switches

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

_Freed = tuple[str, str | None]
"""The library, and the key of its setting that a view is freed of; None for all."""


class Exemptions:
    """What takes a view out of one transaction leaves it in those of the setting's other keys."""

    def __init__(self, resolver: Resolver, switches: Switches) -> None:
        self._resolver = resolver
        self._switches = switches

    def has(self, function: Function) -> bool:
        scope = function.scope.parent
        assert scope is not None
        return self._suffice(self._decorating(function.node, scope))

    def has_class(self, cls: Class) -> bool:
        return self._suffice(self._of_class(cls)) or self._suffice(self._routed.get(cls, ()))

    def has_call(self, node: ast.Call, scope: Scope) -> bool:
        """Whether a call frees what it is given."""
        return self._suffice(self._by(node.func, scope))

    def _suffice(self, freed: Iterator[_Freed] | list[_Freed] | tuple[_Freed, ...]) -> bool:
        found = set(freed)
        return any(
            key is None or {(library, key) for key in self._switches.keys(library) - {"*"}} <= found
            for library, key in found
        )

    def _of_class(self, cls: Class) -> Iterator[_Freed]:
        for base in self._resolver.classes.order(cls):
            if isinstance(base, Class):
                around = base.scope.parent
                assert around is not None
                yield from self._decorating(base.node, around)
                for method in base.methods.get("dispatch", ()):
                    yield from self._decorating(method.node, base.scope)
                for method in base.methods.get("as_view", ()):
                    method.scope.read()
                    for node in method.scope.returns:
                        if isinstance(node, ast.Call):
                            yield from self._by(node.func, method.scope)

    def _decorating(self, node: ast.AST, scope: Scope) -> Iterator[_Freed]:
        """By the decorators, and by those that they are handed: `@method_decorator(free, name="dispatch")`."""
        for decorator in getattr(node, "decorator_list", ()):
            yield from self._by(decorator, scope)
            if isinstance(decorator, ast.Call):
                for argument in decorator.args[:1]:
                    yield from self._by(argument, scope)

    def _by(self, node: ast.expr, scope: Scope) -> Iterator[_Freed]:
        """What a decorator, bare or called, frees of."""
        for entry in marked(self._resolver, "exempts", node, scope):
            yield entry.library, str(entry.when.value) if entry.when is not None else None
        if isinstance(node, ast.Call):
            for entry in marked(self._resolver, "exempts", node.func, scope):
                key = told(self._resolver, entry.when, node, scope) if entry.when is not None else None
                yield entry.library, key

    # -- where a class is made a view -----------------------------------------------------------------------

    @cached_property
    def _routed(self) -> dict[Class, list[_Freed]]:
        """The classes that are freed wherever the project makes a view of them: `free(Pay.as_view())`."""
        r = self._resolver
        found: dict[Class, list[_Freed]] = {}
        inside: dict[ast.Call, str] = {}
        for module in modules_with(r, r.libraries.words({"exempts"})):
            for node, scope in calls_in(r, module):
                freed = list(self._by(node.func, scope)) if node.args else []
                made = self._made(node.args[0], scope) if freed else None
                if made is not None:
                    inside[made[0]] = getattr(made[0].func, "attr", "")
                    found.setdefault(made[1], []).extend(freed)
        return {cls: freed for cls, freed in found.items() if not self._is_made_elsewhere(cls, inside)}

    def _made(self, node: ast.expr, scope: Scope) -> tuple[ast.Call, Class] | None:
        """The call that makes a view of a class, also through decorators that are called there."""
        if not isinstance(node, ast.Call):
            return None
        cls = self._owner(node, scope)
        if cls is not None:
            return node, cls
        return self._made(node.args[0], scope) if node.args else None

    def _owner(self, node: ast.Call, scope: Scope) -> Class | None:
        """The class of which a method is called on the class itself."""
        r = self._resolver
        for value in r.values(node.func, scope, frame_at(r, scope)):
            if isinstance(value, (External, FunctionValue)) and isinstance(value.receiver, ClassValue):
                return value.receiver.cls
        return None

    def _is_made_elsewhere(self, cls: Class, inside: dict[ast.Call, str]) -> bool:
        """Whether a call that stands elsewhere makes a view of the class, or hands the class to a library: a router."""
        r = self._resolver
        for module in modules_with(r, [cls.name]):
            for node, scope in calls_in(r, module):
                if (
                    node not in inside
                    and getattr(node.func, "attr", "") in inside.values()
                    and self._owner(node, scope) is cls
                ):
                    return True
                frame = frame_at(r, scope)
                handed = (value for argument in node.args for value in r.values(argument, scope, frame))
                if any(isinstance(value, ClassValue) and value.cls is cls for value in handed) and any(
                    isinstance(value, External) and not value.name.startswith("builtins.")
                    for value in r.values(node.func, scope, frame)
                ):
                    return True
        return False


__all__ = ["Exemptions"]
