"""The updates that an agent sends of a session, while it works and at other times.

Each known kind has a type, which is read leniently: only a field of the wrong type is left out. Fields that
the type does not have are still in `raw`. An update of an unknown kind, or without a required field, is a
`RawUpdate`: nothing is dropped.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from serai.acp.shapes import MOST, line_of, text_of
from serai.jsonrpc.lines import mended

Block: TypeAlias = dict[str, Any]
"""A content block, as JSON: `type` is `text`, `image`, `audio`, `resource_link`, `resource` or newer."""

Amount: TypeAlias = Annotated[int, Meta(ge=0, le=MOST)] | Annotated[float, Meta(ge=0, le=float(MOST))]
"""An amount. Impossible ones are left out."""

LINE = "line"
"""The attribute of an update that keeps its line. `raw` is read from that when it is needed."""


class TypedUpdate(Struct, frozen=True, dict=True, kw_only=True, rename="camel", tag_field="sessionUpdate"):
    """The base of all known kinds."""

    meta: dict[str, Any] | None = field(default=None, name="_meta")

    @property
    def kind(self) -> str:
        """The name of the kind on the wire: `agent_message_chunk`."""
        return str(self.__struct_config__.tag)

    @cached_property
    def raw(self) -> dict[str, Any]:
        """The update as it came, with fields that this type does not have."""
        line: bytes | None = self.__dict__.get(LINE)
        if line is None:
            return msgspec.to_builtins(self)
        for text in (line, mended(line)):  # fields that this type does not have may be broken
            with contextlib.suppress(ValueError):
                return msgspec.json.decode(text)["params"]["update"]
        return msgspec.to_builtins(self)


class _Chunk(TypedUpdate, frozen=True, dict=True, kw_only=True, rename="camel"):
    content: Block
    message_id: str | None = None

    @property
    def text(self) -> str | None:
        """The text of the content, if it is text."""
        text = self.content.get("text") if self.content.get("type") == "text" else None
        return text if isinstance(text, str) else None


class UserMessageChunk(_Chunk, frozen=True, kw_only=True, rename="camel", tag="user_message_chunk"):
    """A piece of the person's message. Agents send it when a session is loaded, some after each prompt."""


class AgentMessageChunk(_Chunk, frozen=True, kw_only=True, rename="camel", tag="agent_message_chunk"):
    """A piece of the agent's answer."""


class AgentThoughtChunk(_Chunk, frozen=True, kw_only=True, rename="camel", tag="agent_thought_chunk"):
    """A piece of the agent's reasoning."""


class _ToolCallFields(TypedUpdate, frozen=True, dict=True, kw_only=True, rename="camel"):
    tool_call_id: str
    title: str | None = None
    """Free text; often the command line itself."""
    tool_kind: str | None = field(default=None, name="kind")
    """`read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode`, `other`, ..."""
    status: str | None = None
    """`pending`, `in_progress`, `completed`, `failed`, or something newer."""
    content: list[dict[str, Any]] | None = None
    """Its output so far: `content`, `diff` and `terminal` entries. It replaces the earlier content."""
    locations: list[dict[str, Any]] | None = None
    raw_input: Any = None
    raw_output: Any = None


class ToolCall(_ToolCallFields, frozen=True, kw_only=True, rename="camel", tag="tool_call"):
    """The agent begins to use a tool."""


class ToolCallUpdate(_ToolCallFields, frozen=True, kw_only=True, rename="camel", tag="tool_call_update"):
    """A tool call has changed, except for fields that are `None`. The call may not have been announced."""


class PlanUpdate(TypedUpdate, frozen=True, kw_only=True, rename="camel", tag="plan"):
    """The agent's plan, as a whole: entries with `content`, `priority` and `status`."""

    entries: list[dict[str, Any]]


class AvailableCommandsUpdate(
    TypedUpdate, frozen=True, kw_only=True, rename="camel", tag="available_commands_update"
):
    """The slash commands that a prompt may begin with: `name`, `description`, `input`."""

    available_commands: list[dict[str, Any]]


class CurrentModeUpdate(TypedUpdate, frozen=True, kw_only=True, rename="camel", tag="current_mode_update"):
    """The session is in another mode now."""

    current_mode_id: str


class ConfigOptionUpdate(TypedUpdate, frozen=True, kw_only=True, rename="camel", tag="config_option_update"):
    """All options of the session, with their current values."""

    config_options: list[dict[str, Any]]


class SessionInfoUpdate(TypedUpdate, frozen=True, kw_only=True, rename="camel", tag="session_info_update"):
    """The session's title."""

    title: str | None = None
    """One line, whatever the agent wrote."""
    updated_at: str | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "title", line_of(self.title))


class Cost(Struct, frozen=True, kw_only=True):
    """The cost of the session since it began. It is cumulative: do not add it up."""

    amount: Amount
    currency: str = "USD"


class UsageUpdate(TypedUpdate, frozen=True, kw_only=True, rename="camel", tag="usage_update"):
    """The fill of the context window, and the cost of the session so far."""

    used: Amount | None = None
    size: Amount | None = None
    cost: Cost | None = None
    """Cumulative for the session."""


@dataclass(frozen=True, slots=True)
class RawUpdate:
    """An update of an unknown kind, or of the wrong shape."""

    kind: str
    """The kind's name on the wire; empty without one."""
    raw: dict[str, Any]


KnownUpdate: TypeAlias = (
    AgentMessageChunk
    | AgentThoughtChunk
    | UserMessageChunk
    | ToolCall
    | ToolCallUpdate
    | PlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)
Update: TypeAlias = KnownUpdate | RawUpdate


_ODD = re.compile(r" - at `\$\.(\w+)")
"""The place in msgspec's message that names the field of the wrong type."""


def read_update(data: dict[str, Any]) -> Update:
    """Read an update from plain JSON. This never fails: optional fields of the wrong type are left out."""
    fitting = dict(data)
    while True:
        try:
            update: KnownUpdate = msgspec.convert(fitting, KnownUpdate)
        except msgspec.ValidationError as error:
            odd = _ODD.search(str(error))
            if odd is None or fitting.pop(odd[1], None) is None:
                return RawUpdate(text_of(data.get("sessionUpdate")) or "", data)
        else:
            vars(update)["raw"] = data
            return update
