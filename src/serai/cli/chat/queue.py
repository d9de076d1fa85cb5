"""Messages that wait in a session: what people are told of them, and which one they mean."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from serai.ahp import actions as a
from serai.ahp.extensions import QUEUE_HELD
from serai.ahp.types import PendingMessage, SessionState
from serai.client import SessionClient

__all__ = ["NOTHING_WAITS", "Queue", "why_held"]

NOTHING_WAITS = "No message waits."
_WHY = {
    "cancelled": "the turn was cancelled",
    "error": "the turn failed",
    "restart": "the host was restarted",
}
_LENGTH = 70


def why_held(state: SessionState) -> str | None:
    """Why messages wait until someone goes on; `None` when they do not."""
    reason = (state.meta or {}).get(QUEUE_HELD)
    if reason is None or not state.queued_messages:
        return None
    return _WHY.get(str(reason), str(reason))


class Queue:
    """The messages that wait in a session, for one who can send or drop them."""

    def __init__(self, session: SessionClient) -> None:
        self._session = session
        self._has_told = False

    def notice(self) -> str | None:
        """What to say of messages that are held: once, until they go on. `None` when there is nothing."""
        live = self._session.live
        why = why_held(live.head) if live is not None else None
        if why is None or self._has_told:
            return None
        self._has_told = True
        messages = self._messages
        if len(messages) == 1:
            what, how = "a message is", "/go sends it, /drop takes it back, or write on and it follows"
        else:
            what = f"{len(messages)} messages are"
            how = "/go sends them, /drop NUMBER takes one back, or write on and they follow"
        head = f"({what} held, since {why}: {how})"
        return "\n".join([head, *_listed(messages)])

    def goes_on(self) -> None:
        """A turn has begun: nothing is held any more."""
        self._has_told = False

    def next_turn(self) -> a.SessionTurnStartedAction | None:
        """What begins a turn with the first message; `None` when none waits."""
        for first in self._messages[:1]:
            return a.SessionTurnStartedAction(
                turn_id=str(uuid.uuid4()), user_message=first.user_message, queued_message_id=first.id
            )
        return None

    def chosen(self, number: str) -> PendingMessage | str:
        """The message that a person means, or what to tell them.

        Args:
            number: What they wrote: a number from 1 on, or nothing where only one waits.
        """
        messages = self._messages
        if not messages:
            return NOTHING_WAITS
        if not number and len(messages) == 1:
            return messages[0]
        places = {str(place): message for place, message in enumerate(messages, start=1)}
        if number in places:
            return places[number]
        return "\n".join(["Which one? /drop NUMBER takes it back.", *_listed(messages)])

    @property
    def _messages(self) -> list[PendingMessage]:
        live = self._session.live
        return (live.head.queued_messages if live is not None else None) or []


def _listed(messages: Sequence[PendingMessage]) -> list[str]:
    return [
        f"  {place}  {_in_one_line(message.user_message.text)}"
        for place, message in enumerate(messages, start=1)
    ]


def _in_one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LENGTH else line[: _LENGTH - 1].rstrip() + "…"
