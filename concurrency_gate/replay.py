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

from concurrency_gate import __version__, tree
from concurrency_gate.seal import FOLDER, digest, read, seal, unseal, witness, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from concurrency_gate.cache import Store
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
                emit(run.text, run.output or None)
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

    def __init__(self, store: Store, argv: Sequence[str]) -> None:
        self._folder = store.folder
        self._argv = argv
        self._began = store.began

    def record(self, sources: Sources, config: Config, paths: Sequence[str], run: Outcome) -> None:
        """Keep the outcome of judging `sources`, which `paths` named, unless a change could go unseen."""
        if "\0" in run.text:
            return
        if any(os.path.realpath(path) != os.path.abspath(path) for path in paths):
            return  # a link may point elsewhere next time
        named = _context(config, paths)
        stamps = [*map(_mark, named), *(sources.stamps.get(path) for path in sources.listed)]
        if not all(is_settled(stamp, self._began) for stamp in stamps if stamp):
            return
        run.root = str(sources.root)
        run.listing = digest(sources.listing)
        run.stamps = _digest(stamps)
        run.named, run.listed = named, list(sources.listed)
        name = _name(self._folder, self._argv)
        folder = os.path.join(self._folder, _FOLDER)
        try:
            os.makedirs(folder, exist_ok=True)
            if write(os.path.join(folder, name), seal(run.dump(name))):
                _forget(folder)
        except OSError:
            return


class Outcome:
    """What a run said (`output` is the file it was written to, "" for standard output), and all that it
    depended on. On disk it is its fields as UTF-8 with NUL between them: none of them can hold one."""

    def __init__(self, code: int, text: str, output: str | None) -> None:
        self.code = code
        self.text = text
        self.output = output or ""
        self.root = ""
        self.listing = ""
        """The digest of the raw listing."""
        self.stamps = ""
        """The digest of what `stat` said of `named` and `listed`."""
        self.named: list[str] = []
        """What matters besides the listing: absolute paths of files, folders, and what must stay absent."""
        self.listed: list[str] = []

    def holds(self) -> bool:
        """Whether all that the outcome depended on is as it was."""
        wait = tree.start_listing(self.root)  # git lists while we look at the files
        prefix = os.path.join(self.root, "")
        stamps = [*map(_mark, self.named), *(tree.stamp(prefix + path) for path in self.listed)]
        return digest(wait()) == self.listing and _digest(stamps) == self.stamps

    def dump(self, name: str) -> bytes:
        """The outcome for the record of that name."""
        head = [name, str(self.code), self.text, self.output, self.root, self.listing, self.stamps]
        fields = [*head, str(len(self.named)), *self.named, *self.listed]
        return "\0".join(fields).encode("utf-8", "surrogatepass")

    @classmethod
    def load(cls, name: str, data: bytes) -> Outcome | None:
        """What `dump` wrote for that name; None for anything else."""
        try:
            found, code, text, output, root, listing, stamps, named, *paths = data.decode(
                "utf-8", "surrogatepass"
            ).split("\0")
            run = cls(int(code), text, output)
            count = int(named)
        except ValueError:
            return None
        run.root, run.listing, run.stamps = root, listing, stamps
        run.named, run.listed = paths[:count], paths[count:]
        # The name is kept too: a record that was moved to the place of another command line says nothing.
        return run if found == name and run.code in (0, 1) else None


def _load(folder: str, argv: Sequence[str]) -> Outcome | None:
    name = _name(folder, argv)
    data = unseal(read(os.path.join(folder, _FOLDER, name)))
    run = Outcome.load(name, data) if data is not None else None
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
        yield os.path.join(folder, FOLDER)
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
    mark = witness(folder) if _named_folder(argv) is None else ""
    parts = [
        mark,
        __version__,
        sys.version,
        *sys.path,
        os.getcwd(),
        str(sys.stdout.isatty()),
        *terminal,
        *argv,
    ]
    return digest("\0".join(parts).encode("utf-8", "surrogatepass"))


def _context(config: Config, paths: Sequence[str]) -> list[str]:
    """Every path besides the project's sources on whose content, presence or absence the outcome depends."""
    from concurrency_gate.cache import gate_files
    from concurrency_gate.config import candidates

    named = [os.path.abspath(path) for path in paths or (".",)]
    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in named}
    looked_at = [str(path) for folder in folders for path in candidates(folder)]
    given = [str(config.file)] if config.file else []
    return sorted({*named, *looked_at, *given, *gate_files(config)})


def _mark(path: str) -> tree.Stamp | None:
    """The stamp of a path that a run named; of a folder only its identity, as its times say nothing here."""
    stamp = tree.stamp(path)
    is_folder = stamp is not None and stamp[4] & 0o170000 == 0o040000
    return (0, 0, 0, *stamp[3:]) if is_folder and stamp else stamp


def _digest(stamps: Sequence[tree.Stamp | None]) -> str:
    numbers = array("q", chain.from_iterable(stamp or (0, 0, 0, 0, 0) for stamp in stamps))
    return digest(numbers.tobytes())


def is_settled(stamp: tree.Stamp, began: int) -> bool:
    """Whether a file that changes after `began` would get another stamp."""
    changed = stamp[0] if os.name == "nt" else stamp[1]  # Windows keeps no time of change that nobody can set
    return changed + (_FINE_NS if changed % 1_000_000_000 else _COARSE_NS) < began


def file_system_time(folder: str) -> int:
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
