"""What is worked out of the whole project and asked for by key: who listens to a signal, which views run in a
transaction.

A search reads many files, and few of its finds matter to one verdict. So a verdict rests on the answers that it was
given, and not on all that was read for them: `Memory` compares the answers, and searches again only if something
changed that the search had read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from .project import Project

T = TypeVar("T")

Told = Mapping[str, Sequence[Sequence[str]]]
"""An index in words: what was found under each key, each find as `tell` puts it."""


class Index(Generic[T]):
    """`search` gives key, find and the mask of what that find rests on; `tell` says all of a find that its mask does
    not vouch for. Not thread-safe."""

    def __init__(
        self,
        project: Project,
        kind: str,
        search: Callable[[], Iterable[tuple[str, T, int]]],
        tell: Callable[[T], Sequence[str]],
    ) -> None:
        self._project = project
        self._kind = kind
        self._search = search
        self._tell = tell
        self._found: dict[str, list[tuple[T, int]]] | None = None
        self.mask = 0
        """What the search has read."""
        project.indices[kind] = self

    def get(self, key: str) -> list[T]:
        """What stands under a key. The question goes into the mask of whoever asks."""
        dependencies = self._project.dependencies
        dependencies.note(self._kind, key)
        found = self._entries().get(key, ())
        for _, mask in found:
            dependencies.mask |= mask
        return [find for find, _ in found]

    def told(self) -> Told:
        """All that was found, from an earlier run where that still holds."""
        recalled = self._project.recalled_indices.get(self._kind)
        if recalled is not None:
            return recalled[0]
        return {key: [self._tell(find) for find, _ in finds] for key, finds in self._entries().items()}

    @property
    def is_known(self) -> bool:
        """Whether `told` can be answered without a search."""
        return self._found is not None or self._kind in self._project.recalled_indices

    def rests_on(self) -> int:
        """The mask of what `told` rests on."""
        recalled = self._project.recalled_indices.get(self._kind)
        return recalled[1] if recalled is not None else self.mask

    def _entries(self) -> dict[str, list[tuple[T, int]]]:
        if self._found is None:
            dependencies = self._project.dependencies
            outer, dependencies.mask = dependencies.mask, 0
            self._found = {}
            for key, find, mask in self._search():
                self._found.setdefault(key, []).append((find, mask))
            self.mask, dependencies.mask = dependencies.mask, outer
        return self._found
