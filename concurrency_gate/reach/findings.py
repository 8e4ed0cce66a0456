"""What reach hands to the rules."""

from __future__ import annotations

from dataclasses import dataclass

from concurrency_gate.facts.scopes import Position
from concurrency_gate.rule import Step


@dataclass(frozen=True, slots=True)
class Reach:
    """A place inside a transaction block from which an effect is reached. `way` names the functions between,
    outermost first; `opener` is what opens the transaction, at `block_line`; `instead` is the library's
    advice, or empty."""

    start: Position
    end: Position
    kind: str
    effect: str
    opener: str
    block_line: int
    way: tuple[str, ...]
    chain: tuple[Step, ...]
    instead: str
    unsure: tuple[Step, ...] = ()
    """The tests on the way that may go either way, and the calls that may run something else; without those of the
    function that opens the transaction, where its author has them before his eyes."""
    doubt: int = 0
    """How much all these count: a branch that must be taken counts 2, anything else 1."""
    implicit: bool = False
    """Whether the transaction began by itself."""
