from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from concurrency_gate import config, sources
from concurrency_gate.config import Config
from concurrency_gate.sources import PathError, Sources, Unreadable
from tests.shell.conftest import Project

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX file names and links")


def discover(project: Project, *paths: str) -> Sources:
    return sources.discover([project.root / path for path in paths], config.find(project.root))


def listed(project: Project, *paths: str) -> list[str]:
    return [source.path for source in discover(project, *paths).selected]


LAYOUT: dict[str, str | bytes] = {
    "setup.py": "",
    "src/a.py": "",
    "src/gui.pyw": "",
    "src/stub.pyi": "",
    "src/notes.txt": "",
    "src/with space/b c.py": "",
    "src/.hidden/x.py": "",
    "src/__pycache__/x.py": "",
    "web/node_modules/tool/x.py": "",
    "my env/pyvenv.cfg": "",
    "my env/lib/python3.11/site-packages/x.py": "",
    "my env/bin/activate_this.py": "",
    "src/__generated__/x.py": "",
    "src/node_modules.py": "",
    "src/pyvenv.cfg.py": "",
}
SOURCES = [
    "setup.py",
    "src/__generated__/x.py",
    "src/a.py",
    "src/gui.pyw",
    "src/node_modules.py",
    "src/pyvenv.cfg.py",
    "src/with space/b c.py",
]


def test_listing_without_git(project: Project) -> None:
    assert listed(project.write(LAYOUT)) == SOURCES


def test_listing_with_git(project: Project) -> None:
    project.write(LAYOUT).write(
        {
            ".gitignore": "build/\n*.gen.py\n",
            "build/x.py": "",
            "src/x.gen.py": "",
            "src/forced.gen.py": "",
            "gone.py": "",
        }
    )
    project.git("init").git("add", ".").git("add", "-f", "src/forced.gen.py")
    (project.root / "gone.py").unlink()
    assert listed(project) == sorted([*SOURCES, "src/forced.gen.py"])


def test_a_repository_of_ignored_files_has_none(project: Project) -> None:
    project.write({".gitignore": "*.py\n", "a.py": ""}).git("init")
    with pytest.raises(PathError, match="no Python file there that git does not ignore"):
        discover(project)


@pytest.mark.parametrize("where", ["", "my env/"])
def test_environment_whose_mark_is_ignored(project: Project, where: str) -> None:
    project.write({f"{where}pyvenv.cfg": "", f"{where}lib/python3.12/site-packages/x.py": "", "a.py": ""})
    project.write({".gitignore": "pyvenv.cfg\n"}).git("init")
    assert listed(project) == ["a.py"]


def test_site_packages_without_an_environment_hide_nothing(project: Project) -> None:
    project.write({"src/lib/python3.12/site-packages/x.py": ""}).git("init")
    assert listed(project) == ["src/lib/python3.12/site-packages/x.py"]


def test_project_in_a_folder_that_an_outer_repository_ignores(tmp_path: Path) -> None:
    Project(tmp_path).write({".gitignore": "scratch/\n"}).git("init")
    inner = Project(tmp_path / "scratch").write({"setup.py": "", "a.py": ""})
    assert listed(inner) == ["a.py", "setup.py"]


