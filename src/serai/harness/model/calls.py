"""The tool calls of a turn: decides whether each may run, runs it, and reports its result."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec

from serai.ahp import types as t
from serai.errors import SeraiError
from serai.harness.model.client import ModelClient
from serai.harness.model.customizations import Customized
from serai.harness.model.tool import Asking, ModelTool, Preview, ToolAnswer, ToolContext, ToolRequest
from serai.harness.model.transcript import TurnRecords
from serai.host.tool_call import ToolCall
from serai.host.turn import Turn
from serai.session.agent_file import AgentFile
from serai.session.messages import SessionContext, SessionMessageRole, ToolCallPart, ToolResultPart
from serai.session.turn_core import CallBegun, CallDecided, CallEnded, TurnPlan

_log = logging.getLogger(__name__)

_NOT_NEEDED = t.ToolCallConfirmationReason.NOT_NEEDED.value
_SETTING = t.ToolCallConfirmationReason.SETTING.value
_APPROVE, _DENY = t.ConfirmationOptionKind.APPROVE.value, t.ConfirmationOptionKind.DENY.value
_ONCE, _SESSION, _PATTERN = "allow-once", "allow-session", "allow-pattern"
_SKIPPED = "Not run: a message came in first. Call the tool again if it is still wanted."
_DOUBT = "The host was stopped while this ran. Nobody knows whether it was done."


@dataclass(frozen=True, slots=True)
class TurnSetup:
    """All that a turn works with."""

    models: ModelClient
    plan: TurnPlan
    agent: AgentFile
    """The agent, as the session has restricted it."""
    situation: SessionContext
    folder: Path
    system: str
    """The system prompt."""
    tools: Mapping[str, ModelTool]
    max_messages: int
    customized: Customized
    """The session's customisations. Their tools are among `tools`."""


class CallRunner:
    """Decides about the calls of one turn, and runs them.

    Args:
        turn: The turn that shows the calls, and in which a person is asked.
        setup: The agent and its tools.
        records: The records of the turn.
    """

    def __init__(self, turn: Turn, setup: TurnSetup, records: TurnRecords) -> None:
        self._turn = turn
        self._setup = setup
        self._records = records
        self._seat = records.seat
        self._tool_calls: dict[str, ToolCall] = {}
        self._previews: dict[str, Preview] = {}

    async def decide(self, call: ToolCallPart) -> None:
        """Decide whether a call may run. A wrong call ends here, and the model is told what is wrong."""
        shown = await self._show(call)
        tool = self._setup.tools.get(call.name)
        if tool is None:
            known = ", ".join(self._setup.tools) or "none"
            await self._end(call, shown, f"there is no tool {call.name!r}; there are: {known}", misuse=True)
            return
        try:
            use = _read_request(tool, call)
        except ValueError as error:
            await self._end(call, shown, str(error), misuse=True)
            return
        try:
            preview = await use.preview(self._context(shown))
        except SeraiError as error:
            await self._end(call, shown, str(error))
            return
        self._previews[call.id] = preview
        if not shown.approved and not shown.denied:
            await self._ask(tool, use.pattern(), shown, preview)
        if not shown.approved:
            told = shown.reason.markdown if isinstance(shown.reason, t.Markdown) else shown.reason
            said = [told or "", shown.suggestion.text if shown.suggestion else ""]
            reason = "".join(f": {one}" for one in said if one)
            await self._end(call, shown, f"the person said no{reason}", is_denied=True)
            return
        self._remember(shown, use.pattern())
        # Clients were shown the input with masked secrets: shown so again after a restart, it is no edit.
        is_as_shown = shown.input == self._seat.mask(_written(call))
        edited = None if is_as_shown else _edited(shown.input, call)
        self._records.record(CallDecided(call_id=call.id, input=edited))

    async def _ask(self, tool: ModelTool, pattern: str, shown: ToolCall, preview: Preview) -> None:
        confirmed = None
        if tool.asking is Asking.NEVER:
            confirmed = _NOT_NEEDED
        elif tool.asking is Asking.UNLESS_GRANTED and self._is_granted(tool.name, pattern):
            confirmed = _SETTING
        await shown.ready(
            message=preview.message,
            confirmed=confirmed,
            title=preview.message,
            options=_options(tool.asking, pattern),
            editable=True,
            edits=list(preview.edits),
        )

    def _remember(self, shown: ToolCall, pattern: str) -> None:
        """Keep what a person has allowed for the whole session."""
        if shown.option == _SESSION:
            self._turn.grant(shown.name)
        elif shown.option == _PATTERN:
            self._turn.grant(_grant(shown.name, pattern))

    def _is_granted(self, name: str, pattern: str) -> bool:
        return self._turn.granted(name) or (bool(pattern) and self._turn.granted(_grant(name, pattern)))

    async def run(self, call: ToolCallPart) -> None:
        """Run an approved call. Its beginning is written down first."""
        shown = await self._show(call)
        tool = self._setup.tools.get(call.name)
        if tool is None:
            await self._end(call, shown, f"there is no tool {call.name!r} any more")
            return
        hooks = self._setup.customized.hooks
        if (refusal := await hooks.before_call(call.name, call.input)) is not None:
            await self._end(call, shown, refusal)
            return
        self._records.record(CallBegun(call_id=call.id))
        await self._seat.kept()
        try:
            output = await _read_request(tool, call).run(self._context(shown))
        except (SeraiError, ValueError) as error:
            output = ToolAnswer(str(error), is_error=True)
        except Exception as error:  # noqa: BLE001 - a tool may raise anything, and the turn goes on
            _log.exception("the tool %s failed", call.name)
            output = ToolAnswer(f"{call.name} failed: {error or type(error).__name__}", is_error=True)
        if not output.is_error and (said := await hooks.after_call(call.name, call.input, output.text)):
            output = output._replace(text=f"{output.text}\n\n[A hook says: {said}]")
        await self._end(call, shown, output.text, is_error=output.is_error, content=output.content)

    async def settle_doubt(self, call: ToolCallPart) -> None:
        """Settle a call that had begun when the host was stopped: repeat it if that is harmless, else ask."""
        tool = self._setup.tools.get(call.name)
        if tool is not None and (tool.is_idempotent or await self._asks_to_repeat(call)):
            await self.run(call)
        else:
            await self._end(call, await self._show(call), _DOUBT)

    async def _asks_to_repeat(self, call: ToolCallPart) -> bool:
        what = f"{_DOUBT} It was {call.name} with {json.dumps(call.input, ensure_ascii=False)}"
        return await ask_yes_or_no(self._turn, f"{self._turn.id}-doubt-{call.id}", what, "Run it again?")

    async def skip(self, calls: Sequence[ToolCallPart]) -> None:
        """End calls that have not begun, because a message came in first."""
        for call in calls:
            await self._end(call, await self._show(call), _SKIPPED)

    # -- one call ------------------------------------------------------------------------------------------

    async def _show(self, call: ToolCallPart) -> ToolCall:
        """Return the call as clients see it. A call from before a restart is found again."""
        shown = self._tool_calls.get(call.id) or await self._turn.found_call(call.id)
        written = _written(call)
        if shown is None:
            tool = self._setup.tools.get(call.name)
            shown = self._turn.begin_call(call.name, tool.title if tool else call.name, call_id=call.id)
            shown.grow(written)
        shown.input = shown.input or written
        self._tool_calls[call.id] = shown
        return shown

    def _context(self, shown: ToolCall) -> ToolContext:
        setup = self._setup
        told = self._previews.get(shown.id, Preview("")).shown
        return ToolContext(self._turn, shown, setup.agent, setup.situation, setup.folder, self._seat, told)

    async def _end(
        self,
        call: ToolCallPart,
        shown: ToolCall,
        output: str,
        *,
        is_error: bool = True,
        misuse: bool = False,
        is_denied: bool = False,
        content: Sequence[t.ToolResultContent] = (),
    ) -> None:
        """End a call, and tell the model and the clients its result. Secrets in it are masked."""
        output = self._seat.mask(output)
        if not shown.approved and not is_denied:
            await shown.ready(message=f"Call {call.name}", confirmed=_NOT_NEEDED)
        result = ToolResultPart(id=call.id, name=call.name, output=output, is_error=is_error)
        step = CallEnded(call_id=call.id, is_misuse=misuse)
        self._records.record(step, self._records.say(SessionMessageRole.TOOL, [result]))
        if not is_denied:
            done = f"{call.name} failed" if is_error else f"Called {call.name}"
            await shown.done(done, text=output, content=list(content), error=output if is_error else None)


