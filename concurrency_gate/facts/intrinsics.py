"""What Python's own functions do with values: `getattr`, `partial`, `import_module`, the methods of list and
dict.

These are the language, not libraries: a library's names stand in the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import containers, members
from .values import (
    Arguments,
    ClassValue,
    Collection,
    Constant,
    External,
    FunctionValue,
    Instance,
    ModuleValue,
    Object,
    Partial,
    Values,
    union,
)

if TYPE_CHECKING:
    from .resolver import Resolver

ROLES = {
    "builtins.staticmethod": "plain",
    "builtins.classmethod": "class",
    "builtins.property": "property",
    "contextlib.contextmanager": "manager",
    "contextlib.asynccontextmanager": "manager",
}
"""Decorators that change how a function is read or what calling it gives."""

Handler = Callable[["Resolver", External, Arguments], Values | None]


def call(r: Resolver, value: External, given: Arguments) -> Values | None:
    """What the call gives; None where the name is not Python's own."""
    handler = _HANDLERS.get(value.name)
    return handler(r, value, given) if handler is not None else None


def _argument(given: Arguments, index: int, name: str = "") -> Values:
    if index < len(given.positional):
        return given.positional[index]
    return given.keyword(name) if name else ()


def _strings(values: Values) -> list[str]:
    return [v.value for v in values if isinstance(v, Constant) and isinstance(v.value, str)]


def _getattr(r: Resolver, value: External, given: Arguments) -> Values:
    picked = _strings(_argument(given, 1))
    found = [r.attribute(owner, name) for owner in _argument(given, 0) for name in picked]
    return union(*found, _argument(given, 2))


def _first(r: Resolver, value: External, given: Arguments) -> Values:
    return _argument(given, 0)


def _second(r: Resolver, value: External, given: Arguments) -> Values:
    return _argument(given, 1)


def _type(r: Resolver, value: External, given: Arguments) -> Values:
    found: list[Values] = []
    for each in _argument(given, 0):
        if isinstance(each, Instance):
            found.append((ClassValue(each.cls),))
        elif isinstance(each, Object):
            found.append((External(each.type),))
    return union(*found, ())


def _type_variable(r: Resolver, value: External, given: Arguments) -> Values:
    """`TypeVar("T", bound=X)`, `NewType("N", X)`: what an annotation with it says is an X."""
    bound = given.keyword("bound") or _argument(given, 1, "tp")
    instances = union(*(members.instances_of(each) for each in bound), ())
    return (Object(value.name, item=instances[0] if instances else None),)


def _field(r: Resolver, value: External, given: Arguments) -> Values:
    """A field of a dataclass, for which its default stands."""
    made = union(*(r.call(factory, Arguments()) for factory in given.keyword("default_factory")), ())
    return union(given.keyword("default"), made)


def _collect(r: Resolver, value: External, given: Arguments) -> Values:
    """`list(x)`, `sorted(x)`: a new collection with what iterating the argument gives."""
    if not given.positional:
        return (Collection(()),)
    return (Collection((union(*(containers.iterated(r, each) for each in given.positional[0]), ()),)),)


def _mapping(r: Resolver, value: External, given: Arguments) -> Values:
    copied = [v for v in _argument(given, 0) if isinstance(v, Collection) and v.keys is not None]
    keys: list[str | None] = [key for each in copied for key in each.keys or ()]
    items = [values for each in copied for values in each.items]
    return (
        Collection(
            (*items, *(values for _, values in given.keywords)),
            (*keys, *(name for name, _ in given.keywords)),
        ),
    )


def _empty_mapping(r: Resolver, value: External, given: Arguments) -> Values:
    return (Collection((), ()),)


def _next(r: Resolver, value: External, given: Arguments) -> Values:
    return union(*(containers.iterated(r, each) for each in _argument(given, 0)), _argument(given, 1))


def _map(r: Resolver, value: External, given: Arguments) -> Values:
    parts = [union(*(containers.iterated(r, v) for v in values), ()) for values in given.positional[1:]]
    results = union(*(r.call(target, Arguments(tuple(parts))) for target in _argument(given, 0)), ())
    return (Collection((results,)),)


def _filter(r: Resolver, value: External, given: Arguments) -> Values:
    return _collect(r, value, Arguments((_argument(given, 1),)))


def _enumerate(r: Resolver, value: External, given: Arguments) -> Values:
    item = union(*(containers.iterated(r, v) for v in _argument(given, 0)), ())
    return (Collection(((Collection(((), item), fixed=True),),)),)


def _zip(r: Resolver, value: External, given: Arguments) -> Values:
    parts = tuple(union(*(containers.iterated(r, v) for v in values), ()) for values in given.positional)
    return (Collection(((Collection(parts, fixed=True),),)),)