def test_a_hook_s_variables_do_not_mislead_git(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"a.py": "", "b/c.py": "", ".gitignore": "b/\n"}).git("init")
    monkeypatch.setenv("GIT_DIR", "nowhere/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "nowhere/index")
    assert listed(project) == ["a.py"]


def test_listing_runs_nothing_that_the_repository_brings(project: Project) -> None:
    project.write({"a.py": "", "hook": "#!/bin/sh\ntouch ran\n"}).git("init")
    (project.root / "hook").chmod(0o755)
    project.git("config", "core.fsmonitor", "./hook")
    assert listed(project) == ["a.py"]
    assert not (project.root / "ran").exists()


def test_a_file_named_itself_is_judged_whatever_git_and_its_name_say(project: Project) -> None:
    project.write({".gitignore": "*.gen.py\n", "x.gen.py": "", "tool": "#!/usr/bin/env python\n", "a.py": ""})
    project.git("init")
    assert listed(project, "x.gen.py", "tool") == ["tool", "x.gen.py"]


def test_selection(project: Project) -> None:
    project.write({"setup.py": "", "a/x.py": "", "a/y.py": "", "ab/z.py": "", "b.py": ""})
    assert listed(project, "a") == ["a/x.py", "a/y.py"]
    assert listed(project, "a/", "b.py") == ["a/x.py", "a/y.py", "b.py"]
    assert [s.path for s in discover(project, "b.py").project] == [
        "a/x.py",
        "a/y.py",
        "ab/z.py",
        "b.py",
        "setup.py",
    ]
    assert listed(project, ".", "b.py") == listed(project)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("srcc", "did you mean"),
        ("src/b.py", "did you mean"),
        ("nowhere/at/all", "check the spelling"),
        ("docs", "no Python file there"),
        ("../outside", "outside the project"),
    ],
)
def test_paths_that_cannot_be_checked(project: Project, path: str, message: str) -> None:
    project.write({"setup.py": "", "src/a.py": "", "docs/index.md": "", "../outside/x.py": ""})
    with pytest.raises(PathError, match=message) as caught:
        discover(project, path)
    assert "\n" not in str(caught.value)


@posix
def test_links(project: Project) -> None:
    project.write({"setup.py": "", "pkg/a.py": ""})
    (project.root / "pkg/loop").symlink_to(project.root / "pkg", target_is_directory=True)
    (project.root / "pkg/link.py").symlink_to("a.py")
    (project.root / "pkg/dangling.py").symlink_to("nothing.py")
    (project.root / "pkg/self.py").symlink_to("self.py")
    (project.root / "pkg/.#a.py").symlink_to("ada@host.1234")
    expected = ["pkg/a.py", "pkg/dangling.py", "pkg/link.py", "pkg/self.py"]
    assert listed(project, "pkg") == expected
    assert listed(project.git("init"), "pkg") == expected
    assert listed(project, "pkg/loop") == expected
    with pytest.raises(Unreadable, match="link to nothing"):
        sources.read(project.root / "pkg/dangling.py")
    with pytest.raises(Unreadable, match="symbolic links"):
        sources.read(project.root / "pkg/self.py")


@posix
@pytest.mark.parametrize("with_git", [False, True])
def test_names_that_nobody_expects(project: Project, with_git: bool) -> None:
    names = ["new\nline.py", "tab\t.py", "ü.py", "*.py", "-x.py", " .py", "\udcff.py", "[a].py"]
    project.write({"setup.py": "", **dict.fromkeys(names, "")})
    if with_git:
        project.git("init").git("add", ".")
    assert listed(project) == sorted([*names, "setup.py"])
    assert listed(project, "new\nline.py") == ["new\nline.py"]


@posix
def test_a_folder_that_cannot_be_listed_is_not_passed_over(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"setup.py": "", "secret/x.py": ""})
    real = os.scandir

    def scandir(path: str) -> object:  # permissions do not stop root, who often runs the tests
        if path.rstrip("/").endswith("secret"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert listed(project) == ["secret/", "setup.py"]
    with pytest.raises(Unreadable, match="is a folder"):
        sources.read(project.root / "secret/")


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("src/acme/a.py", "application"),
        ("src/acme/infra/pool.py", "infra"),
        ("gen/a.py", "excluded"),
        ("gen/tests/test_a.py", "excluded"),
        ("tests/helper.py", "test"),
        ("src/acme/tests/deep/a.py", "test"),
        ("src/acme/tests.py", "test"),
        ("src/test_a.py", "test"),
        ("src/a_test.py", "test"),
        ("src/conftest.py", "test"),
        ("src/acme/infra/test_pool.py", "test"),
        ("src/contest.py", "application"),
        ("src/testing/a.py", "application"),
        ("src/latest.py", "application"),
    ],
)
def test_roles(path: str, role: str) -> None:
    settings = Config(root=Path(), infra=("src/acme/infra/**",), exclude=("gen/**",))
    assert sources.classifier(settings)(path) == role


