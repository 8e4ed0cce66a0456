"""How names are spelled: aliases, typed attributes, and classes that a code generator writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from concurrency_gate import catalogue_format as form

ALIASES = 8
"""An alias of an attribute of an alias; a circle ends here."""


class Spellings:
    """Asked for each name; remembers its answers."""

    def __init__(self, data: form.Data) -> None:
        self._data = data
        self._known: dict[str, str] = {}

    def canonical(self, name: str) -> str:
        """The public spelling: aliases and typed attributes are followed, also when they are only the first
        part (`asyncio.tasks.create_task`, `django.core.cache.cache.get`). An unknown name stays."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._spell(self._generated(name))
        return known

    def _generated(self, name: str) -> str:
        """With a class of a generated module, known by the form of its name, replaced by what it is."""
        for pattern, target in self._patterns:
            match = pattern.match(name)
            if match is not None:
                return f"{target}{name[match.end() :]}"
        return name

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        found = []
        for text, target in self._data["generated"].items():
            form_of = re.escape(text).replace(r"\*", r"\w*")
            found.append((re.compile(rf"(?:\w+\.)*{form_of}(?=\.|$)"), target))
        return found

    def _spell(self, name: str) -> str:
        if name.partition(".")[0] not in self.roots:
            return name
        for _ in range(ALIASES):
            rewritten = self._rewrite(name)
            if rewritten == name:
                break
            name = rewritten
        return name

    def _rewrite(self, name: str) -> str:
        """The name with its longest part that has another spelling replaced."""
        alias, attributes = self._data["alias"], self._data["attributes"]
        head, tail = name, ""
        while head:
            if head in alias:
                return f"{alias[head]}{tail}"
            owner, _, last = head.rpartition(".")
            if tail:
                made = last.endswith("()")  # what a call of it gives is not what reading it does
                shape = attributes.get(head) or (None if made else attributes.get(f"{owner}.*"))
                if shape is not None:
                    given = form.shape(shape).name
                    return f"{owner if given == 'self' else given}{tail}"
            head, tail = owner, f".{last}{tail}"
        return name

    @cached_property
    def roots(self) -> frozenset[str]:
        """The top-level modules of which something is known."""
        return frozenset(name.partition(".")[0].removesuffix("()") for name in self.known())

    def known(self) -> Iterator[str]:
        """Every name of which something is said."""
        yield from self._data["effects"]
        for table in self._data["marks"].values():
            yield from table
        for key in (*form.TYPES, *form.LINKS, "alias", "decorates", "chooses", "implicit", "reverses"):
            yield from self._data[key]
