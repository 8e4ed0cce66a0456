"""What `explain` prints: a rule in its own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent, wrap
from typing import Protocol

from concurrency_gate.rule import Example

_WIDTH = 92


class Explained(Protocol):
    """What a rule says of itself."""

    @property
    def code(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def instead(self) -> str: ...
    @property
    def red(self) -> Sequence[Example]: ...
    @property
    def green(self) -> Sequence[Example]: ...


def explanation(rule: Explained) -> str:
    """Its code and name, what it finds, why that matters, what to write instead, and an example of each."""
    sections = [f"{rule.code} {rule.name}", _paragraphs(rule.summary)]
    sections += ["Why", _paragraphs(rule.why), "Instead", _paragraphs(rule.instead)]
    for title, examples in (("Red", rule.red), ("Green", rule.green)):
        for example in examples[:1]:
            sections += [title, indent("\n".join(_code(example)), "    ")]
    return "\n\n".join(section for section in sections if section)


def _paragraphs(text: str) -> str:
    return "\n\n".join("\n".join(wrap(" ".join(part.split()), _WIDTH)) for part in text.split("\n\n"))


def _code(example: Example) -> Iterator[str]:
    if isinstance(example, Mapping):
        for path, text in example.items():
            yield f"# {path}"
            yield text.strip("\n")
    else:
        yield example.strip("\n")
