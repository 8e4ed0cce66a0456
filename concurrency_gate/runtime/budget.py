"""How many database connections background work may take, so that requests keep theirs.

Four workers that each hold a transaction and ask a pool of four for a second connection wait for ever; two
do not. Hence the half.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .bounds import whole
from .errors import BudgetExceeded

Claim = tuple[str, int, int]
"""Who asks (as text), how many of it, and how many connections each takes."""


@dataclass(frozen=True)
class ConnectionBudget:
    """`max_connections` of the database pool in this process, of which the share `reserved` (from 0 to below
    1) is for requests. Immutable, thread-safe.
    """

    max_connections: int = 40
    reserved: float = 0.5

    def __post_init__(self) -> None:
        whole("max_connections", self.max_connections, 1, 100_000)
        if not isinstance(self.reserved, int | float):
            raise TypeError(f"reserved must be a share from 0 to below 1, not {self.reserved!r}")
        if not 0.0 <= self.reserved < 1.0:
            raise ValueError(f"reserved must be a share from 0 to below 1, not {self.reserved!r}")

    @property
    def available(self) -> int:
        """Connections for workers, relays and periodic jobs together."""
        return math.floor(self.max_connections * (1.0 - self.reserved) + 1e-9)

    def check(self, claims: Sequence[Claim]) -> int:
        """The sum of the claims, if it fits; else `BudgetExceeded` with the sum spelled out."""
        total = sum(count * each for _, count, each in claims)
        if total > self.available:
            lines = "\n".join(f"  {who}: {count} x {each} = {count * each}" for who, count, each in claims)
            raise BudgetExceeded(
                f"background work wants {total} database connections and the budget gives {self.available} "
                f"({self.max_connections} with {self.reserved:g} of them reserved for requests):\n{lines}\n"
                f"Take {total - self.available} away, or raise max_connections to "
                f"{math.ceil(total / (1.0 - self.reserved))} if the database allows it."
            )
        return total
