"""What is said in an agent session, as it is kept, and as it goes to a model and comes back.

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
    """What was said."""

    text: str
    is_steering: bool = False
    """Whether a person said it while the turn ran: then it is part of that turn, and begins none."""
    is_partial: bool = False
    """Whether it was cut off: its turn ended before it did."""


class ReasoningPart(Record, tag_field="type", tag="reasoning"):
    """What was thought. A model's signature of it is not kept."""

    text: str


class ToolCallPart(Record, tag_field="type", tag="tool_call"):
    """A tool that the model wants to use."""

    id: str
    """Names the call; no other call of the session has it."""
    name: str
    input: dict[str, Any]


class ToolResultPart(Record, tag_field="type", tag="tool_result"):
    """What became of a call, whole."""

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
"""What is kept of a message."""


class SessionMessageRole(StrEnum):
    """Who speaks."""

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
    """It is always written: what the default is may change, what a session has does not."""
    variables: dict[str, str] = field(default_factory=dict)
    """Values for `{{ctx.name}}`, in plain text: never a secret."""


class AgentSessionRecord(Record):
    """A session, as its row has it."""

    id: str
    agent_slug: str
    title: str | None = None
    agent_snapshot: AgentFile | None = None
    """The agent as it was when the session began."""
    context: SessionContext
    created_at: Moment
    updated_at: Moment


# -- to a model, and back ----------------------------------------------------------------------------------


class ToolSpec(NamedTuple):
    """A tool, as a model gets to know it."""

    name: str
    description: str
    input_schema: dict[str, Any]


class LlmRequest(NamedTuple):
    """One question to one model."""

    model: str
    """`NAME:ID`."""
    system: str
    messages: Sequence[SessionMessage]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 8192
    media: Mapping[str, bytes] = {}
    """The media in the messages, by their handles. What is not here any more is told to the model."""


class LlmUsage(Record):
    """How many tokens one request took."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0


class FinishReason(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    """It said as much as it may."""
    CONTENT_FILTER = "content_filter"


class LlmReply(Record):
    """A whole answer: the last thing that comes of a request."""

    parts: tuple[TextPart | ReasoningPart | ToolCallPart, ...]
    """Calls whose input was no JSON object have the input `{"_broken": text}`."""
    finish: FinishReason
    usage: LlmUsage
