"""The conversation so far, told to an agent that does not remember it."""

from __future__ import annotations

from collections.abc import Sequence

from serai.ahp.types import MarkdownResponsePart, Turn

__all__ = ["is_too_long", "retold"]

_MOST = 48 * 1024
"""So many characters are told, the last ones."""


def is_too_long(turns: Sequence[Turn]) -> bool:
    """Whether `retold` leaves out something of what was said."""
    return sum(len(_said(turn)) for turn in turns) > _MOST


def retold(turns: Sequence[Turn]) -> str:
    """What was said in these turns; empty when that is nothing. Only the last of it if it is too much."""
    told: list[str] = []
    room = _MOST
    for turn in reversed(turns):
        said = _said(turn)
        if len(said) > room:
            if room:
                told.append(f"[…] {said[-room:]}")
            told.append("[Earlier messages are left out.]")
            break
        room -= len(said)
        told.append(said)
    if not told:
        return ""
    lines = ["[The conversation so far, for your information. Answer the message above, not this.]"]
    return "\n\n".join([*lines, *reversed(told)])


def _said(turn: Turn) -> str:
    answer = "".join(part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart))
    return f"User: {turn.user_message.text}\n\nYou: {answer or '[no answer]'}"
