"""Prove most files clean by their words alone, before anything is parsed.

A file can use a name of the catalogue only if its text holds the name's last word, or another name that some module of the
project gave it. So: search for the catalogue's words, parse what holds one, add the names that those modules hand on, and
search again until nothing new comes.
"""

from __future__ import annotations

from .facts.mentions import Mentions
from .facts.resolver import Resolver
from .facts.uses import handed_on


def suspects(r: Resolver, kinds: frozenset[str]) -> dict[str, Mentions]:
    """The files that may use a name of these kinds, in the project's order, each with the lines that matter in it."""
    project = r.project
    words = dict.fromkeys(sorted(r.catalogue.words(kinds)))
    queue = list(words)
    found: dict[str, Mentions] = {}
    for word in queue:
        for path in project.files_with(word):
            module = project.module(path)
            if module is None:
                continue
            mentions = found.get(path)
            if mentions is None:
                mentions = found[path] = Mentions(module)
            fresh = mentions.spread([word])
            for name in handed_on(r, module, fresh, kinds):
                if name not in words:
                    words[name] = None
                    queue.append(name)
    return {path: found[path] for path in project.files if path in found}
