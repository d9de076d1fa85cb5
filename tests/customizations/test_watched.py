"""What to watch."""

from __future__ import annotations

from pathlib import Path

from customizations.conftest import Write
from serai.customizations.watched import Watched, watched


def concerns(work: Path | None, home: Path, changed: Path) -> bool:
    return watched(work, home).concerns(str(changed))


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
    named = watched(work, home)
    for changed in (
        work / "src",
        work / "src" / "a.py",
        home / "Documents",
        home / ".claude" / "projects" / "x" / "log.jsonl",
        home / ".codex" / "history.jsonl",
        work / ".agents-not",
    ):
        assert not named.concerns(str(changed)), changed
    assert not named.deep & {f"{folder}/" for folder in (work, home, home / ".claude")}


def test_what_lies_beside_the_way_to_a_place_is_left_out() -> None:
    named = Watched(
        frozenset({"/home/me/.claude/skills/"}),
        {
            "/home/me": frozenset({".claude", "AGENTS.md"}),
            "/home/me/.claude": frozenset({"skills", "settings.json"}),
            "/home/me/work/project": frozenset({".agents"}),
        },
    )
    assert named.roots == ["/home/me"]
    seen = [".claude", ".claude/skills", ".claude/skills/a/b", "work", "work/project", "work/project/.agents"]
    assert not any(named.prunes(f"/home/me/{folder}") for folder in seen)
    beside = ["Downloads", ".claude/projects", "work/other", "work/project/src", ".claude/skills-of-others"]
    assert all(named.prunes(f"/home/me/{folder}") for folder in beside)


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
