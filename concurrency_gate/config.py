"""The project's configuration: found upwards from the checked files, validated, every mistake named.

It stands in `concurrency-gate.toml`, or under `[tool.concurrency-gate]` in `pyproject.toml`. A project needs
none: then everything is application code.
"""

from __future__ import annotations

import importlib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from types import MappingProxyType, ModuleType

from concurrency_gate.globs import GlobError, translate

OWN_FILE = "concurrency-gate.toml"
SHARED_FILE = "pyproject.toml"
_TABLE = "concurrency-gate"
_ROOT_MARKS = (".git", SHARED_FILE, "setup.cfg", "setup.py")

BUILT_IN_PACK = "concurrency_gate.rules"
NEVER_IGNORED = "CG902"
"""The gate never passes what it could not read: this code is selected whatever the configuration says."""


class ConfigError(ValueError):
    """A mistake in the configuration. The text is one line: file, key, what is wrong, and the mend."""


@dataclass(frozen=True)
class Config:
    """What the project asks for. Globs are those of `globs`; names are dotted. Immutable, safe to share."""

    root: Path
    file: Path | None = None
    infra: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    include_tests: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    rule_packs: tuple[str, ...] = (BUILT_IN_PACK,)
    transactional: tuple[str, ...] = ()
    detached: tuple[str, ...] = ()
    cache: bool = False
    storage: bool = False
    max_doubt: int = 1
    min_resolved: float | None = None
    catalogue: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    from_options: frozenset[str] = frozenset()
    """The keys that the command line overrode, so that a mistake is looked for where it was made."""

    def codes(self, known: Iterable[str]) -> frozenset[str]:
        """The codes among `known` that are selected and not ignored. Both lists hold whole codes or prefixes;
        an empty `select` selects all. Raises ConfigError for an entry that fits no known code."""
        known = frozenset(known)
        selected = self._matching("select", known) if self.select else known
        ignored = self._matching("ignore", known)
        if NEVER_IGNORED in self.ignore:
            raise self.mistake(
                "ignore", f'"{NEVER_IGNORED}" cannot be ignored: a file that cannot be read is never clean; '
                "name the file in exclude instead"
            )  # fmt: skip
        return (selected - ignored) | (known & {NEVER_IGNORED})

    def packs(self) -> tuple[ModuleType, ...]:
        """The rule packs, imported. Raises ConfigError for one that does not import."""
        return tuple(self._import_pack(name) for name in self.rule_packs)

    def override(self, **values: tuple[str, ...]) -> Config:
        """The same configuration with what the command line says instead, key by key."""
        return replace(self, **values, from_options=self.from_options.union(values))  # type: ignore[arg-type]

    def mistake(self, key: str, text: str) -> ConfigError:
        """A ConfigError that names where `key` was given."""
        if key in self.from_options:
            return ConfigError(f"--{key.replace('_', '-')}: {text}")
        return _mistake(self.file, key.replace("_", "-"), text)

    def _matching(self, key: str, known: frozenset[str]) -> frozenset[str]:
        matching: set[str] = set()
        for entry in getattr(self, key):
            fits = {code for code in known if code.startswith(entry)} if entry else set()
            if not fits:
                close = _did_you_mean(
                    entry.upper(), known, "write a code or the beginning of one, such as CG101 or CG2"
                )
                raise self.mistake(key, f"no rule has the code {_quote(entry)}; {close}")
            matching |= fits
        return frozenset(matching)

    def _import_pack(self, name: str) -> ModuleType:
        try:
            return importlib.import_module(name)
        except Exception as error:  # a pack is foreign code: whatever it raises, the user needs the one line
            cause = " ".join(f"{type(error).__name__}: {error}".split())
            raise self.mistake(
                "rule_packs", f"{_quote(name)} does not import ({cause}); "
                "install it into the environment that runs the gate, or take it out"
            ) from error  # fmt: skip


def find(start: Path) -> Config:
    """The configuration that holds for `start`, a file or a folder: the nearest file at or above it that
    configures the gate, but none beyond the root of its repository. With none, the project's root is the
    nearest folder with .git, pyproject.toml, setup.cfg or setup.py, else the folder itself.

    Reads files; raises ConfigError.
    """
    folder = _folder(start)
    for parent in _upwards(folder):
        config = _in_folder(parent)
        if config:
            return config
    marked = (p for p in _upwards(folder) if any((p / mark).exists() for mark in _ROOT_MARKS))
    return Config(root=next(marked, folder))


