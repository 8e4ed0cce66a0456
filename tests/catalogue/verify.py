"""Resolves catalogue names against the packages that are installed here. Only the standard library is needed,
so that it runs both inside the tests and, as a script, in the virtual environment that holds the packages:
claims as JSON on stdin, faults as JSON on stdout."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import sys
import textwrap
import warnings
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

Claim = list[Any]
"""[check, name, target]: `exists` (target None), `same` (name is another spelling of target), `derives`
(name is a subclass of target)."""


@cache
def resolve(name: str) -> object:
    """The object behind a dotted name. Raises LookupError. A wildcard stands for its owner, `f()` for `f`; an
    attribute that only instances have is True."""
    parts = name.removesuffix(".*").replace("()", "").split(".")
    found: object = _module(parts[0])
    for index, part in enumerate(parts[1:], 2):
        try:
            found = _attribute(found, part)
        except LookupError:
            if not isinstance(found, ModuleType):
                raise
            found = _module(".".join(parts[:index]))
    return found


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:  # a package may fail in any way when it is imported
        raise LookupError(f"importing {name} fails: {error!r}") from None


def _attribute(owner: object, name: str) -> object:
    if isinstance(owner, type) and name.startswith("__") and not _declared(owner, name):
        raise LookupError(f"{owner.__name__!r} has no {name!r} of its own")  # getattr would find type's
    try:
        return getattr(owner, name)
    except Exception:  # descriptors raise what they like
        if isinstance(owner, type) and (_declared(owner, name) or name in _assigned(owner)):
            return True
    raise LookupError(f"{getattr(owner, '__name__', owner)!r} has no {name!r}")


def _declared(cls: type, name: str) -> bool:
    return any(name in vars(base) or name in vars(base).get("__annotations__", {}) for base in cls.__mro__)


@cache
def _assigned(cls: type) -> frozenset[str]:
    """The attributes that the methods of a class set on `self`."""
    found: set[str] = set()
    for method in (
        value for base in cls.__mro__ for value in vars(base).values() if inspect.isfunction(value)
    ):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
        except (OSError, SyntaxError):
            continue
        stores = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
        found.update(node.attr for node in stores if isinstance(node.ctx, ast.Store) and _is_self(node.value))
    return frozenset(found)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def fault(check: str, name: str, target: str | None) -> str | None:
    """What is wrong with one claim; None if it holds."""
    try:
        left = resolve(name)
        right = resolve(target) if target else None
    except LookupError as error:
        return str(error)
    if check == "derives" and not (
        isinstance(left, type) and isinstance(right, type) and issubclass(left, right)
    ):
        return f"{name} does not derive from {target}"
    if check == "same" and not isinstance(left, ModuleType) and left is not right and left != right:
        return f"{name} is not {target}"
    return None


def faults(claims: Iterable[Claim]) -> list[tuple[str, str]]:
    """(name, fault) for every claim that does not hold."""
    found = []
    for check, name, target in claims:
        problem = fault(check, name, target)
        if problem is not None:
            found.append((name, problem))
    return found


def _prepare() -> None:
    """Django and what builds on it read settings when they are imported."""
    django, conf = importlib.import_module("django"), importlib.import_module("django.conf")
    conf.settings.configure(
        SECRET_KEY="x",
        INSTALLED_APPS=[
            *(f"django.contrib.{app}" for app in ("contenttypes", "auth", "admin", "messages")),
            *(app for app in ("mailer",) if find_spec(app)),
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        RQ_QUEUES={"default": {"HOST": "localhost"}},
        HUEY={"name": "x", "immediate": True},
    )
    django.setup()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    wanted = json.load(sys.stdin)
    answer, sys.stdout = sys.stdout, sys.stderr
    _prepare()
    json.dump(faults(wanted), answer)
    answer.flush()
    os._exit(0)  # some of the packages leave threads behind