def _partial(r: Resolver, value: External, given: Arguments) -> Values:
    rest = Arguments(given.positional[1:], given.keywords, given.rest, given.opaque)
    return tuple(Partial(target, rest) for target in _argument(given, 0))


def _import_module(r: Resolver, value: External, given: Arguments) -> Values:
    found: list[Values] = []
    for name in _strings(_argument(given, 0)):
        if name.startswith("."):
            level = len(name) - len(name.lstrip("."))
            for package in _strings(_argument(given, 1, "package"))[:1]:
                name = ".".join([*package.split(".")[: package.count(".") + 2 - level], name.lstrip(".")])
        module = r.project.find(name)
        found.append((ModuleValue(module),) if module else (External(r.catalogue.canonical(name)),))
    return union(*found, ())


def _dunder_import(r: Resolver, value: External, given: Arguments) -> Values:
    tops = tuple(Constant(name.partition(".")[0]) for name in _strings(_argument(given, 0)))
    return _import_module(r, value, Arguments((tops,)))


def _get(r: Resolver, value: External, given: Arguments) -> Values:
    if value.receiver is None:
        return ()
    return union(containers.element(r, value.receiver, _argument(given, 0)), _argument(given, 1))


def _pop(r: Resolver, value: External, given: Arguments) -> Values:
    return containers.element(r, value.receiver, ()) if value.receiver is not None else ()


def _values(r: Resolver, value: External, given: Arguments) -> Values:
    owner = value.receiver
    return (Collection(owner.items),) if isinstance(owner, Collection) else ()


def _items(r: Resolver, value: External, given: Arguments) -> Values:
    owner = value.receiver
    if not isinstance(owner, Collection) or owner.keys is None:
        return ()
    pairs = zip(owner.keys, owner.items, strict=True)
    rows: list[Values] = []
    for key, values in pairs:
        label: Values = (Constant(key),) if key is not None else ()
        rows.append((Collection((label, values), fixed=True),))
    return (Collection(tuple(rows)),)


def _copy(r: Resolver, value: External, given: Arguments) -> Values:
    return (value.receiver,) if value.receiver is not None else ()


def _enter_context(r: Resolver, value: External, given: Arguments) -> Values:
    return union(*(containers.entered(r, each) for each in _argument(given, 0)), ())


def _vars(r: Resolver, value: External, given: Arguments) -> Values:
    return ()


def _method_type(r: Resolver, value: External, given: Arguments) -> Values:
    receivers = _argument(given, 1)
    return tuple(
        FunctionValue(v.function, receivers[0], v.closure)
        if isinstance(v, FunctionValue) and receivers
        else v
        for v in _argument(given, 0)
    )


def _known_subclasses(r: Resolver, value: External, given: Arguments) -> Values:
    owner = value.receiver
    if not isinstance(owner, ClassValue):
        return ()
    return (Collection((tuple(ClassValue(cls) for cls in r.subclasses(owner.cls)),)),)


_HANDLERS: dict[str, Handler] = {
    "builtins.getattr": _getattr,
    "builtins.type": _type,
    "builtins.iter": _first,
    "builtins.next": _next,
    "builtins.anext": _next,
    "builtins.map": _map,
    "builtins.filter": _filter,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.vars": _vars,
    "builtins.__import__": _dunder_import,
    "builtins.dict.get": _get,
    "builtins.dict.setdefault": _get,
    "builtins.dict.pop": _get,
    "builtins.dict.values": _values,
    "builtins.dict.items": _items,
    "builtins.dict.copy": _copy,
    "builtins.list.pop": _pop,
    "builtins.list.copy": _copy,
    "builtins.type.__subclasses__": _known_subclasses,
    "functools.partial": _partial,
    "functools.partialmethod": _partial,
    "functools.update_wrapper": _first,
    "functools.lru_cache": _first,
    "functools.cache": _first,
    "importlib.import_module": _import_module,
    "typing.TypeVar": _type_variable,
    "typing.NewType": _type_variable,
    "dataclasses.field": _field,
    "copy.copy": _first,
    "copy.deepcopy": _first,
    "weakref.proxy": _first,
    "inspect.unwrap": _first,
    "contextlib.ExitStack.enter_context": _enter_context,
    "contextlib.AsyncExitStack.enter_context": _enter_context,
    "contextlib.AsyncExitStack.enter_async_context": _enter_context,
    "types.MethodType": _method_type,
    **dict.fromkeys(
        ["builtins.list", "builtins.tuple", "builtins.set", "builtins.frozenset", "builtins.sorted"], _collect
    ),
    **dict.fromkeys(["builtins.reversed", "collections.deque"], _collect),
    **dict.fromkeys(["builtins.dict", "collections.OrderedDict"], _mapping),
    "collections.defaultdict": _empty_mapping,
    "collections.ChainMap": _mapping,
}
