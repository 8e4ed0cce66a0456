"""The report for machines: one JSON object, in the schema that the documentation promises."""

from __future__ import annotations

import json
from dataclasses import asdict

from concurrency_gate.report import Options, resolved_share
from concurrency_gate.rule import Finding, Report

SCHEMA = 1


def render(report: Report, options: Options) -> str:
    """ASCII only; a file name that is no Unicode has lone surrogates, as `os.fsdecode` writes them."""
    document = {
        "schema": SCHEMA,
        "findings": [_finding(finding) for finding in report.findings],
        "possible": [_finding(finding) for finding in report.possible],
        "errors": [asdict(error) for error in report.errors],
        "summary": {
            **asdict(report.summary),
            "resolved": resolved_share(report.summary),
            "min_resolved": options.min_resolved,
        },
    }
    if options.explain_unresolved:
        document["unresolved"] = [asdict(step) for step in report.unresolved]
    return json.dumps(document, indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "name": finding.name,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "message": finding.message,
        "instead": finding.instead,
        "chain": [asdict(step) for step in finding.chain],
        "unsure": [asdict(step) for step in finding.unsure],
        "doubt": finding.doubt,
    }
