"""Attributes: what `value.name` stands for, through classes, their bases and the classes below them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from . import calls, descriptors, exports, generics, labels, names, rows
from .classes import Base
from .modules import Class, Function
from .scopes import END, Binding
from .values import (
    ClassValue,
    Collection,
    Constant,
    External,
    Frame,
    FunctionValue,
    Instance,
    ModuleValue,
    Object,
    Partial,
    Super,
    Value,
    Values,
    union,
)

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Shape

    from .resolver import Resolver

MANY = 64
"""A member with more overrides than this says nothing about what is called."""


def attribute(r: Resolver, value: Value, name: str) -> Values:
    """What `value.name` may stand for; empty where nothing is known."""
    if isinstance(value, External):
        return _external(r, value, name)
    if isinstance(value, Object):
        return _of_object(r, value, name)
    if isinstance(value, ModuleValue):
        return exports.member(r, value.module, name)
    if isinstance(value, Instance):
        return _of_instance(r, value, name)
    if isinstance(value, ClassValue):
        return _of_class(r, value, name)
    if isinstance(value, Super):
        return _of_super(r, value, name)
    if isinstance(value, Collection):
        return (External(f"builtins.{'dict' if value.keys is not None else 'list'}.{name}", value),)
    if isinstance(value, Constant) and isinstance(value.value, str):
        return (External(f"builtins.str.{name}", value),)
    if isinstance(value, Partial) and name == "func":
        return (value.target,)
    if isinstance(value, FunctionValue):
        return _of_function(value, name)
    return ()


def _of_function(value: FunctionValue, name: str) -> Values:
    if name in ("__wrapped__", "__func__", "__call__"):
        return (value,)
    if name == "__name__":
        return (Constant(value.function.name),)
    return ()


def _external(r: Resolver, value: External, name: str) -> Values:
    if len(value.name) > calls.LONGEST or value.name.endswith(f".{name}.{name}"):
        return ()  # `query = query.filtered` in a loop: the same again says nothing more
    if value.receiver is not None:
        shape = r.catalogue.attribute(value.name)
        if shape is not None:  # read, and not called: `chat` of `client.chat.completions`
            typed = shaped(r, shape, value.receiver, ())
            return union(*(attribute(r, each, name) for each in typed), ())
    return of_library(r, f"{value.name}.{name}", value)


def of_library(r: Resolver, name: str, owner: External) -> Values:
    """What a dotted name of a library's stands for; what is known to be kept under it has it as its name."""
    full = r.catalogue.canonical(name)
    shape = r.catalogue.attribute(full)
    if shape is not None:
        typed = shaped(r, shape, owner, ())
        return tuple(replace(v, name=full) if isinstance(v, Object) and not v.name else v for v in typed)
    return (External(full, owner.receiver),)


def _of_object(r: Resolver, value: Object, name: str) -> Values:
    full = f"{value.type}.{name}"
    shape = r.catalogue.attribute(full)
    if shape is not None and not r.catalogue.is_open(full):
        return shaped(r, shape, value, ())
    if value.runs is not None and name in ("run", "__wrapped__", "__call__"):
        return (value.runs,)
    return (External(r.catalogue.canonical(full), value),)


def shaped(r: Resolver, shape: Shape, receiver: Value | None, arguments: tuple[Values, ...]) -> Values:
    """The values that a catalogue's type stands for, seen from a receiver and a call's positional
    arguments."""
    kind = shape.name
    if kind == "self":
        return (receiver,) if receiver is not None else ()
    if kind == "item":
        element = descriptors.item(r, receiver)
        return (element,) if element is not None else ()
    if kind == "attribute":
        return _named_by(r, receiver, shape.parameters[0].name)
    if kind == "argument":
        return arguments[shape.index] if shape.index < len(arguments) else ()
    if kind == "instance":
        named = shaped(r, shape.parameters[0], receiver, arguments) if shape.parameters else ()
        given = arguments[shape.index] if not named and shape.index < len(arguments) else named
        return union(*(instances_of(value) for value in given), ())
    if kind == "any":
        return union(*(shaped(r, part, receiver, arguments) for part in shape.parameters), ())
    if kind in ("tuple", "list"):
        parts = tuple(shaped(r, part, receiver, arguments) for part in shape.parameters)
        return (Collection(parts, fixed=kind == "tuple"),)
    if kind == "type":
        return union(
            *(labels.chosen(r, part.name) or (External(part.name),) for part in shape.parameters), ()
        )
    if kind == "named":
        named = labels.given(r, receiver, arguments[shape.index :])
        return named or tuple(External(part.name) for part in shape.parameters)
    own = labels.chosen(r, kind)
    if own:
        return union(*(instances_of(cls) for cls in own), ())
    item: Value | None = None
    if shape.parameters:
        inner = shape.parameters[0]
        if inner.name == "self":
            item = _element_of(r, receiver)
        else:
            found = shaped(r, inner, receiver, arguments)
            item = found[0] if found else None
    return (Object(kind, item),)


