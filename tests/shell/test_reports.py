from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from concurrency_gate.report import Options, is_blind, render
from concurrency_gate.report.explanation import explanation
from concurrency_gate.rule import Example, Failure, Finding, Report, Step, Summary
from tests.shell.conftest import Project

FINDING = Finding(
    path="src/a.py",
    line=2,
    column=5,
    end_line=2,
    end_column=19,
    code="CG201",
    name="network-in-transaction",
    message="requests.post reaches the network inside transaction.atomic (line 1), through charge()",
    instead="hand the call to transaction.on_commit(...)",
    chain=(Step("src/a.py", 2, "charge(order)"), Step("src/pay.py", 7, "requests.post(url)")),
)
SUMMARY = Summary(checked=1200, infra=4, excluded=3, tests=40, calls=1000, unresolved=18)


def text(project: Project, *findings: Finding, **options: bool) -> str:
    report = Report(findings, summary=SUMMARY)
    return render("text", report, Options(root=project.root, **options))


def test_text(project: Project) -> None:
    project.write({"src/a.py": "with atomic():\n    charge(order).done()\n"})
    assert text(project, FINDING).splitlines() == [
        "src/a.py:2:5: CG201 requests.post reaches the network inside transaction.atomic (line 1), "
        "through charge() (network-in-transaction)",
        "    2 |     charge(order).done()",
        "      |     ^^^^^^^^^^^^^^",
        "  instead: hand the call to transaction.on_commit(...)",
        "  the way: 1. src/a.py:2  charge(order)",
        "           2. src/pay.py:7  requests.post(url)",
        "",
        "1 finding in 1 file. Checked 1,200 files; 4 exempt as infra, 3 excluded, 40 test code. "
        "98.2 % of 1,000 calls under transactions resolved.",
    ]


def test_text_clean(project: Project) -> None:
    report = Report(summary=Summary(checked=1))
    assert render("text", report, Options(root=project.root)) == (
        "No findings. Checked 1 file; 0 exempt as infra, 0 excluded, 0 test code.\n"
    )


def test_text_with_errors_and_unresolved_calls(project: Project) -> None:
    report = Report(
        errors=(Failure("src/a.py", "CG101", "KeyError: 'x'\nat once"),),
        summary=SUMMARY,
        unresolved=(Step("src/b.py", 3, "handler.run()"),),
    )
    lines = render(
        "text", report, Options(project.root, explain_unresolved=True, min_resolved=0.99)
    ).splitlines()
    assert lines == [
        "Calls in and under transaction blocks that could not be resolved:",
        "  src/b.py:3  handler.run()",
        "",
        "internal error: CG101 in src/a.py: KeyError: 'x'\\nat once",
        "too blind: 98.2 % of the calls in and under transaction blocks could be resolved, "
        "min-resolved demands 99.0 %; --explain-unresolved lists the others",
        "No findings. 1 internal error: the verdict is incomplete. Checked 1,200 files; 4 exempt as infra, "
        "3 excluded, 40 test code. 98.2 % of 1,000 calls under transactions resolved.",
    ]


def test_possible_findings_are_counted_and_shown_when_asked(project: Project) -> None:
    project.write({"src/a.py": "with atomic():\n    charge(order)\n"})
    possible = replace(
        FINDING, unsure=(Step("src/pay.py", 4, "if order.due"), Step("src/pay.py", 6, "unless test"))
    )
    report = Report(summary=SUMMARY, possible=(possible,))
    last = (
        "No findings. Checked 1,200 files; 4 exempt as infra, 3 excluded, 40 test code. 98.2 % of 1,000 calls under "
        "transactions resolved. 1 possible finding more; --possible shows them."
    )
    assert render("text", report, Options(project.root)).splitlines() == [last]
    lines = render("text", report, Options(project.root, possible=True)).splitlines()
    assert lines[0] == "Possible: true if all holds that the gate is unsure of."
    assert lines[2].startswith("src/a.py:2:5: CG201")
    assert lines[-4:] == [
        "   unsure: 1. src/pay.py:4  if order.due",
        "           2. src/pay.py:6  unless test",
        "",
        last.replace("--possible shows them", "above"),
    ]
    document = json.loads(render("json", report, Options(root=project.root)))
    assert not document["findings"]
    assert document["possible"][0]["unsure"][0] == {"path": "src/pay.py", "line": 4, "text": "if order.due"}


def test_color_adds_nothing_but_color(project: Project) -> None:
    project.write({"src/a.py": "with atomic():\n    charge(order)\n"})
    colored = text(project, FINDING, color=True)
    assert "\x1b[1;31mCG201\x1b[0m" in colored
    for style in ("\x1b[1m", "\x1b[1;31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"):
        colored = colored.replace(style, "")
    assert colored == text(project, FINDING)


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "marker"),
    [
        ("\tcharge()", 2, 10, "    charge()", "    ^^^^^^^^"),
        ("名前 = charge()", 6, 14, "名前 = charge()", "       ^^^^^^^^"),
        ("x = '\x1b[2J'; charge()", 13, 21, "x = '\\x1b[2J'; charge()", "               ^^^^^^^^"),
        ("charge()\x0c", 1, 9, "charge()\\x0c", "^^^^^^^^"),
        ("charge()", 1, 1, "charge()", "^"),
        ("charge()", 40, 50, "charge()", "        ^"),
    ],
)
def test_marker_stands_under_what_it_means(
    project: Project, line: str, column: int, end: int, shown: str, marker: str
) -> None:
    project.write({"src/a.py": line + "\n"})
    finding = replace(FINDING, line=1, column=column, end_line=1, end_column=end, chain=(), instead="")
    assert text(project, finding).splitlines()[1:3] == [f"    1 | {shown}", f"      | {marker}"]


