"""Calls: how arguments meet parameters, what a call gives, and what a decorator makes of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from . import containers, descriptors, exports, intrinsics, members, names, patterns, registered, rows
from .modules import Class, Function
from .scopes import Scope
from .values import (
    LEVELS,
    SOMETHING,
    Arguments,
    ClassValue,
    Collection,
    Constant,
    External,
    Frame,
    FunctionValue,
    Instance,
    Object,
    Partial,
    Something,
    Super,
    Suspended,
    Value,
    Values,
    one_of,
    union,
)

if TYPE_CHECKING:
    from .resolver import Resolver

NOTHING = Arguments()
UNKNOWN = Arguments(opaque=True)
"""What a library hands to a function that it runs."""

WIDE = 10
"""A result of more project classes than this says nothing about what is called on it."""

LONGEST = 120
"""A dotted path of results of results that is longer than this is given up."""


# -- arguments -------------------------------------------------------------------------------------------


def arguments(r: Resolver, node: ast.Call, scope: Scope, frame: Frame | None) -> Arguments:
    """Evaluate a call's arguments; `*` and `**` are unpacked where their contents are known."""
    positional: list[Values] = []
    keywords: list[tuple[str, Values]] = []
    rest: Values = ()
    opaque = False
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            positional.append(r.values(argument, scope, frame))
            continue
        values = r.values(argument.value, scope, frame)
        only = values[0] if len(values) == 1 else None
        if isinstance(only, Collection) and only.fixed and not opaque:
            positional += only.items
        else:
            opaque = True
            rest = union(rest, *(containers.iterated(r, value) for value in values))
    for keyword in node.keywords:
        values = r.values(keyword.value, scope, frame)
        if keyword.arg is not None:
            keywords.append((keyword.arg, values))
            continue
        only = values[0] if len(values) == 1 else None
        held = only.keys if isinstance(only, Collection) and only.keys is not None else (None,)
        # What a body pops may be gone by now, or not yet.
        taken = frame.function.asks.popped if frame is not None else frozenset()
        opaque = opaque or None in held or not taken.isdisjoint(held)
        if isinstance(only, Collection):
            pairs = zip(held, only.items, strict=False)
            keywords += [(key, item) for key, item in pairs if key is not None and key not in taken]
    return Arguments(tuple(positional), tuple(keywords), rest, opaque)


def bind(r: Resolver, function: Function, bound: bool, given: Arguments) -> tuple[tuple[str, Values], ...]:
    """The arguments that matter for what the function does, by parameter."""
    args = function.node.args
    named = list(function.parameters[1:] if bound and function.parameters else function.parameters)
    found: dict[str, Values] = dict(zip(named, given.positional, strict=False))
    if args.vararg is not None:
        extra = given.positional[len(named) :]
        found[args.vararg.arg] = (
            Collection((*extra, given.rest) if given.rest else extra, fixed=not given.rest),
        )
    acceptable = {*named, *(a.arg for a in args.kwonlyargs)}
    spare = {name: values for name, values in given.keywords if name not in acceptable}
    found.update((name, values) for name, values in given.keywords if name in acceptable)
    if args.kwarg is not None and (spare or not given.opaque):
        more: list[tuple[str | None, Values]] = [(None, ())] if given.opaque else []
        held = [*spare.items(), *more]
        found[args.kwarg.arg] = (Collection(tuple(v for _, v in held), tuple(k for k, _ in held)),)
    kept = [(name, _that_matter(r, function, name, values)) for name, values in found.items()]
    if not given.opaque:
        kept += _left_at_default(r, function, found)
    return tuple((name, values) for name, values in kept if values)


def _left_at_default(
    r: Resolver, function: Function, given: Mapping[str, Values]
) -> Iterator[tuple[str, Values]]:
    """Constants, and members of enumerations, that decide what runs where a call says nothing else."""
    for name, default in function.defaults.items():
        if (
            name in given
            or name not in function.asks.tested
            or not isinstance(default, (ast.Constant, ast.Attribute))
        ):
            continue
        values = r.values(default, function.scope.parent or function.scope, None)
        if all(isinstance(value, Constant) for value in values):
            yield name, values


class _Use(NamedTuple):
    """What a function does with a parameter: its text may pick something, an `if` asks about it, an annotation
    says what it is."""

    selects: bool
    tests: bool
    annotated: bool


def _that_matter(r: Resolver, function: Function, name: str, values: Values) -> Values:
    """Callables and classes; instances where no annotation says what they are; strings that pick something;
    None and booleans that an `if` tests, and that an optional argument is not None. Each way of calling a
    function costs a reading of it, so nothing else is told apart."""
    if name == function.kwarg and name in function.asks.tested:
        return values
    annotated = name in function.asks.annotations and name not in function.asks.sorted
    use = _Use(name in function.asks.selecting, name in function.asks.tested, annotated)
    kept = tuple(
        rows.as_asked(r, value, function)
        for value in values
        if _matters(r, use, value) or (annotated and _is_narrower(r, function, name, value))
    )
    if not kept and values and use.tests and name in function.optional:
        return (
            ()
            if any(isinstance(value, Constant) and value.value is None for value in values)
            else (SOMETHING,)
        )
    return one_of(kept, ()) if len(kept) < len(values) else kept


