"""Prove most files clean by their words alone, before anything is parsed.

A file can use a name only if its text holds the name's last word, or another name that some module of the
project gave it. So:
search for the catalogue's words, parse what holds one, add the names that those modules hand on, and search
again until
nothing new comes.

What a file made of the words that reached it is a tape, which a later run plays again as long as the same
words come in the
same order and what the file asked of the project has the same answers; from the first word that differs, the
file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .facts.mentions import ATTRIBUTE, Mentions
from .facts.modules import Module
from .facts.project import Project
from .facts.resolver import Resolver
from .facts.uses import handed_on

Offers = Callable[[Module, Mentions, set[str]], Iterator[str]]
"""The names that a module hands on, by its mentions and by those of its names that a word has just made
matter."""


@dataclass(slots=True)
class Tape:
    """The words that reached a file, those that came together with the names that they made the file hand on, and all
    that this rests on."""

    steps: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    mask: int = 0

    @property
    def words(self) -> list[str]:
        return [word for words, _ in self.steps for word in words]


class Sieve:
    """The files that words reach. `known` are the tapes of an earlier run that may be played again."""

    def __init__(self, project: Project, offers: Offers, known: Mapping[str, Tape]) -> None:
        self.tapes: dict[str, Tape] = {}
        self._project = project
        self._offers = offers
        self._known = known
        self._mentions: dict[str, Mentions] = {}

    def spread(self, words: Iterable[str], narrower: Iterable[tuple[str, Sequence[str]]] = ()) -> None:
        """Follow words until nothing new comes, once; with a dot before it a word stands for an attribute. `narrower`
        are words that matter in some files only."""
        known = dict.fromkeys(words)
        fresh = [(word, self._holding(word)) for word in known]
        fresh += narrower
        while fresh:
            reached: dict[str, dict[str, None]] = {}
            for word, paths in fresh:
                for path in paths:
                    reached.setdefault(path, {})[word] = None
            fresh = []
            for path in sorted(reached):
                for name in self._meet(path, tuple(reached[path])):
                    if name not in known:
                        known[name] = None
                        fresh.append((name, self._project.files_with(name)))
        for mentions in self._mentions.values():
            mentions.settle()

    def _holding(self, word: str) -> Sequence[str]:
        attribute = word.removeprefix(".")
        return self._project.files_with(attribute, "" if attribute == word else ATTRIBUTE % attribute)

    def mentions(self, path: str) -> Mentions | None:
        """The lines that matter in a file; None for one that no word reached. Parses the file."""
        if path not in self.tapes:
            return None
        if path not in self._mentions:
            module = self._project.module(path)
            if module is None:
                return None
            self._remember(module).settle()
        return self._mentions[path]

    def _remember(self, module: Module) -> Mentions:
        """The mentions of a file by all words that have reached it."""
        mentions = self._mentions[module.path] = Mentions(module)
        mentions.spread(self.tapes[module.path].words)
        return mentions

    def words(self, path: str) -> frozenset[str]:
        """The words that reached a file: all that its mentions rest on besides its text."""
        tape = self.tapes.get(path)
        return frozenset(tape.words) if tape is not None else frozenset()

    def _meet(self, path: str, words: tuple[str, ...]) -> Sequence[str]:
        tape = self.tapes.setdefault(path, Tape())
        known = self._known.get(path)
        position = len(tape.steps)
        playing = known is not None and path not in self._mentions and position < len(known.steps)
        if known is not None and playing and known.steps[position][0] == words:
            tape.mask = known.mask
            tape.steps.append(known.steps[position])
            return known.steps[position][1]
        names = self._read(path, words, tape)
        tape.steps.append((words, names))
        return names

    def _read(self, path: str, words: tuple[str, ...], tape: Tape) -> tuple[str, ...]:
        dependencies = self._project.dependencies
        outer, dependencies.mask = dependencies.mask, 0
        dependencies.note("module", path)
        module = self._project.module(path)
        names: tuple[str, ...] = ()
        if module is not None:
            mentions = self._mentions.get(path) or self._remember(module)
            names = tuple(self._offers(module, mentions, mentions.spread(words)))
        tape.mask |= dependencies.mask
        dependencies.mask = outer
        return names


def of_kinds(r: Resolver, kinds: frozenset[str], known: Mapping[str, Tape]) -> Sieve:
    """The files that may use a name of these kinds."""
    found = Sieve(r.project, lambda module, _, fresh: handed_on(r, module, fresh, kinds), known)
    found.spread(sorted(r.catalogue.words(kinds)))
    return found
