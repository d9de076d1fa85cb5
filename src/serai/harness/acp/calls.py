"""The tool calls of one turn: what the agent tells of them, through all the states that AHP has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any, NamedTuple

from serai.acp import PermissionOption, PermissionRequest, ToolCallUpdate
from serai.acp import ToolCall as AcpToolCall
from serai.acp.shapes import is_object
from serai.ahp.types import (
    ConfirmationOption,
    ConfirmationOptionKind,
    FileEdit,
    FreeForm,
    ToolCallConfirmationReason,
    ToolResultContent,
    ToolResultTextContent,
    UserMessage,
)
from serai.contract import AgentSessionEvent, ToolCalled, ToolCompleted, ToolFailed
from serai.harness.acp.contents import contents_of, edit_of, edited_paths, text_in
from serai.host.tool_call import ToolCall
from serai.host.turn import Turn

__all__ = ["Answer", "Calls", "choose", "offered"]

_NOT_NEEDED = ToolCallConfirmationReason.NOT_NEEDED.value
_LARGEST_OUTPUT = 16 * 1024
"""A tool's raw output above this size is not kept beside its content."""
_NAMES = {
    "read": "Read",
    "edit": "Edit",
    "delete": "Delete",
    "move": "Move",
    "search": "Search",
    "execute": "Run a command",
    "think": "Think",
    "fetch": "Fetch",
    "switch_mode": "Switch mode",
}


class Answer(NamedTuple):
    """What a person said to a request for permission."""

    option: str | None
    """The agent's id of the option; `None` to cancel."""
    suggestion: UserMessage | None = None
    """What they would rather have."""


def offered(options: Iterable[PermissionOption]) -> list[ConfirmationOption]:
    """The agent's options, as AHP has them. What is not known to allow is a way to say no."""
    return [
        ConfirmationOption(
            id=option.id,
            label=option.name,
            kind=(ConfirmationOptionKind.APPROVE if _allows(option) else ConfirmationOptionKind.DENY).value,
            group=0 if _allows(option) else 1,
        )
        for option in options
    ]


def choose(options: Iterable[PermissionOption], chosen: str | None, *, approved: bool) -> str | None:
    """The option that a yes or a no means. A plain yes is for once; a no that cannot be said cancels."""
    fitting = [option for option in options if _allows(option) is approved]
    if any(option.id == chosen for option in fitting):
        return chosen
    wanted = "allow_once" if approved else "reject_once"
    once = next((option.id for option in fitting if option.kind == wanted), None)
    if once is None and approved and len(fitting) == 1:
        return fitting[0].id  # there is but one way to say yes
    return once


def _allows(option: PermissionOption) -> bool:
    return option.kind.startswith("allow")


class _Stage(Enum):
    """Where a call is, as far as clients know.

    STREAMING → ASKED | RUNNING | CLOSED; ASKED → RUNNING | CLOSED; RUNNING → ASKED | CLOSED
    """

    STREAMING = auto()
    ASKED = auto()
    RUNNING = auto()
    CLOSED = auto()


@dataclass(slots=True)
class _Call:
    """One call: all that was told of it so far, and what has become of it."""

    id: str
    ahp: ToolCall
    stage: _Stage = _Stage.STREAMING
    title: str = ""
    kind: str = "other"
    status: str = "pending"
    content: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    locations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    raw_input: Any = None
    raw_output: Any = None
    confirmed: str = _NOT_NEEDED
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    editing: AsyncExitStack = field(default_factory=AsyncExitStack)
    edited: set[str] = field(default_factory=set[str])

    def learn(self, update: AcpToolCall | ToolCallUpdate) -> bool:
        """Take in what is new. Returns whether people should see another title or input."""
        before = self.title, self.raw_input
        self.title = update.title or self.title
        self.kind = update.tool_kind or self.kind
        self.status = update.status or self.status
        self.content = self.content if update.content is None else update.content
        self.locations = self.locations if update.locations is None else update.locations
        self.raw_input = self.raw_input if update.raw_input is None else update.raw_input
        self.raw_output = self.raw_output if update.raw_output is None else update.raw_output
        return (self.title, self.raw_input) != before

    @property
    def message(self) -> str:
        """What it does, for people."""
        return self.title or _NAMES.get(self.kind, self.kind)

    @property
    def input(self) -> str | None:
        """The tool's input, as JSON text."""
        if self.raw_input is None:
            return None
        return self.raw_input if isinstance(self.raw_input, str) else json.dumps(self.raw_input)

    @property
    def meta(self) -> FreeForm:
        """What AHP has no field for."""
        found: FreeForm = {"serai.toolKind": self.kind}
        if self.locations:
            found["serai.locations"] = self.locations
        return found


