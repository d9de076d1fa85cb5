"""One tool call of an agent: all that was told of it so far, and what has become of it."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from serai.acp import ToolCall as AcpToolCall
from serai.acp import ToolCallUpdate
from serai.agents.ask.tools import Content, content_after, content_answered, text_in
from serai.ahp.types import FreeForm, ToolCallConfirmationReason
from serai.host.changes.edit import Edit
from serai.host.tool_call import ToolCall

__all__ = ["ENDED", "NAMES", "NOT_NEEDED", "OVER", "Call", "Stage"]

NOT_NEEDED = ToolCallConfirmationReason.NOT_NEEDED.value
NAMES = {
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
"""What calls of a kind do, for people."""


class Stage(Enum):
    """Where a call is, as far as clients know.

    STREAMING → ASKED | RUNNING | CLOSED; ASKED → RUNNING | CLOSED | TAKEN_BACK | DENIED;
    RUNNING → ASKED | CLOSED
    """

    STREAMING = auto()
    ASKED = auto()
    RUNNING = auto()
    CLOSED = auto()
    TAKEN_BACK = auto()
    """Closed, too: the agent did not want to know any more whether it may run. It may run it all the same."""
    DENIED = auto()
    """Closed, too: it may not run. An agent may run it all the same."""


_LATE = 2_000_000_000
"""So late an agent may be with what it tells of a call, in nanoseconds. OpenCode was up to 0.8 s late."""
OVER = (Stage.CLOSED, Stage.TAKEN_BACK, Stage.DENIED)
ENDED = ("completed", "failed")


@dataclass(slots=True)
class Call:
    """One call: all that was told of it so far, and what has become of it."""

    id: str
    ahp: ToolCall
    stage: Stage = Stage.STREAMING
    title: str = ""
    kind: str = "other"
    status: str = "pending"
    content: Content = ()
    before: Content | None = None
    """While `content` is what it asked permission with: the content that it had until then."""
    locations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    raw_input: Any = None
    raw_output: Any = None
    confirmed: str = NOT_NEEDED
    is_hasty: bool = False
    """Whether it runs already while someone is asked whether it may."""
    editing: AsyncExitStack = field(default_factory=AsyncExitStack)
    edited: set[str] = field(default_factory=set[str])
    edits: list[Edit] = field(default_factory=list[Edit])
    """What it may do to those files."""
    since: int = field(default_factory=lambda: time.time_ns() - _LATE)
    """When it may have begun, in nanoseconds: some agents tell of a call only when it is done."""
    shown_at: float = 0.0
    showing: asyncio.Handle | None = None
    """Shows what there is in the next step, and what is large when it may be shown again."""

    def learn(self, update: AcpToolCall | ToolCallUpdate, *, asked: bool = False) -> bool:
        """Take in what is new, or is asked. Returns whether people should see another title or input."""
        before = self.title, self.raw_input
        self.title = update.title or self.title
        self.kind = update.tool_kind or self.kind
        self.status = update.status or self.status
        self.content, self.before = content_after(self.content, self.before, update, asked=asked)
        self.locations = self.locations if update.locations is None else update.locations
        self.raw_input = self.raw_input if update.raw_input is None else update.raw_input
        self.raw_output = self.raw_output if update.raw_output is None else update.raw_output
        return (self.title, self.raw_input) != before

    def answered(self, *, is_over: bool = False) -> None:
        """What it asked permission with counts no more, but for edits; as soon as there is anything else."""
        if self.before is not None and ((left := content_answered(self.content, self.before)) or is_over):
            self.content, self.before = left, None

    async def begins(self) -> None:
        """It was allowed, and begins only now, unless it has begun already."""
        if not self.is_hasty:
            for edit in self.edits:
                await edit.begin()

    async def is_off(self) -> None:
        """It is not to run any more. If it has not begun, it has edited nothing."""
        for edit in self.edits:
            edit.is_off = not self.is_hasty
        await self.editing.aclose()

    @property
    def shows_something(self) -> bool:
        """Whether it has something to show that is more than what it asked permission with."""
        return bool(self.content) and self.before is None

    @property
    def text(self) -> str:
        """What it has shown so far, as far as that is text."""
        return text_in(list(self.content)) if self.before is None else ""

    @property
    def is_about_to_show(self) -> bool:
        """Whether what it has is shown in the next step, and not only when it may be shown again."""
        return self.showing is not None and not isinstance(self.showing, asyncio.TimerHandle)

    def rest(self) -> None:
        """Nothing is shown later any more."""
        if self.showing is not None:
            self.showing.cancel()
            self.showing = None

    @property
    def runs(self) -> bool:
        """Whether it runs, as far as the agent says."""
        return self.stage is Stage.RUNNING or (self.stage is Stage.ASKED and self.is_hasty)

    @property
    def message(self) -> str:
        """What it does, for people."""
        return self.title or NAMES.get(self.kind, self.kind)

    @property
    def input(self) -> str | None:
        """The tool's input, as JSON text."""
        if self.raw_input is None:
            return None
        if isinstance(self.raw_input, str):
            return self.raw_input
        return json.dumps(self.raw_input, ensure_ascii=False)

    @property
    def meta(self) -> FreeForm:
        """What AHP has no field for."""
        found: FreeForm = {"serai.toolKind": self.kind}
        if self.locations:
            found["serai.locations"] = self.locations
        return found
