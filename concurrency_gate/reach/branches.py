"""Which branches a call of a function can take: what its tests are known to give, by the arguments of this frame."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from concurrency_gate.facts import calls
from concurrency_gate.facts.scopes import Scope, end, position
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

from . import held, sure
from .layout import Guard, laid_out

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver

_TEXT_TESTS: dict[str, Callable[[str, str], bool]] = {"startswith": str.startswith, "endswith": str.endswith}
_KINDS: dict[str, type[ClassValue | Instance]] = {"issubclass": ClassValue, "isinstance": Instance}


def taken(r: Resolver, guard: Guard, scope: Scope, frame: Frame | None, hops: int = sure.HOPS) -> bool | None:
    """Whether what stands under a guard's first branch is known to run, or not to; a loop does unless it is over
    nothing, and what follows a statement unless that is sure to raise."""
    node = guard.node
    if isinstance(node, ast.If):
        return truth(r, node.test, scope, frame, hops)
    if isinstance(node, ast.For):
        return not (isinstance(node.iter, ast.Name) and stays_empty(r, node.iter, scope, frame, hops))
    if isinstance(node, ast.Try):
        return not held.finds_nothing(r, node.body[0], scope, frame)
    if isinstance(node, ast.match_case) and guard.subject is not None:
        return matches(r, guard.subject, node, scope, frame)
    return None


def truth(
    r: Resolver, test: ast.expr, scope: Scope, frame: Frame | None, hops: int = sure.HOPS
) -> bool | None:
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
        return _compared(r, test, scope, frame, hops)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id in _KINDS:
        return _derives(r, test, scope, frame)
    if isinstance(test, ast.Call) and sure.probe(test) == "hasattr" and len(test.args) == 2:
        name = test.args[1]
        absent = isinstance(name, ast.Constant) and held.lacks(r, test.args[0], str(name.value), scope, frame)
        return False if absent else None
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr in _TEXT_TESTS:
        return _of_text(r, test, test.func, scope, frame)
    if isinstance(test, (ast.Attribute, ast.Call)):
        asked = test.func if isinstance(test, ast.Call) else test
        values = r.values(asked, scope, frame)
        if values and all(isinstance(v, External) and r.catalogue.marks("open", v.name) for v in values):
            return True
    if isinstance(test, ast.Attribute) and held.is_filled(r, test, scope, frame):
        return True
    if isinstance(test, ast.Call) and hops > 0:
        answer = _answered(r, test, scope, frame, hops - 1)
        if answer is not None:
            return answer
    if isinstance(test, ast.Name) and hops > 0:
        if stays_empty(r, test, scope, frame, hops):
            return False
        assigned = sure.assigned_once(test, scope)
        if assigned is not None:
            return truth(r, assigned, scope, frame, hops - 1)
    truths = {bool(value.value) for value in _constants(sure.given(r, test, scope, frame))}
    return truths.pop() if len(truths) == 1 else None


def _of_text(
    r: Resolver, test: ast.Call, func: ast.Attribute, scope: Scope, frame: Frame | None
) -> bool | None:
    """What `text.startswith(part)` gives, where both are known."""
    texts = [v.value for v in _constants(sure.given(r, func.value, scope, frame))]
    parts = [v.value for v in _constants(r.values(test.args[0], scope, frame))] if len(test.args) == 1 else []
    if not texts or not parts or not all(isinstance(each, str) for each in (*texts, *parts)):
        return None
    ask = _TEXT_TESTS[func.attr]
    answers = {ask(text, part) for text in texts for part in parts}  # type: ignore[arg-type]
    return answers.pop() if len(answers) == 1 else None


def _answered(r: Resolver, test: ast.Call, scope: Scope, frame: Frame | None, hops: int) -> bool | None:
    """What a function of the project says that does nothing but answer."""
    callees = r.values(test.func, scope, frame)
    if len(callees) != 1 or not isinstance(callees[0], FunctionValue):
        return None
    answer = callees[0].function.asks.answer
    if answer is None:
        return None
    inner = calls.frame_of(r, callees[0], r.arguments(test, scope, frame))
    return truth(r, answer, inner.function.scope, inner, hops)


def stays_empty(r: Resolver, name: ast.Name, scope: Scope, frame: Frame | None, hops: int) -> bool:
    """Whether a local container is empty at first, and whatever would fill it stands in a branch that is not taken."""
    made = sure.assigned_once(name, scope) if hops > 0 else None
    if not isinstance(made, (ast.List, ast.Dict, ast.Set)) or list(ast.iter_child_nodes(made))[1:]:
        return False
    if getattr(made, "elts", None) or getattr(made, "keys", None):
        return False
    left = list(_filling(name.id, scope))
    if left:
        for visit, around in laid_out(r, scope.node.body, scope):  # type: ignore[attr-defined]
            inside = [use for use in left if _holds(visit.node, use)]
            if inside and any(
                taken(r, guard, scope, frame, hops - 1) is (not guard.branch) for guard in around
            ):
                left = [use for use in left if use not in inside]
    return not left


def _filling(name: str, scope: Scope) -> tuple[ast.Name, ...]:
    """The places where a local container may be filled, or come under another name. Read once for all frames."""
    kept: dict[tuple[int, str], tuple[ast.Name, ...]] = scope.module.__dict__.setdefault("filling", {})
    if (id(scope), name) not in kept:
        nodes = list(ast.walk(scope.node))
        harmless = {id(part) for node in nodes for part in _only_read(node)}
        kept[id(scope), name] = tuple(
            node
            for node in nodes
            if isinstance(node, ast.Name)
            and node.id == name
            and not isinstance(node.ctx, ast.Store)
            and id(node) not in harmless
        )
    return kept[id(scope), name]


def _holds(node: ast.AST, use: ast.Name) -> bool:
    return isinstance(node, ast.Call) and position(node) <= position(use) < end(node)


def _only_read(node: ast.AST) -> list[ast.expr]:
    """What a node reads without letting anybody fill it, or know it under another name."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        return [node.test]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.BoolOp):
        return node.values[:-1]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        return [node.iter]
    if isinstance(node, ast.Starred):
        return [node.value]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _READERS:
        return node.args
    return []


