"""What rules, skills, prompts, hooks and servers of a session do in its turns."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.conversation import Conversation, frame
from requirements import proves
from serai.ahp import actions as a
from serai.ahp.types import MessageAttachment, MessageResourceAttachment, SystemNotificationResponsePart
from serai.harness.callback import CallbackHarness
from serai.harness.model.customizations import Customized, customized
from serai.harness.model.tool import ToolAnswer, ToolContext
from serai.host.host import Host
from serai.host.turn import Turn
from serai.session.messages import (
    DurableContentPart,
    Selection,
    SessionContext,
    SessionMessage,
    SessionMessageRole,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from serai.store.memory import MemoryStore

NOBODY: Any = None
CONTEXT: ToolContext = NOBODY
"""Tools that only tell what they know need none."""


class Desk:
    """A session in a folder, and what its turns get from the folder's customisations."""

    def __init__(self, place: Path) -> None:
        self.work, self.home = place / "work", place / "home"
        self.work.mkdir()
        self.home.mkdir()
        self.trusted = True
        self.active_file: str | None = None
        self.selection: Selection | None = None
        self.customized: Customized
        self.conversation: Conversation

    def write(self, path: str, text: str) -> None:
        file = self.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def hook(self, event: str, command: str, **more: Any) -> None:
        """Have a command run at an event, and at no other."""
        limits = {name: more.pop(name) for name in ("timeout",) if name in more}
        hook = {"hooks": [{"type": "command", "command": command, **limits}], **more}
        self.write(".claude/settings.json", json.dumps({"hooks": {event: [hook]}}))

    async def answer(self, turn: Turn) -> None:
        situation = SessionContext(
            working_dir=str(self.work), active_file=self.active_file, selection=self.selection
        )
        environ = {"PATH": os.environ["PATH"], "KNOWN": "yes"}
        self.customized = await customized(turn, situation, "ahp-session:/1", environ)
        self.refusal = await self.customized.hooks.prompt(turn.message.text)
        if turn.message.text.startswith("call "):
            self.refused = await self.customized.hooks.before_call("run_command", {"words": ["ls", "a b"]})
            self.said = await self.customized.hooks.after_call("write_file", {"path": "a.py"}, "written")
        await self.customized.hooks.stopped()

    async def say(self, text: str, attachments: list[MessageAttachment] | None = None) -> Customized:
        """A whole turn. Returns what it had."""
        self.turn = await self.conversation.say(text, attachments)
        return self.customized

    async def instructions(self, text: str = "Hello", *seen: SessionMessage) -> str:
        """What the model is told in a turn, when it sees these messages and this text."""
        got = await self.say(text)
        return await got.instructions([*seen, said(text)])

    async def switch(self, child: str, *, on: bool) -> None:
        """Switch the container of something."""
        found: list[Any] = list(self.conversation.state.customizations or ())
        container = next(one for one in found if any(each.name == child for each in one.children or ()))
        self.conversation.dispatch(a.SessionCustomizationToggledAction(id=container.id, enabled=on))


def message(role: SessionMessageRole, *content: DurableContentPart) -> SessionMessage:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return SessionMessage(id="m", session_id="s", sequence_number=1, role=role, content=content, timestamp=at)


def said(text: str) -> SessionMessage:
    return message(SessionMessageRole.USER, TextPart(text=text))


def called(tool: str, *, failed: bool = False, **given: Any) -> list[SessionMessage]:
    """A call in the transcript, and its result."""
    return [
        message(SessionMessageRole.ASSISTANT, ToolCallPart(id="c", name=tool, input=given)),
        message(SessionMessageRole.TOOL, ToolResultPart(id="c", name=tool, output="", is_error=failed)),
    ]


async def use(got: Customized, tool: str, name: str) -> ToolAnswer:
    """What a tool answers when the agent calls it."""
    found = next(one for one in got.tools if one.name == tool)
    return await found.read({"name": name}).run(CONTEXT)


def names(tools: Sequence[Any]) -> list[str]:
    return [tool.name for tool in tools]


