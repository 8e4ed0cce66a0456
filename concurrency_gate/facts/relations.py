"""Attributes that a class has because another's field points to it: `order.lines`, where a line has an `order`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from . import descriptors, labels, members, rows
from .index import Index
from .modules import Class, Module
from .scopes import Scope
from .values import ClassValue, Constant, External, Instance, Object, Value, Values

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Reverse

    from .resolver import Resolver

_ASSIGNED = r"\n(?:  |\t){1,4}\w+[ \t]*(?::[^=\n]*)?=[ \t]*(?:\w+\.)*%s\("
"""A field in a class's body. Migrations have thousands in calls, which are indented deeper."""

_HOLDER = re.compile(r"%\((\w+)\)s")

_ANY = ""
"""The key of those whose names depend on the classes below the one that holds the field."""


@dataclass(frozen=True, slots=True, eq=False)
class _Field:
    """A field that points to some class, with the name, or its pattern, of the attribute for the way back."""

    holder: Class
    name: str
    call: ast.Call
    reverse: Reverse
    given: str
    target: str
    """The last word of what it points to; empty where that may be a class of another name."""


class Relations:
    """Fields are searched once, in the files that hold a word for one. To whom they point is asked where a name is that
    of their attribute."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._index = Index(resolver.project, "relations", self._search, _told)

    def read(self, cls: Class, name: str) -> Values:
        """What an instance has under a name that its class and its bases do not define."""
        r = self._resolver
        if not r.catalogue.data["reverses"] or not rows.is_table(r, cls):
            return ()
        names = {"", *(base.name for base in r.classes.order(cls) if isinstance(base, Class))}
        found = [
            (field, holder)
            for field in (*self._index.get(name), *self._index.get(_ANY))
            if field.target in names
            for holder in self._holders(field, name)
            if self._points_to(field, holder, cls)
        ]
        return self._given(*found[0]) if len(found) == 1 else ()

    # -- the way back -----------------------------------------------------------------------------------------

    def _holders(self, field: _Field, name: str) -> Iterator[Class]:
        """The classes that have the field, and for which its attribute has that name. One that is abstract has it for
        those below."""
        r = self._resolver
        if "%" in field.given and not re.fullmatch(_HOLDER.sub(r"\\w+", field.given), name):
            return
        r.project.module(field.holder.module.path)  # whoever asks rests on it
        abstract = field.reverse.abstract
        if not _is_true(field.holder, abstract):
            candidates: list[Class] = [field.holder]
        else:
            below = [cls for cls in r.subclasses(field.holder) if not _is_true(cls, abstract)]
            candidates = [
                cls for cls in below if not any(other in r.classes.order(cls)[1:] for other in below)
            ]
        yield from (cls for cls in candidates if name in _spelled(field.given, cls))

    def _points_to(self, field: _Field, holder: Class, cls: Class) -> bool:
        r, around = self._resolver, field.holder.scope
        kinds = r.values(field.call.func, around, None)
        kind = kinds[0] if len(kinds) == 1 else None
        if not isinstance(kind, External) or r.catalogue.reverses(kind.name) != field.reverse:
            return False
        named = descriptors.built(r, kind.name, r.arguments(field.call, around, None))
        text = named.value if isinstance(named, Constant) else ""
        if isinstance(text, str) and "." in text:
            targets = labels.exact(r, text)
        else:
            target = descriptors.pointed_to(r, named, holder)
            targets = () if target is None else (target,)
        return any(isinstance(each, ClassValue) and r.classes.derives(cls, each.cls) for each in targets)

    def _given(self, field: _Field, holder: Class) -> Values:
        """The attribute's values; a collection of rows is one of the kind that their class has for itself."""
        r = self._resolver
        receiver = ClassValue(holder)
        found = members.shaped(r, field.reverse.gives, receiver, ())
        if any(isinstance(value, Object) for value in found):
            found = self._collection(receiver) or found
        return tuple(_filled(value, field.name) for value in found)

    def _collection(self, receiver: ClassValue) -> Values:
        """What the first of a class's own attributes gives that is a collection of its rows."""
        r = self._resolver
        for base in r.classes.order(receiver.cls):
            for name, bindings in base.scope.bindings.items() if isinstance(base, Class) else ():
                if len(bindings) == 1 and isinstance(bindings[0].node, ast.Call):
                    values = r.attribute(receiver, name)
                    if values and all(_holds(value, receiver.cls) for value in values):
                        return values
        return ()

    # -- the fields -------------------------------------------------------------------------------------------

    def _search(self) -> Iterator[tuple[str, _Field, int]]:
        project = self._resolver.project
        dependencies = project.dependencies
        words = sorted(self._resolver.libraries.words({"reverses"}))
        reverses = {word: self._resolver.catalogue.reversing(word) for word in words}
        paths = {path for word in words for path in project.files_with(word, _ASSIGNED % word)}
        for path in (path for path in project.files if path in paths):
            outer = dependencies.mask
            module = project.module(path)
            dependencies.mask = outer  # of its outline only this is read:
            for word in words:
                dependencies.note("fields", f"{path}\n{word}")
            for cls, name, call in _pointing(module, words) if module is not None else ():
                for reverse in reverses[_word(call)]:
                    given = _name(cls, call, reverse)
                    depends = "%" in given and _is_true(cls, reverse.abstract)
                    for key in ([_ANY] if depends else _spelled(given, cls)) if given else ():
                        yield key, _Field(cls, name, call, reverse, given, _target(cls, call)), 0