def _named_by(r: Resolver, receiver: Value | None, path: str) -> Values:
    """What an attribute of the receiver holds, also one of an attribute: `Meta.model`."""
    found: Values = () if receiver is None else (receiver,)
    for name in path.split("."):
        found = union(*(r.attribute(value, name) for value in found), ())
    return found


def _element_of(r: Resolver, owner: Value | None) -> Value | None:
    """What a collection that is read from a class or an instance holds: more of them."""
    if isinstance(owner, (ClassValue, Instance)):
        return rows.read(r, owner.cls)
    if isinstance(owner, External) and owner.receiver is None:
        return Object(owner.name)
    return owner if isinstance(owner, Object) else None


def instances_of(value: Value) -> Values:
    """An instance of the class that a value is."""
    if isinstance(value, ClassValue):
        return (Instance(value.cls),)
    if isinstance(value, External):
        return (Object(value.name),)
    return ()


# -- classes of the project ------------------------------------------------------------------------------


def _of_instance(r: Resolver, value: Instance, name: str) -> Values:
    return r.memoised(("instance", value, name), lambda: _instance_member(r, value, name))


def _instance_member(r: Resolver, value: Instance, name: str) -> Values:
    """Through the class and its bases; for an instance that may be of a class below, through those as
    well."""
    if name == "__class__":
        return (ClassValue(value.cls),)
    if name == "__dict__":
        return ()
    found = [_member(r, r.classes.order(value.cls), name, value)]
    if not value.exact:
        below = r.subclasses(value.cls)
        overriding = [cls for cls in below if name in cls.member_names]
        if len(overriding) <= MANY:
            found += [_member(r, r.classes.order(cls), name, Instance(cls)) for cls in overriding]
        elif not found[0]:
            return ()
        if any(found[1:]):
            found[0] = tuple(v for v in found[0] if not _is_stub(v))
        if not found[0] and not overriding:  # a mixin: what it calls stands beside it in the classes below
            found += [_member(r, r.classes.order(cls), name, Instance(cls)) for cls in below[:MANY]]
    return union(*found)


def _is_stub(value: Value) -> bool:
    return isinstance(value, FunctionValue) and value.function.is_abstract


def _of_class(r: Resolver, value: ClassValue, name: str) -> Values:
    if name == "__name__":
        return (Constant(value.cls.name),)
    if name in ("__mro__", "__subclasses__"):
        return (External(f"builtins.type.{name}", value),)
    return r.memoised(("class", value.cls, name), lambda: _member(r, r.classes.order(value.cls), name, value))


def _of_super(r: Resolver, value: Super, name: str) -> Values:
    """What stands behind the class in the receiver's order; for a receiver of an open class, in that of each
    below."""
    owner = value.receiver.cls if isinstance(value.receiver, (Instance, ClassValue)) else value.after
    starts = [owner]
    if not (isinstance(value.receiver, Instance) and value.receiver.exact):
        starts += r.subclasses(owner)[:MANY]
    found: list[Values] = []
    for start in starts:
        order = r.classes.order(start)
        if value.after in order:
            rest = order[order.index(value.after) + 1 :]
            found.append(_member(r, rest, name, value.receiver))
        if found and found[0] and not isinstance(order[0], Class):
            break
    return union(*found)


def _member(r: Resolver, order: tuple[Base, ...], name: str, receiver: Value) -> Values:
    """The first in the order that defines the name."""
    unknown: Values = ()
    for base in order:
        if isinstance(base, str):
            found = _external_member(r, base, name, receiver)
            known = found and (not isinstance(found[0], External) or _is_known(r, found[0].name))
            if known:
                return found
            unknown = unknown or found
        elif name in base.member_names:
            return _own_member(r, base, name, receiver)
    if r.relations is not None and isinstance(receiver, Instance):
        return r.relations.read(receiver.cls, name) or unknown
    return unknown


def _is_known(r: Resolver, name: str) -> bool:
    catalogue = r.catalogue
    return bool(catalogue.effects(name) or catalogue.returns(name) or catalogue.fires(name))


