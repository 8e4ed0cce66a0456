"""Prove most files clean by their words alone, before anything is parsed.

A file can use a name of the catalogue only if its text holds the name's last word, or another name that some module of the
project gave it. So: search for the catalogue's words, parse what holds one, add the names that those modules hand on, and
search again until nothing new comes.
"""

from __future__ import annotations

from .facts.resolver import Resolver
from .facts.uses import renamed


def suspects(r: Resolver, kinds: frozenset[str]) -> list[str]:
    """The files that may use a name of these kinds, in the project's order."""
    project = r.project
    words = dict.fromkeys(sorted(r.catalogue.words(kinds)))
    queue = list(words)
    found: set[str] = set()
    for word in queue:
        fresh = [path for path in project.files_with(word) if path not in found]
        found.update(fresh)
        for module in project.modules(fresh):
            for name in renamed(r, module, kinds):
                if name not in words:
                    words[name] = None
                    queue.append(name)
    return [path for path in project.files if path in found]
