"""What requests cost, in whole microcents (1e-8 dollar), always rounded up.

Before a request leaves, its worst case is reserved; when its answer says what it took, that is the cost. So
what was spent and reserved is never less than what is owed, and a request that might not fit is not sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple

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
_MILLION = 10**6

_TOKENS_OF_REQUEST = 256
"""What servers add to a request of their own, such as instructions for tools."""
_TOKENS_OF_PART = 32
"""Marks around a message, a call, a result or a tool."""
_TOKENS_OF_IMAGE = 16_384
"""More than any vendor counts for one image."""


class MicrocentPrice(NamedTuple):
    """Microcents for a million tokens."""

    input: int
    output: int
    cache_read: int | None = None
    """For input that the server still had; `None`: it costs as much as other input."""

    @classmethod
    def of_dollars(
        cls, input_price: Decimal | float, output_price: Decimal | float, cache_read: Decimal | None = None
    ) -> MicrocentPrice:
        """The price that is so many dollars for a million tokens."""
        return cls(
            _microcents(input_price),
            _microcents(output_price),
            None if cache_read is None else _microcents(cache_read),
        )


def _microcents(dollars: Decimal | float) -> int:
    exact = Decimal(str(dollars)) * MICROCENTS_PER_DOLLAR  # by its text: 0.15 is meant as it is written
    return int(exact.to_integral_value(ROUND_CEILING))


def cost_of(usage: LlmUsage, price: MicrocentPrice) -> int:
    """What a request has cost."""
    cached = min(usage.cache_read_tokens, usage.input_tokens)
    cache_price = price.input if price.cache_read is None else price.cache_read
    exact = (
        (usage.input_tokens - cached) * price.input
        + cached * cache_price
        + usage.output_tokens * price.output
    )
    return -(-exact // _MILLION)


def settled_cost(usage: LlmUsage, price: MicrocentPrice, reserved: int) -> int:
    """What an answered request has cost. Where a server does not say what it took, all that was reserved."""
    return cost_of(usage, price) if usage.input_tokens or usage.output_tokens else reserved


def worst_cost(request: LlmRequest, price: MicrocentPrice) -> int:
    """What a request can cost at most: this is reserved for it."""
    usage = LlmUsage(input_tokens=most_input_tokens(request), output_tokens=request.max_tokens)
    return cost_of(usage, price._replace(cache_read=None))


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
