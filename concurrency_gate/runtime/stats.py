"""What a Runtime is doing, as numbers and as OpenMetrics text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .handle import Outcome
from .ledger import PoolStats

PREFIX = "concurrency_gate"

_GAUGES: tuple[tuple[str, str, Callable[[PoolStats], float]], ...] = (
    ("workers", "Workers that the pool may have.", lambda pool: pool.max_workers),
    ("running", "Jobs at work that are in time.", lambda pool: pool.running),
    ("pending", "Jobs that wait for a worker, a key, a retry or a snooze.", lambda pool: pool.pending),
    ("stuck", "Jobs past their deadline that still hold their worker.", lambda pool: pool.stuck),
    ("oldest_age_seconds", "Age of the oldest pending job.", lambda pool: pool.oldest_age),
)
_COUNTERS: tuple[tuple[str, str, Callable[[PoolStats], float]], ...] = (
    ("submitted", "Jobs let in.", lambda pool: pool.submitted),
    ("refused", "Jobs not let in for want of room.", lambda pool: pool.refused),
    ("retried", "Attempts that followed a failed one.", lambda pool: pool.retried),
    ("snoozed", "Jobs put off without spending an attempt.", lambda pool: pool.snoozed),
    ("overran", "Jobs that became stuck.", lambda pool: pool.overran),
)


@dataclass(frozen=True, slots=True)
class RuntimeStats:
    """A moment of a Runtime: its queues first, then the pools for passes and for detached work."""

    pools: tuple[PoolStats, ...]
    stopping: bool

    def __getitem__(self, name: str) -> PoolStats:
        """The accounts of one pool, by name."""
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(f"no pool {name!r}; there are {', '.join(pool.name for pool in self.pools)}")


def openmetrics(stats: RuntimeStats) -> str:
    """The text format of OpenMetrics 1.0: one family after the other, each sample with its pool as a
    label."""
    return "".join(f"{line}\n" for line in _lines(stats))


def _lines(stats: RuntimeStats) -> Iterator[str]:
    for name, text, value in _GAUGES:
        yield from _family(f"{PREFIX}_{name}", "gauge", text)
        for pool in stats.pools:
            yield f"{PREFIX}_{name}{_labels(pool=pool.name, kind=pool.kind)} {value(pool):g}"
    for name, text, value in _COUNTERS:
        yield from _family(f"{PREFIX}_{name}", "counter", text)
        for pool in stats.pools:
            yield f"{PREFIX}_{name}_total{_labels(pool=pool.name, kind=pool.kind)} {value(pool):.0f}"
    yield from _family(f"{PREFIX}_ended", "counter", "Jobs that ended, by outcome.")
    for pool in stats.pools:
        for outcome in Outcome:
            labels = _labels(pool=pool.name, kind=pool.kind, outcome=str(outcome))
            yield f"{PREFIX}_ended_total{labels} {getattr(pool, outcome)}"
    yield from _family(f"{PREFIX}_failures", "counter", "Jobs that failed or overran, by name.")
    for pool in stats.pools:
        for job, count in sorted(pool.failures.items()):
            yield f"{PREFIX}_failures_total{_labels(pool=pool.name, kind=pool.kind, job=job)} {count}"
    yield from _family(f"{PREFIX}_stopping", "gauge", "1 once the runtime has been asked to stop.")
    yield f"{PREFIX}_stopping {int(stats.stopping)}"
    yield "# EOF"


def _family(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    if name.endswith("_seconds"):
        yield f"# UNIT {name} seconds"
    yield f"# HELP {name} {text}"


def _labels(**labels: str) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
