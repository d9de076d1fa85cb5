"""What to watch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from serai.customizations import watched

Write = Callable[..., Path]


def concerns(work: Path | None, home: Path, changed: Path) -> bool:
    return any(folder.concerns(changed) for folder in watched(work, home))


def test_only_folders_that_exist_are_watched_and_each_once(work: Path, home: Path, write: Write) -> None:
    write(work, ".claude/agents/a.md")
    write(home, ".codex/prompts/a.md")
    folders = watched(work, home)
    assert all(folder.path.is_dir() for folder in folders)
    assert len({folder.path for folder in folders}) == len(folders)
    assert watched(None, home / "nowhere") == []


def test_a_place_that_comes_into_being_is_seen(work: Path, home: Path) -> None:
    assert concerns(work, home, work / ".claude")
    (work / ".claude").mkdir()
    assert concerns(work, home, work / ".claude" / "agents")
    (work / ".claude" / "agents").mkdir()
    assert concerns(work, home, work / ".claude" / "agents" / "deep" / "a.md")
    assert concerns(work, home, work / ".claude" / "agents")  # it may go again


def test_what_changes_beside_it_is_no_concern(work: Path, home: Path, write: Write) -> None:
    write(work, "src/a.py")
    write(home, ".claude/agents/a.md")
    write(home, ".claude/projects/x/log.jsonl")
    write(home, ".codex/config.toml")
    for changed in (
        work / "src",
        work / "src" / "a.py",
        home / "Documents",
        home / ".claude" / "projects" / "x" / "log.jsonl",
        home / ".codex" / "history.jsonl",
        work / ".agents-not",
    ):
        assert not concerns(work, home, changed), changed
    assert not any(
        folder.recursive and folder.path in {work, home, home / ".claude"} for folder in watched(work, home)
    )


def test_links_are_watched_where_they_lead_unless_that_is_outside(
    work: Path, home: Path, tmp_path: Path, write: Write
) -> None:
    write(work, "shared/skills/s/SKILL.md")
    (work / ".claude").mkdir()
    (work / ".claude/skills").symlink_to("../shared/skills")
    (work / ".claude/agents").symlink_to(tmp_path)
    assert concerns(work, home, work / "shared/skills/s/SKILL.md")
    assert concerns(work, home, work / ".claude/skills")
    assert concerns(work, home, work / ".claude/agents")
    assert not concerns(work, home, tmp_path / "a.md")
