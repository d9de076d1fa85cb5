"""Below which directories files may be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from machine.files.desk import DENIED, refused
from serai.machine.files import Access, Root, Roots

BOTH = Access.READ | Access.WRITE


def test_a_root_is_where_it_really_is(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    real = str((tmp_path / "real").resolve())
    assert Root.of(tmp_path / "link").path == real
    assert Root.of((tmp_path / "link").as_uri(), writable=True) == Root(real, writable=True)
    assert Root.of(f"{tmp_path}/link/../link/new").path == f"{real}/new"


def test_a_root_is_absolute() -> None:
    with pytest.raises(ValueError, match="absolute"):
        Root.of("work")
    with refused(DENIED):
        Root.of("file://elsewhere/work")


@pytest.mark.parametrize(
    ("path", "held"),
    [("/a/b", True), ("/a/b/c", True), ("/a", False), ("/a/bc", False), ("/", False), ("/a/B/c", False)],
)
def test_a_root_holds_itself_and_what_is_below(path: str, held: bool) -> None:
    assert Root("/a/b").holds(path) is held
    assert Root("/a/b").holds(path, itself=False) is (held and path != "/a/b")
    assert Root("/").holds(path)


def test_roots_add_up() -> None:
    wide, narrow = Root("/a"), Root("/a/b", writable=True)
    roots = Roots.of(narrow, wide, narrow)
    assert list(roots) == [wide, narrow]
    assert roots.allow("/a/x", Access.READ)
    assert not roots.allow("/a/x", Access.WRITE)
    assert not roots.allow("/a/x", BOTH)
    assert roots.allow("/a/b/x", BOTH)
    assert roots.allow("/a/b", Access.WRITE)
    assert not roots.allow("/a/b", Access.WRITE, itself=False)
    assert roots | [wide] == roots
    assert (Roots() | roots) == roots
