"""The tokens of a turn, from agents that tell those of the whole session. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["SessionTokens"]


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
