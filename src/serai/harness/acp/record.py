"""The records of an agent's own session, and the conversation as text for an agent that does not have it.

The records are `opened`, `prompted` and `titled`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from serai.acp.shapes import object_of, text_of
from serai.ahp.types import MarkdownResponsePart, Turn

_MOST = 48 * 1024
"""Longest conversation that an agent is sent again, in characters."""


@dataclass(slots=True)
class AgentRecord:
    """The stored state of an agent's own session, from this and earlier runs of the host."""

    session_id: str | None = None
    """Its id, given by the agent."""
    turn: str | None = None
    """The last turn that the agent knows of."""
    is_untold: bool = False
    """True if the session was made anew and the agent does not have the conversation yet."""
    title: str | None = None
    """The last title that the agent gave."""
    handshake: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The agent's last handshake."""

    def take(self, record: Mapping[str, Any]) -> None:
        """Apply a record."""
        match record.get("type"):
            case "opened":
                self.session_id = text_of(record.get("sessionId"))
                self.handshake = object_of(record.get("handshake"))
                if record.get("anew"):
                    self.turn = None
                    self.is_untold = True
            case "prompted":
                self.turn = text_of(record.get("turn"))
                self.is_untold = False
            case "titled":
                self.title = text_of(record.get("title"))
            case _:
                pass

    def knows_too_much(self, turns: Iterable[str]) -> bool:
        """Tell whether the agent knows a turn that is not among these any more: it was taken back."""
        return self.turn is not None and self.turn not in set(turns)


def read_records(records: Iterable[Mapping[str, Any]]) -> AgentRecord:
    """Read the records, oldest first."""
    known = AgentRecord()
    for record in records:
        known.take(record)
    return known


# -- the conversation as text ------------------------------------------------------------------------------


LEFT_OUT = "[Earlier messages are left out.]"


def retold(turns: Sequence[Turn]) -> str:
    """Return the conversation in these turns. When it is too long, only its end, after `LEFT_OUT`."""
    texts: list[str] = []
    room = _MOST
    for turn in reversed(turns):
        said = (part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart))
        text = f"User: {turn.user_message.text}\n\nYou: {''.join(said) or '[no answer]'}"
        texts.append(text if len(text) <= room else f"{LEFT_OUT}\n\n[…] {text[len(text) - room :]}")
        if len(text) > room:
            break
        room -= len(text)
    about = "[The conversation so far, for your information. Answer the message above, not this.]"
    return "\n\n".join([about, *reversed(texts)])
