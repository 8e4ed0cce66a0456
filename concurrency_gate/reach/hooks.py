"""What a library's methods call in turn on an object of a project's class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from concurrency_gate.facts.modules import Class, Function

if TYPE_CHECKING:
    from concurrency_gate.facts.resolver import Resolver


def run_by(r: Resolver, cls: Class, names: Iterable[str]) -> Iterator[Function]:
    """The project's methods that run when these are called on an instance of this very class: the methods themselves,
    or those that a library's call in turn. What the project's call is for whoever reads them."""
    pending = [(name, "") for name in dict.fromkeys(names)]
    seen = {name for name, _ in pending}
    for name, caller in pending:
        passed = False
        for base in r.classes.order(cls):
            if isinstance(base, Class):
                if name in base.member_names:
                    yield from base.methods.get(name, ()) if not passed else ()
                    break
                continue
            passed |= base == caller  # which comes before its own method's namesakes further on
            called = [
                link.method for link in r.catalogue.calls(f"{base}.{name}") if link.receiver.name == "self"
            ]
            pending += [(method, base) for method in called if method not in seen]
            seen.update(called)
            if called:
                break


def words(r: Resolver, names: Iterable[str]) -> frozenset[str]:
    """The names of methods, and of those that a library's methods of such a name call on their own object."""
    called: dict[str, list[str]] = {}
    for name in r.catalogue.data["calls"]:
        own = [link.method for link in r.catalogue.calls(name) if link.receiver.name == "self"]
        called.setdefault(name.rpartition(".")[2], []).extend(own)
    pending = list(dict.fromkeys(names))
    for name in pending:
        pending += [method for method in dict.fromkeys(called.get(name, ())) if method not in pending]
    return frozenset(pending)


__all__ = ["run_by", "words"]
