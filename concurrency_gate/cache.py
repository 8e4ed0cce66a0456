"""What earlier runs worked out, by content: text that is only ever data, each piece with its checksum.

A cache may be damaged, truncated, written by another version, or made up by somebody who wants a green gate.
Whatever does not carry the right checksum under the right fingerprint is as good as absent: the caller
works it out anew. Nothing here raises because of what a cache holds, or because none can be written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from concurrency_gate import __version__
from concurrency_gate.config import Config
from concurrency_gate.replay import file_system_time
from concurrency_gate.seal import FOLDER, digest, read, seal, unseal, witness, write

_GENERATIONS = 4
_MOST_BYTES = 64 * 1024 * 1024


def make_folder(folder: str) -> bool:
    """Make a cache's folder, with the .gitignore that keeps it out of commits. False where it cannot be."""
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, ".gitignore"), "x", encoding="ascii") as file:
            file.write("*\n")
    except FileExistsError:
        return os.path.isdir(folder)
    except OSError:
        return False
    return True


class Store:
    """The cache of one configuration. Get one from `open_store`; not for several threads at once.

    Several processes may use the same folder: the last one to save a pack wins, and the others lose no more
    than the time to work things out again.
    """

    def __init__(self, folder: str, fingerprint: str) -> None:
        self.folder = folder
        self.began = file_system_time(folder)
        """When the store was opened, by the clock that stamps the files: what changed later is not believed.
        Nanoseconds."""
        self._generation = os.path.join(folder, fingerprint)
        self._packs: dict[str, Pack] = {}

    def pack(self, name: str) -> Pack:
        """The pack of that name (a word, such as "facts"), empty at first."""
        if name not in self._packs:
            self._packs[name] = Pack(os.path.join(self._generation, f"{name}.pack"))
        return self._packs[name]

    def save(self) -> None:
        """Write the packs that were added to, and drop what configurations of long ago left behind."""
        changed = [pack for pack in self._packs.values() if pack.changed]
        if changed:
            try:
                os.makedirs(self._generation, exist_ok=True)
                os.utime(self._generation)
            except OSError:
                return
            for pack in changed:
                pack.save()
            self._forget()

    def _forget(self) -> None:
        import shutil

        with os.scandir(self.folder) as entries:
            generations = [
                e for e in entries if len(e.name) == len(digest(b"")) and e.is_dir(follow_symlinks=False)
            ]
        generations.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns, reverse=True)
        for entry in generations[_GENERATIONS:]:
            shutil.rmtree(entry.path, ignore_errors=True)


class Pack:
    """Values by key in one file, which is read at once; each value is parsed when it is asked for.

    What was used least recently goes first when the file would grow beyond 64 MiB.
    """

    def __init__(self, path: str) -> None:
        self.changed = False
        self._path = path
        self._fresh: dict[str, bytes] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._used: dict[str, None] = {}
        self._content = read(path)
        header, newline, _ = self._content.partition(b"\n")
        self._start = len(header) + 1
        index = _loads(header + newline)
        if isinstance(index, dict):
            self._places = {key: (place[0], place[1]) for key, place in index.items() if _is_place(place)}

    def get(self, key: str) -> object | None:
        """The value; None if there is none, or none that is intact."""
        sealed = self._sealed(key)
        if sealed is None:
            return None
        self._used.pop(key, None)
        self._used[key] = None
        return _loads(sealed)

    def put(self, key: str, value: object) -> None:
        """Keep `value`, which JSON can hold (tuples come back as lists), until `Store.save` writes it."""
        self._fresh[key] = _dumps(value)
        self._used.pop(key, None)
        self._used[key] = None
        self.changed = True

    def _sealed(self, key: str) -> bytes | None:
        if key in self._fresh:
            return self._fresh[key]
        place = self._places.get(key)
        if place is None:
            return None
        begin = self._start + place[0]
        return self._content[begin : begin + place[1]]

    def save(self) -> None:
        """Write the file anew; called by `Store.save`."""
        index: dict[str, tuple[int, int]] = {}
        chunks: list[bytes] = []
        size = 0
        for key in self._by_last_use():
            sealed = self._sealed(key)
            if sealed is None or size + len(sealed) > _MOST_BYTES:
                continue
            index[key] = (size, len(sealed))
            chunks.append(sealed)
            size += len(sealed)
        if write(self._path, _dumps(index), *chunks):
            self.changed = False

    def _by_last_use(self) -> Iterator[str]:
        yield from reversed(self._used)
        yield from (key for key in self._places if key not in self._used)


def _dumps(value: object) -> bytes:
    return seal(json.dumps(value, separators=(",", ":")).encode("ascii"))


def _loads(sealed: bytes) -> object | None:
    body = unseal(sealed)
    try:
        value: object = json.loads(body) if body is not None else None
    except (ValueError, RecursionError):
        return None
    return value


def _is_place(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(number, int) and number >= 0 for number in value)
    )


def open_store(config: Config, folder: str | None = None) -> Store | None:
    """The cache for a configuration, made if need be: in the project's root, or in `folder`.

    A cache in the project is trusted only by the machine that wrote it (see `witness`). A `folder` that the
    user names is trusted as it is, so that CI can carry it from one machine to the next. None where there
    can be none.
    """
    own = os.path.join(config.root, FOLDER)
    if folder:
        return Store(folder, fingerprint(config)) if make_folder(folder) else None
    # A link could come with a commit, and lead anywhere.
    if os.path.islink(own) or not make_folder(own):
        return None
    mark = witness(own)
    return Store(own, fingerprint(config, mark)) if mark else None


def fingerprint(config: Config, mark: str = "") -> str:
    """What every cached verdict depends on besides the checked files: the gate and its version, the rules and
    catalogues, the parser, Python's version, and the configuration; not where the project lies."""
    import sys
    from dataclasses import fields

    own = {"root", "file", "from_options"}
    settings = {f.name: getattr(config, f.name) for f in fields(config) if f.name not in own}
    # The catalogue is a read-only view, which JSON takes for a stranger.
    parts = [mark, __version__, sys.version, json.dumps(settings, sort_keys=True, default=dict)]
    contents = [os.path.basename(path) + digest(read(path)) for path in gate_files(config)]
    return digest("\0".join([*parts, *contents]).encode("utf-8", "surrogatepass"))


def gate_files(config: Config) -> list[str]:
    """The files that make the gate what it is: its own, the rule packs', and the parser's version."""
    from importlib.util import find_spec

    found = set(_below(os.path.dirname(__file__)))
    for name in config.rule_packs:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is not None and spec.submodule_search_locations:
            found.update(path for folder in spec.submodule_search_locations for path in _below(folder))
        elif spec is not None and spec.origin:
            found.add(spec.origin)
    parser = find_spec("libcst")
    if parser is not None and parser.origin:
        found.add(os.path.join(os.path.dirname(parser.origin), "_version.py"))
    return sorted(found)


def _below(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        yield from (os.path.join(parent, name) for name in names if name.endswith((".py", ".toml")))
