"""What one file sets off stays with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from serai.ahp.types import DirectoryCustomization, PluginCustomization
from serai.ahp.wire import encode
from serai.customizations import Customizations
from serai.customizations.containers import Contents, Origin, kept_apart
from serai.customizations.trees import FetchedTree
from serai.errors import FileUnreadable

Write = Callable[..., Path]
Look = Callable[..., Customizations]

GOOD = "---\nname: good\ndescription: fine\n---\nx"
HUGE = "9" * 400
"""A number that JSON may have, and that no float can be."""


def origin() -> Origin:
    return Origin(FetchedTree({}, "virtual://x"), "c", "Test", trusted=True)


def test_what_nobody_expected_is_told_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    into = Contents()
    with kept_apart(origin(), "a\x1b.md", into):
        raise ZeroDivisionError("what is this")
    assert into.problems == ["a\x1b.md cannot be read: there is something in it that was not expected"]
    assert "a\ufffd.md cannot be read" in caplog.text
    assert "what is this" in caplog.text


def test_what_was_expected_is_told_in_its_own_words(caplog: pytest.LogCaptureFixture) -> None:
    into = Contents()
    with kept_apart(origin(), "a.md", into):
        raise FileUnreadable("a.md is a riddle")
    assert into.problems == ["a.md is a riddle"]
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".claude/agents/bad.md", '---\nname: "\\UFFFFFFFF"\n---\nx'),
        (".claude/agents/bad.md", '---\nname: "\\U00110000"\n---\nx'),
        (".codex/config.toml", f"[mcp_servers.x]\ncommand = 'a'\nargs = [{'9' * 5000}]"),
        (".codex/config.toml", f"[mcp_servers.x]\ncommand = 'a'\nargs = [0x{'f' * 5000}]"),
        (".codex/agents/bad.toml", f"prompt = 'x'\nn = {'9' * 5000}"),
        (".gemini/commands/bad.toml", "prompt." + '"!".' * 60_000 + "x = 1"),
    ],
    ids=lambda text: text[:40],
)
def test_a_file_takes_no_other_along_and_is_told(
    work: Path, look: Look, write: Write, caplog: pytest.LogCaptureFixture, path: str, content: str
) -> None:
    write(work, ".claude/agents/good.md", GOOD)
    write(work, path, content)
    found = look(trusted=False)
    assert [item.name for item in found.definitions] == ["good"]
    containers = cast("list[DirectoryCustomization | PluginCustomization]", found.containers)
    told = [encode(item.load).decode() for item in containers]
    assert any(path in message for message in told)
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".claude/settings.json", {"hooks": {"Stop": [{"command": "x", "timeout": 0}]}}),
        (".mcp.json", {"mcpServers": {"x": {"command": "a", "args": [0]}}}),
        (".agents/plugins/p/hooks/hooks.json", {"hooks": {"Stop": [{"command": "x", "timeout": 0}]}}),
    ],
    ids=lambda value: str(value)[:30],
)
@pytest.mark.parametrize("number", [HUGE, "1e999"])
def test_a_number_that_is_too_large_hides_nothing(
    work: Path,
    look: Look,
    write: Write,
    caplog: pytest.LogCaptureFixture,
    path: str,
    value: dict[str, Any],
    number: str,
) -> None:
    write(work, ".claude/agents/good.md", GOOD)
    write(work, path, json.dumps(value).replace(" 0", f" {number}").replace("[0", f"[{number}"))
    assert len(look(trusted=False).definitions) == 2
    assert caplog.text == ""


@pytest.mark.parametrize("name", ["/a\0b", "/\ud800"])
def test_names_that_are_no_paths_are_passed_over(home: Path, look: Look, write: Write, name: str) -> None:
    server = {"mcpServers": {"one": {"command": "x"}}}
    write(home, ".claude.json", json.dumps({**server, "projects": {name: server}}))
    write(home, "p/skills/s/SKILL.md", "x")
    good = {"installPath": str(home / "p")}
    plugins = {"a": {"installPath": name}, "b": {**good, "projectPath": name}, "c": good}
    write(home, ".claude/plugins/installed_plugins.json", json.dumps({"plugins": plugins}))
    assert [item.name for item in look().definitions] == ["one", "s"]


def test_files_that_take_too_long_leave_out_those_after_them(
    work: Path, home: Path, look: Look, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("serai.customizations.discovery.MAX_SECONDS", 0.05)
    for number in range(100):
        write(work, f".claude/agents/{number:02}.md", f"---\nx: [{'a,' * 4_000}]\n---\nx")
    write(work, ".agents/plugins/p/skills/s/SKILL.md", "x")
    write(home, ".claude/agents/mine.md", GOOD)
    found = look(trusted=False)
    names = [item.name for item in found.definitions]
    assert len(names) < 20
    assert "good" in names, "a home has its own time"
    told = encode(found.containers).decode()
    assert ".claude/agents/99.md is not read" in told or "more" in told
    assert ".agents/plugins/p/skills/s/SKILL.md is not read: the files before it took too long" in told
