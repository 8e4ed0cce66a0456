"""What answers rest on: every question that was asked of the project on the way to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class Dependencies:
    """What was asked of the project, as a bit mask, so that sets of questions are joined in one step."""

    def __init__(self, *, kept: bool) -> None:
        """Without `kept` nobody will ask: nothing is noted, and every mask is 0."""
        self.mask = 0
        self.questions: list[tuple[str, str]] = []
        self._bits: dict[tuple[str, str], int] = {}
        self.kept = kept
        self._known: dict[int, int] = {}

    def resume(self, questions: Iterable[tuple[str, str]]) -> None:
        """Give these questions the lowest bits, as an earlier run did; before anything is asked."""
        assert not self.questions, "bits are given in order, so nothing may be asked before"
        for question in questions:
            self._bits[question] = 1 << len(self.questions)
            self.questions.append(question)

    def taken(self) -> int:
        """The mask, as the one object that all who hold the same share: there are many times more holders."""
        return self._known.setdefault(self.mask, self.mask)

    def note(self, kind: str, key: str) -> None:
        self.mask |= self.bit(kind, key)

    def bit(self, kind: str, key: str) -> int:
        """The mask of one question."""
        if not self.kept:
            return 0
        bit = self._bits.get((kind, key))
        if bit is None:
            bit = self._bits[kind, key] = 1 << len(self.questions)
            self.questions.append((kind, key))
        return bit

    def unpack(self, mask: int) -> list[tuple[str, str]]:
        return [question for index, question in enumerate(self.questions) if mask >> index & 1]


class Answers(Generic[K, T]):
    """Answers that are worked out once, each with the mask of what it rests on, which joins the mask of whoever asks.
    Not thread-safe."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._known: dict[K, tuple[T, int]] = {}
        self._active: set[K] = set()

    def once(self, key: K, compute: Callable[[], T], meanwhile: T) -> T:
        """The answer; `meanwhile` to whoever asks while it is being worked out."""
        dependencies = self._dependencies
        known = self._known.get(key)
        if known is None:
            if key in self._active:
                return meanwhile
            self._active.add(key)
            outer, dependencies.mask = dependencies.mask, 0
            try:
                answer = compute()
            finally:
                self._active.discard(key)
            known = self._known[key] = (answer, dependencies.taken())
            dependencies.mask = outer
        dependencies.mask |= known[1]
        return known[0]
