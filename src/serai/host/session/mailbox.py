"""Messages that wait in a session for their moment: each is a delivery that was accepted, with its receipt.

Here is also why one is not taken: too many wait already (`mailbox_full`), or the agent takes none.

AHP shows them in the session's state, as queued messages and the one steering message. Here is what the state
does not have: which delivery each of them is.
"""

from __future__ import annotations

from typing import NamedTuple

from serai.ahp import actions as a
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import PendingMessage, PendingMessageKind, UserMessage
from serai.contract import Accepted, AgentSessionCapabilities, DeliveryMode, Failed, refusal
from serai.host.session.deliveries import Delivery, Door

__all__ = ["Mailbox", "Waiting", "not_taken"]

_ONLY_ONE = PendingMessageKind.STEERING
"""Of these there is one at a time."""
_MODES = {
    PendingMessageKind.QUEUED: DeliveryMode.ON_IDLE,
    PendingMessageKind.STEERING: DeliveryMode.NEXT_TOOL_CALL,
}
_WAITS_FOR = {PendingMessageKind.QUEUED: "idle", PendingMessageKind.STEERING: "next-tool-call"}


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

    def __contains__(self, waiting: Waiting) -> bool:
        return waiting in self._held

    def restore(self, held: dict[Waiting, Delivery]) -> None:
        """After a restart: what was waiting waits on."""
        self._held = dict(held)

    def put(self, waiting: Waiting, message: UserMessage, *, delivery_id: str, sender: str, now: int) -> None:
        """A message begins to wait. One whose place it takes is not delivered, and gets that receipt."""
        kind = PendingMessageKind(waiting.kind)
        replaced = [other for other in self._held if other == waiting or other.kind == kind == _ONLY_ONE]
        for other in replaced:
            self.drop(other, "replaced")
        self._held[waiting] = self._door.enter(
            delivery_id,
            message,
            sender=sender,
            mode=_MODES[kind],
            now=now,
            metadata={"pendingMessage": waiting._asdict()},
        )
        metadata = {"heldBy": "host", "waitsFor": _WAITS_FOR[kind]}
        self._door.receipt(delivery_id, Accepted(delivery_id=delivery_id, metadata=metadata))

    def take(self, waiting: Waiting) -> Delivery | None:
        """Its moment has come: whoever takes it sees to the next receipt."""
        return self._held.pop(waiting, None)

    def drop(self, waiting: Waiting, reason: str) -> None:
        """A message will not be delivered."""
        delivery = self._held.pop(waiting, None)
        if delivery is not None:
            delivery_id = delivery.context.id
            self._door.receipt(delivery_id, Failed(delivery_id=delivery_id, reason=reason))

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
