"""The project as a whole: which module has which name, which file holds which word; parsed on demand, once.

Everything that a verdict about one file learns from another goes through the methods here, and each notes
what was
asked in `Dependencies`. A cached verdict holds for as long as all those questions have the same answers.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from .dependencies import Dependencies
from .mentions import WORDS
from .modules import Module
from .outline import Part, outline
from .syntax import Unparsable, parse

if TYPE_CHECKING:
    from .index import Index, Told

_CODING = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*coding[:=]")
# These begin with a word, which is searched for ten times as fast as what may begin anywhere.
_HEADER = re.compile(rb"class[ \t]+(\w+)[^\n(]*\(([^)]*)\)")
_AS = re.compile(rb"as[ \t]+(\w+)")
_NAMED = re.compile(rb"\w+[ \t]+\Z")
_PROPERTY = re.compile(rb"@[\w.]*property[^\n]*\n(?:[ \t]*@[^\n]*\n)*[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)")


_LONGEST = 200
"""No name is longer."""

_PROGRAM = "manage.py"
"""A script by which a whole project is run: Python looks for modules in its folder first, be that a package or not."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the project that may be read for resolution: all but tests."""

    path: str
    infra: bool = False


def searchable(text: bytes) -> bytes:
    """The text in UTF-8 with its identifiers as Python reads them: in normal form (PEP 3131)."""
    if text.isascii() and not _CODING.match(text):
        return text
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(text).readline)
        return unicodedata.normalize("NFKC", text.decode(encoding)).encode("utf-8", "replace")
    except (SyntaxError, ValueError, LookupError):
        return text


def words_in(text: bytes) -> set[bytes]:
    """Every identifier that a file's text holds."""
    return set(searchable(text).translate(WORDS).split())


def matches(text: bytes, form: str) -> bool:
    """Whether a file's text holds something of that form."""
    return re.search(form.encode(), searchable(text)) is not None