def find_for(paths: Sequence[Path]) -> Config:
    """The one configuration that holds for all of `paths` (the working directory where there are none).

    Raises ConfigError where two of them are configured differently: the same file must not be judged one way
    alone and another in company.
    """
    folders = dict.fromkeys(_folder(path) for path in paths or [Path()])
    found = list({config.file or config.root: config for config in map(find, folders)}.values())
    if len(found) > 1 and not any(config.file for config in found):
        return find(Path(os.path.commonpath(folders)))
    if len(found) > 1:
        places = " and ".join(shown(config.file or config.root) for config in found[:2])
        raise ConfigError(
            f"{places}: the paths belong to two projects; check each on its own, or give --config"
        )
    return found[0]


def load(file: Path) -> Config:
    """The configuration in `file`, whose folder is the project's root. Raises ConfigError."""
    file = file.absolute()
    if not file.is_file():
        raise ConfigError(f"{shown(file)}: there is no such file; name a {OWN_FILE} or a {SHARED_FILE}")
    table = _read_table(file)
    if table is None:
        raise ConfigError(f"{shown(file)}: there is no table [tool.{_TABLE}]; add it, or name another file")
    return _parse(file, table)


def candidates(start: str | Path) -> list[Path]:
    """Every path whose appearing, vanishing or changing could change what `find(start)` says."""
    names = (OWN_FILE, *_ROOT_MARKS)
    return [folder / name for folder in _upwards(_folder(Path(start))) for name in names]


def _folder(start: Path) -> Path:
    start = Path(os.path.normpath(start.absolute()))
    return start if start.is_dir() else start.parent


def _upwards(folder: Path) -> Iterator[Path]:
    """`folder` and the folders above it, up to the root of the repository they are in."""
    for parent in (folder, *folder.parents):
        yield parent
        if (parent / ".git").exists():
            return


def _in_folder(folder: Path) -> Config | None:
    own, shared = folder / OWN_FILE, folder / SHARED_FILE
    shared_table = _read_table(shared) if shared.is_file() else None
    if not own.is_file():
        return _parse(shared, shared_table) if shared_table is not None else None
    if shared_table is not None:
        raise ConfigError(
            f"{shown(own)}: [tool.{_TABLE}] in {SHARED_FILE} beside it says it too; keep one of them"
        )
    return _parse(own, _read_table(own) or {})


def _read_table(file: Path) -> Mapping[str, object] | None:
    """The gate's table in `file`; None where a shared file has none."""
    try:
        data = file.read_bytes()
        # Most pyproject.toml files do not speak of the gate; they are not parsed, nor their mistakes ours.
        if file.name == SHARED_FILE and _TABLE.encode() not in data:
            return None
        document: object = tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{shown(file)}: cannot be read ({error.strerror}); make it readable") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{shown(file)}: not UTF-8 (byte {error.start}); TOML files are, save it so"
        ) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{shown(file)}: not TOML: {str(error).splitlines()[0]}; mend the file") from error
    if file.name != SHARED_FILE:
        return _as_table(document)
    tool = _as_table(document).get("tool", {})
    table = tool.get(_TABLE) if isinstance(tool, dict) else None
    if table is None or isinstance(table, dict):
        return table
    raise ConfigError(f"{shown(file)}: tool.{_TABLE}: expected a table; write [tool.{_TABLE}]")


def _as_table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _parse(file: Path, table: Mapping[str, object]) -> Config:
    if "tool" in table and file.name != SHARED_FILE:
        raise _mistake(file, "tool", "in this file the keys stand at the top; leave out the table header")
    values: dict[str, object] = {}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            close = _did_you_mean(key, _READERS, f"the keys are {', '.join(_READERS)}")
            raise _mistake(file, key, f"there is no such key; {close}")
        try:
            values[key.replace("-", "_")] = reader(value)
        except ValueError as error:
            raise _mistake(file, key, str(error)) from error
    config = Config(root=file.parent, file=file, **values)  # type: ignore[arg-type]
    for name in config.roots:
        if not (config.root / name).is_dir():
            folders = [entry.name for entry in config.root.iterdir() if entry.is_dir()]
            close = _did_you_mean(name, folders, "name a folder relative to this file")
            raise config.mistake("roots", f"there is no folder {_quote(name)}; {close}")
    return config


def _mistake(file: Path | None, key: str, text: str) -> ConfigError:
    return ConfigError(f"{shown(file) if file else OWN_FILE}: {_one_line(key)}: {text}")


