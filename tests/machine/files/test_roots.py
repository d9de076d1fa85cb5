"""Below which directories files may be had."""

from __future__ import annotations

import pytest

from machine.files.desk import DENIED, refused
from serai.machine.files import Access, Root, Roots

BOTH = Access.READ | Access.WRITE


def test_a_root_is_absolute() -> None:
    with pytest.raises(ValueError, match="absolute"):
        Root.of("work")
    with refused(DENIED):
        Root.of("file://elsewhere/work")


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
