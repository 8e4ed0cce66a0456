"""Classes that are named by a text: a model by its application's label, or the one that a setting names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from . import exports, rows, settings
from .modules import Class
from .values import ClassValue, Constant, Instance, Value, Values, union

if TYPE_CHECKING:
    from .resolver import Resolver

NAMED = 40
"""A word that more files hold than this names no class by a string: too many to read."""


def chosen(r: Resolver, name: str) -> Values:
    """The project's class that a setting names, where a library's class stands for it."""
    setting = r.catalogue.chosen.get(name)
    if setting is None:
        return ()

    def compute() -> Values:
        named = settings.agreed(r, setting)
        text = named.value if named is not None and isinstance(named.value, str) else ""
        return union(tuple(exports.classes_named(r, text)), exact(r, text)) if text else ()

    return r.memoised(("chosen", setting), compute)


def given(r: Resolver, receiver: Value | None, arguments: Sequence[Values]) -> Values:
    """The class that `("label", "Class")`, `("label.Class",)` or, where an object of the project's own is asked, whose
    folder is the application, `("Class",)` names."""
    first, second = (*map(_text, arguments[:2]), "", "")[:2]
    if isinstance(receiver, Instance):
        folder = receiver.cls.module.path.rpartition("/")[0]
        return _only(
            r, first, [p for p in _holding(r, first) if p.startswith(f"{folder}/" if folder else "")]
        )
    return exact(r, f"{first}.{second}" if second else first)


def _text(values: Values) -> str:
    only = values[0] if len(values) == 1 else None
    return only.value if isinstance(only, Constant) and isinstance(only.value, str) else ""


def exact(r: Resolver, text: str) -> Values:
    """The project's only class of rows of that name below a folder of the label's name."""
    label, _, word = text.rpartition(".")
    if not label.isidentifier():
        return ()
    return r.memoised(("labelled", text), lambda: _only(r, word, _below(label, _holding(r, word))))


def likely(r: Resolver, text: str, holder: Class) -> Value | None:
    """The class that a text in a class's body names: "self" the one around, else the project's only one of that name,
    or the one below a folder of the name's first part."""
    if text == "self":
        return ClassValue(holder)
    label, _, word = text.rpartition(".")
    near = [v for v in exports.member(r, holder.module, word) if isinstance(v, ClassValue)] if word else []
    if near:
        return near[0]
    paths = _holding(r, word)
    return next(iter(_only(r, word, _below(label, paths) or paths, sure=False)), None)


def _holding(r: Resolver, word: str) -> Sequence[str]:
    return r.project.files_with(word, rf"\bclass {word}\(") if word.isidentifier() else ()


def _below(label: str, paths: Iterable[str]) -> Sequence[str]:
    return [path for path in paths if label in path.split("/")[:-1]]


def _only(r: Resolver, word: str, paths: Sequence[str], *, sure: bool = True) -> Values:
    """The one class of rows of that name that these files define; where nobody is `sure` that it has rows, the one
    class."""
    found = [
        value
        for module in (r.project.modules(paths) if len(paths) <= NAMED else ())
        for value in exports.member(r, module, word)
        if isinstance(value, ClassValue) and value.cls.module is module
    ]
    if sure or len(found) > 1:
        found = [value for value in found if rows.is_table(r, value.cls)]
    return (found[0],) if len(found) == 1 else ()
