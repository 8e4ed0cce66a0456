"""What a body asks of what its function is given: what it does not ask about makes no difference to what it runs."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from .scopes import Position, position

if TYPE_CHECKING:
    from .modules import Function


_TELLING = (
    ast.Assign,
    ast.Call,
    ast.Compare,
    ast.If,
    ast.IfExp,
    ast.Match,
    ast.Return,
    ast.Subscript,
    ast.While,
    ast.keyword,
)


class Asks:
    """Read off a function's text, each answer once. Thread-safe: working one out twice gives the same."""

    def __init__(self, function: Function) -> None:
        self._function = function

    @cached_property
    def _telling(self) -> list[ast.AST]:
        """The nodes that any answer is read off; the body is gone through once for all of them."""
        return [node for node in self._function.nodes if isinstance(node, _TELLING)]

    @cached_property
    def answer(self) -> ast.expr | None:
        """What the function returns, if that is all that it does."""
        body = [
            node
            for node in self._function.body
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ]
        only = body[0] if len(body) == 1 and not self._function.is_async else None
        return only.value if isinstance(only, ast.Return) else None

    @cached_property
    def ends_without_a_value(self) -> bool:
        """Whether the body may end by itself, or by a bare `return`."""
        node = self._function.node
        if isinstance(node, ast.Lambda):
            return False
        return not isinstance(node.body[-1], (ast.Return, ast.Raise)) or any(
            isinstance(part, ast.Return) and part.value is None for part in self._telling
        )

    @cached_property
    def tested(self) -> frozenset[str]:
        """Names that an `if` asks about, itself or through a local name: what they are decides what runs."""
        found: set[str] = _names_in(self.answer) if self.answer is not None else set()
        assigned: list[ast.Assign] = []
        for node in self._telling:
            if isinstance(node, (ast.If, ast.IfExp, ast.While)):
                found |= _names_in(node.test)
            elif isinstance(node, ast.Assign):
                assigned.append(node)
        for statement in reversed(assigned):
            if any(isinstance(target, ast.Name) and target.id in found for target in statement.targets):
                found |= _names_in(statement.value)
        for node in self._telling:
            if isinstance(node, ast.Call):  # whoever is called may ask
                handed = (*node.args, *(keyword.value for keyword in node.keywords))
                found.update(argument.id for argument in handed if isinstance(argument, ast.Name))
        if self._function.name == "__init__":
            found.update(s.value.id for s in assigned if isinstance(s.value, ast.Name))  # methods may ask
        return frozenset(found)

    @cached_property
    def asked(self) -> frozenset[str]:
        """Attributes of which an `if` may ask: those in a test, or in what is assigned to a name that one tests."""
        found: set[str] = _attributes_in(self.answer) if self.answer is not None else set()
        for node in self._telling:
            if isinstance(node, (ast.If, ast.IfExp, ast.While)):
                found |= _attributes_in(node.test)
            elif isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id in self.tested for target in node.targets
            ):
                found |= _attributes_in(node.value)
        return frozenset(found)

    @cached_property
    def probed(self) -> bool:
        """Whether the body asks what attributes something has."""
        calls = (node for node in self._telling if isinstance(node, ast.Call))
        return any(
            isinstance(call.func, ast.Name) and call.func.id in ("hasattr", "getattr") for call in calls
        )

    @cached_property
    def called(self) -> frozenset[str]:
        """Names of the methods that the body calls."""
        calls = (node for node in self._telling if isinstance(node, ast.Call))
        return frozenset(call.func.attr for call in calls if isinstance(call.func, ast.Attribute))

    @cached_property
    def goes_on(self) -> Position | None:
        """Where the body first calls `super()`, if it does."""
        calls = (
            node for node in self._telling if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        )
        return min((position(call) for call in calls if call.func.id == "super"), default=None)  # type: ignore[attr-defined]

    @cached_property
    def selecting(self) -> frozenset[str]:
        """Parameters whose text may pick what runs: as an index, handed on to a call by a plain name, compared with
        another text, or as a part of a name that is asked for."""
        found: set[str] = set()
        for node in self._telling:
            if isinstance(node, ast.Compare):
                if isinstance(node.left, ast.Name) and _is_text(node.comparators[0]):
                    found.add(node.left.id)
            elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
                found.add(node.slice.id)
            elif isinstance(node, ast.Call) and _may_select(node.func):
                arguments = (*node.args, *(keyword.value for keyword in node.keywords))
                found.update(part.id for part in arguments if isinstance(part, ast.Name))
                if isinstance(node.func, ast.Name) and node.func.id == "getattr":
                    found.update(*(_names_in(part) for part in node.args[1:2]))
        for node in self._telling:  # and what a name is put together of that does
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.JoinedStr)
                and any(found & _names_in(target) for target in node.targets)
            ):
                found |= _names_in(node.value)
        return frozenset(found)

    @cached_property
    def annotations(self) -> dict[str, ast.expr]:
        """Annotations that name a class, by parameter."""
        args = self._function.node.args
        every = (*args.posonlyargs, *args.args, *args.kwonlyargs)
        return {
            a.arg: a.annotation for a in every if a.annotation is not None and _names_a_class(a.annotation)
        }

    @cached_property
    def sorted(self) -> frozenset[str]:
        """Names that the body sorts by their class, whatever their annotation says."""
        found: set[str] = set()
        for node in self._telling:
            if isinstance(node, ast.Match):
                found |= _names_in(node.subject)
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "isinstance"
            ):
                found.update(argument.id for argument in node.args[:1] if isinstance(argument, ast.Name))
        return frozenset(found)

    @cached_property
    def keeps_keywords(self) -> bool:
        """Whether the body does no more with its `**kwargs` than look something up and hand them on."""
        read = 0
        for node in self._telling:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("get", "pop")
            ):
                read += self._is_kwarg(node.func.value)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                read += self._is_kwarg(node.value)
            elif isinstance(node, ast.Compare):
                read += sum(map(self._is_kwarg, node.comparators))
            elif isinstance(node, ast.keyword) and node.arg is None:
                read += self._is_kwarg(node.value)
        return read == sum(map(self._is_kwarg, ast.walk(self._function.node)))

    @cached_property
    def popped(self) -> frozenset[str]:
        """Keywords that the body takes out of its `**kwargs`."""
        calls = (
            node
            for node in self._telling
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        )
        keys = (
            call.args[0]
            for call in calls
            if call.func.attr == "pop" and call.args and self._is_kwarg(call.func.value)  # type: ignore[attr-defined]
        )
        return frozenset(
            key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
        )

    def _is_kwarg(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self._function.kwarg


def _is_text(node: ast.expr) -> bool:
    """A text, or a list of nothing else."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return bool(node.elts) and all(map(_is_text, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _names_in(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _attributes_in(node: ast.expr) -> set[str]:
    return {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def _may_select(func: ast.expr) -> bool:
    if isinstance(func, ast.Name):
        return True
    picking = {"get", "setdefault", "pop", "import_module"}
    return isinstance(func, ast.Attribute) and (
        func.attr in picking or (isinstance(func.value, ast.Name) and func.value.id in ("self", "cls"))
    )


def _names_a_class(annotation: ast.expr) -> bool:
    """False for `Any`, `object` and callables: they leave open what comes."""
    words = {getattr(part, "attr", None) or getattr(part, "id", None) for part in ast.walk(annotation)}
    return not words & {"Any", "object", "Callable", "Awaitable", "Coroutine", "type", "Type"}