class Calls:
    """The calls of a turn. An update may be the first that is heard of a call, and so may a permission.

    Args:
        turn: The turn.
        folder: Where relative paths begin.
        terminal: Finds what a terminal of the host shows, by the id that the agent has for it.
        emit: Is told what happens.
        masked: Takes secrets out of JSON.
    """

    def __init__(
        self,
        turn: Turn,
        folder: Path,
        *,
        terminal: Callable[[str], ToolResultContent | None],
        emit: Callable[[AgentSessionEvent], None],
        masked: Callable[[Any], Any],
    ) -> None:
        self._turn = turn
        self._folder = folder
        self._terminal = terminal
        self._emit = emit
        self._masked = masked
        self._calls: dict[str, _Call] = {}
        self._again = 0

    async def updated(self, update: AcpToolCall | ToolCallUpdate) -> None:
        """A call has begun, or something is new of it."""
        call = self._of(update)
        changed = call.learn(update)
        if call.stage is _Stage.CLOSED:
            return
        await self._attend_edits(call)
        if call.stage is _Stage.STREAMING:
            if changed:
                self._grow(call)
            if call.status == "pending":
                return
            await self._run(call)
        elif call.stage is _Stage.RUNNING and changed and call.confirmed == _NOT_NEEDED:
            await self._run(call)  # under its new title
        if call.status in ("completed", "failed"):
            await self._close(call)
        elif call.stage is _Stage.RUNNING and (update.content is not None or changed) and call.content:
            call.ahp.show(*self._contents(call))

    async def ask(self, request: PermissionRequest) -> Answer:
        """Ask the person whether a call may run. Several questions about one call are asked in turn."""
        call = self._of(request.tool_call)
        async with call.asking:
            if call.stage is _Stage.CLOSED:  # it was denied, or is done: this is another one
                call = self._begin(call.id, request.tool_call)
            if call.learn(request.tool_call) and call.stage is _Stage.STREAMING:
                self._grow(call)
            await self._attend_edits(call)
            call.stage = _Stage.ASKED
            await call.ahp.ready(
                message=call.message,
                title=call.title or None,
                options=offered(request.options),
                edits=self._edits(call),
                meta=call.meta,
            )
            if call.ahp.approved:
                call.stage = _Stage.RUNNING
                call.confirmed = ToolCallConfirmationReason.USER_ACTION.value
                self._emit_called(call)
            else:
                call.stage = _Stage.CLOSED
                await call.editing.aclose()
        option = choose(request.options, call.ahp.option, approved=call.ahp.approved)
        return Answer(option, call.ahp.suggestion)

    async def end(self) -> None:
        """The turn is over. AHP itself sees to the calls that are not."""
        for call in self._calls.values():
            await call.editing.aclose()

    # -- steps ---------------------------------------------------------------------------------------------

    def _of(self, update: AcpToolCall | ToolCallUpdate) -> _Call:
        return self._calls.get(update.tool_call_id) or self._begin(update.tool_call_id, update)

    def _begin(self, call_id: str, update: AcpToolCall | ToolCallUpdate) -> _Call:
        shown = call_id
        if call_id in self._calls:
            self._again += 1
            shown = f"{call_id}#{self._again}"
        kind = update.tool_kind or "other"
        meta: FreeForm = {"serai.toolKind": kind}
        if update.locations:
            meta["serai.locations"] = update.locations
        # By its kind: a title tells what the call does, and the first one is often no more than "Preparing…".
        name = _NAMES.get(kind) or update.title or kind
        ahp = self._turn.begin_call(kind, name, call_id=shown, meta=meta)
        call = self._calls[call_id] = _Call(call_id, ahp, kind=kind)
        return call

    def _grow(self, call: _Call) -> None:
        """Show title and input while they are still coming in."""
        more = "" if call.ahp.input else call.input or ""
        call.ahp.grow(more, call.message)
        call.ahp.input = call.input

    async def _run(self, call: _Call) -> None:
        first = call.stage is _Stage.STREAMING
        call.stage = _Stage.RUNNING
        call.ahp.input = call.input
        await call.ahp.ready(message=call.message, confirmed=call.confirmed, meta=call.meta)
        if first:
            self._emit_called(call)

    async def _close(self, call: _Call) -> None:
        call.stage = _Stage.CLOSED
        content: list[ToolResultContent] = self._contents(call)
        if not content and (text := text_in(call.raw_output)):
            content = [ToolResultTextContent(text=text)]
        error = None
        if call.status == "failed":
            error = text_in(call.content) or text_in(call.raw_output) or "the tool failed"
        await call.editing.aclose()
        await call.ahp.done(
            call.message,
            content=content or None,
            structured=_small(call.raw_output),
            error=error,
            meta=call.meta,
        )
        if error is None:
            output = self._masked(text_in(call.content) or call.raw_output)
            self._emit(ToolCompleted(run=call.id, tool=call.kind, output=output))
        else:
            self._emit(ToolFailed(run=call.id, tool=call.kind, error=self._masked(error)))

    def _emit_called(self, call: _Call) -> None:
        self._emit(ToolCalled(run=call.id, tool=call.kind, input=self._masked(call.raw_input)))

    # -- content -------------------------------------------------------------------------------------------

    def _contents(self, call: _Call) -> list[ToolResultContent]:
        return contents_of(call.content, folder=self._folder, keep=self._turn.keep, terminal=self._terminal)

    def _edits(self, call: _Call) -> list[FileEdit]:
        found = (
            edit_of(entry, self._folder, self._turn.keep)
            for entry in call.content
            if entry.get("type") == "diff"
        )
        return [edit for edit in found if edit is not None]

    async def _attend_edits(self, call: _Call) -> None:
        """See to it that what the call is about to change is among the session's changes."""
        for path in edited_paths(call.content, call.locations, call.kind):
            if path not in call.edited:
                call.edited.add(path)
                await call.editing.enter_async_context(self._turn.editing(self._folder / path))


def _small(output: Any) -> FreeForm | None:
    if not is_object(output) or len(json.dumps(output)) > _LARGEST_OUTPUT:
        return None
    return dict(output)
