"""The messages of an agent session: as they are stored, as a model gets them, and as it answers.

What is kept is append-only, without media bytes, without signatures. No type of a vendor passes the seam to
models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, TypeAlias

from msgspec import Meta, field

from serai.contract.record import Moment, Record
from serai.session.agent_file import AgentFile, FsScopeTier


class TextPart(Record, tag_field="type", tag="text"):
    """Text of a message."""

    text: str
    is_steering: bool = False
    """True if a person sent it while the turn ran: then it is part of that turn, and begins none."""
    is_partial: bool = False
    """True if it was cut off: its turn ended before it did."""


class ReasoningPart(Record, tag_field="type", tag="reasoning"):
    """Reasoning of a model. The model's signature of it is not kept."""

    text: str


class ToolCallPart(Record, tag_field="type", tag="tool_call"):
    """A call of a tool, as the model wrote it."""

    id: str
    """The call's id, which no other call of the session has."""
    name: str
    input: dict[str, Any]


class ToolResultPart(Record, tag_field="type", tag="tool_result"):
    """The whole result of a call."""

    id: str
    """The call's id."""
    name: str
    output: str
    is_error: bool = False


class MediaPart(Record, tag_field="type", tag="media"):
    """Media, by a handle: the bytes are kept elsewhere."""

    handle: str
    media_type: str


DurableContentPart: TypeAlias = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | MediaPart
"""A stored part of a message."""


class SessionMessageRole(StrEnum):
    """The author of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class SessionMessage(Record):
    """One message of a session. It is never changed."""

    id: str
    session_id: str
    sequence_number: Annotated[int, Meta(ge=1)]
    role: SessionMessageRole
    content: tuple[DurableContentPart, ...]
    model_id: str | None = None
    """The model that gave this answer, after any fallback."""
    timestamp: Moment


class Selection(Record):
    """Lines that are selected where the session was started."""

    file: str
    start_line: Annotated[int, Meta(ge=1)]
    end_line: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        if self.end_line < self.start_line:
            raise ValueError("endLine: a selection does not end before it starts")


class SessionContext(Record):
    """The situation that a session runs in."""

    working_dir: str
    active_file: str | None = None
    selection: Selection | None = None
    git_ref: str | None = None
    fs_scope_tier: FsScopeTier = field(default_factory=lambda: FsScopeTier.SANDBOXED)
    """The reach of the tools. It is always written: the default may change, a session's value does not."""
    variables: dict[str, str] = field(default_factory=dict)
    """Values for `{{ctx.name}}`, in plain text: never a secret."""


class AgentSessionRecord(Record):
    """The stored record of a session."""

    id: str
    agent_slug: str
    title: str | None = None
    agent_snapshot: AgentFile | None = None
    """The agent as it was when the session began."""
    context: SessionContext
    created_at: Moment
    updated_at: Moment


# -- requests and answers of models ------------------------------------------------------------------------


class ToolSpec(NamedTuple):
    """A tool, as it is described to a model."""

    name: str
    description: str
    input_schema: dict[str, Any]


class LlmRequest(NamedTuple):
    """One request to one model."""

    model: str
    """The model, `NAME:ID`."""
    system: str
    messages: Sequence[SessionMessage]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 8192
    media: Mapping[str, bytes] = {}
    """The media in the messages, by their handles. The model is told of missing ones."""


class LlmUsage(Record):
    """Numbers of tokens that one request took."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0


class FinishReason(StrEnum):
    """The reason why a model stopped."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    """The answer has the most tokens that are allowed."""
    CONTENT_FILTER = "content_filter"


class LlmReply(Record):
    """A whole answer: the last thing that a request yields."""

    parts: tuple[TextPart | ReasoningPart | ToolCallPart, ...]
    """The parts of the answer. A call whose input is no JSON object has the input `{"_broken": text}`."""
    finish: FinishReason
    usage: LlmUsage
