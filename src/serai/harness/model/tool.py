"""Tools of model sessions: their input, the question before they run, and their result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from serai.ahp.types import FileEdit, ToolResultContent
from serai.contract.record import tool_schema
from serai.host.seat import Seat
from serai.host.tool_call import ToolCall
from serai.host.turn import Turn
from serai.session.agent_file import AgentFile
from serai.session.messages import SessionContext, ToolSpec


class Asking(Enum):
    """Condition under which a person is asked before a tool runs."""

    NEVER = "never"
    UNLESS_GRANTED = "unless granted"
    """Unless someone has allowed the tool, or a pattern of calls, for the session."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """All that a running tool has."""

    turn: Turn
    call: ToolCall
    agent: AgentFile
    """The agent, as the session has restricted it."""
    situation: SessionContext
    folder: Path
    """The working directory."""
    seat: Seat
    """The session's files, processes and secrets."""
    shown: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`Preview.shown`, when the call runs; empty when the preview was before a restart."""


class Preview(NamedTuple):
    """The description of a call, for the person who is asked."""

    message: str
    """Markdown that begins with a verb."""
    edits: Sequence[FileEdit] = ()
    shown: Mapping[str, Any] = {}
    """State of the preview that `run` has to compare."""


class ToolAnswer(NamedTuple):
    """The result of a call. The caller masks secrets in it."""

    text: str
    """The whole text, for the model."""
    is_error: bool = False
    content: Sequence[ToolResultContent] = ()
    """Content for people, beside the text."""


class ToolRequest(msgspec.Struct, forbid_unknown_fields=True):
    """One call of a tool: its fields are the input that the model gives.

    A refusal is a `SeraiError`: the model gets its message, and the turn continues.
    """

    def pattern(self) -> str:
        """Return the pattern that a person may allow, such as `src/*`; empty when the tool has none.

        Calls with the same pattern are allowed together.
        """
        return ""

    def summary(self) -> str:
        """Return what the call is going to do, for tools whose preview says no more."""
        raise NotImplementedError

    async def preview(self, context: ToolContext) -> Preview:
        """Return what the call is going to do. It changes nothing.

        Raises:
            SeraiError: The call will be refused anyway, so no person is asked.
        """
        del context
        return Preview(self.summary())

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Run the call. Cancelling ends what it has started.

        Raises:
            SeraiError: It is refused, or cannot be done.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool: a built-in one, or one that is described elsewhere."""

    name: str
    title: str
    """The name for people."""
    description: str
    """The description for models."""
    schema: dict[str, Any]
    read: Callable[[Mapping[str, Any]], ToolRequest]
    """Function that reads an input. It raises `msgspec.ValidationError` for an unfitting one."""
    asking: Asking = Asking.UNLESS_GRANTED
    is_idempotent: bool = False
    """True if a call may run again when nobody knows how far it came."""

    @property
    def spec(self) -> ToolSpec:
        """The tool, as it is described to a model."""
        return ToolSpec(self.name, self.description, self.schema)


class ForeignRequest(ToolRequest):
    """A call of a tool that is described elsewhere."""

    what: str
    """Description of the call."""
    call: Callable[[], Awaitable[ToolAnswer]]

    def summary(self) -> str:
        """Return the description."""
        return self.what

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Run the function."""
        del context
        return await self.call()


class BuiltIn(ToolRequest):
    """A call of a built-in tool. The docstring of its class is the description for models."""

    name: ClassVar[str]
    title: ClassVar[str]
    asking: ClassVar[Asking] = Asking.UNLESS_GRANTED
    is_idempotent: ClassVar[bool] = False

    def summary(self) -> str:
        """Return the tool's title."""
        return self.title

    @classmethod
    def tool(cls) -> ModelTool:
        """Return the tool of this class."""
        told = " ".join((cls.__doc__ or "").split())
        read = partial(msgspec.convert, type=cls)
        return ModelTool(cls.name, cls.title, told, tool_schema(cls), read, cls.asking, cls.is_idempotent)
