"""What a tool of a model session is: its input, whether someone is asked, and how it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from serai.ahp.types import FileEdit, ToolResultContent
from serai.contract.tool_schema import tool_schema
from serai.host.seat import Seat
from serai.host.tool_call import ToolCall
from serai.host.turn import Turn
from serai.session.agent_file import AgentFile
from serai.session.llm import ToolSpec
from serai.session.messages import SessionContext


class ToolInput(msgspec.Struct, forbid_unknown_fields=True):
    """What a tool takes."""


Input = TypeVar("Input")


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


class Preview(NamedTuple):
    """What a call is going to do, for whoever is asked."""

    message: str
    """In Markdown, from the verb on."""
    edits: Sequence[FileEdit] = ()


class ToolOutput(NamedTuple):
    """What a call has brought. Whoever hands it on masks the secrets in it, as in all that is observed."""

    text: str
    """For the model, whole."""
    is_error: bool = False
    content: Sequence[ToolResultContent] = ()
    """For people, beside the text."""


class Tool(ABC, Generic[Input]):
    """A tool. What it refuses it raises as a `SeraiError`: the model is told why, and the turn goes on."""

    name: str
    title: str
    """The tool, for people."""
    description: str
    """The tool, for models."""
    takes: type[Any]
    """The `ToolInput` that it takes."""
    asking: Asking = Asking.UNLESS_GRANTED
    is_idempotent: bool = False
    """Whether it may simply run again when nobody knows how far it came."""

    @property
    def spec(self) -> ToolSpec:
        """The tool, as a model gets to know it."""
        return ToolSpec(self.name, self.description, tool_schema(self.takes))

    def read(self, given: Mapping[str, Any]) -> Input:
        """The input of a call.

        Raises:
            msgspec.ValidationError: It does not fit.
        """
        return msgspec.convert(given, self.takes)

    def pattern(self, given: Input) -> str:
        """What one allows who allows this pattern, such as `src/*`; empty when there is no such thing.

        Calls with the same pattern are allowed together.
        """
        del given
        return ""

    def summary(self, given: Input) -> str:
        """What the call is going to do, for tools whose preview says no more."""
        del given
        return self.title

    async def preview(self, given: Input, context: ToolContext) -> Preview:
        """What the call is going to do. It changes nothing.

        Raises:
            SeraiError: It will be refused anyway, so nobody need be asked.
        """
        del context
        return Preview(self.summary(given))

    @abstractmethod
    async def run(self, given: Input, context: ToolContext) -> ToolOutput:
        """Do it. Cancelling ends what it has started.

        Raises:
            SeraiError: It is refused, or cannot be done.
        """


class ForeignTool(Tool[Mapping[str, Any]]):
    """A tool of someone else's, who describes it and reads its input."""

    schema: dict[str, Any]

    @property
    def spec(self) -> ToolSpec:
        """See `Tool`."""
        return ToolSpec(self.name, self.description, self.schema)

    def read(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The input as it is."""
        return given