def notices(desk: Desk) -> list[str]:
    parts = desk.turn.response_parts
    return [str(part.content) for part in parts if isinstance(part, SystemNotificationResponsePart)]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path)
    host = Host(
        MemoryStore(),
        [CallbackHarness("model", desk.answer)],
        frame,
        is_trusted=lambda _folder: desk.trusted,
        user_home=desk.home,
    )
    await host.open()
    desk.conversation = await Conversation.begin(host, "model", working_directory=desk.work.as_uri())
    yield desk
    await host.close()


# -- rules -------------------------------------------------------------------------------------------------


@proves("ahp:RuleCustomization/body-in-context", "ahp:RuleCustomization/always-apply-in-force")
async def test_a_rule_that_always_applies_is_in_the_context(desk: Desk) -> None:
    desk.write("AGENTS.md", "Be brief.\n")
    desk.write(".cursor/rules/kind.mdc", "---\nalwaysApply: true\n---\nBe kind.\n")
    told = await desk.instructions()
    assert "Be brief." in told
    assert "Be kind." in told


@proves("ahp:RuleCustomization/globs-limit", "ahp:RuleCustomization/always-apply-in-force")
async def test_a_file_is_at_hand_when_it_is_selected_attached_or_was_touched(desk: Desk) -> None:
    desk.write(".github/instructions/web.md", "---\napplyTo: 'src/**/*.ts'\n---\nNo any.\n")
    assert "No any." not in await desk.instructions("Hello", *called("read_file", path="a.ts"))
    assert "No any." in await desk.instructions("Hello", *called("read_file", path="src/deep/a.ts"))
    assert "No any." in await desk.instructions("Hello", *called("edit_file", path=f"{desk.work}/src/a.ts"))
    assert "No any." not in await desk.instructions(
        "Hello", *called("read_file", path="src/a.ts", failed=True)
    )
    attached = MessageResourceAttachment(uri=(desk.work / "src/a.ts").as_uri(), label="a.ts")
    got = await desk.say("Look", [attached])
    assert "No any." in await got.instructions([said("Look")])
    desk.active_file = "src/a.py"
    assert "No any." not in await desk.instructions()
    desk.active_file = "src/a.ts"
    assert "No any." in await desk.instructions()
    desk.active_file = None
    desk.selection = Selection(file="src/b.ts", start_line=1, end_line=2)
    assert "No any." in await desk.instructions()


@proves("ahp:RuleCustomization/optional-rule-chosen")
async def test_the_person_takes_a_rule_by_naming_it_and_not_by_what_only_looks_like_it(desk: Desk) -> None:
    desk.write(".cursor/rules/sql.mdc", "In capitals.\n")
    named = {
        text: "# Rule: sql" in await desk.instructions(text)
        for text in ("@sql please", "Use /sql.", "do\n@sql")
    }
    assert all(named.values()), named
    alike = ("sql", "@sql-dump", "a@sql", "/sql/a.md", "@sql.md")
    taken = [text for text in alike if "# Rule: sql" in await desk.instructions(text)]
    assert taken == []


@proves("ahp:RuleCustomization/globs-limit")
async def test_a_rule_that_was_taken_holds_for_its_files_only(desk: Desk) -> None:
    desk.write(".cursor/rules/sql.mdc", "---\ndescription: SQL.\nglobs: *.sql\n---\nIn capitals.\n")
    taken = called("read_rule", name="sql")
    assert "In capitals." not in await desk.instructions("Go on", *taken)
    assert "In capitals." in await desk.instructions("Go on", *taken, *called("read_file", path="a.sql"))


async def test_a_switch_holds_from_the_next_turn(desk: Desk) -> None:
    desk.write("AGENTS.md", "Be brief.\n")
    running = await desk.say("Hello")
    await desk.switch("AGENTS.md", on=False)
    assert "Be brief." in await running.instructions([])
    assert "Be brief." not in await desk.instructions()


# -- skills and prompts ------------------------------------------------------------------------------------


async def test_skills_are_listed_and_the_agent_reads_one(desk: Desk) -> None:
    desk.write(".agents/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF.\n---\nRun it so.\n")
    told = await desk.instructions()
    assert "- pdf: Reads PDF." in told
    assert "Run it so." not in told
    output = await use(desk.customized, "use_skill", "pdf")
    assert "Run it so." in output.text
    assert str(desk.work / ".agents/skills/pdf") in output.text
    assert (await use(desk.customized, "use_skill", "none")).is_error


