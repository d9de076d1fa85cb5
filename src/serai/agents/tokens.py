"""The tokens of a turn, kind by kind. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Tokens"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a turn has used. No token is of two kinds."""

    input: int
    cached_read: int
    cached_write: int
    output: int
    thought: int

    @classmethod
    def of(cls, usage: Mapping[str, Any]) -> Tokens:
        """The tokens that `AskResult.usage` tells.

        Most agents tell the kinds apart from one another. Of some, what was cached is part of the input, or
        thoughts are part of the output: the total says so, where it has no room for them beside those.
        """
        whole_input, whole_output = _count(usage, "inputTokens"), _count(usage, "outputTokens")
        read, written = _count(usage, "cachedReadTokens"), _count(usage, "cachedWriteTokens")
        cached, thought = read + written, _count(usage, "thoughtTokens")
        beside = _count(usage, "totalTokens") - whole_input - whole_output
        has_cached = beside in (0, thought) and cached <= whole_input
        has_thought = (beside == 0 or beside == cached != thought) and thought <= whole_output
        return cls(
            input=whole_input - cached if has_cached else whole_input,
            cached_read=read,
            cached_write=written,
            output=whole_output - thought if has_thought else whole_output,
            thought=thought,
        )


def _count(usage: Mapping[str, Any], name: str) -> int:
    """So many tokens. What is no number of things, such as half a token, counts as nothing."""
    value = usage.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0