def _renamed(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(name, other name) for all that is imported, or bound, under another name."""
    for match in _AS.finditer(text):
        named = _NAMED.search(text, max(0, match.start() - _LONGEST), match.start())
        if named is not None:
            yield named[0].rstrip(), match[1]


def traits(text: bytes) -> list[str]:
    """All that a text tells about classes' bases, names given anew, and properties."""
    found = {b"\0".join(found) for found in (*_HEADER.findall(text), *_renamed(text))}
    found.update(_PROPERTY.findall(text))
    return sorted(trait.decode("utf-8", "replace") for trait in found)


class Project:
    """Not thread-safe. `read` gives a file's bytes and may raise OSError; such a file resolves to nothing."""

    def __init__(
        self,
        files: Sequence[File],
        read: Callable[[str], bytes],
        roots: Sequence[str] = (),
        *,
        kept: bool = False,
    ) -> None:
        """`kept`: what rests on what is noted, for a later run."""
        self.files = {file.path: file for file in files}
        self.dependencies = Dependencies(kept=kept)
        self.unparsable: dict[str, Unparsable] = {}
        self._read = read
        self._roots = roots
        self._text: dict[str, bytes] = {}
        self._modules: dict[str, Module | None] = {}
        self._outlines: dict[str, Mapping[str, Part]] = {}
        self._namespaces: dict[str, Module] = {}
        self._files_by_form: dict[str, list[str]] = {}
        self.recalled: Mapping[tuple[str, str], Sequence[str]] = {}
        """Answers that are known from an earlier run and that still hold; they spare reading the whole
        project."""
        self.indices: dict[str, Index[Any]] = {}
        self.recalled_indices: Mapping[str, tuple[Told, int]] = {}
        """What an earlier run's indices told, each with the mask of what it rests on, where it still holds."""

    # -- text ---------------------------------------------------------------------------------------------------

    def text(self, path: str) -> bytes:
        if path not in self._text:
            try:
                self._text[path] = self._read(path)
            except OSError:
                self._text[path] = b""
        return self._text[path]

    @cached_property
    def _files_by_word(self) -> dict[bytes, list[str]]:
        index: dict[bytes, list[str]] = {}
        for path in self.files:
            for word in words_in(self.text(path)):
                index.setdefault(word, []).append(path)
        return index

    def files_with(self, word: str, form: str = "") -> Sequence[str]:
        """The files whose text holds the identifier, in the project's order; `form` is a regular expression with
        the word in it that the text must match, too."""
        asked = f"{word}\n{form}" if form else word
        self.dependencies.note("word", asked)
        recalled = self.recalled.get(("word", asked))
        if recalled is not None:
            return recalled
        paths = self._files_by_word.get(word.encode(), ())
        if not form:
            return paths
        if asked not in self._files_by_form:
            self._files_by_form[asked] = [path for path in paths if matches(self.text(path), form)]
        return self._files_by_form[asked]

    @cached_property
    def _headers(self) -> dict[str, dict[str, None]]:
        """For each last word of a base class: the files with a class so derived."""
        index: dict[str, dict[str, None]] = {}
        for path in self.files:
            text = self.text(path)
            for _, bases in _HEADER.findall(text):
                for base in bases.decode("utf-8", "replace").split(","):
                    word = re.split(r"[\[\s(=]", base.strip().rpartition(".")[2], maxsplit=1)[0]
                    if word:
                        index.setdefault(word, {})[path] = None
        return index

    def files_with_base(self, word: str) -> Sequence[str]:
        """The files in which a class is derived from something of that name, or from another name it was
        given."""
        self.dependencies.note("base", word)
        recalled = self.recalled.get(("base", word))
        if recalled is not None:
            return recalled
        found = dict(self._headers.get(word, {}))
        for alias in self._aliases.get(word, ()):
            found.update(self._headers.get(alias, {}))
        return list(found)

    @cached_property
    def _aliases(self) -> dict[str, set[str]]:
        index: dict[str, set[str]] = {}
        for path in self.files:
            for name, alias in _renamed(self.text(path)):
                index.setdefault(name.decode("utf-8", "replace"), set()).add(alias.decode("utf-8", "replace"))
        return index

    @property
    def property_names(self) -> frozenset[str]:
        """Names of all properties: only reads of these can run code of the project."""
        self.dependencies.note("properties", "")
        return self._property_names

    @cached_property
    def _property_names(self) -> frozenset[str]:
        recalled = self.recalled.get(("properties", ""))
        if recalled is not None:
            return frozenset(recalled)
        found: set[str] = set()
        for path in self.files:
            text = self.text(path)
            if b"property" in text:
                found.update(name.decode("utf-8", "replace") for name in _PROPERTY.findall(text))
        return frozenset(found)

    # -- modules ------------------------------------------------------------------------------------------------

    @cached_property
    def _names(self) -> tuple[dict[str, str], dict[str, str]]:
        """(path of each dotted name, dotted name of each path)."""
        packages = {str(PurePosixPath(path).parent) for path in self.files if path.endswith("/__init__.py")}
        tops = set()
        for package in packages:
            parent = str(PurePosixPath(package).parent)
            if parent not in packages:
                tops.add("" if parent == "." else parent)
        tops |= {path.rpartition("/")[0] for path in self.files if path.rpartition("/")[2] == _PROGRAM}
        roots = [root.strip("/").removeprefix("./") for root in self._roots]
        roots = ["" if root == "." else root for root in roots]
        known = sorted({*roots, *tops, "src", ""}, key=lambda root: (root not in roots, -len(root)))
        by_name: dict[str, str] = {}
        by_path: dict[str, str] = {}
        for root in known:
            prefix = f"{root}/" if root else ""
            for path in self.files:
                if not path.startswith(prefix):
                    continue
                parts = path[len(prefix) :].removesuffix(".py").removesuffix(".pyi").split("/")
                if parts[-1] == "__init__":
                    parts.pop()
                name = ".".join(parts)
                if name:
                    by_name.setdefault(name, path)
                by_path.setdefault(path, name)
        return by_name, by_path

    @cached_property
    def _packages(self) -> frozenset[str]:
        """Dotted names of all folders on the way to a module."""
        found = set()
        for name in self._names[0]:
            while "." in name:
                name = name.rpartition(".")[0]
                if name in found:
                    break
                found.add(name)
        return frozenset(found)

    def module(self, path: str) -> Module | None:
        """The parsed module of a file; None where it cannot be parsed (`unparsable` then says why). Whoever asks
        rests on the outline."""
        self.dependencies.note("outline", path)
        if path not in self._modules:
            self._modules[path] = self._parse(path)
        return self._modules[path]

    def outline(self, path: str) -> Mapping[str, Part]:
        """The parts of a file, as `outline` has them; none where it cannot be parsed."""
        if path not in self._outlines:
            if path not in self._modules:
                self._modules[path] = self._parse(path)
            module = self._modules[path]
            self._outlines[path] = outline(module, self.text(path)) if module is not None else {}
        return self._outlines[path]

    def is_parsed(self, path: str) -> bool:
        return path in self._modules

    def _parse(self, path: str) -> Module | None:
        try:
            tree = parse(self.text(path))
        except Unparsable as error:
            self.unparsable[path] = error
            return None
        return Module(
            path,
            self.dotted(path),
            tree,
            self.dependencies,
            is_package=path.endswith("__init__.py"),
            infra=self.files[path].infra,
        )

    def find(self, name: str, near: str = "") -> Module | None:
        """The project's module of that dotted name, or None where the name is somebody else's.

        A folder without `__init__.py` is a module without names. `near` is the path of the file that
        imports: a script
        finds its neighbours, as Python does."""
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names:
            return None
        self.dependencies.note("name", name)
        path = self._names[0].get(name)
        if path is None and near:
            folder = near.rpartition("/")[0]
            self.dependencies.note("neighbour", f"{folder}:{name}")
            path = self.neighbour(folder, name)
        if path is not None:
            return self.module(path)
        if name in self._packages:
            if name not in self._namespaces:
                empty = ast.Module([], [])
                self._namespaces[name] = Module("", name, empty, self.dependencies, is_package=True)
            return self._namespaces[name]
        return None

    def place(self, name: str) -> str | None:
        """The file that the dotted name belongs to, whoever asks; "" for a folder that is a package without
        one."""
        return self._names[0].get(name, "" if name in self._packages else None)

    def dotted(self, path: str) -> str:
        """The dotted name of a file."""
        return self._names[1].get(path, "")

    def neighbour(self, folder: str, name: str) -> str | None:
        """The file of that name beside the scripts of a folder that is no package."""
        stem = f"{folder}/{name.replace('.', '/')}" if folder else name.replace(".", "/")
        if f"{folder}/__init__.py" in self.files:
            return None
        return next((p for p in (f"{stem}.py", f"{stem}/__init__.py") if p in self.files), None)

    def modules(self, paths: Iterable[str]) -> Iterable[Module]:
        for path in paths:
            module = self.module(path)
            if module is not None:
                yield module
