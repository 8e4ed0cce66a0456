"""What puts the views of a library into transactions: a setting, or a call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from concurrency_gate.facts.conditions import given, holds
from concurrency_gate.facts.names import is_class_name
from concurrency_gate.facts.scopes import Scope
from concurrency_gate.facts.settings import placed
from concurrency_gate.facts.uses import frame_at
from concurrency_gate.facts.values import External

from .openers import Opener
from .places import calls_in, marked, modules_with

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Condition, Entry
    from concurrency_gate.facts.resolver import Resolver


class Switches:
    """Searched when it is made. A library that has no switch of its own stands under its framework's setting."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._openers: dict[str, Opener] = {}
        self._keys: dict[str, set[str]] = {}
        for library, opener, key in (*self._settings(), *self._calls()):
            self._openers.setdefault(library, opener)
            self._keys.setdefault(library, set()).add(key)
        marks, settings = resolver.catalogue.data["marks"]["switches"], resolver.catalogue.settings
        self._own = {row[1] for rows in marks.values() for row in rows}
        self._own |= {setting.library for setting in settings if setting.role == "requests"}

    def __bool__(self) -> bool:
        return bool(self._openers)

    def opener(self, entry: Entry) -> Opener | None:
        """What opens the transaction around a view that this entry makes one."""
        return self._openers.get(entry.library if entry.library in self._own else "")

    def keys(self, library: str) -> set[str]:
        """The keys of the setting under which it is on; `*` for one that is not known."""
        return self._keys.get(library, set())

    def _settings(self) -> Iterator[tuple[str, Opener, str]]:
        r = self._resolver
        for setting in r.catalogue.settings:
            if setting.role != "requests":
                continue
            advice: str = r.catalogue.data["instead"].get(setting.library, "")
            opener = Opener(setting.path.rpartition(".")[2], setting.library, advice)
            for key, value in placed(r, setting.path):
                if isinstance(value, ast.Constant) and value.value:
                    yield setting.library, opener, key
                    yield "", opener, key

    def _calls(self) -> Iterator[tuple[str, Opener, str]]:
        r = self._resolver
        for text in r.catalogue.switches:
            for module in modules_with(r, [text]):
                for node, scope in calls_in(r, module):
                    for entry in method_marks(r, "switches", node, scope):
                        if entry.when is not None and self._is_given(entry.when, node, scope):
                            yield entry.library, Opener(text, entry.library, entry.instead), "*"

    def _is_given(self, condition: Condition, node: ast.Call, scope: Scope) -> bool:
        """Whether the condition holds, by a literal or by the module that it names."""
        r = self._resolver
        argument = given(condition, node)
        values = r.values(argument, scope, frame_at(r, scope)) if argument is not None else ()
        return holds(condition, node) or any(
            isinstance(value, External) and value.name == condition.value for value in values
        )


def method_marks(r: Resolver, kind: str, node: ast.Call, scope: Scope) -> Iterator[Entry]:
    """The entries for what is called. Where nothing is known of what a method is called on, those for a method of that
    name: what the call is given must tell."""
    func = node.func
    if isinstance(func, ast.Attribute) and not r.values(func, scope, frame_at(r, scope)):
        for name in r.catalogue.data["marks"][kind]:
            owner, _, method = name.rpartition(".")
            if method == func.attr and is_class_name(owner):
                yield from r.catalogue.marks(kind, name)
    else:
        yield from marked(r, kind, func, scope)


__all__ = ["Switches", "method_marks"]
