"""The globs of `infra` and `exclude`.

A pattern is relative to the project root, is written with forward slashes, and always starts at the root:

    `*`         any run of characters within one name      `?`   one character
    `[ab]`      one of these; `[!ab]` none of these        `**`  as a whole name: any number of folders
    `a/b`       that file, or that folder and all under it
    `a/`        that folder and all under it, never a file

Unlike in a .gitignore file, a pattern without a slash does not float: an allow-list entry `pool` that let
every folder of that name through would be wider than its author meant. `**/pool` says so in the open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_BRACES = re.compile(r"\{[^{}]*,[^{}]*\}")


class GlobError(ValueError):
    """A pattern that says something else than its author meant; the text says what to write instead."""


def compile_globs(patterns: Iterable[str]) -> re.Pattern[str]:
    """One regular expression whose `fullmatch` holds for the paths (relative, posix) that any pattern names.

    No pattern at all matches nothing. Raises GlobError for a pattern that is not well formed.
    """
    alternatives = "|".join(translate(pattern) for pattern in patterns)
    return re.compile(alternatives or r"(?!)", re.DOTALL)


def translate(pattern: str) -> str:
    """The regular expression of one pattern. Raises GlobError."""
    _refuse_what_misleads(pattern)
    names = pattern.removesuffix("/").split("/")
    below_only = pattern.endswith("/") or names[-1] == "**"
    if names[-1] == "**":
        names.pop()
    parts = ["(?:[^/]+/)*" if name == "**" else _translate_name(name, pattern) + "/" for name in names]
    prefix = "".join(parts)
    return prefix + ".+" if below_only else prefix.removesuffix("/") + "(?:/.+)?"


def _refuse_what_misleads(pattern: str) -> None:
    if not pattern.strip():
        raise GlobError('an empty pattern matches nothing; write a path such as "src/acme/infra/**"')
    if "\\" in pattern:
        raise GlobError(f'write forward slashes: "{pattern.replace(chr(92), "/")}"')
    if pattern.startswith("!"):
        raise GlobError('there is no "!" here; narrow the other patterns instead')
    if pattern.startswith("/") or re.match(r"[A-Za-z]:/", pattern):
        raise GlobError("patterns start at the project root; leave out the leading slash or drive")
    names = pattern.removesuffix("/").split("/")
    if "." in names or "" in names:
        mended = "/".join(name for name in names if name not in ("", "."))
        raise GlobError(f'write it without empty parts and ".": "{mended or "**"}"')
    if ".." in names:
        raise GlobError('".." would leave the project; name a path under its root')
    if _BRACES.search(pattern):
        raise GlobError("braces are not alternatives here; write one pattern for each")
    for name in names:
        if "**" in name and name != "**":
            raise GlobError(f'"**" stands alone between slashes; write "*" inside a name ("{name}")')


def _translate_name(name: str, pattern: str) -> str:
    result = ""
    index = 0
    while index < len(name):
        char = name[index]
        index += 1
        if char == "*":
            result += "[^/]*"
        elif char == "?":
            result += "[^/]"
        elif char == "[":
            # A "]" right after the opening (or its negation) is a member, as in every shell.
            first = index + 1 if name[index : index + 1] == "!" else index
            end = name.find("]", first + 1)
            if end < 0:
                raise GlobError(
                    f'"[" is never closed in "{pattern}"; close it, or write "[[]" for the bracket'
                )
            result += _translate_class(name[index:end], pattern)
            index = end + 1
        else:
            result += re.escape(char)
    # "*" never matches nothing: a name has at least one character.
    return "(?=[^/])" + result if set(name) == {"*"} else result


def _translate_class(members: str, pattern: str) -> str:
    negated = members.startswith("!")
    members = members.removeprefix("!")
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", members)
    if escaped.startswith("-"):
        escaped = "\\" + escaped
    expression = f"(?!/)[{'^' if negated else ''}{escaped}]"
    try:
        re.compile(expression)
    except re.error as error:
        raise GlobError(f'"[{members}]" in "{pattern}" is not a set of characters: {error.msg}') from None
    return expression
