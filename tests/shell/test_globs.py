from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concurrency_gate.globs import GlobError, compile_globs


def matches(pattern: str, path: str) -> bool:
    return compile_globs([pattern]).fullmatch(path) is not None


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        (
            "src/infra/**",
            ["src/infra/a.py", "src/infra/b/c.py"],
            ["src/infra", "src/infrax/a.py", "x/src/infra/a.py"],
        ),
        ("src/infra", ["src/infra", "src/infra/a.py", "src/infra/b/c.py"], ["src/infra.py", "a/src/infra"]),
        ("src/infra/", ["src/infra/a.py"], ["src/infra"]),
        ("pool.py", ["pool.py"], ["src/pool.py", "poolxpy"]),
        ("**/pool.py", ["pool.py", "src/pool.py", "a/b/pool.py"], ["src/mypool.py"]),
        ("**/infra/**", ["infra/a.py", "a/infra/b/c.py"], ["infra", "a/infra"]),
        ("src/*.py", ["src/a.py"], ["src/a/b.py", "a.py"]),
        ("src/*", ["src/a.py", "src/a/b.py"], ["src"]),
        ("src/**/a.py", ["src/a.py", "src/x/a.py", "src/x/y/a.py"], ["a.py", "src/xa.py"]),
        ("a?c", ["abc"], ["ac", "a/c", "abbc"]),
        ("[ab].py", ["a.py", "b.py"], ["c.py"]),
        ("[!ab].py", ["c.py"], ["a.py", "/.py"]),
        ("[]].py", ["].py"], ["a.py"]),
        ("[a-c^].py", ["b.py", "^.py"], ["d.py"]),
        ("**", ["a", "a/b"], []),
        ("{{cookiecutter.slug}}/**", ["{{cookiecutter.slug}}/a.py"], ["cookiecutter/a.py"]),
        ("a b/ü\n.py", ["a b/ü\n.py"], ["a b/ü.py"]),
    ],
)
def test_pattern(pattern: str, inside: list[str], outside: list[str]) -> None:
    assert [path for path in inside if not matches(pattern, path)] == []
    assert [path for path in outside if matches(pattern, path)] == []


@pytest.mark.parametrize(
    ("pattern", "mend"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("/src/**", "leading slash"),
        ("C:/src/**", "drive"),
        ("src\\infra", '"src/infra"'),
        ("./src/**", '"src/**"'),
        ("src//infra", '"src/infra"'),
        ("../other/**", "leave the project"),
        ("!src/**", "narrow"),
        ("src/a**", 'write "*" inside a name'),
        ("src/[ab", "never closed"),
        ("src/[z-a]", "not a set"),
        ("src/{a,b}/**", "one pattern for each"),
    ],
)
def test_misleading_pattern_is_refused_with_its_mend(pattern: str, mend: str) -> None:
    with pytest.raises(GlobError, match=re.escape(mend)):
        compile_globs([pattern])


def test_no_pattern_matches_nothing() -> None:
    assert not compile_globs([]).fullmatch("")


names = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=6).filter(
    lambda n: n not in (".", "..")
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


def quote(path: str) -> str:
    return re.sub(r"[*?\[]", lambda match: f"[{match[0]}]", path)


@given(paths)
def test_a_quoted_path_names_itself_and_what_is_below_it(path: str) -> None:
    try:
        pattern = compile_globs([quote(path)])
    except GlobError:
        return  # it holds something that misleads, such as a backslash
    assert pattern.fullmatch(path)
    assert pattern.fullmatch(path + "/x.py")
    assert not pattern.fullmatch(path + "x")


@given(st.text("ab*?[]!-/.^\\{},\n", max_size=8), paths)
def test_any_text_is_a_pattern_or_refused(pattern: str, path: str) -> None:
    with suppress(GlobError):
        compile_globs([pattern]).fullmatch(path)


@given(paths, st.lists(st.text("ab*?/", min_size=1, max_size=6), max_size=3))
def test_several_patterns_match_what_any_of_them_matches(path: str, patterns: list[str]) -> None:
    try:
        together = compile_globs(patterns)
    except GlobError:
        return
    assert bool(together.fullmatch(path)) == any(matches(pattern, path) for pattern in patterns)
