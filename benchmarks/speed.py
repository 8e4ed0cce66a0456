"""Time the gate side by side with the linters that come nearest, over the same files.

    python benchmarks/speed.py PATH [PATH ...]         folders of Python code
    python benchmarks/speed.py --sdist saleor==3.20    source distributions, fetched with pip

The files that are not test code are copied to a scratch folder, so every tool reads the same bytes. Runs are
interleaved, so that a busy machine slows all tools alike, and the table gives medians: wall and processor
time in seconds, peak memory in MB, and processor time as a multiple of ruff's without its cache.
Tools that are not installed are left out, and named. POSIX only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from concurrency_gate import config
from concurrency_gate.sources import discover

GATE = (sys.executable, "-m", "concurrency_gate", "check", ".")
RUFF = ("ruff", "check", "--select", "ASYNC,RUF006,S113", "--exit-zero", "-q", ".")
FILES = "{files}"
"""Stands in a command line for the paths of all files, where a tool takes no folder."""
PLANT = "\n\ndef _benchmark(value):\n    return value\n"


@dataclass(frozen=True)
class Tool:
    """A command line; `prepare` puts the folder into the state in which it is timed."""

    name: str
    command: Sequence[str]
    prepare: Callable[[Path], None] = lambda _: None


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    peak: float


def change(folder: Path) -> None:
    """Add a function to the file in the middle of the list: another run, another place in it."""
    files = sorted(path for path in folder.rglob("*.py") if path.stat().st_size > 2000)
    path = files[len(files) // 2]
    path.write_bytes(path.read_bytes() + PLANT.encode())


TOOLS = (
    Tool("ruff, no cache", (*RUFF[:2], "--no-cache", *RUFF[2:])),
    Tool("ruff, warm", RUFF),
    Tool("gate, no cache", (*GATE, "--no-cache")),
    Tool("gate, nothing changed", GATE),
    Tool("gate, one file changed", GATE, change),
    Tool("gate, CG1 only, no cache", (*GATE, "--select", "CG1", "--no-cache")),
    Tool("gate, CG1 only, one file changed", (*GATE, "--select", "CG1"), change),
    Tool("flake8-async", ("flake8-async", "--enable=ASYNC", FILES)),
    Tool("flake8", ("flake8", "--exit-zero", "--select=ASYNC", "-j1", ".")),
    Tool("fixit", ("fixit", "lint", ".")),
    Tool("ty-async", ("ty-async", ".", "--async200-transitive", "--async200-stdlib")),
)


def run(tool: Tool, folder: Path) -> Cost:
    """Time one run. Raises RuntimeError where the tool broke down instead of reading the files."""
    tool.prepare(folder)
    files = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.py"))]
    command = [part for given in tool.command for part in (files if given == FILES else [given])]
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read()
    if process.returncode not in (0, 1) or b"Traceback" in said:
        last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise RuntimeError(f"{tool.name} exits with {process.returncode}: {last}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def gather(origins: Sequence[Path], folder: Path) -> tuple[int, int]:
    """Copy what is no test code; gives (files, lines)."""
    files = lines = 0
    for number, origin in enumerate(origins):
        sources = discover([origin], config.find_for([origin]))
        for source in sources.selected:
            path = sources.root / source.path
            if source.role == "test" or not path.is_file():
                continue
            target = folder / f"c{number}" / source.path if len(origins) > 1 else folder / source.path
            target.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            target.write_bytes(data)
            files += 1
            lines += data.count(b"\n")
    (folder / "concurrency-gate.toml").write_text("")
    return files, lines


def fetch(requirement: str, folder: Path) -> Path:
    """Unpack a source distribution. Raises CalledProcessError where pip finds none."""
    target = folder / requirement
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d"]
    subprocess.run([*command, str(target), requirement], check=True)
    for archive in target.glob("*.tar.gz"):
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")
    return target


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--sdist", action="append", default=[], metavar="NAME==VERSION")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    tools = [tool for tool in TOOLS if shutil.which(tool.command[0])]
    with tempfile.TemporaryDirectory() as scratch:
        origins = [*given.paths, *(fetch(name, Path(scratch) / "sdists") for name in given.sdist)]
        if not origins:
            parser.error("name a folder, or --sdist NAME==VERSION")
        folder = Path(scratch) / "corpus"
        folder.mkdir()
        files, lines = gather([origin.resolve() for origin in origins], folder)
        for tool in tools:
            if tool.command[0] in ("ruff", sys.executable) and "--no-cache" not in tool.command:
                run(tool, folder)  # what is timed is the second run: its cache is full
        costs: dict[str, list[Cost]] = {tool.name: [] for tool in tools}
        for _ in range(given.runs):
            for tool in tools:
                if tool.name == "gate, nothing changed":
                    run(tool, folder)  # the last round changed a file
                costs[tool.name].append(run(tool, folder))
    print(f"{files:,} files, {lines:,} lines, {given.runs} runs, {os.cpu_count()} cores\n")
    print("| tool | wall s | CPU s | peak MB | CPU, times ruff |\n|---|---|---|---|---|")
    middle = {
        name: [statistics.median(getattr(c, k) for c in all_) for k in ("wall", "cpu", "peak")]
        for name, all_ in costs.items()
    }
    base = middle.get("ruff, no cache", [0, 0, 0])[1]
    for name, (wall, cpu, peak) in middle.items():
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {peak:.0f} | {f'{cpu / base:.1f}' if base else '-'} |")
    missing = sorted({tool.command[0] for tool in TOOLS} - {tool.command[0] for tool in tools})
    if missing:
        print(f"\nNot installed here: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
