"""What a call is sure to give an expression in the body that it runs: an argument, a setting, what was kept of one."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from concurrency_gate.facts import calls, columns, names
from concurrency_gate.facts.modules import Class, Module
from concurrency_gate.facts.scopes import Binding, Scope
from concurrency_gate.facts.values import (
    ClassValue,
    Collection,
    Constant,
    External,
    Frame,
    FunctionValue,
    Instance,
    ModuleValue,
    Values,
)

from . import held, settings

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

HOPS = 3
"""How many local names a test is followed through: `now = immediate and not busy()`, then `if now:`."""


_SETTINGS = frozenset({"settings", "config", "conf", "configuration"})
"""Words in the names of modules whose constants are for each user of the program to set."""

_DYNAMIC = (b"globals(", b"setattr(", b"sys.modules", b"__dict__", b"vars(")
"""What a module says that may bind any name."""


def given(r: Resolver, node: ast.expr, scope: Scope, frame: Frame | None, hops: int = HOPS) -> Values:
    """What this call is sure to give an expression: a parameter that it fills, one of its other keywords, or an
    attribute; also under the one local name that it is assigned to."""
    if isinstance(node, ast.Name):
        assigned = assigned_once(node, scope) if hops > 0 else None
        if assigned is not None:
            return given(r, assigned, scope, frame, hops - 1)
        while frame is not None and not _bindings(node, frame.function.scope):
            frame = frame.closure  # a parameter of a function around this one
        if frame is None:
            return _of_module(r, node.id, scope)
        if frame.argument(node.id) is None or len(_bindings(node, frame.function.scope)) != 1:
            return ()
        return frame.argument(node.id) or ()
    if isinstance(node, ast.Attribute):
        owners = r.values(node.value, scope, frame)
        if any(isinstance(owner, ModuleValue) for owner in owners):
            only = owners[0] if len(owners) == 1 else None
            return _of_module(r, node.attr, only.module.scope) if isinstance(only, ModuleValue) else ()
        if node.attr == "__name__":
            return _class_name(r, node, scope, frame, hops)
        return (
            configured(r, node, scope, frame)
            or _kept(r, node, frame)
            or held.is_adding(r, node, scope, frame)
            or held.column(r, node, scope, frame)
            or _of_class(r, node, scope, frame)
        )
    if isinstance(node, ast.Call) and probe(node) == "getattr" and len(node.args) == 3:
        return _attribute_or_default(r, node, scope, frame)
    key, default = _looked_up(node)
    keys = keywords(node.func.value if isinstance(node, ast.Call) else node.value, frame) if key else None  # type: ignore[attr-defined]
    if key is None or keys is None:
        return ()
    if key in keys:
        return keys[key]
    if None in keys:
        return ()
    return (Constant(None),) if default is None else r.values(default, scope, frame)


def _class_name(r: Resolver, node: ast.Attribute, scope: Scope, frame: Frame | None, hops: int) -> Values:
    """The name of a class that a call is sure to give, and that none derives from."""
    owners = given(r, node.value, scope, frame, hops)
    if not owners or not all(isinstance(o, ClassValue) and not r.subclasses(o.cls) for o in owners):
        return ()
    return r.values(node, scope, frame)


def _of_module(r: Resolver, name: str, scope: Scope) -> Values:
    """The constant that a module gives a name which nothing else sets. Not where that is for its users to change."""
    found = _only_definition(r, name, scope)
    if found is None:
        return ()
    binding, home = found
    if home.kind != "module" or binding.kind != "value" or binding.path:
        return ()
    if not isinstance(binding.node, ast.Constant) or _may_be_set(r, name, home.module):
        return ()
    return r.values(binding.node, home, None)


def _only_definition(r: Resolver, name: str, scope: Scope, hops: int = 8) -> tuple[Binding, Scope] | None:
    """The one binding that a name goes back to through imports; None where there is another, or may be."""
    current = names.holder(name, scope)
    if current is None or current.stars or len(current.bindings[name]) != 1:
        return None
    binding = current.bindings[name][0]
    if binding.kind != "from":
        return binding, current
    source = names.source_of(r, current.module, binding.target, binding.level)
    return _only_definition(r, binding.item or "", source.scope, hops - 1) if source and hops else None


def _may_be_set(r: Resolver, name: str, home: Module) -> bool:
    """Whether a module's name may get another value: by its users, in the module, from outside, or by its name as a
    text."""
    words = home.name.replace("_", ".").split(".")
    if not _SETTINGS.isdisjoint(words):
        return True
    home.read()
    text = r.project.text(home.path)
    if any(word in text for word in _DYNAMIC) or _stores_of(home)[name] != 1:
        return True
    from_outside = rf"\bsetattr\(\s*(?:\w+\.)*{words[-1]}\b"
    return bool(
        r.project.files_with(name, rf"{_assigning(name)}|\bas\s+[\w.]*\.{name}\b")
        or r.project.files_with("setattr", from_outside)
    )


def _stores_of(module: Module) -> Counter[str]:
    """How often anything in a module binds each name. Worked out once."""
    kept: Counter[str] | None = module.__dict__.get("stored names")
    if kept is None:
        read = (node for node in ast.walk(module.tree) if isinstance(node, ast.Name))
        kept = Counter(node.id for node in read if not isinstance(node.ctx, ast.Load))
        module.__dict__["stored names"] = kept
    return kept


def probe(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _attribute_or_default(r: Resolver, node: ast.Call, scope: Scope, frame: Frame | None) -> Values:
    """What `getattr(owner, "name", default)` is sure to give. Not of a setting: who asks so expects it to come from
    elsewhere."""
    owner, name, default = node.args
    if isinstance(name, ast.Constant) and held.lacks(r, owner, str(name.value), scope, frame):
        return r.values(default, scope, frame)
    return ()


def _looked_up(node: ast.expr) -> tuple[str | None, ast.expr | None]:
    """The key and the default of `kwargs.get("key", default)`; the key of `kwargs["key"]`."""
    index: ast.expr | None = None
    default: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        index = node.slice
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("get", "pop")
    ):
        index, default = (*node.args, None, None)[:2]
    is_text = isinstance(index, ast.Constant) and isinstance(index.value, str)
    return (index.value if is_text else None), default  # type: ignore[union-attr]


def keywords(node: ast.expr, frame: Frame | None) -> dict[str | None, Values] | None:
    """What this call puts into `**kwargs`, where the expression is that; under the key None, what else may be there."""
    if frame is None or not isinstance(node, ast.Name) or node.id != frame.function.kwarg:
        return None
    given = frame.argument(node.id) or ()
    if len(given) != 1 or not frame.function.asks.keeps_keywords:
        return None
    (found,) = given
    if not isinstance(found, Collection) or found.keys is None:
        return None
    return dict(zip(found.keys, found.items, strict=True))


def configured(r: Resolver, node: ast.Attribute, scope: Scope, frame: Frame | None) -> Values:
    """What the settings say of an attribute that is one of them."""
    owners = r.values(node.value, scope, frame)
    if not owners or not all(
        isinstance(o, External) and r.catalogue.marks("configures", o.name) for o in owners
    ):
        return ()
    value = settings.agreed(r, node.attr)
    return () if value is None else (value,)


def _kept(r: Resolver, node: ast.Attribute, frame: Frame | None) -> Values:
    """What the constructor was given for an attribute of `self` that nothing else sets."""
    receiver = frame.receiver if frame is not None else None
    if frame is None or not isinstance(receiver, Instance) or receiver.init is None:
        return ()
    if not isinstance(node.value, ast.Name) or node.value.id != frame.function.receiver_name:
        return ()
    made = {init.function: init for init in _constructors(r, receiver.init)}
    found = [
        (function, binding)
        for base in r.classes.order(receiver.cls)
        if isinstance(base, Class)
        for name, function, binding in base.assigned
        if name == node.attr
    ]
    if len(found) != 1 or found[0][0] not in made:
        return ()
    (function, binding), form = found[0], _assigning(node.attr)
    path = function.module.path
    function.module.read()
    if list(r.project.files_with(node.attr, form)) != [path]:
        return ()
    if len(re.findall(form.encode(), r.project.text(path))) != 1:
        return ()
    value = binding.node if isinstance(binding, Binding) else None
    if not isinstance(value, ast.Name) or len(function.scope.bindings.get(value.id, ())) != 1:
        return ()
    return made[function].argument(value.id) or ()


def _of_class(r: Resolver, node: ast.Attribute, scope: Scope, frame: Frame | None) -> Values:
    """The constants that classes give an attribute which nothing else sets: those of the class, and of all below it
    where it may be one of them."""
    found: list[Constant] = []
    for owner in r.values(node.value, scope, frame):
        if owner == Constant(None):
            continue
        if not isinstance(owner, (ClassValue, Instance)):
            return ()
        below = [] if isinstance(owner, Instance) and owner.exact else r.subclasses(owner.cls)
        said = [columns.of_class(r, cls, node.attr) for cls in (owner.cls, *below)]
        if None in said or any(held.is_assigned(r, cls, node.attr) for cls in (owner.cls, *below)):
            return ()
        found += [constant for constant in said if constant is not None]
    # On an object, or by a keyword: `as_view(name=...)` sets what the class has.
    form = rf"{_assigning(node.attr)}|[(,\s]{node.attr}=[^=]"
    return () if found and r.project.files_with(node.attr, form) else tuple(dict.fromkeys(found))


def _assigning(attribute: str) -> str:
    """What an assignment of the attribute looks like on any object, also one that adds to it, or to several at once."""
    return rf"\.{attribute}\s*(?::[^=\n]+|,[^=\n(]*|[-+*/%&|^@]+|<<|>>)?=[^=]"


def _constructors(r: Resolver, init: Frame) -> Iterator[Frame]:
    """The frame of a constructor, and those of the ones that it goes on with in `super().__init__(...)`."""
    for _ in range(HOPS):
        yield init
        calls_on = [
            call
            for call in init.function.nodes
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "__init__"
        ]
        if len(calls_on) != 1:
            return
        scope = init.function.scope
        above = [v for v in r.values(calls_on[0].func, scope, init) if isinstance(v, FunctionValue)]
        if len(above) != 1:
            return
        init = calls.frame_of(r, above[0], r.arguments(calls_on[0], scope, init))


def _bindings(name: ast.Name, scope: Scope) -> list[object]:
    return list(scope.bindings.get(name.id, ()))


def assigned_once(name: ast.Name, scope: Scope) -> ast.expr | None:
    """The one thing that a function assigns to a local name."""
    bindings = scope.bindings.get(name.id, ()) if scope.kind == "function" else ()
    if len(bindings) != 1 or bindings[0].kind != "value" or bindings[0].path:
        return None
    node = bindings[0].node
    return node if isinstance(node, ast.expr) else None
