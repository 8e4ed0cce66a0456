"""Which libraries of the catalogue a project can use at all: the words of all others lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .dependencies import Answers
from .project import Project, matches

if TYPE_CHECKING:
    from concurrency_gate.catalogue import Catalogue

_LEADS = (
    "returns",
    "attributes",
    "enters",
    "iterates",
    "descriptors",
    "bases",
    "alias",
    "decorates",
    "calls",
    "fires",
)
"""The parts of the catalogue by which one library's name leads to another's."""

_IMPORTED = (
    r"(?m)(?:^|[;:])[^\S\n]*(?:from\s+{0}\b|import\s[^\n]*\b{0}\b)"
    r"|[\"']{0}\.\w|(?:import_module|__import__)\(\s*[\"']{0}\b"
)
"""How a module is imported, also by its name as a text."""

_TOP = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\.\w")


class Libraries:
    """The top-level modules that a project imports, and those that they lead to: whoever has a session of
    Flask-SQLAlchemy has one of SQLAlchemy. The first question reads the project."""

    def __init__(self, project: Project, catalogue: Catalogue) -> None:
        self._project = project
        self._catalogue = catalogue
        self._answers: Answers[str, frozenset[str]] = Answers(project.dependencies)
        self._words: Answers[frozenset[str], frozenset[str]] = Answers(project.dependencies)

    def words(self, kinds: Iterable[str]) -> frozenset[str]:
        """Those of the catalogue's words of these kinds that this project can mean."""
        wanted = frozenset(kinds)
        return self._words.once(wanted, lambda: self._catalogue.words(wanted, self._used), frozenset())

    def mentions(self, kinds: Iterable[str]) -> frozenset[str]:
        """The same, with a dot before a word that names nothing but methods."""
        return self._catalogue.mentions(kinds, self._used)

    def sources_of(self, kind: str) -> list[tuple[str, str]]:
        """Where an instance of a marked class comes from without its class being named, as the catalogue has it."""
        return [source for source in self._catalogue.sources_of(kind) if source[0] in self._used]

    @property
    def _used(self) -> frozenset[str]:
        """Whoever asks rests on it: what an index has found by these words, for one."""
        return self._answers.once("used", self._search, frozenset())

    def _search(self) -> frozenset[str]:
        leads = _leads(self._catalogue)
        queue = ["builtins", *filter(self._is_imported, sorted(leads))]
        found = dict.fromkeys(queue)
        for top in queue:
            fresh = [other for other in leads.get(top, ()) if other not in found]
            found.update(dict.fromkeys(fresh))
            queue += fresh
        return frozenset(found)

    def _is_imported(self, top: str) -> bool:
        project = self._project
        if project.place(top) is not None:
            return True
        form = _IMPORTED.format(re.escape(top))
        for path in project.files_with(top):  # most often it is one of the first
            if matches(project.text(path), form):
                project.dependencies.note("module", path)
                return True
        return bool(project.files_with(top, form))


def _leads(catalogue: Catalogue) -> dict[str, list[str]]:
    """The top-level modules of the catalogue's names, each with those that its entries lead to."""
    kept: dict[str, list[str]] | None = catalogue.__dict__.get("leads")
    if kept is None:
        found: dict[str, dict[str, None]] = {top: {} for top in catalogue.roots}
        for key in _LEADS:
            for name, told in catalogue.data[key].items():
                found[name.partition(".")[0].removesuffix("()")].update(dict.fromkeys(_tops(told)))
        kept = catalogue.__dict__["leads"] = {top: sorted(others) for top, others in found.items()}
    return kept


def _tops(told: str | list[str]) -> Iterator[str]:
    for text in [told] if isinstance(told, str) else told:
        yield from (match[1] for match in _TOP.finditer(text))
        yield text.partition(".")[0]
