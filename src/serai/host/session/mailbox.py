"""Messages that wait in a session for their moment: each is a delivery that was accepted, with its receipt.

AHP shows them in the session's state, as queued messages and the one steering message. Here is what the state
does not have: which delivery each of them is; and why one is not taken: too many wait already
(`mailbox_full`), or the agent takes none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from serai.ahp import actions as a
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import PendingMessage, PendingMessageKind, UserMessage
from serai.contract import Accepted, AgentSessionCapabilities, DeliveryMode, refusal
from serai.host.messages import user_message
from serai.host.session.deliveries import Delivery, Door

__all__ = ["Mailbox", "Waiting", "not_taken"]

_MODES = {
    PendingMessageKind.QUEUED: (DeliveryMode.ON_IDLE, "idle"),
    PendingMessageKind.STEERING: (DeliveryMode.NEXT_TOOL_CALL, "next-tool-call"),
}
"""When a message of each kind may reach the agent, and what its receipt says that it waits for."""


class Waiting(NamedTuple):
    """Which message of a session waits."""

    kind: str
    id: str


class Mailbox:
    """The deliveries behind one session's pending messages."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._held: dict[Waiting, Delivery] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def restore(self, held: Iterable[Delivery]) -> None:
        """After a restart: what was waiting waits on."""
        self._held = {Waiting(**delivery.context.metadata["pendingMessage"]): delivery for delivery in held}

    def put(self, waiting: Waiting, message: UserMessage, sender: str) -> None:
        """A message begins to wait. One whose place it takes is not delivered, and gets that receipt."""
        steering = PendingMessageKind.STEERING  # of these there is one at a time
        for other in list(self._held):
            if other == waiting or other.kind == waiting.kind == steering:
                self.drop(other, "replaced")
        mode, waits_for = _MODES[PendingMessageKind(waiting.kind)]
        delivery = self._door.enter(message, sender, mode, {"pendingMessage": waiting._asdict()})
        self._held[waiting] = delivery
        metadata = {"heldBy": "host", "waitsFor": waits_for}
        self._door.receipt(delivery.id, Accepted(delivery_id=delivery.id, metadata=metadata))

    def take(self, waiting: Waiting) -> Delivery | None:
        """Its moment has come: whoever takes it sees to the next receipt."""
        return self._held.pop(waiting, None)

    def take_said(self, message_id: str, said: UserMessage) -> Delivery | None:
        """The delivery of the message that waited under an id, if it says just this.

        Whatever else waited under the id leaves the state with it, and is not delivered.
        """
        found: Delivery | None = None
        for kind in _MODES:  # the queued one first
            waiting = Waiting(kind, message_id)
            held = self._held.get(waiting)
            if found is None and held is not None and user_message(held.message) == said:
                found = self.take(waiting)
            else:
                self.drop(waiting, "replaced")
        return found

    def drop(self, waiting: Waiting, reason: str) -> None:
        """A message will not be delivered."""
        if (delivery := self.take(waiting)) is not None:
            self._door.failed(delivery.id, reason)

    def drop_all(self, reason: str) -> None:
        """None of them will be delivered."""
        for waiting in list(self._held):
            self.drop(waiting, reason)


def not_taken(
    action: a.SessionPendingMessageSetAction,
    queue: list[PendingMessage],
    limit: int,
    declared: AgentSessionCapabilities | None,
) -> Judgement | None:
    """Why a message cannot wait here, or `None` when it can.

    Args:
        action: The message, and what it is to wait for.
        queue: The messages that wait as the next ones.
        limit: How many may.
        declared: What the agent can do, as far as that is known.
    """
    if action.kind == PendingMessageKind.QUEUED:
        if len(queue) >= limit and all(message.id != action.id for message in queue):
            return rejected("mailbox_full", f"{len(queue)} messages are waiting already")
        return None
    unable = refusal(declared, DeliveryMode.NEXT_TOOL_CALL) if declared else None
    return rejected(unable.code, str(unable)) if unable else None
