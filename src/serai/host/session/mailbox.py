"""Messages that wait in a session for their moment: each is a delivery that was accepted, with its receipt.

AHP shows them in the session's state, as queued messages and the one steering message. Here is what the state
does not have: which delivery each of them is; and why one is not taken: too many wait already
(`mailbox_full`), or the agent takes none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from serai.ahp import actions as a
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import PendingMessage, PendingMessageKind, SessionState, UserMessage
from serai.contract import Accepted, AgentSessionCapabilities, DeliveryMode, DeliveryRecord, refusal
from serai.host.messages import user_message
from serai.host.session.deliveries import Delivery, Door

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
        self.displaced: Callable[[str], None] = lambda _delivery_id: None
        """Is called when a delivery of the relay's has lost its place."""

    def __bool__(self) -> bool:
        return bool(self._held)

    def restore(self, held: Iterable[DeliveryRecord], head: SessionState) -> None:
        """After a restart: what was waiting waits on, and what has no record gets one."""
        waiting = [(PendingMessageKind.QUEUED, one) for one in head.queued_messages or ()]
        if head.steering_message is not None:
            waiting.append((PendingMessageKind.STEERING, head.steering_message))
        records = {Waiting(**record.metadata["pendingMessage"]): record for record in held}
        for kind, message in waiting:
            place = Waiting(kind.value, message.id)
            record = records.pop(place, None)
            if record is None:
                self.put(place, message.user_message, "client")
            else:
                self._held[place] = self._door.delivery(record, message.user_message)
        for record in records.values():
            self._door.failed(record, "replaced")

    def lend(self, waiting: Waiting, delivery: Delivery) -> None:
        """A delivery of the relay's has the place of a pending message."""
        self._held[waiting] = delivery

    def put(self, waiting: Waiting, message: UserMessage, sender: str) -> None:
        """A message begins to wait. One whose place it takes is not delivered, and gets that receipt."""
        steering = PendingMessageKind.STEERING  # of these there is one at a time
        for other in list(self._held):
            if other == waiting or other.kind == waiting.kind == steering:
                self.drop(other, "replaced")
        mode, waits_for = _MODES[PendingMessageKind(waiting.kind)]
        delivery = self._door.enter(message, sender, mode, {"pendingMessage": waiting._asdict()})
        metadata = {"heldBy": "host", "waitsFor": waits_for}
        accepted = Accepted(delivery_id=delivery.id, metadata=metadata)
        self._held[waiting] = delivery._replace(
            record=self._door.receipt(delivery.record, accepted, own=True)
        )

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
        delivery = self.take(waiting)
        if delivery is None:
            return
        if waiting.id == delivery.id:
            self.displaced(delivery.id)  # the relay's own: it waits on, elsewhere
        else:
            self._door.failed(delivery.record, reason)

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
