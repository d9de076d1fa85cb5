"""What requests cost, in whole microcents (1e-8 dollar), always rounded up.

Before a request leaves, its worst case is reserved; when its answer says what it took, that is the cost. So
what was spent and reserved is never less than what is owed, and a request that might not fit is not sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal

import msgspec

from serai.session.messages import (
    DurableContentPart,
    LlmRequest,
    LlmUsage,
    MediaPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

MICROCENTS_PER_DOLLAR = 10**8

_TOKENS_OF_REQUEST = 256
"""What servers add to a request of their own, such as instructions for tools."""
_TOKENS_OF_PART = 32
"""Marks around a message, a call, a result or a tool."""
_TOKENS_OF_IMAGE = 16_384
"""More than any vendor counts for one image."""


def microcents(dollars: Decimal) -> int:
    """Return an amount of dollars in whole microcents, rounded up."""
    return int((dollars * MICROCENTS_PER_DOLLAR).to_integral_value(ROUND_CEILING))


def worst_usage(request: LlmRequest) -> LlmUsage:
    """Return the most tokens that a request can take: what they cost is reserved for it."""
    return LlmUsage(input_tokens=most_input_tokens(request), output_tokens=request.max_tokens)


def most_input_tokens(request: LlmRequest) -> int:
    """More tokens than a request can have: no tokenizer makes more than one of a byte of text."""
    parts = [part for message in request.messages for part in message.content]
    own = _TOKENS_OF_REQUEST + _TOKENS_OF_PART * (len(request.messages) + len(parts) + len(request.tools))
    tools = sum(
        len(tool.name) + _size(tool.description) + len(msgspec.json.encode(tool.input_schema))
        for tool in request.tools
    )
    return own + _size(request.system) + tools + sum(_tokens_of_part(part, request.media) for part in parts)


def _tokens_of_part(part: DurableContentPart, media: Mapping[str, bytes]) -> int:
    match part:
        case TextPart(text=text):
            return _size(text)
        case ReasoningPart():
            return 0  # it is not sent back
        case ToolCallPart(name=name, input=given):
            return _size(name) + len(msgspec.json.encode(given))
        case ToolResultPart(output=output):
            return _size(output)
        case MediaPart(handle=handle, media_type=media_type):
            # Pages of a document become text and an image each: twice its bytes is more than that.
            return _TOKENS_OF_IMAGE if media_type.startswith("image/") else 2 * len(media.get(handle, b""))


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))
