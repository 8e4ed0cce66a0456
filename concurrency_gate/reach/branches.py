"""Which branches a call of a function can take: what its tests are known to give, by the arguments of this frame."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from concurrency_gate.facts import calls, rows
from concurrency_gate.facts.modules import Class
from concurrency_gate.facts.scopes import Binding, Scope
from concurrency_gate.facts.values import (
    ClassValue,
    Collection,
    Constant,
    External,
    Frame,
    FunctionValue,
    Instance,
    Value,
    Values,
    union,
)

from . import settings

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

_HOPS = 3
"""How many local names a test is followed through: `now = immediate and not busy()`, then `if now:`."""
_KINDS: dict[str, type[ClassValue | Instance]] = {"issubclass": ClassValue, "isinstance": Instance}


def truth(r: Resolver, test: ast.expr, scope: Scope, frame: Frame | None, hops: int = _HOPS) -> bool | None:
    """Whether a test is known to be true or false here; None where it is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        known = truth(r, test.operand, scope, frame, hops)
        return None if known is None else not known
    if isinstance(test, ast.BoolOp):
        parts = [truth(r, part, scope, frame, hops) for part in test.values]
        decisive = isinstance(test.op, ast.Or)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if isinstance(test, ast.Compare):
        return _compared(r, test, scope, frame)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id in _KINDS:
        return _derives(r, test, scope, frame)
    if isinstance(test, ast.Call) and _probe(test) == "hasattr" and len(test.args) == 2:
        name = test.args[1]
        absent = isinstance(name, ast.Constant) and rows.lacks(r, test.args[0], str(name.value), scope, frame)
        return False if absent else None
    if isinstance(test, (ast.Attribute, ast.Call)):
        asked = test.func if isinstance(test, ast.Call) else test
        values = r.values(asked, scope, frame)
        if values and all(isinstance(v, External) and r.catalogue.marks("open", v.name) for v in values):
            return True
    if isinstance(test, ast.Name) and hops:
        assigned = _assigned(test, scope)
        if assigned is not None:
            return truth(r, assigned, scope, frame, hops - 1)
    truths = {bool(value.value) for value in _constants(_given(r, test, scope, frame))}
    return truths.pop() if len(truths) == 1 else None


def _compared(r: Resolver, test: ast.Compare, scope: Scope, frame: Frame | None) -> bool | None:
    if len(test.ops) != 1:
        return None
    operator, right = test.ops[0], test.comparators[0]
    if isinstance(operator, (ast.In, ast.NotIn)):
        found = _contains(r, test.left, right, scope, frame)
        return None if found is None else found == isinstance(operator, ast.In)
    positive = isinstance(operator, (ast.Is, ast.Eq))
    if not positive and not isinstance(operator, (ast.IsNot, ast.NotEq)):
        return None
    given = _given(r, test.left, scope, frame)
    if isinstance(right, ast.Constant) and right.value is None:
        nones = {isinstance(value, Constant) and value.value is None for value in given}
        return nones.pop() == positive if len(nones) == 1 else None
    others = r.values(right, scope, frame)
    same = _is_one_of(r, given, others) if others else None
    if same is not None:
        return same == positive
    left, wanted = _constants(given), _constants(others)
    if not left or not wanted:
        return None
    if not set(left) & set(wanted):
        return not positive
    return positive if len(set(left)) == len(set(wanted)) == 1 else None


def _contains(
    r: Resolver, item: ast.expr, holder: ast.expr, scope: Scope, frame: Frame | None
) -> bool | None:
    """Whether a text is among the keywords of this call, or in the text that a setting is; whether a class is one of
    those listed."""
    if isinstance(holder, (ast.Tuple, ast.List, ast.Set)):
        listed = [value for part in holder.elts for value in r.values(part, scope, frame) or (None,)]
        return _is_one_of(r, _given(r, item, scope, frame), listed)
    if not isinstance(item, ast.Constant) or not isinstance(item.value, str):
        return None
    keys = _keywords(holder, frame)
    if keys is not None:
        return True if item.value in keys else None if None in keys else False
    texts = _configured(r, holder, scope, frame) if isinstance(holder, ast.Attribute) else ()
    if len(texts) == 1 and isinstance(texts[0], Constant) and isinstance(texts[0].value, str):
        return item.value in texts[0].value
    return None


def _is_one_of(r: Resolver, given: Values, listed: Sequence[Value | None]) -> bool | None:
    """Whether a class, which may stand for one below it, is one of the listed."""
    if len(given) != 1 or not isinstance(given[0], ClassValue):
        return None
    cls = given[0].cls
    for other in listed:
        if not isinstance(other, ClassValue) or (other.cls is not cls and r.classes.derives(other.cls, cls)):
            return None
    if all(isinstance(other, ClassValue) and other.cls is not cls for other in listed):
        return False
    return None if r.subclasses(cls) else True


def _configured(r: Resolver, node: ast.Attribute, scope: Scope, frame: Frame | None) -> Values:
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
    (function, binding), form = found[0], rf"\.{node.attr}\s*(?::[^=\n]+)?=[^=]"
    path = function.module.path
    if list(r.project.files_with(node.attr, form)) != [path]:
        return ()
    if len(re.findall(form.encode(), r.project.text(path))) != 1:
        return ()
    value = binding.node if isinstance(binding, Binding) else None
    if not isinstance(value, ast.Name) or len(function.scope.bindings.get(value.id, ())) != 1:
        return ()
    return made[function].argument(value.id) or ()


