"""The rules that come with the gate: one module a family, and the catalogue they are driven by."""

from __future__ import annotations

from concurrency_gate.rule import Rule

from . import bypass, spawn, transaction

RULES: tuple[type[Rule], ...] = (*spawn.RULES, *transaction.RULES, *bypass.RULES)
"""What a rule pack offers the gate."""
