"""What goes wrong between those who send each other messages. Nothing of a refused call is stored."""

from __future__ import annotations

from serai.errors.base import SeraiError

__all__ = [
    "DeadlineExceeded",
    "DeliveryFinal",
    "EmptyMessage",
    "Forbidden",
    "IdempotencyConflict",
    "LeaseLost",
    "MessageTooLarge",
    "NameTaken",
    "RelayError",
    "RoomArchived",
    "UnknownDelivery",
    "UnknownMessage",
    "UnknownMode",
    "UnknownRoom",
    "UnknownTarget",
]


class RelayError(SeraiError):
    """The relay refused a call."""

    code = "relay_error"


class DeadlineExceeded(RelayError):
    """The deadline of a message has passed before it was sent."""

    code = "deadline_exceeded"


class DeliveryFinal(RelayError):
    """A delivery has its last receipt already, and nothing changes it any more."""

    code = "delivery_final"


class EmptyMessage(RelayError):
    """A message has neither text nor an attachment."""

    code = "empty_message"


class Forbidden(RelayError):
    """Whoever calls may not do this."""

    code = "forbidden"


class IdempotencyConflict(RelayError):
    """The sender has used this idempotency key for another message."""

    code = "idempotency_conflict"


class LeaseLost(RelayError):
    """A delivery was offered to someone else, because no receipt came in time."""

    code = "lease_lost"


class MessageTooLarge(RelayError):
    """A message has more bytes than the relay takes."""

    code = "message_too_large"


class NameTaken(RelayError):
    """Someone else has this name, without regard to upper and lower case."""

    code = "name_taken"


class RoomArchived(RelayError):
    """A room is archived: what was said in it can be read, and nothing can be added."""

    code = "room_archived"


class UnknownDelivery(RelayError):
    """There is no such delivery, or it is not for the eyes of whoever asks."""

    code = "unknown_delivery"


class UnknownMessage(RelayError):
    """There is no such message, or it is not for the eyes of whoever asks."""

    code = "unknown_message"


class UnknownMode(RelayError):
    """There is no such delivery mode."""

    code = "unknown_mode"


class UnknownRoom(RelayError):
    """There is no such room."""

    code = "unknown_room"


class UnknownTarget(RelayError):
    """Nobody has this name."""

    code = "unknown_target"
