"""What earlier runs found in each file, and the questions about the project that it rests on.

A verdict holds for as long as every question that was asked on the way to it has the same answer. So a
changed helper turns the
verdicts of files that were not touched, and nothing else is judged again. Questions are bits of a mask (see
`Dependencies`), so a verdict is checked in one step. The files themselves are trusted by what `stat` says,
as in `replay`;
else they are read and compared by content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from .cache import Store
from .facts.containers import putting
from .facts.index import Told
from .facts.modules import Module
from .facts.outline import Part, numbers
from .facts.project import Project, matches, traits, words_in
from .facts.relations import pointing
from .inspection import Unread
from .replay import is_settled
from .rule import Finding, Step
from .seal import digest
from .sieve import Tape
from .tree import Stamp

_PACK = "verdicts"
_TOLD: dict[str, Callable[[Module, str], list[str]]] = {"puts": putting, "fields": pointing}
"""Questions about one module that are answered in words: what its functions put into containers, which fields its
classes have."""

_PARTS = ("outline", "body", *_TOLD)
"""Questions about one module: of its text, too."""

_FAMILIES = 2
"""Two sieves have tapes: that of the catalogue's names, and that of transaction blocks."""


@dataclass
class Verdict:
    """What judging one file came to. `mask` is all that was asked; `words` are those that had reached the
    file."""

    findings: Sequence[Finding] = ()
    needy: bool = False
    unread: Unread | None = None
    calls: frozenset[Step] = frozenset()
    unresolved: frozenset[Step] = frozenset()
    words: str = ""
    mask: int = 0

    def dump(self) -> list[Any]:
        unread = asdict(self.unread) if self.unread else None
        steps = [[(s.path, s.line, s.text) for s in sorted(group)] for group in (self.calls, self.unresolved)]
        return [[asdict(f) for f in self.findings], self.needy, unread, *steps, self.words, f"{self.mask:x}"]

    @classmethod
    def load(cls, data: Sequence[Any], moved: Mapping[str, Mapping[int, int]]) -> Verdict:
        """What `dump` gave; `moved` says where lines stand by now, in files where that changed."""
        found, needy, unread, calls, unresolved, words, mask = data

        def step(path: str, line: int, text: str) -> Step:
            return Step(path, moved[path][line] if path in moved else line, text)

        def finding(chain: Sequence[Any], unsure: Sequence[Any], **rest: Any) -> Finding:
            return Finding(
                **rest, chain=tuple(step(**s) for s in chain), unsure=tuple(step(**s) for s in unsure)
            )

        findings = [finding(**each) for each in found]
        called, lost = (frozenset(step(*each) for each in group) for group in (calls, unresolved))
        unreadable = Unread(**unread) if unread else None
        return cls(findings, needy, unreadable, called, lost, words, int(mask, 16))


@dataclass
class _File:
    """What is kept of a file: the digest of its text, that of its `traits`, its dotted name, and its stamp
    if that is
    to be trusted."""

    digest: str
    traits: str
    name: str
    stamp: Sequence[int] | None


@dataclass
class _Saved:
    """What the last run left. `answers` go with `questions`: places in `files` for words and bases, none for
    what an index was asked, for `indices` has those."""

    files: dict[str, _File] = field(default_factory=dict)
    questions: list[tuple[str, str]] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    indices: dict[str, tuple[Told, int]] = field(default_factory=dict)
    tapes: list[dict[str, Tape]] = field(default_factory=list)
    verdicts: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def load(cls, data: object) -> _Saved:
        """Nothing where `data` is not what `dump` gives."""
        try:
            parts: Any = data
            files, questions, answers, indices, tapes, verdicts = parts
            played = [
                {
                    path: Tape([(tuple(w), tuple(n)) for w, n in steps], int(mask, 16))
                    for path, (steps, mask) in family.items()
                }
                for family in tapes
            ]
            named = {path: _File(*file) for path, file in files.items()}
            told = {kind: (told, int(mask, 16)) for kind, (told, mask) in indices.items()}
            return cls(named, [(kind, key) for kind, key in questions], answers, told, played, verdicts)
        except (TypeError, ValueError, AttributeError):
            return cls()

    def dump(self) -> list[Any]:
        tapes = [
            {path: (tape.steps, f"{tape.mask:x}") for path, tape in family.items()} for family in self.tapes
        ]
        files = {path: (f.digest, f.traits, f.name, f.stamp) for path, f in self.files.items()}
        indices = {kind: (told, f"{mask:x}") for kind, (told, mask) in self.indices.items()}
        return [files, self.questions, self.answers, indices, tapes, self.verdicts]


