"""What a framework's settings choose for the project: a storage backend, the class that they name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from concurrency_gate.facts import exports
from concurrency_gate.facts.modules import Class
from concurrency_gate.facts.settings import agreed, named_modules, said
from concurrency_gate.facts.values import Instance, Object, Values

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

__all__ = ["agreed", "instances", "said", "stores_remotely"]


def stores_remotely(r: Resolver) -> bool:
    """Whether the settings name a storage backend that is known to be on the network, or a class of the project's that
    derives from one."""
    return any(
        isinstance(value, ast.Constant)
        and isinstance(value.value, str)
        and any(r.catalogue.marks("remote", name) for name in _with_bases(r, value.value))
        for setting in r.catalogue.settings
        if setting.role == "storage"
        for value in said(r, setting.path)
    )


def instances(r: Resolver, setting: str) -> Values:
    """An instance of the class that a setting names, of the project or of a library that is known; nothing where
    assignments of it differ. What the environment may change counts as its default; where that has none, the only class
    of the kind that the project has is meant. Read once: every call that goes by the setting asks."""
    return r.memoised(("setting", setting), lambda: _instances(r, setting))


def _instances(r: Resolver, setting: str) -> Values:
    given = list(said(r, setting, among=frozenset(named_modules(r))))
    named = {text for value in given for text in _texts(value) or (None,)}
    if len(named) > 1:
        named = {text for text in named if text is None or not r.catalogue.marks("development", text)}
    if named == {None}:
        return tuple(Instance(cls, exact=True) for cls in _of_kind(r, setting))
    text = named.pop() if len(named) == 1 else None
    if text is None:
        return ()
    own = tuple(Instance(value.cls, exact=True) for value in exports.classes_named(r, text))
    return own or ((Object(text),) if r.catalogue.is_known(text) else ())


def _texts(value: ast.expr) -> set[str]:
    """The dotted names in it: also as a default of what is asked of the environment."""
    texts = (node.value for node in ast.walk(value) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and "." in text}


def _of_kind(r: Resolver, setting: str) -> list[Class]:
    """The project's class of the kind that a setting names: programs do not keep one that they have no use for."""
    bases = [known.role for known in r.catalogue.settings if known.path == setting]
    found = [
        cls
        for base in bases
        for module in r.project.modules(r.project.files_with_base(base.rpartition(".")[2]))
        for cls in map(module.cls, module.class_scopes)
        if r.classes.derives(cls, base)
    ]
    return found if len(found) == 1 else []


def _with_bases(r: Resolver, name: str) -> Iterator[str]:
    """The name of a class, and where it is the project's those of the libraries' that it derives from."""
    yield name
    for value in exports.classes_named(r, name):
        yield from (base for base in r.classes.order(value.cls) if isinstance(base, str))