def _external_member(r: Resolver, base: str, name: str, receiver: Value) -> Values:
    """A member that a library's base class brings; `self` in its type is the class of ours it is read
    from."""
    full = f"{base}.{name}"
    shape = r.catalogue.attribute(full)
    if shape is not None and not r.catalogue.is_open(full):
        return shaped(r, shape, receiver, ())
    if base == "builtins.object":
        return ()
    return (External(r.catalogue.canonical(full), receiver),)


def _own_member(r: Resolver, cls: Class, name: str, receiver: Value) -> Values:
    assigned: list[Values] = []
    made = False
    if isinstance(receiver, Instance):
        told = {frame.function for frame in receiver.told}
        entries = [entry for entry in cls.assigned if entry[0] == name]
        for _, method, binding in [
            e for e in entries if e[1] in told
        ] or entries:  # what is put there later counts
            assigned.append(_assigned(r, method, binding, receiver, cls))
            made = made or (
                receiver.init is not None and receiver.init.function is method and bool(assigned[-1])
            )
    found: list[Values] = []
    for binding in names.reaching(cls.scope.bindings.get(name, ()), cls.scope, END):
        if made and binding.kind == "annotation":
            continue  # what the constructor was given says more
        declared = names.bound(r, binding, cls.scope, _around(r, cls))
        for value in generics.solved_for(r, declared, receiver, cls):
            found += [descriptors.read(r, each, receiver, cls) for each in bind(r, value, receiver)]
    return union(*found, *assigned, ())


def _around(r: Resolver, cls: Class) -> Frame | None:
    scope = cls.scope.parent
    if scope is not None and scope.kind == "function":
        return r.default_frame(cls.module.function(scope))
    return None


def _assigned(r: Resolver, method: Function, binding: Binding, receiver: Instance, cls: Class) -> Values:
    """What a method assigns to the attribute, seen from this receiver."""
    frame: Frame | None = None
    told = [each for each in receiver.told if each.function is method]
    if told:
        return union(*(names.bound(r, binding, method.scope, each) for each in told), ())
    if receiver.init is not None and receiver.init.function is method:
        frame = receiver.init
        if receiver.told and isinstance(frame.receiver, Instance):
            frame = r.frame(
                method, replace(frame.receiver, told=receiver.told), frame.arguments, frame.closure
            )
    elif method.owner is cls:
        known = Instance(receiver.cls, receiver.exact, told=receiver.told)
        base = r.default_frame(method)
        frame = r.frame(method, known, (), base.closure)
    scope = method.scope
    if method.owner is not cls:  # a function nested in a method
        frame = r.default_frame(method)
    return names.bound(r, binding, scope, frame)


def bind(r: Resolver, value: Value, receiver: Value) -> Values:
    """A function read from an instance or class, as the descriptor protocol binds it."""
    if not isinstance(value, FunctionValue) or value.receiver is not None or value.role == "plain":
        return (value,)
    if value.role == "property":
        if isinstance(receiver, ClassValue):
            return ()
        return calls.result(r, FunctionValue(value.function, receiver, value.closure), calls.NOTHING)
    if value.role == "class":
        owner = ClassValue(receiver.cls) if isinstance(receiver, Instance) else receiver
        return (FunctionValue(value.function, owner, value.closure),)
    if isinstance(receiver, ClassValue):
        return (value,)
    if value.function.scope.kind == "lambda" or value.function.parameters or value.function.node.args.vararg:
        return (FunctionValue(value.function, receiver, value.closure, value.role),)
    return (value,)


def property_getters(r: Resolver, value: Instance, name: str) -> list[FunctionValue]:
    """The getters that reading `value.name` may run, bound to their receiver."""
    starts = [value.cls] if value.exact else [value.cls, *r.subclasses(value.cls)[:MANY]]
    found: dict[FunctionValue, None] = {}
    for start in starts:
        owner = next(
            (b for b in r.classes.order(start) if isinstance(b, Class) and name in b.member_names), None
        )
        if owner is None:
            continue
        for binding in owner.scope.bindings.get(name, ()):
            if binding.kind == "def":
                for each in names.bound(r, binding, owner.scope, _around(r, owner)):
                    if isinstance(each, FunctionValue) and each.role == "property":
                        receiver = value if start is value.cls else Instance(start)
                        found[FunctionValue(each.function, receiver, each.closure)] = None
    return list(found)


__all__ = ["attribute", "bind", "instances_of", "shaped"]
