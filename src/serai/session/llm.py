"""The seam to models: what goes to one, and what comes back. No type of a vendor passes it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from serai.contract.record import Record
from serai.session.messages import ReasoningPart, SessionMessageRole, TextPart, ToolCallPart, ToolResultPart


class MediaContent(NamedTuple):
    """Media on their way to a model."""

    data: bytes
    media_type: str


ContentPart: TypeAlias = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | MediaContent
"""What a message on its way to a model holds."""


class LlmMessage(NamedTuple):
    """A message on its way to a model."""

    role: SessionMessageRole
    content: tuple[ContentPart, ...]


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
    messages: tuple[LlmMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 8192


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


class TextDelta(NamedTuple):
    """More of the answer."""

    text: str


class ReasoningDelta(NamedTuple):
    """More of the reasoning."""

    text: str


class LlmReply(Record):
    """A whole answer: the last thing that comes of a request."""

    parts: tuple[TextPart | ReasoningPart | ToolCallPart, ...]
    """Calls whose input was no JSON object have the input `{"_broken": text}`."""
    finish: FinishReason
    model_id: str
    usage: LlmUsage
