"""What a model sees of a session: its completed turns and the running one, a call always with its result.

Saved messages are projected anew for each request. Nothing here changes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from serai.session.messages import (
    DurableContentPart,
    ReasoningPart,
    SessionMessage,
    SessionMessageRole,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from serai.session.transcript import LogicalTurn

_MOST_OF_RESULT = 24 * 1024
"""How many characters of a tool's result a model sees."""


class SavedTurn(NamedTuple):
    """A turn, with what was said in it."""

    id: str
    messages: Sequence[SessionMessage]


def projected(turns: Sequence[SavedTurn], running: str, max_messages: int = 0) -> list[SessionMessage]:
    """The messages that a model sees.

    Args:
        turns: All turns that count, in order.
        running: The turn that runs: it is seen as it is.
        max_messages: Past so many, the oldest turns are left out; 0 for no limit. The running one stays.
    """
    seen: list[list[SessionMessage]] = []
    for turn in turns:
        whole = turn.id == running or LogicalTurn(tuple(turn.messages)).is_completed
        seen.append([_trimmed(message) for message in (turn.messages if whole else _in_short(turn.messages))])
    count = sum(map(len, seen))
    while max_messages and count > max_messages and len(seen) > 1:
        count -= len(seen.pop(0))
    return [message for messages in seen for message in messages]


def _in_short(messages: Sequence[SessionMessage]) -> list[SessionMessage]:
    """A turn that was not completed: what was asked, and in one line which tools ran."""
    asked = [message for message in messages if message.role is SessionMessageRole.USER]
    parts = [part for message in messages for part in message.content]
    ended = {part.id for part in parts if isinstance(part, ToolResultPart)}
    ran = dict.fromkeys(part.name for part in parts if isinstance(part, ToolResultPart))
    cut = dict.fromkeys(p.name for p in parts if isinstance(p, ToolCallPart) and p.id not in ended)
    what = f"Tools that ran: {', '.join(ran)}." if ran else "" if cut else "No tool ran."
    if cut:
        what = f"{what} Broken off, and perhaps done in part: {', '.join(cut)}.".strip()
    if not asked:
        return []
    line = TextPart(text=f"[This turn was not completed. {what}]")
    return [*asked, replace(asked[-1], role=SessionMessageRole.ASSISTANT, content=(line,))]


def _trimmed(message: SessionMessage) -> SessionMessage:
    content = tuple(_trimmed_parts(message.content))
    return message if content == message.content else replace(message, content=content)


def _trimmed_parts(parts: Iterable[DurableContentPart]) -> Iterable[DurableContentPart]:
    for part in parts:
        match part:
            case ReasoningPart():  # no model wants another one's, nor its own without the signature
                continue
            case ToolResultPart(output=output) if len(output) > _MOST_OF_RESULT:
                half = _MOST_OF_RESULT // 2
                left_out = len(output) - 2 * half
                cut = f"{output[:half]}\n[… {left_out} characters are left out here …]\n{output[-half:]}"
                yield replace(part, output=cut)
            case ToolCallPart() | _:
                yield part
