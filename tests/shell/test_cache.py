from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from concurrency_gate import cache
from concurrency_gate.cache import Store, open_store
from concurrency_gate.config import Config
from concurrency_gate.seal import FOLDER, seal

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
contents = st.dictionaries(st.text(min_size=1, max_size=6), json_values, max_size=6)


def opened(root: Path, folder: Path | None = None, **values: tuple[str, ...]) -> Store:
    store = open_store(Config(root=root).override(**values), str(folder) if folder else None)
    assert store is not None
    return store


def filled(root: Path, values: dict[str, object]) -> Path:
    store = opened(root)
    for key, value in values.items():
        store.pack("facts").put(key, value)
    store.save()
    return next(Path(store.folder).glob("*/facts.pack"))


@given(values=contents)
def test_what_was_put_is_got(tmp_path_factory: pytest.TempPathFactory, values: dict[str, object]) -> None:
    root = tmp_path_factory.mktemp("root")
    pack = opened(root).pack("facts")
    for key, value in values.items():
        pack.put(key, value)
        assert pack.get(key) == value
    if values:
        filled(root, values)
        again = opened(root).pack("facts")
        assert {key: again.get(key) for key in values} == values
    assert pack.get("absent key") is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=contents.filter(bool), data=st.data())
def test_damage_is_absence(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, object], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("root")
    file = filled(root, values)
    content = bytearray(file.read_bytes())
    match data.draw(st.sampled_from(["flip", "cut", "insert", "replace"])):
        case "flip":
            at = data.draw(st.integers(0, len(content) - 1))
            content[at] ^= data.draw(st.integers(1, 255))
        case "cut":
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        case "insert":
            at = data.draw(st.integers(0, len(content)))
            content[at:at] = data.draw(st.binary(min_size=1, max_size=8))
        case _:
            content[:] = data.draw(st.binary(max_size=80))
    file.write_bytes(content)
    pack = opened(root).pack("facts")
    for key, value in values.items():
        assert pack.get(key) in (value, None)
    pack.put("new", 1)
    opened(root).save()


@pytest.mark.parametrize(
    "body",
    [
        b"[1]",
        b'{"a": 3}',
        b'{"a": [0]}',
        b'{"a": [-1, 5]}',
        b'{"a": [0, 1e400]}',
        b'{"a": [99999999999999999999999, 1]}',
        b'{"a": ["x", true]}',
        b"[" * 100_000,
        b"1" * 10_000,
        b"{",
        b"\xff",
    ],
)
def test_a_made_up_index_with_the_right_checksum(tmp_path: Path, body: bytes) -> None:
    file = filled(tmp_path, {"a": 1})
    file.write_bytes(seal(body) + seal(b'"x"'))
    assert opened(tmp_path).pack("facts").get("a") is None


@pytest.mark.parametrize("key", ["../../x", "a/b", "nul\0", "ü\udcff"])
def test_any_text_is_a_key(tmp_path: Path, key: str) -> None:
    filled(tmp_path, {key: [1]})
    assert opened(tmp_path).pack("facts").get(key) == [1]


def test_packs_outlive_what_a_later_run_does_not_use(tmp_path: Path) -> None:
    filled(tmp_path, {"old": 1})
    filled(tmp_path, {"new": 2})
    pack = opened(tmp_path).pack("facts")
    assert (pack.get("old"), pack.get("new")) == (1, 2)


def test_least_recently_used_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, {"a": "x" * 100, "b": "x" * 100, "c": "x" * 100})
    store = opened(tmp_path)
    assert store.pack("facts").get("a")
    store.pack("facts").put("d", "x" * 100)
    with monkeypatch.context() as patch:
        patch.setattr(cache, "_MOST_BYTES", 300)
        store.save()
    left = opened(tmp_path).pack("facts")
    assert [key for key in "abcd" if left.get(key)] == ["a", "d"]


def test_the_cache_is_kept_out_of_commits(tmp_path: Path) -> None:
    filled(tmp_path, {"a": 1})
    assert (tmp_path / FOLDER / ".gitignore").read_text() == "*\n"


def test_a_copied_cache_is_foreign(tmp_path: Path) -> None:
    """Otherwise a pull request could bring a cache that says "clean", checksums and all."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "theirs").mkdir()
    filled(tmp_path / "theirs", {"a": "clean"})
    shutil.copytree(tmp_path / "theirs" / FOLDER, tmp_path / "mine" / FOLDER)
    assert opened(tmp_path / "theirs").pack("facts").get("a") == "clean"
    assert opened(tmp_path / "mine").pack("facts").get("a") is None


def test_a_named_cache_travels(tmp_path: Path) -> None:
    """CI restores a folder that it names itself, on another machine each time."""
    store = opened(tmp_path / "one", tmp_path / "cache")
    store.pack("facts").put("a", 1)
    store.save()
    shutil.copytree(tmp_path / "cache", tmp_path / "restored")
    assert opened(tmp_path / "two", tmp_path / "restored").pack("facts").get("a") == 1


def test_another_configuration_or_gate_has_another_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, {"a": 1})
    assert opened(tmp_path, infra=("src/**",)).pack("facts").get("a") is None
    assert opened(tmp_path).pack("facts").get("a") == 1
    monkeypatch.setattr(cache, "__version__", "0.0.0")
    assert opened(tmp_path).pack("facts").get("a") is None


def test_a_changed_rule_has_another_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = tmp_path / "site" / "acme_rules"
    pack.mkdir(parents=True)
    (pack / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path / "site")
    settings = Config(root=tmp_path, rule_packs=("concurrency_gate.rules", "acme_rules"))
    before = cache.fingerprint(settings)
    (pack / "extra.toml").write_text("")
    assert cache.fingerprint(settings) != before
    assert cache.fingerprint(Config(root=tmp_path / "elsewhere")) == cache.fingerprint(Config(root=tmp_path))


def test_old_generations_go(tmp_path: Path) -> None:
    for number in range(7):
        store = opened(tmp_path, infra=(f"src{number}/**",))
        store.pack("facts").put("a", 1)
        store.save()
        generation = max(Path(store.folder).glob("?" * 32), key=lambda p: p.stat().st_ctime_ns)
        os.utime(generation, ns=(number, number))
    folder = tmp_path / FOLDER
    (folder / "notes").mkdir()
    assert len(list(folder.glob("?" * 32))) <= 5
    assert (folder / "notes").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_in_place_of_the_cache_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / FOLDER).symlink_to(tmp_path / "target", target_is_directory=True)
    assert open_store(Config(root=tmp_path / "root")) is None
    assert not list((tmp_path / "target").iterdir())


def test_no_cache_can_be_made(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file is in the way")
    assert open_store(Config(root=tmp_path)) is None
    assert open_store(Config(root=tmp_path), str(tmp_path / FOLDER / "deeper")) is None


def test_a_cache_that_vanishes_is_no_error(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.pack("facts").put("a", 1)
    shutil.rmtree(store.folder)
    (tmp_path / FOLDER).write_text("")
    store.save()
