"""The examples that stand beside each rule: red ones are found by that rule and no other of its family, green
ones are clean."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from concurrency_gate.rules import RULES

from concurrency_gate import gate
from concurrency_gate.config import Config
from concurrency_gate.rule import Example, Finding, Rule


def examples(colour: str) -> list[object]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{colour}-{number}")
        for rule in RULES
        for number, example in enumerate(getattr(rule, colour), start=1)
    ]


def findings(example: Example, folder: Path) -> tuple[Finding, ...]:
    files = example if isinstance(example, Mapping) else {"example.py": example}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    report = gate.check([folder], Config(root=folder))
    assert not report.errors
    return report.findings


@pytest.mark.parametrize(("rule", "example"), examples("red"))
def test_red(rule: type[Rule], example: Example, tmp_path: Path) -> None:
    codes = {finding.code for finding in findings(example, tmp_path)}
    assert rule.code in codes
    assert codes <= {rule.code, *(code for code in codes if rule.code.startswith("CG9"))}


@pytest.mark.parametrize(("rule", "example"), examples("green"))
def test_green(
    rule: type[Rule],  # noqa: ARG001 - it names the test
    example: Example,
    tmp_path: Path,
) -> None:
    assert findings(example, tmp_path) == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_rule_explains_itself(rule: type[Rule]) -> None:
    for text in (rule.summary, rule.why, rule.instead):
        assert len(text) > 20
    assert rule.name == rule.name.lower()
