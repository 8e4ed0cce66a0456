"""The written form: patterns, conditions, types, and one line for every mistake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concurrency_gate import catalogue_format as form
from concurrency_gate.catalogue import CatalogueError, load
from concurrency_gate.catalogue_format import Condition, Shape

WORD = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("a.b", ["a.b"]),
        ("a.{b,c}.d", ["a.b.d", "a.c.d"]),
        ("a.{b, c}", ["a.b", "a.c"]),
        ("{a,b}.{c,d}", ["a.c", "a.d", "b.c", "b.d"]),
        ("a.{B.c,d}", ["a.B.c", "a.d"]),
        ("a.B.*", ["a.B.*"]),
    ],
)
def test_braces_expand(pattern: str, names: list[str]) -> None:
    assert sorted(form.expand(pattern)) == sorted(names)


@given(st.lists(st.lists(WORD, min_size=1, max_size=3, unique=True), min_size=1, max_size=4))
def test_a_pattern_stands_for_the_product_of_its_alternatives(groups: list[list[str]]) -> None:
    pattern = ".".join("{" + ",".join(group) + "}" for group in groups)
    names = list(form.expand(pattern))
    assert len(names) == len(set(names))
    split = [name.split(".") for name in names]
    assert all(part in group for name in split for part, group in zip(name, groups, strict=True))
    count = 1
    for group in groups:
        count *= len(group)
    assert len(names) == count


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("autocommit=False", Condition("autocommit", None, True, False)),
        ("0:autocommit=False", Condition("autocommit", 0, True, False)),
        ("level!=None", Condition("level", None, False, None)),
        ("1:identifier='after_commit'", Condition("identifier", 1, True, "after_commit")),
        ("delay!=0", Condition("delay", None, False, 0)),
    ],
)
def test_conditions(text: str, condition: Condition) -> None:
    assert form.condition(text) == condition


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("pkg.Class", Shape("pkg.Class")),
        ("self", Shape("self")),
        ("argument:1", Shape("argument", 1)),
        ("pkg.Manager[self]", Shape("pkg.Manager", parameters=(Shape("self"),))),
        ("pkg.Manager[instance:0]", Shape("pkg.Manager", parameters=(Shape("instance", 0),))),
        ("tuple[pkg.A, pkg.B]", Shape("tuple", parameters=(Shape("pkg.A"), Shape("pkg.B")))),
        ("type[pkg.Class]", Shape("type", parameters=(Shape("pkg.Class"),))),
    ],
)
def test_types(text: str, shape: Shape) -> None:
    assert form.shape(text) == shape


@pytest.mark.parametrize(
    ("additions", "message"),
    [
        ({"netwrok": []}, "catalogue.netwrok: unknown key 'netwrok'; did you mean 'network'?"),
        ({"network": "acme.call"}, "catalogue.network: 'acme.call' is no list"),
        ({"network": ["acme..call"]}, "catalogue.network: 'acme..call' is no dotted name"),
        ({"network": ["acme.*.call"]}, "catalogue.network: 'acme.*.call' is no dotted name"),
        ({"network": ["acme.{a,b"]}, "catalogue.network: 'acme.{a,b' has a brace that is not closed"),
        ({"network": [3]}, "catalogue.network: 3 is no table"),
        ({"network": [{"when": "x=1"}]}, "catalogue.network: an element without a name"),
        ({"network": [{"name": "acme.x", "wehn": "x=1"}]}, "unknown key 'wehn'; did you mean 'when'?"),
        ({"network": [{"name": "acme.x", "when": "x"}]}, "catalogue.network: 'x' is no condition"),
        ({"network": [{"name": "acme.x", "when": "x=y"}]}, "'x=y' compares with no literal"),
        ({"runs": [{"name": "acme.x", "argument": "a"}]}, "catalogue.runs: argument = 'a' is no position"),
        ({"returns": {"acme.f": "argument"}}, "catalogue.returns: 'argument' is no type"),
        ({"calls": {"acme.A.f": ["save"]}}, "catalogue.calls: 'save' is no method"),
        ({"implicit": {"acme.S": {"stmts": []}}}, "unknown key 'stmts'; did you mean 'statements'?"),
        ({"alias": ["acme"]}, "catalogue.alias: ['acme'] is no table"),
    ],
)
def test_a_mistake_is_one_line_that_starts_with_the_key(additions: dict[str, object], message: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        load(additions)
    assert message in str(caught.value)
    assert str(caught.value).startswith("catalogue.")
    assert "\n" not in str(caught.value)
