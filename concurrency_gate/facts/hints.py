"""What an annotation says: the classes that a value may be an instance of."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import generics, names
from .scopes import Scope
from .values import ClassValue, Collection, External, Frame, Instance, Object, Value, Values, union

if TYPE_CHECKING:
    from .resolver import Resolver

# Names of `typing` (docs.python.org/3/library/typing.html); collections.abc has its own spelling of some.
_FIRST = {"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "Awaitable", "ReadOnly"}
_LAST = {"Coroutine", "Union"}
_ITEM_FIRST = {
    "Iterable", "Iterator", "Sequence", "Collection", "Generator", "AsyncIterator", "AsyncIterable",
    "AsyncGenerator", "List", "Set", "FrozenSet", "Deque", "list", "set", "frozenset", "deque",
    "MutableSequence", "AbstractSet",
}  # fmt: skip
_ITEM_LAST = {"Dict", "dict", "Mapping", "MutableMapping", "DefaultDict", "defaultdict", "OrderedDict"}
_CONTEXT = {"AbstractContextManager", "AbstractAsyncContextManager", "ContextManager", "AsyncContextManager"}
_TYPING = ("typing.", "typing_extensions.", "collections.", "builtins.", "contextlib.")


_ALIASES = (ast.Subscript, ast.BinOp, ast.Constant)


def instances(r: Resolver, node: ast.expr, scope: Scope, frame: Frame | None) -> Values:
    """Instances of what the annotation names, with `Self` and type variables as they stand there; empty where it names
    nothing that is known."""
    return r.memoised(("annotation", id(node), frame), lambda: _instances(r, node, scope, frame))


def _instances(r: Resolver, node: ast.expr, scope: Scope, frame: Frame | None) -> Values:
    scope.read()
    if isinstance(node, ast.Constant):
        return _quoted(r, node, scope, frame)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return union(instances(r, node.left, scope, frame), instances(r, node.right, scope, frame))
    if isinstance(node, ast.Subscript):
        return _generic(r, node, scope, frame)
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return ()
    found = union(*(_of_named(r, value) for value in r.values(node, scope, frame)), ())
    return found or (_of_alias(r, node.id, scope) if isinstance(node, ast.Name) else ())


def _of_named(r: Resolver, value: Value) -> Values:
    """An instance of what a name in an annotation stands for."""
    if isinstance(value, ClassValue):
        return (Instance(value.cls),)
    if isinstance(value, External):
        if value.name in ("typing.Self", "typing_extensions.Self"):
            return (generics.SELF,)
        is_class = names.is_class_name(value.name) or _is_plain(r, value.name)
        if is_class and (
            not value.name.startswith(_TYPING) or value.name in ("builtins.dict", "builtins.list")
        ):
            return (Object(value.name),)
    if isinstance(value, Object) and value.type == generics.VARIABLE:
        return (value,)
    if isinstance(value, Object) and value.type == "typing.NewType" and value.item is not None:
        return (value.item,)
    return ()


def _of_alias(r: Resolver, name: str, scope: Scope) -> Values:
    """Instances of what `Alias = Optional[X]`, or `type Alias = ...`, names."""

    def compute() -> Values:
        found: list[Values] = []
        for binding, home in names.definitions(r, name, scope):
            if binding.kind == "value" and not binding.path and isinstance(binding.node, _ALIASES):
                found.append(instances(r, binding.node, home, None))
        return union(*found, ())

    return r.memoised(("alias", name, scope), compute)


def _is_plain(r: Resolver, name: str) -> bool:
    """Lower-case classes: `sqlite3.connection`, `psycopg2.extensions.connection`, `builtins.dict`."""
    return (
        name.startswith("builtins.") or r.catalogue.is_class(name) or bool(r.catalogue.marks("blocks", name))
    )


def _quoted(r: Resolver, node: ast.Constant, scope: Scope, frame: Frame | None) -> Values:
    if not isinstance(node.value, str) or len(node.value) > 400:
        return ()
    try:
        inner = ast.parse(node.value.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    for part in ast.walk(inner):
        ast.copy_location(part, node)
    r.keep(inner)
    return instances(r, inner, scope, frame)


def _generic(r: Resolver, node: ast.Subscript, scope: Scope, frame: Frame | None) -> Values:
    word = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not parts or word in ("Literal", "Callable"):
        return ()
    if word == "Union":
        return union(*(instances(r, part, scope, frame) for part in parts))
    if word in _FIRST:
        return instances(r, parts[0], scope, frame)
    if word in _LAST:
        return instances(r, parts[-1], scope, frame)
    if word in ("Type", "type"):
        return classes(instances(r, parts[0], scope, frame))
    if word in _ITEM_FIRST or word in _ITEM_LAST:
        element = instances(r, parts[0] if word in _ITEM_FIRST else parts[-1], scope, frame)
        keys = (None,) if word in _ITEM_LAST else None
        return (Collection((element,), keys),) if element else ()
    if word in ("Tuple", "tuple"):
        if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis:
            return (Collection((instances(r, parts[0], scope, frame),)),)
        return (Collection(tuple(instances(r, part, scope, frame) for part in parts), fixed=True),)
    if word in _CONTEXT:
        return ()
    item = next((v for part in parts for v in instances(r, part, scope, frame)), None)
    return tuple(
        Object(value.type, item) if isinstance(value, Object) else value
        for value in instances(r, node.value, scope, frame)
    )


def classes(values: Values) -> Values:
    """The classes of instances."""
    found: list[Value] = []
    for value in values:
        if isinstance(value, Instance):
            found.append(ClassValue(value.cls))
        elif isinstance(value, Object) and value.type == generics.VARIABLE:
            found.append(Object(generics.CLASS, value))
        elif isinstance(value, Object):
            found.append(External(value.type))
    return tuple(found)
