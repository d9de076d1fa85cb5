"""Patterns, and what they match."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from serai.customizations.trees import DiskTree, FetchedTree
from serai.customizations.walking import MAX_FILES, matching

Write = Callable[..., Path]

FILES = [
    "a.md",
    "b.txt",
    "x/a.md",
    "x/y/a.md",
    "x/SKILL.md",
    ".hidden.md",
    ".h/a.md",
    "README.md",
    "x/readme.md",
]


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("*.md", ["a.md"]),
        ("**/*.md", ["a.md", "x/SKILL.md", "x/a.md", "x/y/a.md"]),
        ("*/SKILL.md", ["x/SKILL.md"]),
        ("b.txt", ["b.txt"]),
        ("*.none", []),
    ],
)
def test_patterns_match(pattern: str, files: list[str]) -> None:
    tree = FetchedTree({f"f/{path}": b"" for path in FILES}, "virtual://x")
    found = matching(tree, "f", pattern)
    assert found.files == [f"f/{path}" for path in files]
    assert found.problems == []


def test_a_folder_that_is_not_there_has_no_files() -> None:
    found = matching(FetchedTree({}, "virtual://x"), "f", "**/*.md")
    assert (found.files, found.problems, found.exists) == ([], [], False)


def test_too_many_files_are_left_out_and_told() -> None:
    tree = FetchedTree({f"f/{number:05}.md": b"" for number in range(MAX_FILES + 5)}, "virtual://x")
    found = matching(tree, "f", "*.md")
    assert len(found.files) == MAX_FILES
    assert found.problems == ["f has more than 2,000 files: the rest is left out"]


def test_too_many_folders_are_left_out_and_told() -> None:
    tree = FetchedTree({f"f/{number:05}/a.md": b"" for number in range(1_200)}, "virtual://x")
    found = matching(tree, "f", "**/*.md")
    assert len(found.files) == 999
    assert found.problems == ["f has too many folders: the rest is left out"]


def test_what_is_too_deep_is_left_out_and_told() -> None:
    deep = "/".join("abcdefghi")
    found = matching(FetchedTree({f"f/{deep}/a.md": b"", "f/a.md": b""}, "virtual://x"), "f", "**/*.md")
    assert found.files == ["f/a.md"]
    assert "too deep" in found.problems[0]


def test_links_in_a_circle_do_no_harm(work: Path, write: Write) -> None:
    write(work, "rules/a.md")
    for name in ("one", "two", "three"):
        (work / "rules" / name).symlink_to(".")
    (work / "rules" / "up").symlink_to("..")
    found = matching(DiskTree(work), "rules", "**/*.md")
    assert found.files == ["rules/a.md"]
    assert found.problems == []


def test_skills_may_be_links_to_folders_within(work: Path, tmp_path: Path, write: Write) -> None:
    write(work, ".agents/skills/greet/SKILL.md", "x")
    (work / ".claude/skills").mkdir(parents=True)
    (work / ".claude/skills/greet").symlink_to("../../.agents/skills/greet")
    (work / ".claude/skills/away").symlink_to(tmp_path)
    found = matching(DiskTree(work), ".claude/skills", "*/SKILL.md")
    assert found.files == [".claude/skills/greet/SKILL.md"]
    assert found.problems == [".claude/skills/away leads out of the folder, so it is not read"]