def pointing(module: Module, word: str) -> list[str]:
    """All that a search reads of a module's fields of this kind."""
    return [
        f"{cls.qualname}.{name} {ast.unparse(call)} {_meaning(cls)} {_target(cls, call)}"
        for cls, name, call in _pointing(module, [word])
    ]


def _pointing(module: Module, words: Sequence[str]) -> Iterator[tuple[Class, str, ast.Call]]:
    """The attributes that a module's classes are given by a call of one of these words."""
    for scope in module.class_scopes:
        for name, bindings in scope.bindings.items():
            node = bindings[0].node if len(bindings) == 1 else None
            if isinstance(node, ast.Call) and bindings[0].kind == "value" and _word(node) in words:
                yield module.cls(scope), name, node


def _meaning(cls: Class) -> str:
    """What stands in the classes inside a class: among it what says how its fields are to be taken."""
    inside = (child.node for child in cls.scope.children.values() if child.kind == "class")
    return " ".join(map(ast.unparse, inside))


def _target(holder: Class, call: ast.Call) -> str:
    given = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
    if isinstance(given, ast.Constant) and isinstance(given.value, str) and given.value != "self":
        return given.value.rpartition(".")[2]
    if isinstance(given, ast.Name):
        bindings = holder.module.scope.bindings.get(given.id, ())
        if bindings and all(b.kind == "class" or b.item == given.id for b in bindings):
            return given.id
    return ""


def _name(holder: Class, call: ast.Call, reverse: Reverse) -> str:
    """The attribute's name or its pattern; empty where no text says it, or none is wanted."""
    said = next((k.value for k in call.keywords if k.arg == reverse.keyword), None)
    said = said if said is not None else _within(holder, reverse.within)
    if said is None and any(k.arg is None for k in call.keywords):
        return ""
    text = said.value if isinstance(said, ast.Constant) else ""
    if said is None or text is None:
        return reverse.otherwise
    return text if isinstance(text, str) and _HOLDER.sub("x", text).isidentifier() else ""


def _spelled(given: str, cls: Class) -> list[str]:
    """The names that a pattern stands for in a class: any folder may be its application."""
    labels = cls.module.path.split("/")[:-1] if "%(app_label)s" in given else [""]
    return [
        given.replace("%(class)s", cls.name.lower()).replace("%(app_label)s", label.lower())
        for label in labels
    ]


def _word(call: ast.Call) -> str:
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _within(cls: Class, path: str) -> ast.expr | None:
    """The expression that a class's body gives a name, also one in a class inside it: `Meta.abstract`."""
    scope: Scope = cls.scope
    *outer, last = path.split(".")
    for name in outer:
        inner = [child for child in scope.children.values() if child.kind == "class" and child.name == name]
        if len(inner) != 1:
            return None
        scope = inner[0]
    bindings = scope.bindings.get(last, ())
    node = bindings[0].node if len(bindings) == 1 else None
    return node if isinstance(node, ast.expr) else None


def _is_true(cls: Class, path: str) -> bool:
    said = _within(cls, path)
    return isinstance(said, ast.Constant) and said.value is True


def _holds(value: Value, cls: Class) -> bool:
    """Whether the value is a collection of the class's rows."""
    item = value.item if isinstance(value, (Object, Instance)) else None
    return isinstance(item, Instance) and item.cls is cls


def _filled(value: Value, field: str) -> Value:
    """The collection, whose rows are all pointing to the one that it is read from."""
    item = value.item if isinstance(value, (Object, Instance)) else None
    if not isinstance(value, (Object, Instance)) or not isinstance(item, Instance) or item.row is None:
        return value
    row = replace(item.row, filled=(*item.row.filled, field))
    return replace(value, item=replace(item, row=row))


def _told(field: _Field) -> Sequence[str]:
    holder = field.holder
    return holder.module.path, holder.qualname, field.name, field.given, repr(field.reverse), field.target


__all__ = ["Relations", "pointing"]