def _constructors(r: Resolver, init: Frame) -> Iterator[Frame]:
    """The frame of a constructor, and those of the ones that it goes on with in `super().__init__(...)`."""
    for _ in range(_HOPS):
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


def _derives(r: Resolver, test: ast.Call, scope: Scope, frame: Frame | None) -> bool | None:
    """`issubclass(parameter, Class)` and `isinstance`, also with several classes."""
    if len(test.args) != 2:
        return None
    kind = _KINDS[test.func.id]  # type: ignore[attr-defined]
    return _is_a(r, _given(r, test.args[0], scope, frame), kind, r.values(test.args[1], scope, frame))


def matches(
    r: Resolver, subject: ast.expr, case: ast.match_case, scope: Scope, frame: Frame | None
) -> bool | None:
    """Whether a `case` of classes may be taken; False where the subject is of none of them."""
    patterns = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
    given = _given(r, subject, scope, frame)
    known = {
        _is_a(r, given, Instance, r.values(pattern.cls, scope, frame))
        if isinstance(pattern, ast.MatchClass)
        else None
        for pattern in patterns
    }
    return False if known == {False} else None


def _is_a(r: Resolver, given: Values, kind: type[ClassValue | Instance], wanted: Values) -> bool | None:
    """Whether all that is given is of one of the wanted classes, or none of it; a class may stand for one below."""
    classes = [
        each
        for value in wanted
        for each in (union(*value.items, ()) if isinstance(value, Collection) else (value,))
    ]
    if not given or not classes or len(wanted) > 1:
        return None
    answers = {_is_one(r, one, kind, above) for one in given for above in classes}
    if answers == {False}:
        return False
    each_is = all(any(_is_one(r, one, kind, above) for above in classes) for one in given)
    return True if each_is else None


def _is_one(r: Resolver, one: Value, kind: type[ClassValue | Instance], above: Value) -> bool | None:
    if not isinstance(one, (ClassValue, Instance)) or not isinstance(one, kind):
        return None
    if not isinstance(above, ClassValue):
        return None
    if r.classes.derives(one.cls, above.cls):
        return True
    if isinstance(one, Instance) and one.exact:
        return False
    return None if any(r.classes.derives(cls, above.cls) for cls in r.subclasses(one.cls)) else False


def _constants(values: Values) -> list[Constant]:
    """The values, if all are constants; none if any is not."""
    found = [value for value in values if isinstance(value, Constant)]
    return found if len(found) == len(values) else []


def _given(r: Resolver, node: ast.expr, scope: Scope, frame: Frame | None, hops: int = _HOPS) -> Values:
    """What this call is sure to give an expression: a parameter that it fills, one of its other keywords, or an
    attribute; also under the one local name that it is assigned to."""
    if isinstance(node, ast.Name):
        assigned = _assigned(node, scope) if hops else None
        if assigned is not None:
            return _given(r, assigned, scope, frame, hops - 1)
        while frame is not None and not _bindings(node, frame.function.scope):
            frame = frame.closure  # a parameter of a function around this one
        if (
            frame is None
            or frame.argument(node.id) is None
            or len(_bindings(node, frame.function.scope)) != 1
        ):
            return ()
        return frame.argument(node.id) or ()
    if isinstance(node, ast.Attribute):
        return (
            _configured(r, node, scope, frame) or _kept(r, node, frame) or rows.unset(r, node, scope, frame)
        )
    if isinstance(node, ast.Call) and _probe(node) == "getattr" and len(node.args) == 3:
        return _attribute_or_default(r, node, scope, frame)
    key, default = _looked_up(node)
    keys = _keywords(node.func.value if isinstance(node, ast.Call) else node.value, frame) if key else None  # type: ignore[attr-defined]
    if key is None or keys is None:
        return ()
    if key in keys:
        return keys[key]
    if None in keys:
        return ()
    return (Constant(None),) if default is None else r.values(default, scope, frame)


def _probe(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _attribute_or_default(r: Resolver, node: ast.Call, scope: Scope, frame: Frame | None) -> Values:
    """What `getattr(owner, "name", default)` is sure to give: a setting that nothing sets has its default."""
    owner, name, default = node.args
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return ()
    configures = [
        isinstance(value, External) and bool(r.catalogue.marks("configures", value.name))
        for value in r.values(owner, scope, frame)
    ]
    if configures and all(configures):
        value = settings.agreed(r, name.value)
        if value is not None:
            return (value,)
        absent = not any(True for _ in settings.said(r, name.value))
    else:
        absent = rows.lacks(r, owner, name.value, scope, frame)
    return r.values(default, scope, frame) if absent else ()


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


def _keywords(node: ast.expr, frame: Frame | None) -> dict[str | None, Values] | None:
    """What this call puts into `**kwargs`, where the expression is that; under the key None, what else may be there."""
    if frame is None or not isinstance(node, ast.Name) or node.id != frame.function.kwarg:
        return None
    given = frame.argument(node.id) or ()
    if len(given) != 1 or not frame.function.keeps_keywords:
        return None
    (found,) = given
    if not isinstance(found, Collection) or found.keys is None:
        return None
    return dict(zip(found.keys, found.items, strict=True))


def _bindings(name: ast.Name, scope: Scope) -> list[object]:
    return list(scope.bindings.get(name.id, ()))


def _assigned(name: ast.Name, scope: Scope) -> ast.expr | None:
    """The one thing that a function assigns to a local name."""
    bindings = scope.bindings.get(name.id, ()) if scope.kind == "function" else ()
    if len(bindings) != 1 or bindings[0].kind != "value" or bindings[0].path:
        return None
    node = bindings[0].node
    return node if isinstance(node, ast.expr) else None