async def test_a_prompt_enters_the_turn_with_its_arguments(desk: Desk) -> None:
    desk.write(".claude/commands/review.md", "Review $1 of $ARGUMENTS.\n")
    desk.write(".claude/commands/fix.md", "Fix it.\n")
    assert "Review a.py of a.py b.py." in await desk.instructions("/review a.py b.py")
    assert desk.turn.user_message.text == "/review a.py b.py"
    assert "Fix it.\n\nArguments: now" in await desk.instructions("/fix now")
    for text in ("Hello", "please /review a.py", "/reviewed", "/review/x"):
        assert "Review" not in await desk.instructions(text)


# -- hooks and servers -------------------------------------------------------------------------------------


async def test_a_hook_sees_a_call_and_may_refuse_it(desk: Desk) -> None:
    desk.hook("PreToolUse", "cat > seen; echo no such thing >&2; exit 2", matcher="Bash")
    await desk.say("call it")
    assert desk.refused == "a hook refused the call: no such thing"
    seen = json.loads((desk.work / "seen").read_text())
    assert seen["hook_event_name"] == "PreToolUse"
    assert (seen["tool_name"], seen["tool_input"]["command"]) == ("Bash", "ls 'a b'")


@pytest.mark.parametrize(
    "decision",
    [
        {"decision": "block", "reason": "because"},
        {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "because"}},
        {"continue": False, "stopReason": "because"},
    ],
)
async def test_a_hook_may_refuse_in_json(desk: Desk, decision: dict[str, Any]) -> None:
    desk.write("answer.json", json.dumps(decision))
    desk.hook("PreToolUse", 'cat "$CLAUDE_PROJECT_DIR/answer.json"')
    await desk.say("call it")
    assert desk.refused == "a hook refused the call: because"


async def test_a_hook_for_other_tools_does_not_run(desk: Desk) -> None:
    for matcher in ("Write", "write_.*", "mcp__.*", "["):
        desk.hook("PreToolUse", "exit 2", matcher=matcher)
        await desk.say("call it")
        assert desk.refused is None


async def test_a_hook_adds_to_the_context_of_a_turn_or_refuses_it(desk: Desk) -> None:
    refuses = "grep -q secret && { echo not that >&2; exit 2; }"
    desk.hook("UserPromptSubmit", f"{refuses} || echo it is Monday")
    assert "it is Monday" in await desk.instructions()
    await desk.say("a secret")
    assert desk.refusal == "not that"
    await desk.say("Hello")
    assert desk.refusal is None


async def test_a_hook_that_fails_is_told_and_refuses_nothing(desk: Desk) -> None:
    desk.hook("PreToolUse", "echo broken >&2; exit 3")
    await desk.say("call it")
    assert desk.refused is None
    assert notices(desk) == [
        "A hook of .claude/settings.json for PreToolUse failed: it ended with the code 3: broken"
    ]


async def test_a_hook_that_does_not_decide_in_time_refuses(desk: Desk) -> None:
    desk.hook("PreToolUse", "sleep 1000", timeout=0.1)
    await desk.say("call it")
    assert desk.refused is not None
    assert len(notices(desk)) == 1


async def test_hooks_have_the_environment_that_they_are_given_and_no_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-model")
    desk.hook("Stop", "env > seen")
    await desk.say("Hello")
    seen = (desk.work / "seen").read_text()
    assert "KNOWN=yes" in seen
    assert "sk-of-a-model" not in seen


async def test_nothing_of_a_folder_runs_that_is_not_trusted(desk: Desk) -> None:
    desk.trusted = False
    desk.hook("Stop", "touch stopped")
    desk.write(".mcp.json", '{"mcpServers": {"one": {"command": "one"}}}')
    desk.write("AGENTS.md", "Be brief.\n")
    assert "Be brief." in await desk.instructions()
    assert not (desk.work / "stopped").exists()
    assert desk.customized.servers == ()


async def test_servers_are_those_that_may_run(desk: Desk) -> None:
    servers = {"one": {"command": "one"}, "off": {"command": "off", "disabled": True}}
    desk.write(".mcp.json", json.dumps({"mcpServers": servers}))
    got = await desk.say("Hello")
    assert [(one.name, one.fields) for one in got.servers] == [("one", {"command": "one"})]
    await desk.switch("one", on=False)
    assert (await desk.say("Hello")).servers == ()
