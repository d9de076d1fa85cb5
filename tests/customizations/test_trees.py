"""Folders that are read, and never left."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from customizations.conftest import Write
from serai.customizations import trees
from serai.customizations.trees import MAX_FILE, DiskTree, FetchedTree, TreeEntry, matching
from serai.errors import FileUnreadable


def test_files_and_folders_are_read(work: Path, write: Write) -> None:
    write(work, "a/b.md", "text")
    tree = DiskTree(work)
    listing = tree.list("")
    assert listing is not None
    assert listing.entries == [TreeEntry("a", is_folder=True)]
    assert tree.read("a/b.md") == b"text"
    assert tree.read("a/c.md") is None
    assert tree.read("a/b.md/c") is None
    assert tree.list("a/b.md") is None
    assert tree.list("nowhere") is None
    assert DiskTree(work / "nowhere").list("") is None


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
    entry = next(entry for entry in listing.entries if entry.name == "link.md")
    assert "leads out" in str(entry.problem)


def test_no_folder_that_is_a_link_leads_out(work: Path, tmp_path: Path, write: Write) -> None:
    write(tmp_path, "outside/secret.md", "secret")
    (work / "link").symlink_to(tmp_path / "outside")
    tree = DiskTree(work)
    for path in ("link/secret.md", "../outside/secret.md", "link/../../outside/secret.md"):
        with pytest.raises(FileUnreadable, match="leads out"):
            tree.read(path)
    with pytest.raises(FileUnreadable, match="leads out"):
        tree.list("link")


@pytest.mark.parametrize(
    "target", ["real.md", "./folder/../real.md", "{work}/real.md", "{alias}/real.md", "other"]
)
def test_links_within_the_folder_are_followed(work: Path, tmp_path: Path, write: Write, target: str) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(work)
    write(work, "real.md", "text")
    write(work, "folder/x")
    (work / "other").symlink_to("folder/../real.md")
    (work / "link.md").symlink_to(target.format(work=work, alias=alias))
    assert DiskTree(alias).read("link.md") == b"text"


def test_links_in_a_circle_and_links_to_nowhere_are_told(work: Path) -> None:
    (work / "a").symlink_to("b")
    (work / "b").symlink_to("a")
    (work / "gone").symlink_to("nothing")
    tree = DiskTree(work)
    with pytest.raises(FileUnreadable, match="too many links"):
        tree.read("a")
    assert tree.read("gone") is None
    listing = tree.list("")
    assert listing is not None
    problems = [str(entry.problem) for entry in listing.entries]
    assert "too many links" in problems[0]
    assert "leads nowhere" in problems[2]


def test_a_link_that_is_swapped_while_it_is_read_never_shows_what_is_outside(
    work: Path, tmp_path: Path, write: Write
) -> None:
    write(tmp_path, "outside/a.md", "secret")
    write(work, "inside/a.md", "ours")
    stop = threading.Event()

    def swap() -> None:
        targets = [tmp_path / "outside", work / "inside"]
        while not stop.is_set():
            for target in targets:
                fresh = work / "fresh"
                fresh.symlink_to(target)
                fresh.replace(work / "link")

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[bytes | None] = set()
    refused = 0
    try:
        tree = DiskTree(work)
        for _ in range(100_000):
            try:
                seen.add(tree.read("link/a.md"))
            except FileUnreadable:
                refused += 1
            if refused > 50 and b"ours" in seen:
                break
    finally:
        stop.set()
        thread.join()
    assert b"ours" in seen
    assert refused
    assert b"secret" not in seen


def test_what_is_no_file_is_not_waited_for(work: Path) -> None:
    os.mkfifo(work / "pipe.md")
    (work / "folder.md").mkdir()
    (work / "device.md").symlink_to("/dev/zero")
    for tree in (DiskTree(work), DiskTree(work, confined=False)):
        for name in ("pipe.md", "folder.md", "device.md"):
            with pytest.raises(FileUnreadable):
                tree.read(name)


def test_a_file_has_a_largest_size(work: Path, write: Write) -> None:
    write(work, "fits.md", b"x" * MAX_FILE)
    write(work, "large.md", b"x" * (MAX_FILE + 1))
    tree = DiskTree(work)
    assert len(tree.read("fits.md") or b"") == MAX_FILE
    with pytest.raises(FileUnreadable, match=r"large\.md is larger than 1 MiB"):
        tree.read("large.md")
    with pytest.raises(FileUnreadable, match=r"larger than 1 MiB"):
        FetchedTree({"large.md": b"x" * (MAX_FILE + 1)}, "virtual://x").read("large.md")


@pytest.mark.usefixtures("permissions_count")
def test_what_may_not_be_read_is_told(work: Path, write: Write) -> None:
    write(work, "a.md").chmod(0)
    (work / "folder").mkdir(mode=0)
    tree = DiskTree(work)
    with pytest.raises(FileUnreadable, match=r"a\.md cannot be read"):
        tree.read("a.md")
    with pytest.raises(FileUnreadable, match="folder cannot be read"):
        tree.list("folder")


def test_a_home_may_have_links_to_elsewhere(home: Path, tmp_path: Path, write: Write) -> None:
    write(tmp_path, "dotfiles/rules/a.md", "mine")
    (home / "rules").symlink_to(tmp_path / "dotfiles" / "rules")
    tree = DiskTree(home, prefix="~/", confined=False)
    assert tree.read("rules/a.md") == b"mine"
    assert tree.shown("rules/a.md") == "~/rules/a.md"


def test_nothing_stays_open(work: Path, tmp_path: Path, write: Write) -> None:
    write(work, "a/b.md")
    (work / "out").symlink_to(tmp_path)
    (work / "loop").symlink_to("loop")
    tree = DiskTree(work)
    before = len(list(Path("/dev/fd").iterdir()))
    for path in ("a/b.md", "a", "out", "loop", "nowhere/x", "a/../a/b.md", "x\0y"):
        for call in (tree.read, tree.list):
            with suppress(FileUnreadable):
                call(path)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_names_that_are_not_unicode_have_a_uri(work: Path) -> None:
    name = os.fsdecode(b"\xff.md")
    try:
        (work / name).write_bytes(b"text")
    except OSError:
        pytest.skip("NOT CHECKED: this file system has Unicode names only")
    tree = DiskTree(work)
    listing = tree.list("")
    assert listing is not None
    assert tree.read(listing.entries[0].name) == b"text"
    assert tree.uri(listing.entries[0].name).endswith("/%FF.md")


def test_fetched_files_are_a_tree() -> None:
    tree = FetchedTree({"a/b/c d.md": b"text", "../x": b"", "/y": b"", "a//z": b""}, "virtual://x/")
    assert tree.refused == ["../x", "/y", "a//z"]
    for folder, name in (("", "a"), ("a", "b"), ("a/b", "c d.md")):
        listing = tree.list(folder)
        assert listing is not None
        assert listing.entries == [TreeEntry(name, is_folder=folder != "a/b")]
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
    write(work, "near.md")
    (work / "circle").symlink_to(".")
    found = matching(DiskTree(work), "", "**/*.md")
    assert found.files == ["near.md"]
    assert "too deep" in found.problems[0]
    monkeypatch.setattr(trees, "MAX_FILES", 3)
    found = matching(FetchedTree({f"{number}.md": b"" for number in range(9)}, "x:"), "", "*.md")
    assert len(found.files) == 3
    assert "more than 3 files" in found.problems[0]
