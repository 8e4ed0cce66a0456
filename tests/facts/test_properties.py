"""Properties of the resolver: a primitive that was renamed any number of times is found, anything else is not; and no
verdict depends on the order in which files are listed or asked about, nor on what a name is called."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from concurrency_gate import gate
from tests.facts.marked import project

PRIMITIVES = {
    "threading.Thread": "CG101",
    "asyncio.create_task": "CG102",
    "concurrent.futures.ThreadPoolExecutor": "CG103",
    "os.fork": "CG104",
    "gevent.spawn": "CG105",
    "twisted.internet.threads.deferToThread": "CG106",
}
UNRELATED = ("threading.Lock", "asyncio.sleep", "os.getpid", "json.dumps", "mine.Thread", "decimal.Decimal")
IDENTIFIERS = st.from_regex(r"[a-z]{1,6}_[0-9]{1,3}", fullmatch=True)

HOPS = {
    "import": "from {module} import {old} as {new}",
    "relative": "from .{module} import {old} as {new}",
    "star": "from {module} import *\n{new} = {old}",
    "attribute": "import {module} as lib\n{new} = lib.{old}",
    "function": "from {module} import {old}\ndef make():\n    return {old}\n{new} = make()",
    "class": "import {module}\nclass Box:\n    held = {module}.{old}\n{new} = Box.held",
    "self": "import {module}\nclass Box:\n    def __init__(self):\n        self.held = {module}.{old}\n{new} = Box().held",
    "conditional": "from {module} import {old}\nif input():\n    {new} = {old}\nelse:\n    {new} = None",
    "try": "try:\n    from {module} import {old} as {new}\nexcept ImportError:\n    {new} = None",
    "tuple": "from {module} import {old}\n{new}, _ = {old}, 1",
    "dict": "from {module} import {old}\n{new} = {{'a': {old}}}['a']",
    "partial": "import functools\nfrom {module} import {old}\n{new} = functools.partial({old})",
    "getattr": "import {module}\n{new} = getattr({module}, '{old}')",
    "or": "from {module} import {old}\n{new} = None or {old}",
    "walrus": "from {module} import {old}\n({new} := {old})",
    "global": "from {module} import {old}\n{new} = None\ndef set_it():\n    global {new}\n    {new} = {old}",
}
LAST = {
    "import": "from {module} import {old}\n{old}()",
    "attribute": "import {module}\n{module}.{old}()",
    "in function": "def f():\n    from {module} import {old} as x\n    return x()",
    "default": "from {module} import {old}\ndef f(x={old}):\n    x()",
    "star": "from {module} import *\n{old}()",
}


@dataclass(frozen=True)
class Chain:
    """Modules m0, m1, ...: each takes the name of the one before and gives it another."""

    hops: tuple[tuple[str, str], ...]
    last: str

    def files(self, primitive: str) -> dict[str, str]:
        origin, _, first = primitive.rpartition(".")
        texts = {"m0.py": f"from {origin} import {first} as start"}
        old = "start"
        for number, (hop, new) in enumerate(self.hops, start=1):
            texts[f"m{number}.py"] = HOPS[hop].format(module=f"m{number - 1}", old=old, new=new)
            old = new
        texts["user.py"] = LAST[self.last].format(module=f"m{len(self.hops)}", old=old)
        return texts


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    names = draw(st.lists(IDENTIFIERS, min_size=1, max_size=8, unique=True))
    hops = tuple((draw(st.sampled_from(sorted(HOPS))), name) for name in names)
    return Chain(hops, draw(st.sampled_from(sorted(LAST))))


def verdicts(texts: dict[str, str], only: str | None = None) -> set[tuple[str, str, int, int, str]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in texts.items():
            (folder / path).write_text(text + "\n", encoding="utf-8")
        report = gate.check([folder / only if only else folder], project(folder))
        assert not report.errors
        return {(f.path, f.code, f.line, f.column, f.message) for f in report.findings}


common = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
few = settings(common, max_examples=25)
many = settings(common, max_examples=200)


def renamed_primitive_is_found(chain: Chain, primitive: str) -> None:
    found = verdicts(chain.files(primitive))
    assert ("user.py", PRIMITIVES[primitive]) in {(path, code) for path, code, *_ in found}
    assert {code for _, code, *_ in found} == {PRIMITIVES[primitive]}


def anything_else_is_not(chain: Chain, name: str) -> None:
    assert not verdicts(chain.files(name))


def order_does_not_matter(chain: Chain, primitive: str) -> None:
    """Judging one file alone says of it what judging all says: the resolver is then asked in another order."""
    texts = chain.files(primitive)
    everything = verdicts(texts)
    for path in texts:
        alone = verdicts(texts, only=path)
        assert alone == {finding for finding in everything if finding[0] == path}


def names_do_not_matter(chain: Chain, primitive: str) -> None:
    """Other names of the same length, which also sorts the words in another order, leave every verdict in place."""
    letters = str.maketrans("abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlkjihgfedcba")
    other = Chain(tuple((hop, new.translate(letters)) for hop, new in chain.hops), chain.last)
    places = [sorted(finding[:4] for finding in verdicts(c.files(primitive))) for c in (chain, other)]
    assert places[0] == places[1]


PROPERTIES = [
    (renamed_primitive_is_found, sorted(PRIMITIVES)),
    (anything_else_is_not, sorted(UNRELATED)),
    (order_does_not_matter, sorted(PRIMITIVES)),
    (names_do_not_matter, sorted(PRIMITIVES)),
]


@pytest.mark.parametrize(("claim", "names"), PROPERTIES, ids=[claim.__name__ for claim, _ in PROPERTIES])
def test_briefly(claim, names) -> None:  # type: ignore[no-untyped-def]
    few(given(chains(), st.sampled_from(names))(claim))()


@pytest.mark.heavy
@pytest.mark.parametrize(("claim", "names"), PROPERTIES, ids=[claim.__name__ for claim, _ in PROPERTIES])
def test_at_length(claim, names) -> None:  # type: ignore[no-untyped-def]
    many(given(chains(), st.sampled_from(names))(claim))()