def test_finding_over_several_lines_is_marked_to_the_end_of_its_first(project: Project) -> None:
    project.write({"src/a.py": "charge(\n    order,\n)\n"})
    finding = replace(FINDING, line=1, column=1, end_line=3, end_column=2)
    assert text(project, finding).splitlines()[1:3] == ["    1 | charge(", "      | ^^^^^^^"]


def test_long_line_is_cut_around_the_finding(project: Project) -> None:
    project.write({"src/a.py": "x" * 5000 + "charge()" + "y" * 5000})
    finding = replace(FINDING, line=1, column=5001, end_line=1, end_column=5009)
    excerpt, marker = text(project, finding).splitlines()[1:3]
    assert len(excerpt) < 120
    assert excerpt[marker.index("^") :].startswith("charge()")
    assert marker.count("^") == 8


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"one line"])
def test_source_line_that_cannot_be_had(project: Project, content: bytes | None) -> None:
    if content is not None:
        project.write({"src/a.py": content})
    assert text(project, FINDING).splitlines()[1].startswith("  instead:")


def test_names_cannot_forge_a_line(project: Project) -> None:
    forged = replace(FINDING, path="a\nNo findings.\x1b[2K.py", chain=())
    assert text(project, forged).splitlines()[0].startswith("a\\nNo findings.\\x1b[2K.py:2:5: CG201")


def test_json(project: Project) -> None:
    report = Report((FINDING,), (Failure("src/b.py", "CG101", "boom"),), SUMMARY)
    document = json.loads(render("json", report, Options(root=project.root, min_resolved=0.5)))
    assert document == {
        "schema": 1,
        "findings": [
            {
                "code": "CG201",
                "name": "network-in-transaction",
                "path": "src/a.py",
                "line": 2,
                "column": 5,
                "end_line": 2,
                "end_column": 19,
                "message": FINDING.message,
                "instead": FINDING.instead,
                "chain": [
                    {"path": "src/a.py", "line": 2, "text": "charge(order)"},
                    {"path": "src/pay.py", "line": 7, "text": "requests.post(url)"},
                ],
                "unsure": [],
                "doubt": 0,
            }
        ],
        "possible": [],
        "errors": [{"path": "src/b.py", "rule": "CG101", "message": "boom"}],
        "summary": {
            "checked": 1200,
            "infra": 4,
            "excluded": 3,
            "tests": 40,
            "calls": 1000,
            "unresolved": 18,
            "resolved": pytest.approx(0.982),
            "min_resolved": 0.5,
        },
    }


def test_json_lists_unresolved_calls_when_asked(project: Project) -> None:
    report = Report(unresolved=(Step("src/b.py", 3, "handler.run()"),))
    document = json.loads(render("json", report, Options(root=project.root, explain_unresolved=True)))
    assert document["unresolved"] == [{"path": "src/b.py", "line": 3, "text": "handler.run()"}]


@pytest.mark.parametrize(
    ("calls", "unresolved", "demanded", "blind"),
    [(10, 1, 0.9, False), (10, 2, 0.9, True), (10, 10, None, False), (0, 0, 1.0, False)],
)
def test_blind(calls: int, unresolved: int, demanded: float | None, blind: bool) -> None:
    assert is_blind(Summary(calls=calls, unresolved=unresolved), demanded) is blind


class BareThread:
    code = "CG101"
    name = "bare-thread"
    summary = "A thread that\n    nothing bounds."
    why = "It outlives the request.\n\nIt cannot be stopped."
    instead = "Use a Detached."
    red: tuple[Example, ...] = ("Thread(target=f).start()\n", "second")
    green: tuple[Example, ...] = ({"a.py": "x = 1\n", "b.py": "y = 2\n"},)


def test_explanation() -> None:
    assert explanation(BareThread()).split("\n\n") == [
        "CG101 bare-thread",
        "A thread that nothing bounds.",
        "Why",
        "It outlives the request.",
        "It cannot be stopped.",
        "Instead",
        "Use a Detached.",
        "Red",
        "    Thread(target=f).start()",
        "Green",
        "    # a.py\n    x = 1\n    # b.py\n    y = 2",
    ]


def test_reading_a_file_for_its_line_never_leaves_the_project_s_copy(tmp_path: Path) -> None:
    """Two projects in one process do not share lines."""
    for name in ("one", "two"):
        project = Project(tmp_path / name).write({"src/a.py": f"\n{name}(order)\n"})
        assert f"2 | {name}(order)" in text(project, replace(FINDING, column=1))
