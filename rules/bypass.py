"""CG9, the gate itself: what would let a finding go unseen."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from concurrency_gate.globs import compile_globs
from concurrency_gate.inspection import Inspection, Outcome
from concurrency_gate.rule import Finding, ReviewRule, Rule, RunRule

_INLINE = re.compile(r"#\s*noqa(?P<codes>:\s?[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)?", re.IGNORECASE)
_LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_WHOLE_FILE = re.compile(r"\s*(?P<comment>#\s*flake8[:=]\s*noqa.*)", re.IGNORECASE)
"""Any line that begins so, be it in a string, and whatever codes it names: flake8 skips the file."""


class BypassComment(ReviewRule):
    code = "CG901"
    name = "bypass-comment"
    summary = "A noqa comment stands on a line with a finding."
    why = (
        "The gate has no per-line escape: what a comment can silence is not enforced. The comment would hide the finding "
        "in flake8, so it is a finding itself."
    )
    instead = "remove the comment and mend the finding, or move the code to an infra path"
    red = (
        "import threading\nthreading.Thread(target=print).start()  # noqa\n",
        "import threading\nthreading.Thread(\n    target=print,\n).start()  # noqa: E501,CG101\n",
        "# flake8: noqa\nimport threading\nthreading.Thread(target=print).start()\n",
        "# flake8: noqa: E501\nimport threading\nthreading.Thread(target=print).start()\n",
        "import threading\nTEXT = '''\n# flake8: noqa\n'''\nthreading.Thread(target=print).start()\n",
    )
    green = (
        "import os  # noqa: F401\n",
        "# flake8: noqa\nimport os\n",
    )
    plant = "import threading\n\nthreading.Thread(target=print).start()  # noqa\n"

    def review(self, file: Inspection, findings: Sequence[Finding]) -> Iterator[Finding]:
        if not findings or "noqa" not in file.text.lower():
            return
        for number, line in enumerate(file.lines, start=1):
            whole = _WHOLE_FILE.match(line)
            if whole:
                place = (number, whole.start("comment"), number, whole.end())
                yield self._finding(file, place, "this comment hides the whole file from flake8", findings)
        for comment, first, last in _comments(file.text):
            inline = None if _WHOLE_FILE.match(comment.string) else _INLINE.search(comment.string)
            here = [f for f in findings if first <= f.line <= last] if inline else []
            if inline and inline["codes"]:
                here = _named(here, inline["codes"])
            if here:
                codes = ", ".join(dict.fromkeys(f.code for f in here))
                place = (*comment.start, *comment.end)
                yield self._finding(file, place, f"this comment hides {codes} from flake8", here)

    def _finding(
        self, file: Inspection, place: tuple[int, int, int, int], message: str, hidden: Sequence[Finding]
    ) -> Finding:
        """In as much doubt as what the comment hides: what is possible only, flake8 does not tell either."""
        line, column, end_line, end_column = place
        end = (end_line, end_column + 1)
        doubt = min(finding.doubt for finding in hidden)
        return Finding(
            file.path, line, column + 1, *end, self.code, self.name, message, self.instead, doubt=doubt
        )


def _named(findings: Sequence[Finding], codes: str) -> list[Finding]:
    named = tuple(code.upper() for code in re.split(r"[,:\s]+", codes) if code)
    return [finding for finding in findings if finding.code.startswith(named)]


def _comments(text: str) -> Iterator[tuple[tokenize.TokenInfo, int, int]]:
    """Each comment with the first and last line of the logical line that it belongs to: flake8 lets a comment
    on any of them speak for all."""
    pending: list[tokenize.TokenInfo] = []
    first = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                pending.append(token)
            elif token.type in _LAYOUT and not (first and token.type == tokenize.NEWLINE):
                if not first:  # comments between statements speak for their own line
                    yield from ((comment, comment.start[0], comment.start[0]) for comment in pending)
                    pending = []
            elif token.type == tokenize.NEWLINE:
                yield from ((comment, first, token.end[0]) for comment in pending)
                pending, first = [], 0
            else:
                first = first or token.start[0]
    except (tokenize.TokenError, SyntaxError):
        pass
    yield from ((comment, comment.start[0], comment.start[0]) for comment in pending)


class UnreadableFile(RunRule):
    code = "CG902"
    name = "unreadable-file"
    summary = "A file cannot be read, decoded or parsed."
    why = "The gate never passes what it could not read: the violation may stand in the very lines it cannot see."
    instead = "mend the file, or name it in `exclude` if it is not meant to be Python"
    red = ("def broken(:\n",)
    green = ("def mended():\n    pass\n",)
    plant = "def planted(:\n"

    def conclude(self, outcome: Outcome) -> Iterator[Finding]:
        for unread in outcome.unread:
            yield Finding(
                unread.path, unread.line, 1, unread.line, 1, self.code, self.name, f"the file {unread.reason}",
                self.instead,
            )  # fmt: skip


class IdleInfraPath(RunRule):
    code = "CG903"
    name = "idle-infra-path"
    summary = "An entry of the allow-list allows nothing that needs it."
    why = "An allowance that nobody needs is an open door: the list of infra paths can only shrink."
    instead = "remove the entry from `infra`"
    planted_settings = MappingProxyType({"infra": ("planted/**",)})

    def conclude(self, outcome: Outcome) -> Iterator[Finding]:
        config = outcome.config
        if not outcome.whole or config.file is None:
            return
        try:
            path = config.file.relative_to(config.root).as_posix()
            lines = config.file.read_text("utf-8", "replace").split("\n")
        except (OSError, ValueError):
            return
        for glob in config.infra:
            matches = compile_globs((glob,)).fullmatch
            files = [file for file, role in outcome.roles.items() if role == "infra" and matches(file)]
            if any(file in outcome.needy for file in files):
                continue
            where = "matches no file" if not files else "matches only files that need no allowance"
            line = next(
                (n for n, text in enumerate(lines, 1) if f'"{glob}"' in text or f"'{glob}'" in text), 1
            )
            column = max(lines[line - 1].find(glob), 0) + 1
            yield Finding(
                path, line, column, line, column + len(glob), self.code, self.name,
                f"the infra path {glob} {where}", self.instead,
            )  # fmt: skip


RULES: tuple[type[Rule], ...] = (BypassComment, UnreadableFile, IdleInfraPath)