def _read_request(tool: ModelTool, call: ToolCallPart) -> ToolRequest:
    """Return the request that a call describes.

    Raises:
        ValueError: Its input does not fit.
    """
    if "_broken" in call.input:
        raise ValueError(f"the input is not a JSON object: {str(call.input['_broken'])[:200]}")
    try:
        return tool.read(call.input)
    except msgspec.ValidationError as error:
        raise ValueError(f"the input does not fit: {error}") from None


def _options(asking: Asking, pattern: str) -> list[t.ConfirmationOption]:
    options = [t.ConfirmationOption(id=_ONCE, label="Allow once", kind=_APPROVE, group=0)]
    if asking is Asking.UNLESS_GRANTED:
        options.append(
            t.ConfirmationOption(id=_SESSION, label="Allow for this session", kind=_APPROVE, group=0)
        )
        if pattern:
            label = f"Allow {pattern} for this session"
            options.append(t.ConfirmationOption(id=_PATTERN, label=label, kind=_APPROVE, group=0))
    return [*options, t.ConfirmationOption(id="deny", label="Deny", kind=_DENY, group=1)]


def _grant(name: str, pattern: str) -> str:
    return f"{name} {pattern}"


def _written(call: ToolCallPart) -> str:
    return json.dumps(call.input, ensure_ascii=False)


def _edited(text: str | None, call: ToolCallPart) -> dict[str, Any] | None:
    """Return the input that a person has changed; `None` when it is as the model wrote it."""
    try:
        edited = json.loads(text or "")
    except ValueError:
        return {"_broken": text or ""}
    if not isinstance(edited, dict):
        return {"_broken": text or ""}
    fields = cast("dict[str, Any]", edited)
    return None if fields == call.input else fields


async def ask_yes_or_no(turn: Turn, request_id: str, why: str, question: str) -> bool:
    """Ask a person to decide. A question that is open under this id already is not asked again."""
    asked = t.SessionInputBooleanQuestion(id="yes", message=question, required=True)
    answers = await turn.ask(t.SessionInputRequest(id=request_id, message=why, questions=[asked]))
    match answers.answers.get("yes"):
        case t.SessionInputSubmitted(value=t.SessionInputBooleanAnswerValue(value=value)):
            return answers.accepted and value
        case _:
            return False
