"""How many network calls at the end of random call paths out of transaction blocks does the gate find?

    python benchmarks/recall.py /path/to/saleor saleor --paths 200 --seed 1

Draws paths by syntax (`recall_paths.py`), plants one network call in the function at the end of each, and
asks the gate whether the call in the block is found with a chain that ends at that plant. The planted text
is handed to the gate; no file is written. Plants that share a call in a block are judged in different runs,
since a place is told one way only. What is told as possible only, since the path holds tests that may go either
way, is counted beside. For each lost plant the calls before it on the path are planted in turn:
the first one that is lost names the hop.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recall_paths import Fn, Hop, Paths, Project, Start

from concurrency_gate import config, gate
from concurrency_gate.rule import Finding

PLANT = "import requests; requests.post('https://planted.example', timeout=5)"

MOST_FROM_ONE = 2
"""Paths that may start at one call of a block."""


@dataclass(frozen=True)
class Plant:
    start: Start
    hops: tuple[Hop, ...]

    @property
    def target(self) -> Fn:
        return self.hops[-1].target

    @property
    def place(self) -> tuple[str, int]:
        return self.start.module.path, self.start.first


class Service:
    """A tree, and the gate's verdict on it with planted calls."""

    def __init__(self, root: Path, package: str) -> None:
        self.root = root
        self.project = Project(root, root / package)
        self.config = replace(config.find(root), select=("CG201",))

    def judge(self, files: set[str], plants: Sequence[Plant]) -> tuple[list[Finding], dict[Fn, int]]:
        """What is told of these files with the plants in place, and the line at which each plant stands."""
        lines: dict[Fn, int] = {}
        overrides: dict[str, bytes] = {}
        by_path: dict[str, set[Fn]] = {}
        for plant in plants:
            by_path.setdefault(plant.target.module.path, set()).add(plant.target)
        for path, targets in by_path.items():
            text = (self.root / path).read_text().split("\n")
            for fn in targets:
                statement = _first_statement(fn)
                indent = " " * statement.col_offset
                line = statement.lineno - 1
                text[line] = f"{indent}{PLANT}; {text[line].strip()}"
                lines[fn] = statement.lineno
            overrides[str(self.root / path)] = "\n".join(text).encode()
        report = gate.check([self.root / path for path in sorted(files)], self.config, overrides=overrides)
        return [*report.findings, *report.possible], lines

    def found(self, plants: Sequence[Plant]) -> dict[Plant, bool]:
        """Those plants that the gate tells from their block, and whether as a finding."""
        found: dict[Plant, bool] = {}
        for batch in _batches(plants):
            told, lines = self.judge({plant.start.module.path for plant in batch}, batch)
            for plant in batch:
                end = (plant.target.module.path, lines[plant.target])
                for each in told:
                    if _at(each, plant.start) and _ends(each) == end:
                        found[plant] = each.doubt <= self.config.max_doubt
        return found


def _first_statement(fn: Fn) -> ast.stmt:
    """Where a call can be put before: a simple statement that is no docstring."""
    body = fn.node.body
    return (
        body[1]
        if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        else body[0]
    )


def plantable(fn: Fn) -> bool:
    statement = _first_statement(fn)
    simple = isinstance(
        statement, (ast.Expr, ast.Assign, ast.Return, ast.Raise, ast.AnnAssign, ast.AugAssign, ast.Pass)
    )
    alone = statement.lineno > fn.node.lineno and not isinstance(
        getattr(statement, "value", None), ast.JoinedStr
    )
    return simple and alone and "abstract" not in " ".join(fn.decorators)


def _batches(plants: Sequence[Plant]) -> list[list[Plant]]:
    """Groups in which no call of a block occurs twice."""
    groups: list[dict[tuple[str, int], Plant]] = []
    for plant in plants:
        group = next((g for g in groups if plant.place not in g), None)
        if group is None:
            group = {}
            groups.append(group)
        group[plant.place] = plant
    return [list(group.values()) for group in groups]


def _at(finding: Finding, start: Start) -> bool:
    return finding.path == start.module.path and start.first <= finding.line <= start.last


def _ends(finding: Finding) -> tuple[str, int]:
    last = finding.chain[-1] if finding.chain else finding
    return last.path, last.line


def draw(service: Service, count: int, seed: int) -> list[Plant]:
    """Different paths, none of which starts at a call that reaches the network without a plant."""
    paths = Paths(service.project, seed)
    already, _ = service.judge({start.module.path for start in paths.starts}, [])
    found: dict[tuple[object, ...], Plant] = {}
    drawn: Counter[tuple[str, int]] = Counter()
    for _ in range(count * 200):
        start, hops = paths.draw()
        if len(found) == count:
            break
        if plantable(hops[-1].target) and not any(_at(finding, start) for finding in already):
            plant = Plant(start, tuple(hops))
            drawn[plant.place] += 1
            if drawn[plant.place] <= MOST_FROM_ONE:
                found.setdefault((*plant.place, plant.target), plant)
    return list(found.values())


def search(service: Service, plants: list[Plant]) -> dict[Plant, bool]:
    """Those that the gate tells, and whether as a finding. A plant may be hidden by a likelier way to another one, so
    what was not found is planted again without what was, until that finds no more."""
    told: dict[Plant, bool] = {}
    while True:
        lost = [plant for plant in plants if plant not in told]
        found = service.found(lost)
        print(f"{len(found)} of {len(lost)} found", file=sys.stderr)
        told |= found
        if not found or len(told) == len(plants):
            return told


def blame(service: Service, lost: list[Plant]) -> Counter[str]:
    """The kind of the first hop that is lost, for each lost plant."""
    blamed: Counter[str] = Counter()
    waiting = dict.fromkeys(lost, 1)
    while waiting:
        asked = {plant: replace(plant, hops=plant.hops[:length]) for plant, length in waiting.items()}
        usable = [part for part in asked.values() if plantable(part.target)]
        reached = service.found(usable)
        for plant, part in asked.items():
            if part in reached or part not in usable:
                waiting[plant] += 1
            if (part in usable and part not in reached) or waiting[plant] > len(plant.hops):
                blamed[part.hops[-1].kind] += 1
                del waiting[plant]
    return blamed


def main() -> None:
    parser = argparse.ArgumentParser(description="Recall on planted network calls.")
    parser.add_argument("root", type=Path)
    parser.add_argument("package")
    parser.add_argument("--paths", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show-lost", action="store_true")
    options = parser.parse_args()
    service = Service(options.root.resolve(), options.package)
    plants = draw(service, options.paths, options.seed)
    told = search(service, plants)
    lost = [plant for plant in plants if plant not in told]
    hops = Counter(hop.kind for plant in plants for hop in plant.hops)
    print(json.dumps({
        "paths": len(plants),
        "found": len(told),
        "share": round(len(told) / max(1, len(plants)), 3),
        "as findings": sum(told.values()),
        "lengths": dict(sorted(Counter(len(plant.hops) for plant in plants).items())),
        "hops": dict(hops.most_common()),
    }, indent=2), flush=True)  # fmt: skip
    for plant in lost if options.show_lost else ():
        print(f"{plant.start.module.path}:{plant.start.first}", *map(_told, plant.hops), flush=True)
    print(json.dumps({"lost by the hop": dict(blame(service, lost).most_common())}, indent=2))


def _told(hop: Hop) -> str:
    owner = f"{hop.target.owner.name}." if hop.target.owner else ""
    return f"-> {owner}{hop.target.name} ({hop.kind})"


if __name__ == "__main__":
    main()
