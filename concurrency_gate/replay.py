"""The fast lane: where nothing changed, print what the last run printed.

A recorded run names everything its outcome came from: the command line, the listing of the project, what
`stat` said of every file in it, of the configuration, and of the gate itself. If all of that is as it was,
so is the outcome. No file of the project is opened, and neither libcst nor click is imported.

Timestamps are trusted as git trusts them: a file that changed so shortly before the run began that a second
change could bear the same time makes the run unfit to be recorded.
"""

from __future__ import annotations

import os
import sys
from array import array
from itertools import chain

from concurrency_gate import __version__, cache, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from concurrency_gate.config import Config
    from concurrency_gate.sources import Sources

_FOLDER = "runs"
_MOST_RUNS = 24
_COARSE_NS, _FINE_NS = 2_000_000_000, 20_000_000
"""How far apart two changes may be and bear the same time: on a file system that counts whole seconds (or
two, as FAT does), and on one that counts ticks of the kernel's clock, ten milliseconds at most."""


def replay(argv: Sequence[str]) -> int | None:
    """Print the outcome of the same run recorded earlier and return its exit code; None if there is none, or
    if anything changed since. `argv` is without the program's name. Blocks on the disk and on git."""
    if argv[:1] != ["check"] or "--no-cache" in argv:
        return None
    for folder in _folders(argv):
        run = _load(folder, argv)
        if run is not None and run.holds():
            try:
                emit(run.text, run.output)
            except OSError:
                return None  # the full run says what is wrong with the output file
            return run.code
    return None


