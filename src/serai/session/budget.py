"""What requests cost, in whole microcents (1e-8 dollar), always rounded up.

Before a request leaves, its worst case is reserved; when its answer says what it took, that is the cost. So
what was spent and reserved is never less than what is owed, and a request that might not fit is not sent.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

import msgspec

from serai.session.messages import LlmRequest, LlmUsage, MediaPart

MICROCENTS_PER_DOLLAR = 10**8

_TOKENS_OF_REQUEST = 256
"""Tokens that servers add to a request of their own, such as instructions for tools."""
_TOKENS_OF_PART = 32
"""Tokens of the marks around a message, a call, a result or a tool."""
_TOKENS_OF_IMAGE = 16_384
"""More than any vendor counts for one image."""


def microcents(dollars: Decimal) -> int:
    """Return an amount of dollars in whole microcents, rounded up."""
    return int((dollars * MICROCENTS_PER_DOLLAR).to_integral_value(ROUND_CEILING))


def worst_usage(request: LlmRequest) -> LlmUsage:
    """Return the most tokens that a request can take: what they cost is reserved for it."""
    return LlmUsage(input_tokens=most_input_tokens(request), output_tokens=request.max_tokens)


def most_input_tokens(request: LlmRequest) -> int:
    """Return more tokens than a request can have: no tokenizer makes more than one of a byte of its JSON."""
    parts = [part for message in request.messages for part in message.content]
    marks = _TOKENS_OF_PART * (len(request.messages) + len(parts) + len(request.tools))
    media = [part for part in parts if isinstance(part, MediaPart)]
    # Pages of a document become text and an image each: twice its bytes is more than that.
    shown = sum(
        _TOKENS_OF_IMAGE
        if part.media_type.startswith("image/")
        else 2 * len(request.media.get(part.handle, b""))
        for part in media
    )
    written = len(msgspec.json.encode((request.system, parts, request.tools)))
    return _TOKENS_OF_REQUEST + marks + shown + written
