"""Watches the sessions of the host while someone listens, and publishes what can be observed of them.

    session.event              wraps one event of a session
    agent.status.changed       the status of an agent is another one
    agent.status.<state>       the same, named after the new status
    session.started|resumed|forked, log, error
                               the same as the session's event of that type

These events are live only: their ids are `<number>.<n>`, and they are not replayed. A session's events are
published if it declares them in `events.emits`. Events of messages, deliveries and actions always are,
because the relay itself knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from serai import contract as c
from serai.ahp.actions import (
    SessionCreationFailedAction,
    SessionMetaChangedAction,
    SessionReadyAction,
    StateAction,
)
from serai.ahp.types import SessionLifecycle, TerminalSessionClaim
from serai.errors import CapabilityUnsupported
from serai.host.identities import Participant
from serai.host.surroundings.terminal_channel import HostTerminal
from serai.relay import WorkspacePart
from serai.relay.events.session_events import SessionEvents, status_events
from serai.relay.predicates import OF_SESSIONS

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

_Type = c.AgentSessionEventType
_CHANGED = _Type.STATUS_CHANGED
_STATUSES = frozenset(kind.value for kind in _Type if kind.family == "status")
_ALSO_OF_WORKSPACE = frozenset(
    {_Type.SESSION_STARTED, _Type.SESSION_RESUMED, _Type.SESSION_FORKED, _Type.LOG, _Type.ERROR}
)
"""The session events that the workspace publishes under the same name."""
_LIVE: dict[str, tuple[c.Wish, ...]] = {
    "session.event": (),
    **{f"agent.status.{what}": (_CHANGED,) for what in ("changed", *c.AgentStatus)},
    "agent.status.paused": (_CHANGED, c.LifecycleOperation.PAUSE),
    **{kind.value: (kind,) for kind in _Type if kind.value.startswith(OF_SESSIONS)},
    **{kind.value: (kind,) for kind in _ALSO_OF_WORKSPACE},
}
"""The types that are published only while someone listens, with what an agent has to declare for each."""
_ALWAYS = (
    *(f"message.{what}" for what in ("created", "updated", "read", "reacted")),
    *(f"delivery.{what}" for what in ("created", "accepted", "delivered", "deferred", "failed")),
    *(f"action.{what}" for what in ("registered", "invoked", "completed", "failed", "denied")),
    "agent.registered",
    "agent.status.releasing",
    "session.released",
)
"""The types that are published whatever a session declares."""
TYPES = (
    *_LIVE,
    *_ALWAYS,
    *(f"room.{what}" for what in ("created", "updated", "archived", "joined", "left", "muted", "unmuted")),
    *("token.created", "token.revoked"),
)
"""The types of all events of the workspace."""


def wants_live(types: Iterable[str]) -> bool:
    """Tell whether a listener for these types, which may have wildcards, could receive live events."""
    patterns = list(types)
    return not patterns or any(fnmatchcase(name, one) for name in _LIVE for one in patterns)


def check_can_come(capabilities: c.AgentSessionCapabilities, types: Iterable[str], agent: str) -> None:
    """Check that an event of each of these types can ever come from an agent.

    Raises:
        CapabilityUnsupported: One of them cannot: the session does not emit it.
    """
    for pattern in types:
        if any(fnmatchcase(name, pattern) for name in _ALWAYS):
            continue
        refusals = [_refusal(capabilities, name, agent) for name in _LIVE if fnmatchcase(name, pattern)]
        if refusals and all(refusals):
            raise next(refusal for refusal in refusals if refusal)


def _refusal(capabilities: c.AgentSessionCapabilities, name: str, agent: str) -> CapabilityUnsupported | None:
    """Return why a live event of this type never comes from an agent; `None` if it may."""
    if name == "session.event" and not capabilities.events.emits:
        return CapabilityUnsupported("events.emits", name, agent=agent)
    # A session that declares some statuses means only those; `status.changed` alone means all.
    own = name.removeprefix("agent.")
    is_particular = any(kind.family == "status" and kind != _CHANGED for kind in capabilities.events.emits)
    wishes = (_Type(own),) if is_particular and own in _STATUSES else _LIVE[name]
    refusals = (c.refusal(capabilities, wish, agent=agent) for wish in wishes)
    return next((refusal for refusal in refusals if refusal), None)


class Observer(WorkspacePart):
    """Watches sessions while someone listens; otherwise it costs nothing."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._stream = workspace.events
        self._listeners = 0
        self._views: dict[str, SessionEvents] = {}

    def watch(self) -> Callable[[], None]:
        """Watch from now on, until the returned function is called."""
        self._listeners += 1
        if self._listeners == 1:
            sessions = self._host.sessions.in_memory()
            self._views = {session.uri: SessionEvents(session.live.snapshot()) for session in sessions}
            self._host.journal.observe(self._on_action)
            self._stream.on_each = self._on_event

        def leave() -> None:
            self._listeners -= 1
            if not self._listeners:
                self._host.journal.observe(None)
                self._stream.on_each = None
                self._views = {}

        return leave

    # -- committed actions and events ----------------------------------------------------------------------

    def _on_action(self, channel: str, action: StateAction, number: int) -> None:
        """Observe a committed action of a session or of a terminal. Actions of other channels are ignored."""
        at = self._host.ledger.now
        if self._host.sessions.knows(channel):
            if (view := self._view(channel, action)) is not None:
                told = view.happened(action, number, at, self._host.journal.recent_blobs)
                self._publish(self._identities.of_session(channel), number, told)
        elif isinstance(found := self._host.channels.get(channel), HostTerminal):
            state = found.live.head
            if isinstance(state.claim, TerminalSessionClaim):
                session = state.claim.session
                if (view := self._view(session, action)) is not None:
                    told = view.in_terminal(channel, action, state, at)
                    self._publish(self._identities.of_session(session), number, told)

    def _view(self, uri: str, action: StateAction | None = None) -> SessionEvents | None:
        """Return the view of a session, as it was before the action."""
        view, session = self._views.get(uri), self._host.sessions.peek(uri)
        if view is None and session is not None:
            # It was not in memory, so nothing ran in it, or it is new.
            head, source = session.live.head, session.seat.forked_from
            is_first = isinstance(action, SessionReadyAction | SessionCreationFailedAction)
            is_new = is_first or head.lifecycle == SessionLifecycle.CREATING
            lifecycle = SessionLifecycle.CREATING if is_new else SessionLifecycle.READY
            meta = None if isinstance(action, SessionMetaChangedAction) else head.meta
            state = replace(head, lifecycle=lifecycle.value, input_requests=None, meta=meta)
            view = SessionEvents(state, forked_from=source.session if source else None)
            self._views[uri] = view
        return view

    def _on_event(self, number: int, event: dict[str, Any]) -> None:
        """Publish what a committed event of the relay means for the sessions that it is about."""
        kind, data = event["type"], event["data"]
        subject = self._identities.find(event.get("subject") or "")
        actor = self._identities.find(event.get("actor") or "")
        if kind == "agent.registered" and subject is not None and subject.session is not None:
            if (view := self._view(subject.session)) is not None and view.status == c.AgentStatus.STARTING:
                self._publish(subject, number, status_events(view.status, None))
        elif kind == "agent.status.releasing" and subject is not None:
            view = self._views.pop(subject.session or "", None)
            before = view.status if view else c.AgentStatus.IDLE
            self._publish(subject, number, status_events(c.AgentStatus.RELEASING, before))
        elif kind == "session.released" and subject is not None:
            told = status_events(c.AgentStatus.RELEASED, c.AgentStatus.RELEASING)
            self._publish(subject, number, [*told, c.SessionReleased(session_id=data.get("sessionId", ""))])
        elif kind == "message.created" and actor is not None:
            self._publish(actor, number, [c.MessageSent(message_id=data["messageId"])])
        elif kind.startswith("delivery.") and kind in c.EVENT_TYPES and subject is not None:
            told = [c.convert({**data, "type": kind}, c.AgentSessionEvent)]
            if kind == _Type.DELIVERY_DELIVERED:
                told.append(c.MessageReceived(message_id=data["messageId"], delivery_id=data["deliveryId"]))
            self._publish(subject, number, told)
        elif kind.startswith("action.") and kind in c.EVENT_TYPES and actor is not None:
            self._publish(actor, number, [c.convert({**data, "type": kind}, c.AgentSessionEvent)])

    # -- publishing ----------------------------------------------------------------------------------------

    def publish_reported(self, participant: Participant, events: Iterable[c.AgentSessionEvent]) -> None:
        """Publish the events that a session elsewhere has reported."""
        if self._listeners:
            masked = self._host.redactor.redact_value(list(events), observed=True)
            self._publish(participant, self._host.journal.last_seq, masked)

    def _publish(self, participant: Participant, number: int, events: list[c.AgentSessionEvent]) -> None:
        """Publish what the session declares, and what the relay itself knows of it."""
        if not events or (participant.session is None and participant.capabilities is None):
            return
        # A released session has no capabilities any more; its last events are published nevertheless.
        emits = _Type if participant.gone else self._workspace.queue_of(participant).capabilities.events.emits
        at = self._host.ledger.now
        agent, subject = c.to_wire(participant.identity), participant.identity.id
        for event in events:
            if event.type.is_live and event.type not in emits:
                continue
            wire = c.to_wire(event)
            self._stream.add_live(number, "session.event", subject, {"agent": agent, "event": wire}, at)
            fields = {key: value for key, value in wire.items() if key != "type"}
            for kind in _workspace_types(event):
                self._stream.add_live(number, kind, subject, {"agent": agent, **fields}, at)


def _workspace_types(event: c.AgentSessionEvent) -> list[str]:
    """Return the names under which the workspace publishes a session's event, beside `session.event`."""
    if event.type in _ALSO_OF_WORKSPACE:
        return [event.type.value]
    if isinstance(event, c.StatusEvent) and event.type == _Type.STATUS_CHANGED:
        named = f"agent.status.{event.status.value}"
        # The beginning of a release is an event of the relay itself.
        return ["agent.status.changed", *([named] if event.status != c.AgentStatus.RELEASING else ())]
    return []
