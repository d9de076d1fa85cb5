"""The tokens of a turn, wherever and under whichever names an agent tells them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from serai.acp.shapes import is_amount, object_of

__all__ = ["SessionTokens", "usage_in"]

_NAMES = {
    "inputTokens": ("inputtokens", "prompttokens"),
    "outputTokens": ("outputtokens", "completiontokens"),
    "totalTokens": ("totaltokens",),
    "cachedReadTokens": ("cachedreadtokens", "cachedinputtokens", "cachereadinputtokens", "cachereadtokens"),
    "cachedWriteTokens": ("cachedwritetokens", "cachecreationinputtokens", "cachewritetokens"),
    "thoughtTokens": ("thoughttokens", "thoughtstokens", "reasoningtokens", "reasoningoutputtokens"),
}
"""What agents call ACP's counts in `_meta`, without case and `_`."""


def usage_in(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The tokens in the answer to a prompt: its `usage`, else what its `_meta` tells as `usage` or `quota`.

    A number that cannot be is left out.
    """
    meta = object_of(answer.get("_meta"))
    quota = object_of(meta.get("quota"))
    places = (meta.get("usage"), quota.get("token_count"), quota)
    named = (_named(place) for place in places)
    told = dict(object_of(answer.get("usage"))) or next((each for each in named if each), dict[str, Any]())
    return {
        name: value for name, value in told.items() if not isinstance(value, int | float) or is_amount(value)
    }


def _named(counts: Any) -> dict[str, Any]:
    """Counts of tokens under ACP's names."""
    told = {name.replace("_", "").lower(): value for name, value in object_of(counts).items()}
    found = {
        name: next((told[each] for each in names if each in told), None) for name, names in _NAMES.items()
    }
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


class SessionTokens:
    """What an agent has told of the tokens of a session since it was opened."""

    def __init__(self) -> None:
        self._told: dict[str, int | float] = {}

    def of_turn(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """What is new since the agent told them last. When one of the counts went down, all began anew.

        Args:
            told: The `usage` of an answer to a prompt. What is no count of tokens stays as it is.
        """
        counts = {
            name: value
            for name, value in told.items()
            if name.endswith("Tokens") and isinstance(value, int | float)
        }
        if any(value < self._told.get(name, 0) for name, value in counts.items()):
            self._told.clear()
        new = {name: value - self._told.get(name, 0) for name, value in counts.items()}
        self._told |= counts
        return {**told, **new}