def _is_narrower(r: Resolver, function: Function, name: str, value: Value) -> bool:
    """Whether an instance, or one in a list, is of a class below the one that the annotation says: an implementation of
    an interface."""
    given = [each for each in _held(value) if isinstance(each, Instance)]
    if not given:
        return False
    said = r.instance_of(function.asks.annotations[name], function.scope.parent or function.scope, None)
    classes = {each.cls for one in said for each in _held(one) if isinstance(each, Instance)}
    return bool(classes) and any(each.cls not in classes for each in given)


def _held(value: Value) -> Values:
    if isinstance(value, Collection):
        return union(*value.items, ())
    return (value, value.item) if isinstance(value, Object) and value.item is not None else (value,)


def _matters(r: Resolver, use: _Use, value: Value) -> bool:
    if isinstance(value, Constant):
        return use.selects if isinstance(value.value, str) else use.tests
    if isinstance(value, Object):
        if value.runs is not None:
            return True
        return not use.annotated and r.catalogue.is_known(value.type)
    if isinstance(value, Something):
        return False
    if isinstance(value, External):
        return r.catalogue.is_known(value.name)
    if isinstance(value, Instance):
        return value.init is not None or value.row is not None or not use.annotated
    if isinstance(value, Collection):
        if value.levels == LEVELS:
            return False
        use = use._replace(tests=False)  # no `if` asks about what is inside
        known = value.answers.get(use)
        if known is None:  # collections share their parts: without this, each way to a part would be gone
            known = any(_matters(r, use, inner) for values in value.items for inner in values)
            value.answers[use] = known
        return known
    return True


def frame_of(r: Resolver, callee: FunctionValue, given: Arguments) -> Frame:
    """The frame in which this call runs the function."""
    function = callee.function
    receiver = callee.receiver if callee.receiver is None else rows.as_asked(r, callee.receiver, function)
    return r.frame(function, receiver, bind(r, function, receiver is not None, given), callee.closure)


# -- results ---------------------------------------------------------------------------------------------


def result(r: Resolver, value: Value, given: Arguments) -> Values:
    """What calling the value gives. A generator, coroutine or context manager function gives its suspended
    body."""
    if isinstance(value, FunctionValue):
        frame = frame_of(r, value, given)
        if value.role == "manager":
            return (Suspended("manager", frame),)
        if value.function.is_generator:
            return (Suspended("generator", frame),)
        if value.function.is_async:
            return (Suspended("coroutine", frame),)
        found = returned(r, frame)
        if isinstance(frame.receiver, Instance) and frame.receiver in found:
            return tuple(registered.given_back(r, each, frame) for each in found)
        return found
    if isinstance(value, ClassValue):
        return (construct(r, value.cls, given),)
    if isinstance(value, External):
        return _external_result(r, value, given)
    if isinstance(value, Object):
        return _object_result(r, value, given)
    if isinstance(value, Instance):
        return union(*(result(r, method, given) for method in r.attribute(value, "__call__")), ())
    if isinstance(value, Partial):
        return result(r, value.target, merged(value.arguments, given))
    return ()


def merged(first: Arguments, then: Arguments) -> Arguments:
    later = {name for name, _ in then.keywords}
    kept = tuple((name, values) for name, values in first.keywords if name not in later)
    return Arguments(
        (*first.positional, *then.positional),
        (*kept, *then.keywords),
        union(first.rest, then.rest),
        first.opaque or then.opaque,
    )


def returned(r: Resolver, frame: Frame) -> Values:
    """What the function returns when it has run."""
    return r.memoised(("returned", frame), lambda: _returned(r, frame))


def _returned(r: Resolver, frame: Frame) -> Values:
    function = frame.function
    scope = function.scope
    ways = [r.values(node, scope, frame) for node in scope.returns]
    found = one_of(*ways, ()) if function.asks.ends_without_a_value else one_of(*ways)
    said = [v for v in found if not isinstance(v, Constant)]
    if len({v.cls for v in said if isinstance(v, Instance)}) > WIDE:
        said, found = [], ()
    annotation = getattr(function.node, "returns", None)
    if annotation is not None and not names.says_enough(r, said):
        declared = r.instance_of(annotation, scope.parent or scope, frame.closure, frame)
        if declared:
            return union(declared, tuple(v for v in found if isinstance(v, Constant)))
    return found


def construct(r: Resolver, cls: Class, given: Arguments) -> Instance:
    """A new instance, with the constructor's frame where the arguments say something."""
    exact = rows.constructed(r, Instance(cls, exact=True), given)
    for constructor in r.attribute(exact, "__init__"):
        if isinstance(constructor, FunctionValue):
            frame = frame_of(r, constructor, given)
            if any(values != (SOMETHING,) for _, values in frame.arguments):
                return replace(exact, init=frame)
    return exact


