"""What is known of an agent's own session: records, and the conversation for an agent that does not have it.

The records are `opened`, `prompted` and `titled`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from serai.acp.shapes import object_of, text_of
from serai.ahp.types import MarkdownResponsePart, Turn

_MOST = 48 * 1024
"""How much of a conversation an agent is told again, in characters."""


@dataclass(slots=True)
class AgentRecord:
    """What is known of an agent's session, whichever run of the host has begun it."""

    session_id: str | None = None
    """The agent's name for it."""
    turn: str | None = None
    """The last turn that the agent knows of."""
    is_untold: bool = False
    """Whether the session was made anew, and the agent does not have the conversation yet."""
    title: str | None = None
    """The last title that the agent gave."""
    handshake: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the agent said of itself when it was last started."""

    def take(self, record: Mapping[str, Any]) -> None:
        """Take in what a record says."""
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
        """Whether the agent knows of a turn that these do not have any more: it was taken back."""
        return self.turn is not None and self.turn not in set(turns)


def read_records(records: Iterable[Mapping[str, Any]]) -> AgentRecord:
    """What the records say, oldest first."""
    known = AgentRecord()
    for record in records:
        known.take(record)
    return known


# -- the conversation, told again --------------------------------------------------------------------------


LEFT_OUT = "[Earlier messages are left out.]"


def retold(turns: Sequence[Turn]) -> str:
    """What was said in these turns; of what is too much only the last, after `LEFT_OUT`."""
    told: list[str] = []
    room = _MOST
    for turn in reversed(turns):
        said = _said(turn)
        told.append(said if len(said) <= room else f"{LEFT_OUT}\n\n[…] {said[len(said) - room :]}")
        if len(said) > room:
            break
        room -= len(said)
    about = "[The conversation so far, for your information. Answer the message above, not this.]"
    return "\n\n".join([about, *reversed(told)])


def _said(turn: Turn) -> str:
    answer = "".join(part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart))
    return f"User: {turn.user_message.text}\n\nYou: {answer or '[no answer]'}"