# How each key is read: a reader takes the value, gives what Config holds, or raises ValueError with the mend.

Reader = Callable[[object], object]


def _strings(value: object, example: str) -> tuple[str, ...]:
    if isinstance(value, str):
        raise ValueError(f"expected a list of strings, got a string; write [{_quote(value)}]")
    if not isinstance(value, list):
        raise ValueError(f"expected a list of strings, got {_kind(value)}; write {example}")
    for item in value:
        if not isinstance(item, str):
            raise ValueError(
                f"expected a list of strings, but one of its items is {_kind(item)}; write {example}"
            )
    return tuple(dict.fromkeys(value))


def _globs(value: object) -> tuple[str, ...]:
    patterns = _strings(value, '["src/acme/infra/**"]')
    for pattern in patterns:
        try:
            translate(pattern)
        except GlobError as error:
            raise ValueError(f"bad glob {_quote(pattern)}: {error}") from error
    return patterns


def _folders(value: object) -> tuple[str, ...]:
    names = _strings(value, '["src"]')
    for name in names:
        if not name or name.startswith("/") or "\\" in name or ".." in name.split("/"):
            raise ValueError(
                f'{_quote(name)} is not a folder of the project; write a relative path such as "src"'
            )
    return tuple(str(PurePosixPath(name)) for name in names)


def _codes(value: object) -> tuple[str, ...]:
    return _strings(value, '["CG101", "CG2"]')


def _names(value: object) -> tuple[str, ...]:
    names = _strings(value, '["acme.jobs.Handler.run"]')
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(
                f'{_quote(name)} is not a dotted name; write it as imported, such as "acme.jobs.Handler"'
            )
    return names


def _packs(value: object) -> tuple[str, ...]:
    # A pack adds to the built-in rules: one that replaced them would switch the gate off unseen.
    return tuple(dict.fromkeys((BUILT_IN_PACK, *_names(value))))


def _switch(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"expected true or false, got {_kind(value)}; write true or false without quotes")


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(
            f"expected a number from 0 to 1, got {_kind(value)}; write 0.9 for nine calls in ten"
        )
    if not 0 <= value <= 1:
        raise ValueError(f"expected a number from 0 to 1, got {value}; write 0.9 for nine calls in ten")
    return float(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"expected a whole number, got {_kind(value)}; write 1, or 0 for none")
    if value < 0:
        raise ValueError(f"expected a whole number from 0 up, got {value}; write 1, or 0 for none")
    return value


def _catalogue(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"expected a table, got {_kind(value)}; write [tool.{_TABLE}.catalogue]")
    # Only the form is checked here; what contradicts the packaged catalogue shows when that is loaded.
    from concurrency_gate import catalogue_format

    try:
        catalogue_format.add(catalogue_format.empty(), "project", value, "catalogue")
    except catalogue_format.CatalogueError as error:
        raise ValueError(str(error).removeprefix("catalogue.")) from error
    return MappingProxyType(value)


_READERS: Mapping[str, Reader] = {
    "infra": _globs,
    "roots": _folders,
    "exclude": _globs,
    "include-tests": _switch,
    "select": _codes,
    "ignore": _codes,
    "rule-packs": _packs,
    "transactional": _names,
    "detached": _names,
    "cache": _switch,
    "storage": _switch,
    "max-doubt": _count,
    "min-resolved": _share,
    "catalogue": _catalogue,
}


def _kind(value: object) -> str:
    kinds: Sequence[tuple[type, str]] = (
        (bool, "true or false"),
        (str, "a string"),
        (int, "a number"),
        (float, "a number"),
        (list, "a list"),
        (dict, "a table"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "a date or time")


def _did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    close = get_close_matches(word.replace("_", "-"), list(known), n=1)
    return f"did you mean {_quote(close[0])}?" if close else otherwise


def _quote(text: str) -> str:
    return f'"{_one_line(text)}"'


def _one_line(text: str) -> str:
    return re.sub(r"[^\x20-\x7e\u00a0-\ud7ff\ue000-\U0010ffff]", lambda char: ascii(char[0])[1:-1], text)


def shown(file: Path) -> str:
    """A path as messages write it: relative to the working directory where it is below it, on one line."""
    file = Path(os.path.normpath(file.absolute()))
    here = Path.cwd()
    return _one_line(str(file.relative_to(here) if file.is_relative_to(here) else file))
