"""Text that is no Python, or hardly: a clear finding or a right answer, never a traceback, never a silent pass."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from concurrency_gate import gate
from tests.facts.marked import project

THREAD = b"import threading\nthreading.Thread()\n"

UNREADABLE = {
    "binary": bytes(range(256)),
    "nul": b"x = 1\0\n",
    "not utf-8": b"x = '\xff'\n",
    "not its coding": b"# coding: ascii\nx = '\xc3\xa4'\n",
    "unknown coding": b"# coding: klingon\n",
    "mark and coding disagree": codecs.BOM_UTF8 + b"# coding: latin-1\n",
    "utf-16": THREAD.decode().encode("utf-16"),
    "syntax": b"def f(:\n",
    "python 2": b"print 'x'\n",
    "indentation": b"if 1:\n  x\n y\n",
    "tabs": b"if 1:\n\tx\n        y\n",
    "merge conflict": b"<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n",
    "unfinished": b"x = (\n",
    "unfinished string": b"x = '''\n",
    "deep brackets": b"x = " + b"(" * 5000 + b")" * 5000 + b"\n",
    "deep unary": b"x = " + b"-" * 200_000 + b"1\n",
    "deep indentation": b"".join(b" " * i + b"if 1:\n" for i in range(150)) + b" " * 150 + b"x\n",
}

READABLE = {
    "empty": (b"", 0),
    "only a comment": (b"# nothing", 0),
    "hashes behind a quote": (b"transaction = 'x'\n" + b"#" * 10_000 + b"\n", 0),
    "byte order mark": (codecs.BOM_UTF8 + THREAD, 2),
    "windows line ends": (THREAD.replace(b"\n", b"\r\n"), 2),
    "old line ends": (THREAD.replace(b"\n", b"\r"), 2),
    "form feed": (b"\f\n" + THREAD, 3),
    "form feed in the line": (b"import threading\n\fthreading.Thread()\n", 2),
    "form feed inside": (b"import threading\nx = 1;\f threading.Thread()\n", 2),
    "line separators that end no line": (b"x = '\xe2\x80\xa8\xc2\x85\x0b\x1c'\n" + THREAD, 3),
    "latin-1": (b"# coding: latin-1\nx = '\xe4'\n" + THREAD, 4),
    "latin-1 in the line": (b"# coding: latin-1\nimport threading\nx = '\xe4', threading.Thread()\n", 3),
    "utf-7": (b"# coding: utf-7\nimport threading\nthreading.+AFQ-hread()\n", 3),
    "no line end": (THREAD.rstrip(), 2),
    "deep calls": (b"import threading\nx = " + b"f(" * 90 + b"threading.Thread()" + b")" * 90 + b"\n", 2),
    "long chain": (b"import threading\nthreading.Thread()" + b".x()" * 900 + b"\n", 2),
    "long sum": (b"import threading\nx = " + b"1 + " * 900 + b"threading.Thread()\n", 2),
    "long boolean": (b"import threading\nx = " + b"y or " * 5000 + b"threading.Thread()\n", 2),
    "long elif": (b"import threading\nif x: pass\n" + b"elif x: pass\n" * 900 + b"else: threading.Thread()\n", 903),
    "large dict": (
        b"import threading\nx = {\n" + b"".join(b"'k%d': [%d, f(%d)],\n" % (i, i, i) for i in range(10_000))
        + b"'last': threading.Thread,\n}\nx['last']()\n",
        10_003,
    ),
    "large list of it": (b"import threading\nx = [" + b"threading.Thread, " * 500 + b"]\n", 2),
    "many lines": (b"x = 1\n" * 100_000 + THREAD, 100_002),
    "long line": (b"import threading; x = '" + b"a" * 1_000_000 + b"'; threading.Thread()\n", 1),
    "chain of names": (
        b"import threading\nx0 = threading.Thread\n" + b"".join(b"x%d = x%d\n" % (i, i - 1) for i in range(1, 1000))
        + b"x999()\n",
        2,
    ),
    "chain of functions": (
        b"import threading\ndef f0(): return threading.Thread\n"
        + b"".join(b"def f%d(): return f%d()\n" % (i, i - 1) for i in range(1, 400))
        + b"f399()()\n",
        2,
    ),
    "chain of classes": (
        b"import threading\nclass C0(threading.Thread): pass\n"
        + b"".join(b"class C%d(C%d): pass\n" % (i, i - 1) for i in range(1, 400)),
        2,
    ),
}  # fmt: skip


def judge(folder: Path, data: bytes) -> list[tuple[str, int]]:
    (folder / "odd.py").write_bytes(data)
    report = gate.check([folder], project(folder))
    assert not report.errors, [e.message[:300] for e in report.errors]
    return [(finding.code, finding.line) for finding in report.findings]


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable(name: str, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_bytes(b"from odd import x\n" + THREAD)
    found = judge(tmp_path, UNREADABLE[name])
    assert [code for code, _ in found] == ["CG902", "CG101"] or [code for code, _ in found] == [
        "CG101",
        "CG902",
    ]


@pytest.mark.parametrize("name", READABLE)
def test_readable(name: str, tmp_path: Path) -> None:
    data, line = READABLE[name]
    found = judge(tmp_path, data)
    assert {code for code, _ in found} <= {"CG101"}
    assert found[0][1] == line if line else not found


@pytest.mark.parametrize(
    "name", ["chain of names", "chain of functions", "chain of classes", "large list of it"]
)
def test_every_link_is_found(name: str, tmp_path: Path) -> None:
    data, _ = READABLE[name]
    expected = {
        "chain of names": 1001,
        "chain of functions": 2,
        "chain of classes": 400,
        "large list of it": 500,
    }
    assert len(judge(tmp_path, data)) == expected[name]


def test_every_kind_of_constant(tmp_path: Path) -> None:
    """A tree holds more than nodes and strings."""
    text = (
        b"import threading\nmatch x:\n    case None | True | b'' | 1.5 | -1j: return_ = lambda: b''\nx = ...\n"
        * 2
    )
    assert [
        line for _, line in judge(tmp_path, text + b"def f(): return b'', (yield b''), b''\n" + THREAD)
    ] == [11]
