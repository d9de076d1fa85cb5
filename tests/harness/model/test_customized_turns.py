"""Turns of a model session with rules and hooks: what the model is told, and what it may not do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from harness.conversation import Conversation
from harness.model.model_server import Call, ModelScriptServer, Reply
from harness.model.servers import model_host, talk
from requirements import proves
from serai.ahp.types import TurnState

READ = Reply(calls=[Call("read_file", {"path": "src/a.ts"})])


@pytest.fixture
async def conversation(scripted: ModelScriptServer, tmp_path: Path) -> AsyncIterator[Conversation]:
    """A session in a folder that has one file, and that is trusted."""
    write(tmp_path, "src/a.ts", "its text")

    def trusts(_folder: Path) -> bool:
        return True

    async with model_host(scripted, house={"is_trusted": trusts, "user_home": tmp_path / "home"}) as host:
        yield await talk(host, tmp_path)


def write(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)


def hook(folder: Path, event: str, command: str) -> None:
    hooks = {event: [{"hooks": [{"type": "command", "command": command}]}]}
    write(folder, ".claude/settings.json", json.dumps({"hooks": hooks}))


def in_system(server: ModelScriptServer, text: str) -> list[bool]:
    """Whether a text stood before all messages, for each request."""
    return [text in body["messages"][0]["content"] for body in server.bodies]


@proves("ahp:RuleCustomization/optional-rule-chosen", "ahp:SkillCustomization/not-called-by-agent")
async def test_a_rule_that_the_agent_takes_stays_and_a_skill_that_only_people_call_is_refused(
    conversation: Conversation, scripted: ModelScriptServer, tmp_path: Path
) -> None:
    write(tmp_path, ".cursor/rules/sql.mdc", "---\ndescription: SQL.\n---\nIn capitals.\n")
    write(tmp_path, ".agents/skills/pdf/SKILL.md", "---\nname: pdf\n---\nRun it.\n")
    quiet = "---\nname: deploy\ndisable-model-invocation: true\n---\nPush it.\n"
    write(tmp_path, ".agents/skills/deploy/SKILL.md", quiet)
    scripted.script[:] = [
        Reply(calls=[Call("read_rule", {"name": "sql"})]),
        Reply(calls=[Call("use_skill", {"name": "deploy"})]),
    ]
    await conversation.say("Write a query")
    await conversation.say("And another one")
    assert in_system(scripted, "In capitals.") == [False, True, True, True]
    assert "there is no skill 'deploy'" in scripted.bodies[2]["messages"][-1]["content"]
    assert "Push it." not in str(scripted.bodies)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("PreToolUse", "a hook refused the call: line 3 is too long"),
        ("PostToolUse", "its text\n\n[A hook says: line 3 is too long]"),
    ],
)
async def test_the_model_hears_what_a_hook_says_before_or_after_a_call(
    conversation: Conversation, scripted: ModelScriptServer, tmp_path: Path, event: str, told: str
) -> None:
    hook(tmp_path, event, "echo line 3 is too long >&2; exit 2")
    scripted.script[:] = [READ]
    assert (await conversation.say("Look")).state == TurnState.COMPLETE
    result = scripted.bodies[1]["messages"][-1]["content"]
    assert told in result
    assert ("its text" in result) is (event == "PostToolUse")


async def test_a_turn_that_a_hook_refuses_ends_before_the_model_is_asked(
    conversation: Conversation, scripted: ModelScriptServer, tmp_path: Path
) -> None:
    hook(tmp_path, "UserPromptSubmit", "echo not today >&2; exit 2")
    turn = await conversation.say("Hello")
    assert turn.error is not None
    assert (turn.error.error_type, turn.error.message) == ("hook_refused", "not today")
    assert scripted.requests == 0
