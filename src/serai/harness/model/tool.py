"""What a tool of a model session is: its input, whether someone is asked, and how it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from serai.ahp.types import FileEdit, ToolResultContent
from serai.contract.tool_schema import tool_schema
from serai.host.seat import Seat
from serai.host.tool_call import ToolCall
from serai.host.turn import Turn
from serai.session.agent_file import AgentFile
from serai.session.messages import SessionContext, ToolSpec


class Asking(Enum):
    """Whether a person is asked before a tool runs."""

    NEVER = "never"
    UNLESS_GRANTED = "unless granted"
    """Someone may allow it for the session, or a pattern of it."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running tool has."""

    turn: Turn
    call: ToolCall
    agent: AgentFile
    """The agent, as the session has narrowed it."""
    situation: SessionContext
    folder: Path
    """The working directory."""
    seat: Seat
    """What the session has beside its turns: files, processes, secrets."""
    shown: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`Preview.shown`, when it runs; nothing when that was before a restart."""


class Preview(NamedTuple):
    """What a call is going to do, for whoever is asked."""

    message: str
    """In Markdown, from the verb on."""
    edits: Sequence[FileEdit] = ()
    shown: Mapping[str, Any] = {}
    """What `run` has to know of what the person has seen."""


class ToolAnswer(NamedTuple):
    """What a call has brought. Whoever hands it on masks the secrets in it, as in all that is observed."""

    text: str
    """For the model, whole."""
    is_error: bool = False
    content: Sequence[ToolResultContent] = ()
    """For people, beside the text."""


class ToolRequest(msgspec.Struct, forbid_unknown_fields=True):
    """One use of a tool: its fields are what the model gives.

    What it refuses it raises as a `SeraiError`: the model is told why, and the turn goes on.
    """

    def pattern(self) -> str:
        """What one allows who allows this pattern, such as `src/*`; empty when there is no such thing.

        Calls with the same pattern are allowed together.
        """
        return ""

    def summary(self) -> str:
        """Return what the call is going to do, for tools whose preview says no more."""
        raise NotImplementedError

    async def preview(self, context: ToolContext) -> Preview:
        """What the call is going to do. It changes nothing.

        Raises:
            SeraiError: It will be refused anyway, so nobody need be asked.
        """
        del context
        return Preview(self.summary())

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Do it. Cancelling ends what it has started.

        Raises:
            SeraiError: It is refused, or cannot be done.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool: ours, or one that someone else describes."""

    name: str
    title: str
    """The tool, for people."""
    description: str
    """The tool, for models."""
    schema: dict[str, Any]
    read: Callable[[Mapping[str, Any]], ToolRequest]
    """The use that an input describes. Raises `msgspec.ValidationError` where it does not fit."""
    asking: Asking = Asking.UNLESS_GRANTED
    is_idempotent: bool = False
    """Whether it may simply run again when nobody knows how far it came."""

    @property
    def spec(self) -> ToolSpec:
        """The tool, as a model gets to know it."""
        return ToolSpec(self.name, self.description, self.schema)


class ForeignRequest(ToolRequest):
    """A use of a tool that someone else describes."""

    what: str
    """What the call is going to do."""
    call: Callable[[], Awaitable[ToolAnswer]]

    def summary(self) -> str:
        """As it was given."""
        return self.what

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Call it."""
        del context
        return await self.call()


class BuiltIn(ToolRequest):
    """A use of a tool of ours. The docstring of its class is what models are told of it."""

    name: ClassVar[str]
    title: ClassVar[str]
    asking: ClassVar[Asking] = Asking.UNLESS_GRANTED
    is_idempotent: ClassVar[bool] = False

    def summary(self) -> str:
        """The tool's title."""
        return self.title

    @classmethod
    def tool(cls) -> ModelTool:
        """The tool that is used so."""
        told = " ".join((cls.__doc__ or "").split())
        read = partial(msgspec.convert, type=cls)
        return ModelTool(cls.name, cls.title, told, tool_schema(cls), read, cls.asking, cls.is_idempotent)