_READERS = frozenset({"len", "bool", "any", "all"})


def _compared(r: Resolver, test: ast.Compare, scope: Scope, frame: Frame | None, hops: int) -> bool | None:
    if len(test.ops) != 1:
        return None
    operator, right = test.ops[0], test.comparators[0]
    if isinstance(test.left, ast.Call) and sure.probe(test.left) == "len" and isinstance(operator, ast.Gt):
        counted = test.left.args[0] if test.left.args else None
        empty = isinstance(counted, ast.Name) and stays_empty(r, counted, scope, frame, hops - 1)
        return False if empty and isinstance(right, ast.Constant) and right.value == 0 else None
    if isinstance(operator, (ast.In, ast.NotIn)):
        found = _contains(r, test.left, right, scope, frame)
        return None if found is None else found == isinstance(operator, ast.In)
    positive = isinstance(operator, (ast.Is, ast.Eq))
    if not positive and not isinstance(operator, (ast.IsNot, ast.NotEq)):
        return None
    if held.is_unchanged(r, test, scope, frame):
        return positive
    given = sure.given(r, test.left, scope, frame)
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
    """Whether a text is among the keywords of this call, or in the text that a setting is; whether a text or a class is
    one of those listed."""
    if isinstance(holder, (ast.Tuple, ast.List, ast.Set)):
        listed = [value for part in holder.elts for value in r.values(part, scope, frame) or (None,)]
        given = sure.given(r, item, scope, frame)
        known, wanted = set(_constants(given)), {value for value in listed if isinstance(value, Constant)}
        if known and len(wanted) == len(listed):
            return True if known <= wanted else None if known & wanted else False
        return _is_one_of(r, given, listed)
    if not isinstance(item, ast.Constant) or not isinstance(item.value, str):
        return None
    keys = sure.keywords(holder, frame)
    if keys is not None:
        return True if item.value in keys else None if None in keys else False
    texts = sure.configured(r, holder, scope, frame) if isinstance(holder, ast.Attribute) else ()
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


def _derives(r: Resolver, test: ast.Call, scope: Scope, frame: Frame | None) -> bool | None:
    """`issubclass(parameter, Class)` and `isinstance`, also with several classes."""
    if len(test.args) != 2:
        return None
    kind = _KINDS[test.func.id]  # type: ignore[attr-defined]
    return _is_a(r, sure.given(r, test.args[0], scope, frame), kind, r.values(test.args[1], scope, frame))


def matches(
    r: Resolver, subject: ast.expr, case: ast.match_case, scope: Scope, frame: Frame | None
) -> bool | None:
    """Whether a `case` of classes may be taken; False where the subject is of none of them."""
    patterns = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
    given = sure.given(r, subject, scope, frame)
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
