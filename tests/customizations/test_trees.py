"""Folders that are read, and never left."""

from __future__ import annotations

from pathlib import Path

import pytest

from customizations.conftest import Write
from serai.customizations import trees
from serai.customizations.trees import MAX_FILE, DiskTree, FetchedTree, TreeEntry, matching
from serai.errors import FileUnreadable


@pytest.mark.parametrize(
    "target", ["../secret.md", "{outside}/secret.md", "folder/../../secret.md", "away", "/etc/hostname"]
)
def test_no_link_leads_out(work: Path, tmp_path: Path, write: Write, target: str) -> None:
    write(tmp_path, "secret.md", "secret")
    write(work, "folder/x")
    (work / "away").symlink_to(tmp_path / "secret.md")
    (work / "link.md").symlink_to(target.format(outside=tmp_path))
    tree = DiskTree(work)
    with pytest.raises(FileUnreadable, match=r"link\.md is not read: it leads out of the folder"):
        tree.read("link.md")
    listing = tree.list("")
    assert listing is not None
    entry = next(entry for entry in listing if entry.name == "link.md")
    assert "leads out" in str(entry.problem)


def test_a_file_has_a_largest_size(work: Path, write: Write) -> None:
    write(work, "fits.md", b"x" * MAX_FILE)
    write(work, "large.md", b"x" * (MAX_FILE + 1))
    tree = DiskTree(work)
    assert len(tree.read("fits.md") or b"") == MAX_FILE
    with pytest.raises(FileUnreadable, match=r"large\.md is larger than 1 MiB"):
        tree.read("large.md")
    with pytest.raises(FileUnreadable, match=r"larger than 1 MiB"):
        FetchedTree({"large.md": b"x" * (MAX_FILE + 1)}, "virtual://x").read("large.md")


def test_a_home_may_have_links_to_elsewhere(home: Path, tmp_path: Path, write: Write) -> None:
    write(tmp_path, "dotfiles/rules/a.md", "mine")
    (home / "rules").symlink_to(tmp_path / "dotfiles" / "rules")
    tree = DiskTree(home, prefix="~/", confined=False)
    assert tree.read("rules/a.md") == b"mine"
    assert tree.shown("rules/a.md") == "~/rules/a.md"


def test_fetched_files_are_a_tree() -> None:
    tree = FetchedTree({"a/b/c d.md": b"text"}, "virtual://x/")
    for folder, name in (("", "a"), ("a", "b"), ("a/b", "c d.md")):
        listing = tree.list(folder)
        assert listing is not None
        assert listing == [TreeEntry(name, is_folder=folder != "a/b")]
    assert tree.list("b") is None
    assert tree.read("a/b/c d.md") == b"text"
    assert tree.read("../x") is None
    assert tree.uri("a/b/c d.md") == "virtual://x/a/b/c%20d.md"
    assert tree.uri("") == "virtual://x"


FILES = ["a.md", "b.txt", ".c.md", "README.md", "x/d.md", "x/y/e.md", "x/SKILL.md", "z/SKILL.md"]


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("a.md", ["a.md"]),
        ("gone.md", ["gone.md"]),
        ("*.md", ["a.md"]),
        ("**/*.md", ["a.md", "x/SKILL.md", "x/d.md", "x/y/e.md", "z/SKILL.md"]),
        ("*/SKILL.md", ["x/SKILL.md", "z/SKILL.md"]),
    ],
)
def test_patterns_find_their_files(work: Path, write: Write, pattern: str, files: list[str]) -> None:
    for path in FILES:
        write(work, path)
    found = matching(DiskTree(work), "", pattern)
    assert found.files == files
    assert found.problems == []
    assert matching(FetchedTree(dict.fromkeys(FILES, b""), "x:"), "", pattern).files == found.files


def test_links_in_a_circle_deep_folders_and_many_files_are_bounded(
    work: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(work, "/".join(["deep"] * 12) + "/far.md")
    (work / "circle").symlink_to(".")
    found = matching(DiskTree(work), "", "**/*.md")
    assert found.files == []
    assert "too deep" in found.problems[0]
    monkeypatch.setattr(trees, "MAX_FILES", 3)
    found = matching(FetchedTree({f"{number}.md": b"" for number in range(9)}, "x:"), "", "*.md")
    assert len(found.files) == 3
    assert "more than 3 files" in found.problems[0]