def emit(text: str, output: str | None) -> None:
    """Write a rendered report to the file `output` (raises OSError), or to standard output."""
    if output is not None:
        with open(output, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode(sys.stdout.encoding, "backslashreplace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The reader had enough; the verdict stands all the same. Python would complain again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Recorder:
    """Takes a run down. Make one before the project is listed: what changes after that is not believed."""

    def __init__(self, store: cache.Store, argv: Sequence[str]) -> None:
        self._folder = store.folder
        self._argv = argv
        self._began = _file_system_time(store.folder)

    def record(self, sources: Sources, config: Config, paths: Sequence[str], run: Outcome) -> None:
        """Keep the outcome of judging `sources`, which `paths` named, unless a change could go unseen."""
        if any(os.path.realpath(path) != os.path.abspath(path) for path in paths):
            return  # a link may point elsewhere next time
        run.root = str(sources.root)
        run.named = {path: _mark(path) for path in _context(config, paths)}
        run.listing = cache.digest(sources.listing)
        run.listed = list(sources.listed)
        stamps = [sources.stamps.get(path) for path in run.listed]
        run.stamps = _digest(stamps)
        if not all(_is_settled(stamp, self._began) for stamp in (*run.named.values(), *stamps) if stamp):
            return
        folder = os.path.join(self._folder, _FOLDER)
        name = _name(self._folder, self._argv)
        try:
            os.makedirs(folder, exist_ok=True)
            if cache.write(os.path.join(folder, name), cache.seal([name, run.as_json()])):
                _forget(folder)
        except OSError:
            return


_GONE = (0, 0, 0, 0, 0)

Mark = list[int]
"""A stamp as JSON holds it: empty for what does not exist, the inode alone for a folder, whose times say
nothing about what matters here."""


class Outcome:
    """What a run said, and all that it depended on."""

    def __init__(self, code: int, text: str, output: str | None) -> None:
        self.code = code
        self.text = text
        self.output = output
        self.root = ""
        self.named: dict[str, Mark] = {}
        self.listing = ""
        self.listed: list[str] = []
        self.stamps = ""

    def holds(self) -> bool:
        """Whether all that the outcome depended on is as it was."""
        if not all(_mark(path) == mark for path, mark in self.named.items()):
            return False
        wait = tree.start_listing(self.root)  # git lists while we look at the files
        prefix = os.path.join(self.root, "")
        stamps = _digest([tree.stamp(prefix + path) for path in self.listed])
        return cache.digest(wait()) == self.listing and stamps == self.stamps

    def as_json(self) -> dict[str, object]:
        """The outcome as JSON holds it."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, value: object) -> Outcome | None:
        """The outcome that `as_json` wrote; None for anything else."""
        run = cls(0, "", None)
        if not isinstance(value, dict) or value.keys() != vars(run).keys():
            return None
        vars(run).update(value)
        sound = (
            run.code in (0, 1)
            and isinstance(run.text, str)
            and isinstance(run.output, str | None)
            and isinstance(run.root, str)
            and os.path.isdir(run.root)
            and isinstance(run.named, dict)
            and isinstance(run.listed, list)
            and all(isinstance(path, str) for path in run.listed)
        )
        return run if sound else None


def _load(folder: str, argv: Sequence[str]) -> Outcome | None:
    name = _name(folder, argv)
    match cache.unseal(cache.read(os.path.join(folder, _FOLDER, name))):
        # The name is sealed too: a record that was moved to the place of another command line says nothing.
        case [str(sealed_name), value] if sealed_name == name:
            run = Outcome.from_json(value)
        case _:
            return None
    if run is not None and _named_folder(argv) is None and run.root != os.path.dirname(folder):
        return None
    return run


def _folders(argv: Sequence[str]) -> Iterator[str]:
    """The cache folders in which a run of this command line may have been recorded."""
    named = _named_folder(argv)
    if named is not None:
        yield named
        return
    first = next((argument for argument in argv[1:] if os.path.exists(argument)), "")
    folder = os.path.abspath(first)
    while True:
        yield os.path.join(folder, cache.FOLDER)
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return
        folder = parent


def _named_folder(argv: Sequence[str]) -> str | None:
    for index, argument in enumerate(argv):
        option, _, value = argument.partition("=")
        if option == "--cache-dir":
            return value or "".join(argv[index + 1 : index + 2])
    return None


def _name(folder: str, argv: Sequence[str]) -> str:
    """The name of the record of a command line: a digest of all that an outcome depends on and that is not in
    the listing."""
    terminal = [os.environ.get(name, "") for name in ("NO_COLOR", "FORCE_COLOR", "TERM")]
    mark = cache.witness(folder) if _named_folder(argv) is None else ""
    parts = [mark, __version__, sys.version, os.getcwd(), str(sys.stdout.isatty()), *terminal, *argv]
    return cache.digest("\0".join(parts).encode("utf-8", "surrogatepass"))


def _context(config: Config, paths: Sequence[str]) -> list[str]:
    """Every path besides the project's sources on whose content, presence or absence the outcome depends."""
    from concurrency_gate.config import candidates

    named = [os.path.abspath(path) for path in paths or (".",)]
    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in named}
    looked_at = [str(path) for folder in folders for path in candidates(folder)]
    given = [str(config.file)] if config.file else []
    return sorted({*named, *looked_at, *given, *cache.gate_files(config)})


def _mark(path: str) -> Mark:
    stamp = tree.stamp(path)
    if stamp is None:
        return []
    is_folder = stamp[4] & 0o170000 == 0o040000
    return [stamp[3]] if is_folder else list(stamp)


def _digest(stamps: Sequence[tree.Stamp | None]) -> str:
    numbers = array("q", chain.from_iterable(stamp or _GONE for stamp in stamps))
    return cache.digest(numbers.tobytes())


def _is_settled(stamp: Sequence[int], began: int) -> bool:
    if len(stamp) == 1:
        return True
    changed = stamp[0] if os.name == "nt" else stamp[1]  # Windows keeps no time of change that nobody can set
    return changed + (_FINE_NS if changed % 1_000_000_000 else _COARSE_NS) < began


def _file_system_time(folder: str) -> int:
    """Now, by the clock that stamps the files: on a network drive that is not this machine's. Nanoseconds."""
    import tempfile
    import time

    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return time.time_ns()


def _forget(folder: str) -> None:
    """Drop the records of command lines that were not recorded for longest."""
    with os.scandir(folder) as entries:
        records = sorted(
            entries, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns, reverse=True
        )
    for entry in records[_MOST_RUNS:]:
        os.unlink(entry.path)
