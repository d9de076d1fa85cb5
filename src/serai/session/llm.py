"""The seam to models: what goes to one, and what comes back. No type of a vendor passes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from serai.contract.record import Record
from serai.session.messages import ReasoningPart, SessionMessage, TextPart, ToolCallPart


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
    model_id: str
    usage: LlmUsage
