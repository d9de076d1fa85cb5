"""Turns of a model session with rules and hooks: what the model is told, and what it may not do."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.conversation import Conversation, frame
from requirements import proves
from serai.ahp.types import TurnState
from serai.harness.callback import CallbackHarness
from serai.harness.model.customizations import customized
from serai.harness.model.session import ModelSession
from serai.harness.model.setup import TurnSetup
from serai.harness.model.tool import Asking, Preview, Tool, ToolContext, ToolOutput
from serai.harness.model.transcript import SpendLedger, Transcript
from serai.host.agents import HostContext
from serai.host.host import Host
from serai.host.turn import Turn
from serai.session.agent_file import AgentFile
from serai.session.llm import FinishReason, LlmReply, LlmRequest, LlmUsage, ReasoningDelta, TextDelta
from serai.session.messages import AgentSessionRecord, SessionContext, TextPart, ToolCallPart, ToolResultPart
from serai.session.turn_core import TurnPlan
from serai.store.memory import MemoryStore


class ReadFileInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str


class ReadFile(Tool[ReadFileInput]):
    """Counts how often it runs."""

    name, title, description = "read_file", "Read a file", "Read a file."
    takes = ReadFileInput
    asking = Asking.NEVER

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def preview(self, given: ReadFileInput, context: ToolContext) -> Preview:
        del context
        return Preview(f"Read {given.path}")

    async def run(self, given: ReadFileInput, context: ToolContext) -> ToolOutput:
        del context
        self.ran.append(given.path)
        return ToolOutput("its text")


class Model:
    """A model that calls what it was told to call, one call at a time, and then is done."""

    def __init__(self) -> None:
        self.calls: list[ToolCallPart] = []
        self.requests: list[LlmRequest] = []

    def call(self, tool: str, **given: Any) -> None:
        self.calls.append(ToolCallPart(id=f"call-{len(self.calls)}", name=tool, input=given))

    async def ask(self, request: LlmRequest) -> AsyncGenerator[TextDelta | ReasoningDelta | LlmReply]:
        self.requests.append(request)
        if self.calls:
            parts, finish = (self.calls.pop(0),), FinishReason.TOOL_CALLS
        else:
            yield TextDelta("Done.")
            parts, finish = (TextPart(text="Done."),), FinishReason.STOP
        yield LlmReply(parts=parts, finish=finish, model_id="m", usage=LlmUsage())

    def reservation(self, request: LlmRequest) -> int | None:
        del request

    def cost(self, *_: Any, **__: Any) -> int | None:
        return None

    @property
    def last_result(self) -> ToolResultPart:
        part = self.requests[-1].messages[-1].content[0]
        assert isinstance(part, ToolResultPart)
        return part


class Lab(CallbackHarness):
    """Sessions with that model, in one folder."""

    def __init__(self, work: Path) -> None:
        super().__init__("model", self._never)
        self.work = work
        self.model = Model()
        self.tool = ReadFile()
        self.conversation: Conversation

    async def _never(self, turn: Turn) -> None:
        raise AssertionError(turn)

    async def create(self, settings: Mapping[str, Any], context: HostContext) -> Any:
        del settings
        now = datetime.now(UTC)
        situation = SessionContext(working_dir=str(self.work))
        agent = AgentFile(slug="a")
        record = AgentSessionRecord(
            id=context.session,
            agent_slug="a",
            agent_snapshot=agent,
            context=situation,
            created_at=now,
            updated_at=now,
        )

        async def set_up(turn: Turn, record: AgentSessionRecord) -> TurnSetup:
            custom = await customized(
                turn, turn.message, record.context, self.work, session=record.id, environ={"PATH": "/bin"}
            )
            return TurnSetup(
                models=self.model,
                plan=TurnPlan(chain=("local:m",)),
                agent=agent,
                situation=situation,
                folder=self.work,
                system="You are kind.",
                tools={tool.name: tool for tool in (self.tool, *custom.tools)},
                customized=custom,
            )

        async def close() -> None: ...

        transcript, ledger = Transcript(context.session), SpendLedger(context.session)
        return ModelSession(context, record, transcript, ledger, set_up, close)

    def write(self, path: str, text: str) -> None:
        file = self.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def hook(self, event: str, command: str) -> None:
        hook = {"hooks": [{"type": "command", "command": command}]}
        self.write(".claude/settings.json", json.dumps({"hooks": {event: [hook]}}))

    @property
    def systems(self) -> list[str]:
        return [request.system for request in self.model.requests]


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    lab = Lab(tmp_path)
    host = Host(MemoryStore(), [lab], frame, is_trusted=lambda _folder: True, user_home=tmp_path / "home")
    await host.open()
    lab.conversation = await Conversation.begin(host, "model", working_directory=lab.work.as_uri())
    yield lab
    await host.close()


@proves("ahp:RuleCustomization/body-in-context", "ahp:RuleCustomization/globs-limit")
async def test_a_rule_comes_into_force_in_the_turn_in_which_its_file_is_touched(lab: Lab) -> None:
    lab.write(".cursor/rules/ts.mdc", "---\nalwaysApply: true\nglobs: *.ts\n---\nNo any.\n")
    lab.model.call("read_file", path="src/a.ts")
    assert (await lab.conversation.say("Look")).state == TurnState.COMPLETE
    assert [("No any." in system) for system in lab.systems] == [False, True]
    assert all(system.startswith("You are kind.") for system in lab.systems)


@proves("ahp:RuleCustomization/optional-rule-chosen")
async def test_a_rule_that_the_agent_takes_is_in_its_context_from_then_on(lab: Lab) -> None:
    lab.write(".cursor/rules/sql.mdc", "---\ndescription: SQL.\n---\nIn capitals.\n")
    lab.model.call("read_rule", name="sql")
    await lab.conversation.say("Write a query")
    await lab.conversation.say("And another one")
    assert [("In capitals." in system) for system in lab.systems] == [False, True, True]


@proves("ahp:SkillCustomization/not-called-by-agent")
async def test_the_agent_cannot_call_a_skill_that_only_people_call(lab: Lab) -> None:
    lab.write(".agents/skills/pdf/SKILL.md", "---\nname: pdf\n---\nRun it.\n")
    quiet = "---\nname: deploy\ndisable-model-invocation: true\n---\nPush it.\n"
    lab.write(".agents/skills/deploy/SKILL.md", quiet)
    lab.model.call("use_skill", name="deploy")
    await lab.conversation.say("Ship it")
    assert lab.model.last_result.is_error
    assert not any("Push it." in str(request) for request in lab.model.requests)


async def test_a_call_that_a_hook_refuses_does_not_run_and_the_model_is_told_why(lab: Lab) -> None:
    lab.hook("PreToolUse", "echo not this file >&2; exit 2")
    lab.model.call("read_file", path="a")
    assert (await lab.conversation.say("Look")).state == TurnState.COMPLETE
    assert lab.tool.ran == []
    assert lab.model.last_result.is_error
    assert "not this file" in lab.model.last_result.output


async def test_the_model_hears_what_a_hook_says_after_a_call(lab: Lab) -> None:
    lab.hook("PostToolUse", "echo line 3 is too long >&2; exit 2")
    lab.model.call("read_file", path="a")
    await lab.conversation.say("Look")
    assert lab.model.last_result.output == "its text\n\n[A hook says: line 3 is too long]"
    assert not lab.model.last_result.is_error


async def test_a_turn_that_a_hook_refuses_ends_before_the_model_is_asked(lab: Lab) -> None:
    lab.hook("UserPromptSubmit", "echo not today >&2; exit 2")
    turn = await lab.conversation.say("Hello")
    assert turn.state == TurnState.ERROR
    assert turn.error is not None
    assert (turn.error.error_type, turn.error.message) == ("hook_refused", "not today")
    assert lab.model.requests == []