def _external_result(r: Resolver, value: External, given: Arguments) -> Values:
    special_case = intrinsics.call(r, value, given)
    if special_case is not None:
        return special_case
    catalogue = r.catalogue
    for entry in catalogue.marks("wraps", value.name):
        if len(given.positional) > entry.argument:
            return given.positional[entry.argument]
        return (value,)  # a decorator with arguments: the next call brings the function
    task = catalogue.decorates(value.name)
    if task is not None:
        target = next((v for values in given.positional[:1] for v in values), None)
        if isinstance(target, (FunctionValue, Instance)):
            return (task_of(r, task, target, given, value),)
        return (Partial(value, replace(given, positional=())),) if given.keywords else (value,)
    shape = catalogue.returns(value.name)
    if shape is not None:
        return members.shaped(r, shape, value.receiver or _made_by(r, value.name), given.positional)
    if names.is_class_name(value.name) or catalogue.is_class(value.name):
        return (Object(value.name, _keeps(r, value.name, given)),)
    if len(value.name) > LONGEST:
        return ()
    return (Object(f"{value.name}()"),)


def _made_by(r: Resolver, method: str) -> Object | None:
    """An instance of the class that a library's method is called on: `Redis.from_url` gives a Redis."""
    owner = method.rpartition(".")[0]
    is_class = names.is_class_name(owner) or r.catalogue.is_class(owner)
    return Object(owner) if is_class else None


def task_of(r: Resolver, task: str, target: Value, given: Arguments, decorator: Value) -> Value:
    """What a decorator makes of a function: the library's object, or an instance of the project's class that
    it was told to take, where that changes how the work is handed over."""
    for cls in _chosen(r, given, decorator.receiver if isinstance(decorator, External) else None):
        for base in r.classes.order(cls):
            if isinstance(base, Class) and any(r.catalogue.effects(f"{task}.{m}") for m in base.methods):
                return Instance(cls, exact=True, item=target)
    return Object(task, runs=target)


def _chosen(r: Resolver, given: Arguments, receiver: Value | None) -> Iterator[Class]:
    """The classes that a decorator is told to make instances of: by its own keywords, or by the object that it is read
    from."""
    named = [value for _, values in given.keywords for value in values]
    if isinstance(receiver, Object) and receiver.item is not None:
        named.append(receiver.item)
    elif isinstance(receiver, Instance):
        bases = [base for base in r.classes.order(receiver.cls) if isinstance(base, str)]
        for attribute in filter(None, map(r.catalogue.chooses, bases)):
            named += r.attribute(receiver, attribute)
    return (value.cls for value in named if isinstance(value, ClassValue))


def _keeps(r: Resolver, name: str, given: Arguments) -> Value | None:
    """What a new object of a library's remembers of its constructor's arguments."""
    argument = r.catalogue.chooses(name)
    if argument is None:
        return descriptors.built(r, name, given)
    for value in given.keyword(argument):
        if isinstance(value, Constant) and isinstance(value.value, str):
            return next(iter(exports.classes_named(r, value.value.replace(":", "."))), None)
        return value
    return None


def _object_result(r: Resolver, value: Object, given: Arguments) -> Values:
    shape = r.catalogue.returns(f"{value.type}.__call__")
    if shape is not None:
        return members.shaped(r, shape, value, given.positional)
    if value.runs is not None:
        return result(r, value.runs, given)
    return (Object(f"{value.type}()"),) if len(value.type) <= LONGEST else ()


def special(
    r: Resolver, node: ast.Call, callees: Values, given: Arguments, scope: Scope, frame: Frame | None
) -> Values | None:
    """`super()`, which asks where it stands, `cast`, which takes an annotation, and `getattr` of a name that is put
    together."""
    if len(node.args) >= 2 and any(isinstance(c, External) and c.name == "builtins.getattr" for c in callees):
        owners, named = given.positional[:2] if len(given.positional) >= 2 else ((), ())
        if not any(isinstance(value, Constant) for value in named):
            return patterns.members_like(r, owners, node.args[1], scope, frame) or None
    if node.args and any(isinstance(callee, External) and callee.name == "typing.cast" for callee in callees):
        return r.instance_of(node.args[0], scope, frame) or union(*given.positional[1:2], ())
    if not any(isinstance(callee, External) and callee.name == "builtins.super" for callee in callees):
        return None
    if len(given.positional) == 2:
        after, receiver = given.positional
        if after and receiver and isinstance(after[0], ClassValue):
            return (Super(after[0].cls, receiver[0]),)
        return ()
    while scope.kind not in ("function", "module") and scope.parent is not None:
        scope = scope.parent
    function: Function | None = scope.module.function(scope) if scope.kind == "function" else None
    while function is not None and function.owner is None:
        function, frame = function.parent, frame.closure if frame else None
    if function is None or function.owner is None:
        return ()
    if frame is None or frame.receiver is None:
        frame = r.default_frame(function)
    return (Super(function.owner, frame.receiver),) if frame.receiver is not None else ()


__all__ = [
    "NOTHING",
    "UNKNOWN",
    "Arguments",
    "arguments",
    "construct",
    "frame_of",
    "result",
    "returned",
    "special",
    "task_of",
]
