"""The conversation so far, told to an agent that does not remember it."""

from __future__ import annotations

from collections.abc import Sequence

from serai.ahp.types import MarkdownResponsePart, Turn

__all__ = ["retold"]

_MOST = 48 * 1024
"""So many characters are told, the last ones."""


def retold(turns: Sequence[Turn]) -> str:
    """What was said in these turns; empty when that is nothing. The oldest are left out if it is too much."""
    told: list[str] = []
    size = 0
    for turn in reversed(turns):
        said = _said(turn)
        size += len(said)
        if size > _MOST:
            told.append("[Earlier messages are left out.]")
            break
        told.append(said)
    if not told:
        return ""
    lines = ["[The conversation so far, for your information. Answer the message above, not this.]"]
    return "\n\n".join([*lines, *reversed(told)])


def _said(turn: Turn) -> str:
    answer = "".join(part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart))
    return f"User: {turn.user_message.text}\n\nYou: {answer or '[no answer]'}"
