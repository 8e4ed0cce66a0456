"""Columns of a class's rows: which of them are empty in a row that is made without them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .modules import Class
from .values import ClassValue, Constant, External, Value

if TYPE_CHECKING:
    from .resolver import Resolver


def empty(r: Resolver, cls: Class, given: set[str]) -> Iterator[tuple[str, Constant]]:
    """The columns that are not given and hold nothing then; a class's own hide those of its bases."""
    columns: dict[str, Constant | None] = {}
    for base in reversed(r.classes.order(cls)):
        if isinstance(base, Class):
            columns |= {name: _empty(call) for name, call in _columns(r, base)}
    yield from ((name, empty) for name, empty in columns.items() if empty is not None and name not in given)
    yield from empty_keys(r, cls, given)


def empty_keys(r: Resolver, cls: Class, given: set[str]) -> Iterator[tuple[str, Constant]]:
    """The keys of a row that is not inserted yet, if the database makes them."""
    order = r.classes.order(cls)
    keys = sorted(name for name in r.catalogue.keys if is_key(r, cls, name))
    own = (call for base in order if isinstance(base, Class) for _, call in _columns(r, base))
    if given.isdisjoint(keys) and not any(
        keyword.arg == "primary_key" for call in own for keyword in call.keywords
    ):
        yield from ((key, Constant(None)) for key in keys)


def is_key(r: Resolver, cls: Class, name: str) -> bool:
    bases = (base for base in r.classes.order(cls) if isinstance(base, str))
    return any(r.catalogue.marks("keys", f"{base}.{name}") for base in bases)


def is_text(r: Resolver, cls: Class, name: str) -> bool:
    """Whether a column holds text, and never nothing."""
    for base in (base for base in r.classes.order(cls) if isinstance(base, Class)):
        for column, call in _columns(r, base):
            if column == name:
                kinds = r.values(call.func, base.scope, None)
                texts = [isinstance(k, External) and r.catalogue.marks("texts", k.name) for k in kinds]
                nullable = any(keyword.arg in ("null", None) for keyword in call.keywords)
                return bool(texts) and all(texts) and not nullable
    return False


def _columns(r: Resolver, cls: Class) -> Iterator[tuple[str, ast.Call]]:
    for name, bindings in cls.scope.bindings.items():
        call = bindings[0].node if len(bindings) == 1 else None
        if isinstance(call, ast.Call) and any(
            _is_column(r, kind) for kind in r.values(call.func, cls.scope, None)
        ):
            yield name, call


def _is_column(r: Resolver, kind: Value) -> bool:
    if isinstance(kind, External):
        return bool(r.catalogue.marks("columns", kind.name))
    order = r.classes.order(kind.cls) if isinstance(kind, ClassValue) else ()
    return any(isinstance(base, str) and r.catalogue.marks("columns", base) for base in order)


def _empty(column: ast.Call) -> Constant | None:
    """What a column holds that is not given, if that is nothing: its default, None, or an empty text."""
    said = {keyword.arg: keyword.value for keyword in column.keywords}
    if None in said:
        return None
    if "default" in said:
        default = said["default"]
        value = default.value if isinstance(default, ast.Constant) else ...
        return Constant(value) if value is None or value is False or value == "" else None
    flags = {name for name, value in said.items() if isinstance(value, ast.Constant) and value.value is True}
    if "null" in flags:
        return Constant(None)
    return Constant("") if "blank" in flags and not flags & {"auto_now", "auto_now_add"} else None


def of_class(r: Resolver, cls: Class, name: str) -> Constant | None:
    """The constant that a class's body gives an attribute."""
    for base in r.classes.order(cls):
        bindings = base.scope.bindings.get(name, ()) if isinstance(base, Class) else ()
        if bindings:
            only = bindings[0] if len(bindings) == 1 and bindings[0].kind == "value" else None
            node = only.node if only is not None and not _is_field(only.annotation) else None
            value = node.value if isinstance(node, ast.Constant) else ...
            return Constant(value) if value is None or isinstance(value, (bool, str)) else None
    return None


def _is_field(annotation: ast.expr | None) -> bool:
    """Whether an annotated attribute may be a field of each instance: of a dataclass, or of a model."""
    return annotation is not None and "ClassVar" not in ast.unparse(annotation)
