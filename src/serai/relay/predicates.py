"""Which events someone wants to hear of: predicates that are put together.

    events.message.created().in_("#ops").mentions("@reviewer")
    events.delivery.failed().for_agent("@engineer") | events.message.reacted()

A handle may be written wherever a participant is meant. Names may have wildcards: `named("delivery.*")`.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from serai.contract import WorkspaceEvent, name_key

__all__ = ["Predicate", "events", "named"]


class Predicate:
    """A test of events, and the types that can ever pass it.

    Args:
        types: Names of event types, with wildcards; none for all.
        test: What an event of these types has to pass.
    """

    def __init__(
        self, types: tuple[str, ...] = (), test: Callable[[WorkspaceEvent], bool] = lambda _event: True
    ) -> None:
        self.types = types
        self._test = test

    def __call__(self, event: WorkspaceEvent) -> bool:
        """Whether an event passes."""
        return (not self.types or any(fnmatchcase(event.type, one) for one in self.types)) and self._test(
            event
        )

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(test=lambda event: self(event) and other(event))

    def __or__(self, other: Predicate) -> Predicate:
        types = self.types + other.types if self.types and other.types else ()
        return Predicate(types, lambda event: self(event) or other(event))

    def where(self, test: Callable[[WorkspaceEvent], bool]) -> Predicate:
        """Those that also pass a test of one's own."""
        return Predicate(self.types, lambda event: self._test(event) and test(event))

    def in_(self, room: str) -> Predicate:
        """Those about a room, or about a message in it."""
        return self.where(lambda event: room in _rooms(event))

    def from_(self, agent: str) -> Predicate:
        """Those about messages of a sender."""
        return self.where(lambda event: _is(_message(event).get("from"), agent))

    def mentions(self, agent: str) -> Predicate:
        """Those about messages that mention someone."""
        return self.where(lambda event: any(_same(one, agent) for one in _message(event).get("mentions", ())))

    def for_agent(self, agent: str) -> Predicate:
        """Those about deliveries to someone."""
        return self.where(lambda event: _is(event.data.get("agent"), agent))

    def of(self, message_id: str) -> Predicate:
        """Those about one message, or about its deliveries."""
        return self.where(lambda event: event.data.get("messageId") == message_id)


def named(*types: str) -> Predicate:
    """All events of some types; `delivery.*` and `*` are types, too."""
    return Predicate(types)


class _Messages:
    """Events about messages."""

    def created(self) -> Predicate:
        """A message was stored."""
        return named("message.created")

    def updated(self) -> Predicate:
        """A message was taken back."""
        return named("message.updated")

    def read(self) -> Predicate:
        """Someone has read up to a message."""
        return named("message.read")

    def reacted(self) -> Predicate:
        """Someone has reacted to a message."""
        return named("message.reacted")


class _Deliveries:
    """Events about deliveries."""

    def created(self) -> Predicate:
        """A delivery has begun."""
        return named("delivery.created")

    def accepted(self) -> Predicate:
        """A message is held for its boundary."""
        return named("delivery.accepted")

    def delivered(self) -> Predicate:
        """A message has reached its agent."""
        return named("delivery.delivered")

    def deferred(self) -> Predicate:
        """A message cannot be taken now."""
        return named("delivery.deferred")

    def failed(self) -> Predicate:
        """A message was not delivered."""
        return named("delivery.failed")


class _Events:
    """Where predicates begin."""

    message = _Messages()
    delivery = _Deliveries()


events = _Events()
"""Where predicates begin: `events.message.created()`."""


def _message(event: WorkspaceEvent) -> dict[str, Any]:
    return event.data.get("message") or {}


def _rooms(event: WorkspaceEvent) -> set[str | None]:
    message = _message(event)
    channel: dict[str, Any] = message.get("channel") or {}
    return {channel.get("name"), channel.get("id"), message.get("conversationId"), event.data.get("room")}


def _is(who: dict[str, Any] | None, agent: str) -> bool:
    return who is not None and (who.get("id") == agent or _same(str(who.get("name")), agent))


def _same(one: str, other: str) -> bool:
    return name_key(one.removeprefix("@")) == name_key(other.removeprefix("@"))
