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
    assignments of it differ. Where all leave it to the environment it is the only one that the project has."""
    named = agreed(r, setting)
    if named is None:
        return tuple(Instance(cls, exact=True) for cls in _left_open(r, setting))
    if not isinstance(named.value, str):
        return ()
    own = tuple(Instance(value.cls, exact=True) for value in exports.classes_named(r, named.value))
    return own or ((Object(named.value),) if r.catalogue.is_known(named.value) else ())


def _left_open(r: Resolver, setting: str) -> list[Class]:
    """The project's class of the kind that a setting names, where no assignment of it tells which: programs do not keep
    one that they have no use for."""
    given = list(said(r, setting, among=frozenset(named_modules(r))))
    if not given or any(_holds_text(value) for value in given):
        return []
    bases = [known.role for known in r.catalogue.settings if known.path == setting]
    found = [
        cls
        for base in bases
        for module in r.project.modules(r.project.files_with_base(base.rpartition(".")[2]))
        for cls in map(module.cls, module.class_scopes)
        if r.classes.derives(cls, base)
    ]
    return found if len(found) == 1 else []


def _holds_text(value: ast.expr) -> bool:
    """Whether a dotted name is written in it: also as a default of what is asked of the environment."""
    texts = (node.value for node in ast.walk(value) if isinstance(node, ast.Constant))
    return any(isinstance(text, str) and "." in text for text in texts)


def _with_bases(r: Resolver, name: str) -> Iterator[str]:
    """The name of a class, and where it is the project's those of the libraries' that it derives from."""
    yield name
    for value in exports.classes_named(r, name):
        yield from (base for base in r.classes.order(value.cls) if isinstance(base, str))