def test_include_tests() -> None:
    settings = Config(root=Path(), infra=("tests/infra/**",), include_tests=True)
    role = sources.classifier(settings)
    assert (role("tests/test_a.py"), role("tests/infra/a.py")) == ("application", "infra")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"x = '\xc3\xbc'\r\n", "x = 'ü'\r\n"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        (b"\xef\xbb\xbf# coding: utf-8\n", "# coding: utf-8\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xfc'\n", "# -*- coding: latin-1 -*-\nx = 'ü'\n"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'", None),
        (b"\x0cx = 1\n\x0c\n", "\x0cx = 1\n\x0c\n"),
        (b"x = 1\ry = 2\r", "x = 1\ry = 2\r"),
    ],
)
def test_decode(data: bytes, text: str | None) -> None:
    assert sources.decode(data) == (data.decode("cp1252") if text is None else text)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x = 1\n\n\n'\xff'", r"not valid utf-8 at byte 9 \(line 4\)"),
        (b"\xff\xfe", "not valid utf-8 in its first two lines"),
        (b"# coding: klingon\n", r"an encoding that Python does not know \(klingon\)"),
        (b"# coding: hex\n6a", "cannot be decoded"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "byte order mark"),
        (b"x = 1\n\0", r"NUL character \(line 2\)"),
        (b"\x7fELF\x02\x01\x01\0", "NUL"),
        (b"# coding: ascii\n'\xc3\xbc'", "not valid ascii at byte 17"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        sources.decode(data)


def test_lines_are_counted_as_python_counts_them() -> None:
    assert sources.lines("a\r\nb\rc\x0c\u2028d\n\ne") == ["a", "b", "c\x0c\u2028d", "", "e"]


def test_read(project: Project) -> None:
    project.write({"a.py": "x = 1\r\n", "empty.py": ""})
    assert sources.read(project.root / "a.py") == b"x = 1\r\n"
    assert sources.read(str(project.root / "empty.py")) == b""
    for path, reason in [(".", "folder"), ("gone.py", "vanished"), ("nul\0.py", "null")]:
        with pytest.raises(Unreadable, match=reason):
            sources.read(project.root / path)


@posix
def test_read_does_not_wait_for_a_pipe(project: Project) -> None:
    os.mkfifo(project.root / "pipe.py")
    with pytest.raises(Unreadable, match="not a regular file"):
        sources.read(project.root / "pipe.py")


def test_read_refuses_what_no_human_wrote(project: Project) -> None:
    with (project.root / "huge.py").open("wb") as file:
        file.truncate(sources.MOST_BYTES + 1)
    with pytest.raises(Unreadable, match="larger than 64 MiB"):
        sources.read(project.root / "huge.py")


def test_stamps_tell_a_change(project: Project) -> None:
    project.write({"setup.py": "", "a.py": "1"})
    before = discover(project).stamps
    project.write({"a.py": "12"})
    after = discover(project).stamps
    assert before["setup.py"] == after["setup.py"]
    assert before["a.py"] != after["a.py"]


@pytest.mark.heavy
def test_five_thousand_files_are_listed_classified_and_looked_at_in_a_moment(project: Project) -> None:
    project.write({f"src/p{i // 100}/q{i // 10}/m{i}.py": "" for i in range(5000)})
    settings = Config(root=project.root, infra=("src/p1/**",), exclude=("src/p2/**", "**/gen/**"))
    took = []
    for _ in range(5):
        began = time.perf_counter()
        found = sources.discover([project.root], settings)
        took.append(time.perf_counter() - began)
    assert len(found.selected) == 5000
    # 45 ms on an idle core; the bound leaves room for a busy machine, not for a slower algorithm.
    assert min(took) < 0.2, f"{min(took):.3f} s on {sys.platform}"