class Memory:
    """The verdicts of earlier runs over one project that still hold, and those of this run. Reads what
    changed."""

    def __init__(
        self, store: Store, project: Project, stamps: Mapping[str, Stamp | None], given: Iterable[str]
    ) -> None:
        """`given` are the files whose text does not come from the disk."""
        self._pack = store.pack(_PACK)
        self._project = project
        self._stamps = {path: stamp for path, stamp in stamps.items() if stamp and path not in set(given)}
        self._began = store.began
        self._saved = _Saved.load(self._pack.get(_PACK))
        self._fresh: dict[str, Verdict] = {}
        project.dependencies.resume(self._saved.questions)
        self._files = self._look()
        self._order = {path: number for number, path in enumerate(self._files)}
        self._answers: list[Any] = []
        self._moved: dict[str, dict[int, int]] = {}
        """In changed files, where each line of the parts that did not change stands now."""
        self._broken = self._compare()
        self._open = self._recall_indices()
        unsure = self._broken | self._open
        self.tapes = [
            {path: tape for path, tape in family.items() if path in self._files and not tape.mask & unsure}
            for family in self._saved.tapes or [{}] * _FAMILIES
        ]

    def _holds(self, path: str, mask: int) -> bool:
        if mask & self._open and not mask & self._broken:
            self._search_again()
        return path in self._files and not mask & self._broken

    def verdict(self, path: str, words: str) -> Verdict | None:
        """What is known of a file that these words reached; None if it must be judged."""
        data = self._saved.verdicts.get(path)
        if data is None or data[-2] != words or not self._holds(path, int(data[-1], 16)):
            return None
        return self._load(data)

    def _load(self, data: Sequence[Any]) -> Verdict | None:
        try:
            return Verdict.load(data, self._moved)
        except KeyError:  # it tells of a line that it does not rest on: judging again is always right
            return None

    def keep(self, path: str, verdict: Verdict) -> None:
        self._fresh[path] = verdict

    # -- what changed ------------------------------------------------------------------------------------------------

    def _look(self) -> dict[str, _File]:
        project, saved = self._project, self._saved.files
        moved = project.files.keys() != saved.keys()
        found: dict[str, _File] = {}
        for path in project.files:
            old, stamp = saved.get(path), self._stamps.get(path)
            name = project.dotted(path) if moved or old is None else old.name
            trusted = stamp if stamp is not None and is_settled(stamp, self._began) else None
            if old is not None and old.stamp is not None and stamp is not None and tuple(old.stamp) == stamp:
                found[path] = old if name == old.name else _File(old.digest, old.traits, name, old.stamp)
                continue
            text = project.text(path)
            content = digest(text)
            if old is not None and old.digest == content:
                found[path] = _File(content, old.traits, name, trusted)
            else:
                found[path] = _File(content, _digest_of(traits(text)), name, trusted)
        return found

    def _compare(self) -> int:
        """The mask of the questions that have other answers now; hands the project the answers that are
        known."""
        project, old, new = self._project, self._saved.files, self._files
        moved = old.keys() != new.keys()
        both = [(path, old[path], file) for path, file in new.items() if path in old]
        changed = {path for path, was, file in both if (was.digest, was.name) != (file.digest, file.name)}
        touched = {*changed, *(old.keys() ^ new.keys())}
        traits_hold = all(_traits(old.get(path)) == _traits(new.get(path)) for path in touched)
        words = {path: words_in(project.text(path)) for path in touched if path in new}
        paths, names = list(old), list(new)
        indices = {path: number for number, path in enumerate(old)}
        order = self._order

        def words_answer(asked: str, answer: Sequence[int]) -> tuple[bool, list[int]]:
            word, _, form = asked.partition("\n")
            had = {path for path in touched if indices.get(path) in answer}
            have = {path for path in words if word.encode() in words[path]}
            if form:
                have = {path for path in have if matches(project.text(path), form)}
            if had == have and not moved:
                return True, list(answer)
            kept = [paths[number] for number in answer if paths[number] not in had]
            return had == have, sorted(order[path] for path in (*kept, *have))

        broken = 0
        recalled: dict[tuple[str, str], Sequence[str]] = {}
        for number, (kind, key) in enumerate(self._saved.questions):
            answer = self._saved.answers[number]
            if kind == "module":
                same = key not in touched
            elif kind in _PARTS:
                path = key.partition("\n")[0]
                same = path not in touched
                if path in changed and old[path].name == new[path].name:
                    now = self._answer(kind, key)
                    same = answer == now if kind in _TOLD else self._agrees(path, answer, now)
                    answer = now
            elif kind == "word":
                same, answer = words_answer(key, answer) if touched else (True, answer)
                recalled[kind, key] = [names[place] for place in answer]
            elif kind == "base":
                same = traits_hold
                if same:
                    recalled[kind, key] = [paths[place] for place in answer]
                    answer = [order[path] for path in recalled[kind, key]]
            elif kind == "properties":
                same = traits_hold
                if same:
                    recalled[kind, key] = answer
            elif kind in ("name", "neighbour"):
                same = not moved or self._answer(kind, key) == answer
            else:
                same = kind in self._saved.indices
            self._answers.append(answer)
            if not same:
                broken |= 1 << number
        project.recalled = recalled
        return broken

    def _agrees(self, path: str, answer: Any, now: Any) -> bool:
        """Whether a part of a changed module is as it was; if so, its lines are known to have moved with it."""
        if answer is None or now is None:
            return answer is now
        was = Part(*answer)
        if was.digest != now[0]:
            return False
        self._moved.setdefault(path, {}).update(zip(numbers(was), numbers(Part(*now)), strict=True))
        return True

    def _recall_indices(self) -> int:
        """Hands the project the indices that still hold; gives the mask of the questions to those that may not."""
        asked = dict.fromkeys(self._saved.indices, 0)
        for number, (kind, _) in enumerate(self._saved.questions):
            if kind in asked:
                asked[kind] |= 1 << number
        held = {kind: index for kind, index in self._saved.indices.items() if not index[1] & self._broken}
        while True:  # one may rest on what another was asked
            unsure = reduce(or_, (mask for kind, mask in asked.items() if kind not in held), 0)
            lost = [kind for kind, index in held.items() if index[1] & unsure]
            if not lost:
                break
            held = {kind: index for kind, index in held.items() if kind not in lost}
        self._project.recalled_indices = held
        return unsure

    def _search_again(self) -> None:
        """Search for the indices anew, to see which of the questions to them have other answers now."""
        asked, self._open = self._open, 0
        told = {kind: index.told() for kind, index in self._project.indices.items()}
        for number, (kind, key) in enumerate(self._saved.questions):
            if asked >> number & 1:
                old, _ = self._saved.indices[kind]
                if _plain(old.get(key, ())) != _plain(told.get(kind, {}).get(key, ())):
                    self._broken |= 1 << number

    def _answer(self, kind: str, key: str) -> Any:
        project = self._project
        if kind == "name":
            return project.place(key)
        if kind == "neighbour":
            folder, _, name = key.partition(":")
            return project.neighbour(folder, name)
        if kind == "properties":
            return sorted(project.property_names)
        if kind in _PARTS:
            return self._said(kind, *key.split("\n"))
        if kind in ("word", "base"):
            found = project.files_with(*key.split("\n")) if kind == "word" else project.files_with_base(key)
            return [self._order[path] for path in found]
        return None  # a module's text is among the files, and what an index tells is kept as a whole

    def _said(self, kind: str, path: str, name: str = "") -> Any:
        """What a module's outline, or one of its functions' bodies, says; None where there is nothing of the kind."""
        if path not in self._project.files:
            return None
        if kind in _TOLD:
            module = self._project.module(path)
            return _TOLD[kind](module, name) if module is not None else None
        part = self._project.outline(path).get(name)
        return (part.digest, part.lines) if part is not None else None

    # -- what this run leaves --------------------------------------------------------------------------

    def save(self, tapes: Sequence[Mapping[str, Tape]]) -> None:
        """Leave this run's verdicts, and those of earlier ones that still hold, to the next."""
        saved = self._saved
        held = {path: v for path, v in saved.verdicts.items() if self._holds(path, int(v[-1], 16))}
        loaded = {path: self._load(v) for path, v in held.items()} if self._moved else {}
        verdicts = {path: v.dump() for path, v in loaded.items() if v is not None} if self._moved else held
        verdicts.update((path, verdict.dump()) for path, verdict in self._fresh.items())
        if not self._fresh and self._files == saved.files:
            return
        questions = self._project.dependencies.questions
        known = len(self._answers)
        answers = [
            self._answers[number]
            if number < known and not self._broken >> number & 1
            else self._answer(kind, key)
            for number, (kind, key) in enumerate(list(questions))
        ]
        indices = {
            kind: (index.told(), index.rests_on())
            for kind, index in self._project.indices.items()
            if index.is_known
        }
        kept = list(questions[: len(answers)])
        left = _Saved(self._files, kept, answers, indices, [dict(t) for t in tapes], verdicts)
        if len(answers) > 2 * max(_asked(left), 1000):
            left = _Saved()  # most questions are nobody's any more: the next run starts anew
        self._pack.put(_PACK, left.dump())


def _digest_of(found: Iterable[str]) -> str:
    return digest("\0".join(found).encode("utf-8", "surrogatepass"))


def _plain(finds: Iterable[Iterable[str]]) -> list[list[str]]:
    """As they come back from a cache."""
    return [list(find) for find in finds]


def _traits(file: _File | None) -> str:
    return file.traits if file is not None else _digest_of(())


def _asked(left: _Saved) -> int:
    """How many of the questions anything rests on."""
    mask = 0
    for verdict in left.verdicts.values():
        mask |= int(verdict[-1], 16)
    for family in left.tapes:
        for tape in family.values():
            mask |= tape.mask
    return mask.bit_count()
