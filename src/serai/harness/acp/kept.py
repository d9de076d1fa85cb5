"""What is written down about an agent's own session, so that it can be found again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from serai.acp import Handshake
from serai.acp.shapes import object_of, text_of, texts_of

__all__ = ["Kept", "chosen_by_people", "chosen_itself", "kept_of", "opened", "prompted", "titled"]


@dataclass(slots=True)
class Kept:
    """What is known of an agent's session, whoever of the two hosts has begun it."""

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
    own: dict[str, Any] = field(default_factory=dict[str, Any])
    """The settings that the agent itself has chosen last, as long as nobody has chosen others."""

    def knows_too_much(self, turns: Iterable[str]) -> bool:
        """Whether the agent knows of a turn that these do not have any more: it was taken back."""
        return self.turn is not None and self.turn not in set(turns)


def opened(session_id: str, handshake: Handshake, *, anew: bool) -> dict[str, Any]:
    """The record of a session that was opened; `anew` when the agent knows nothing of the turns before."""
    return {"type": "opened", "sessionId": session_id, "handshake": dict(handshake.raw), "anew": anew}


def prompted(turn_id: str) -> dict[str, Any]:
    """The record of a turn that the agent was told of."""
    return {"type": "prompted", "turn": turn_id}


def titled(title: str) -> dict[str, Any]:
    """The record of a title that the agent gave."""
    return {"type": "titled", "title": title}


def chosen_itself(values: Mapping[str, Any]) -> dict[str, Any]:
    """The record of settings that the agent itself has chosen."""
    return {"type": "chosenItself", "values": dict(values)}


def chosen_by_people(names: Iterable[str]) -> dict[str, Any]:
    """The record of settings that the agent itself had chosen, and that are people's choice now."""
    return {"type": "chosenByPeople", "names": list(names)}


def kept_of(records: Iterable[Mapping[str, Any]]) -> Kept:
    """What the records say, oldest first."""
    kept = Kept()
    for record in records:
        match record.get("type"):
            case "opened":
                kept.session_id = text_of(record.get("sessionId"))
                kept.handshake = object_of(record.get("handshake"))
                if record.get("anew"):
                    kept.turn = None
                    kept.is_untold = True
            case "prompted":
                kept.turn = text_of(record.get("turn"))
                kept.is_untold = False
            case "titled":
                kept.title = text_of(record.get("title"))
            case "chosenItself":
                kept.own |= object_of(record.get("values"))
            case "chosenByPeople":
                for name in texts_of(record.get("names")):
                    kept.own.pop(name, None)
            case _:
                pass
    return kept
