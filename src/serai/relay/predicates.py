"""Predicates: tests of events that can be combined.

    events.message.created().in_("#ops").mentions("@reviewer")
    events.delivery.failed().for_agent("@engineer") | events.message.reacted()

A participant is named by its handle. Types may have wildcards: `named("delivery.*")`.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

from serai import contract as c

if TYPE_CHECKING:
    from serai.relay.harness import Registration

OF_SESSIONS = ("status.", "tool.", "transcript.", "file.", "command.", "terminal.", "usage.")
"""The beginnings of types that only sessions have: those of the workspace begin otherwise."""


def has_type(event: c.WorkspaceEvent, types: tuple[str, ...]) -> bool:
    """Tell whether an event has one of some types, which may have wildcards; none for all.

    An observed event of a session is wrapped in a `session.event`, and can be named by its own type, too:
    `tool.called`.
    """
    names = [event.type]
    if event.type == "session.event" and (own := event.data["event"]["type"]).startswith(OF_SESSIONS):
        names.append(own)
    return not types or any(fnmatchcase(name, one) for name in names for one in types)


class Predicate:
    """A test of events, and the types that can ever pass it.

    Args:
        types: Names of event types, with wildcards; none for all.
        test: What an event of these types has to pass.
        agent: The participant that all passing events are by or about. A listener is refused if none of them
            can ever come from it.
    """

    def __init__(
        self,
        types: tuple[str, ...] = (),
        test: Callable[[c.WorkspaceEvent], bool] = lambda _event: True,
        agent: str | None = None,
    ) -> None:
        self.types = types
        self.agent = agent
        self._test = test

    def __call__(self, event: c.WorkspaceEvent) -> bool:
        """Tell whether an event passes."""
        return has_type(event, self.types) and self._test(event)

    def __and__(self, other: Predicate) -> Predicate:
        types = self.types or other.types
        return Predicate(types, lambda event: self(event) and other(event), self.agent or other.agent)

    def __or__(self, other: Predicate) -> Predicate:
        types = self.types + other.types if self.types and other.types else ()
        agent = self.agent if self.agent == other.agent else None
        return Predicate(types, lambda event: self(event) or other(event), agent)

    def where(self, test: Callable[[c.WorkspaceEvent], bool]) -> Predicate:
        """Pass those events that also pass another test."""
        return Predicate(self.types, lambda event: self._test(event) and test(event), self.agent)

    def in_(self, room: str) -> Predicate:
        """Pass events about a room, or about a message in it."""
        return self.where(lambda event: room in rooms_of(event))

    def from_(self, agent: str) -> Predicate:
        """Pass events about messages of a sender."""
        return self.where(lambda event: _is(_message(event).get("from"), agent))

    def mentions(self, agent: str) -> Predicate:
        """Pass events about messages that mention someone."""
        return self.where(lambda event: any(_same(one, agent) for one in _message(event).get("mentions", ())))

    def for_agent(self, agent: str | c.AgentSession | Registration) -> Predicate:
        """Pass events about deliveries to someone: a handle, or a session that is registered."""
        name = agent if isinstance(agent, str) else agent.identity.handle
        return self.where(lambda event: _is(event.data.get("agent"), name))

    def of(self, message_id: str) -> Predicate:
        """Pass events about one message, or about its deliveries."""
        return self.where(lambda event: event.data.get("messageId") == message_id)


def named(*types: str) -> Predicate:
    """Return a predicate for all events of some types; `delivery.*` and `*` are types, too."""
    return Predicate(types)


def _about(agent: str, *types: str) -> Predicate:
    """Return a predicate for events about one participant, whom the relay finds by handle, name or id."""
    return Predicate(types, lambda event: _is(event.data.get("agent"), agent), agent)


class _Words:
    """Predicates by the last words of their types: `events.message.created()` is `message.created`."""

    def __init__(self, family: str, words: str, predicate: Callable[..., Predicate] = named) -> None:
        self._family, self._words, self._predicate = family, words.split(), predicate

    def __getattr__(self, word: str) -> Callable[..., Predicate]:
        if word not in self._words:
            raise AttributeError(f"there is no event {self._family}.{word}")
        return partial(self._predicate, f"{self._family}.{word}")


class _Agent:
    """Events about one agent: changes of its status, and its tool calls."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self.status = self
        """The predicates of its status: `changed` and `becomes`."""
        self.tools = _Words("tool", "called completed failed", partial(_of_tool, agent))
        """`called`, `completed` and `failed`, of any tool or of one that is named."""

    def changed(self) -> Predicate:
        """Pass all changes of its status."""
        return _about(self._agent, "agent.status.changed")

    def becomes(self, status: c.AgentStatus | str) -> Predicate:
        """Pass changes to this status."""
        return _about(self._agent, f"agent.status.{c.AgentStatus(status).value}")


def _of_tool(agent: str, kind: str, tool: str | None = None) -> Predicate:
    every = _about(agent, kind)
    return every if tool is None else every.where(lambda event: event.data["event"]["tool"] == tool)


class ActionEvents(_Words):
    """Events about one registered action: it was `invoked`, has `completed`, `failed`, or was `denied`."""

    def __init__(self, name: str) -> None:
        super().__init__("action", "invoked completed failed denied", self._named)
        self.name = name

    def _named(self, kind: str) -> Predicate:
        return Predicate((kind,), lambda event: event.data.get("action") == self.name)

    def called_by(self, agent: str) -> Predicate:
        """Pass invocations by someone."""
        return self.invoked().where(lambda event: _is(event.data.get("caller"), agent))


action = ActionEvents
"""Events about one registered action: `action("deploy").failed()`."""


class _Events:
    """The beginnings of all predicates."""

    message = _Words("message", "created updated read reacted")
    delivery = _Words("delivery", "created accepted delivered deferred failed")
    agent = _Agent
    """Events about an agent: its status, and its tool calls."""

    def session(self, agent: str) -> _Words:
        """Return predicates for the life of a session: `started`, `resumed`, `forked`, `released`."""
        return _Words("session", "started released resumed forked", partial(_about, agent))


events = _Events()
"""The beginnings of all predicates: `events.message.created()`."""


def _message(event: c.WorkspaceEvent) -> dict[str, Any]:
    return event.data.get("message") or {}


def rooms_of(event: c.WorkspaceEvent) -> set[str | None]:
    """Return the names and ids of the room that an event is about, or that its message is in."""
    message = _message(event)
    channel: dict[str, Any] = message.get("channel") or {}
    told: str | dict[str, Any] = event.data.get("room") or ""
    own = {told} if isinstance(told, str) else {told["id"], told["name"]}
    return {channel.get("name"), channel.get("id"), message.get("conversationId")} | own


def _is(who: dict[str, Any] | None, agent: str) -> bool:
    return who is not None and (who.get("id") == agent or _same(str(who.get("name")), agent))


def _same(one: str, other: str) -> bool:
    return c.name_key(one.removeprefix("@")) == c.name_key(other.removeprefix("@"))
