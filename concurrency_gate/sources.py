"""Which files a run looks at, what each of them is to the gate, and their text."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import tokenize
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from concurrency_gate import tree
from concurrency_gate.config import Config, shown
from concurrency_gate.globs import compile_globs

Role = Literal["application", "infra", "test", "excluded"]

_TEST = re.compile(r"(?:.*/)?(?:tests/.*|(?:tests|test_[^/]*|[^/]*_test|conftest)\.pyw?)", re.DOTALL)

MOST_BYTES = 64 * 1024 * 1024
"""A larger file is refused: no human wrote it, and its tree would take tens of gigabytes."""


class PathError(ValueError):
    """Paths that cannot be checked. The text is one line: what is wrong, and the mend."""


class Unreadable(Exception):  # noqa: N818 - says what the file is; it becomes a finding
    """A file whose text cannot be had. `reason` completes the sentence "the file ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Source(NamedTuple):
    """One Python file: its path relative to the project root, posix, and what it is to the gate."""

    path: str
    role: Role


@dataclass(frozen=True)
class Sources:
    """The project's Python files, sorted by path, and those that the given paths select.

    `stamps` holds what `stat` said of each before anything was read; None for one that cannot be followed.
    `listing` is the raw listing that all this came from, and `listed` are the paths in it, also those that
    are gone.
    Immutable, safe to share.
    """

    root: Path
    project: tuple[Source, ...]
    selected: tuple[Source, ...]
    stamps: Mapping[str, tree.Stamp | None] = field(repr=False)
    listing: bytes = field(repr=False)
    listed: tuple[str, ...] = field(repr=False)

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """The role of every file of the project, by its path."""
        return dict(self.project)


def discover(paths: Iterable[Path], config: Config) -> Sources:
    """The project's files, and those at or under `paths` (all of it where there are none).

    A file that is named itself is selected even if git ignores it, and whatever its suffix.
    Raises PathError for a path that does not exist or lies outside the project, and where no path holds a
    Python file. Blocks on the disk and on git.
    """
    wait = tree.start_listing(str(config.root))
    files, folders = _wanted(list(paths) or [config.root], config.root)
    listing = wait()
    listed = tree.files(str(config.root), listing)

    stamps = _stamps(config.root, listed, files)
    role = classifier(config)
    project = tuple([Source(path, role(path)) for path in stamps])
    if "" in folders:
        selected = project
    else:
        below = tuple(f"{folder}/" for folder in folders)
        selected = tuple(
            [source for source in project if source.path.startswith(below) or source.path in files]
        )
    if not selected:
        raise PathError(_nothing_in(config.root, sorted(folders)))
    return Sources(config.root, project, selected, stamps, listing, tuple(listed))


def classifier(config: Config) -> Callable[[str], Role]:
    """The one place that says what a file is to the gate: takes a path relative to the root, gives its role.

    `exclude` outweighs all; a test under an infra path is a test.
    """
    excluded = compile_globs(config.exclude).fullmatch
    infra = compile_globs(config.infra).fullmatch
    test = (compile_globs(()) if config.include_tests else _TEST).fullmatch

    def role(path: str) -> Role:
        if excluded(path):
            return "excluded"
        if test(path):
            return "test"
        return "infra" if infra(path) else "application"

    return role


def read(path: str | Path) -> bytes:
    """The content of a file. Raises Unreadable."""
    try:
        # Without O_NONBLOCK, opening a pipe that somebody named x.py would wait for a writer for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("is a folder" if stat.S_ISDIR(status.st_mode) else "is not a regular file")
            if status.st_size > MOST_BYTES:
                raise Unreadable(
                    f"is larger than {MOST_BYTES // 2**20} MiB; if it is no source code, exclude it"
                )
            return _contents(handle, status.st_size)
        finally:
            os.close(handle)
    except FileNotFoundError:
        broken = os.path.islink(path)
        raise Unreadable(
            "is a link to nothing" if broken else "vanished while the gate was running"
        ) from None
    except IsADirectoryError:
        raise Unreadable("is a folder") from None
    except (OSError, ValueError) as error:
        cause = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise Unreadable(f"cannot be read: {cause[:1].lower()}{cause[1:]}") from None


def _contents(handle: int, size: int) -> bytes:
    """All bytes from here on, in one call where the file is as large as was said: a file object takes longer."""
    data = os.read(handle, size + 1)
    if len(data) == size:
        return data
    parts = [data]
    while parts[-1]:
        parts.append(os.read(handle, 1 << 20))
    return b"".join(parts)


def decode(data: bytes) -> str:
    """The text of a Python file by PEP 263: byte order mark, coding line, else UTF-8. Line ends stay.

    Raises Unreadable.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except SyntaxError as error:
        raise Unreadable(_undecodable(data, str(error))) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"is not valid {error.encoding} at byte {error.start} (line {line})") from None
    except (LookupError, ValueError) as error:
        raise Unreadable(f"cannot be decoded: {error}") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise Unreadable(f"contains a NUL character (line {line}); no Python file does")
    return text


def lines(text: str) -> list[str]:
    """`text` in lines as Python counts them: a form feed or an exotic separator ends none."""
    return re.split(r"\r\n|\r|\n", text)


def _undecodable(data: bytes, cause: str) -> str:
    if cause.startswith("unknown encoding"):
        return f"names an encoding that Python does not know ({cause.partition(': ')[2]})"
    if data.startswith(codecs.BOM_UTF8):
        return "starts with the byte order mark of UTF-8, but its coding line names another encoding"
    return "is not valid utf-8 in its first two lines; if it is another encoding, add a coding line"


def _wanted(paths: Iterable[Path], root: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The files and the folders among `paths`, relative to the root, links in their folders resolved."""
    real_root = os.path.realpath(root)
    files: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        if not os.path.lexists(path):
            raise PathError(f"{shown(path)}: there is no such file or folder; {_close_to(path)}")
        is_folder = os.path.isdir(path)
        real = os.path.realpath(path) if is_folder else _resolve_folder(path)
        relative = os.path.relpath(real, real_root).replace(os.sep, "/")
        if relative == ".." or relative.startswith("../"):
            raise PathError(f"{shown(path)}: lies outside the project ({shown(root)}); check it on its own")
        (folders if is_folder else files).add("" if relative == "." else relative)
    return frozenset(files), frozenset(folders)


def _resolve_folder(path: Path) -> str:
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def _stamps(root: Path, listed: Iterable[str], files: frozenset[str]) -> dict[str, tree.Stamp | None]:
    """What `stat` says of each file, in order of path, but not of those that git lists and that are gone."""
    prefix = os.path.join(root, "")
    stamps = {path: tree.stamp(prefix + path) for path in listed}
    gone = [path for path, stamp in stamps.items() if stamp is None and not os.path.lexists(prefix + path)]
    for path in gone:
        del stamps[path]
    if not files.issubset(stamps):
        stamps.update({path: tree.stamp(prefix + path) for path in files.difference(stamps)})
        stamps = dict(sorted(stamps.items()))
    return stamps


def _nothing_in(root: Path, folders: Iterable[str]) -> str:
    names = ", ".join(shown(root / folder) for folder in folders)
    return f"{names}: no Python file there that git does not ignore; name another folder, or a file itself"


def _close_to(path: Path) -> str:
    parent = Path(os.path.abspath(path)).parent
    while not parent.is_dir():
        path, parent = parent, parent.parent
    try:
        close = get_close_matches(path.name, os.listdir(parent), n=1)
    except OSError:
        close = []
    return f"did you mean {shown(parent / close[0])}?" if close else "check the spelling"
