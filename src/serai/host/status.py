"""What a session does right now, in the words of the contract: computed from its state, kept nowhere."""

from __future__ import annotations

from serai.ahp.extensions import LOGIN
from serai.ahp.reducers import LiveSession
from serai.ahp.types import SessionLifecycle
from serai.contract import AgentStatus

__all__ = ["needs_sign_in", "status_of"]


def needs_sign_in(session: LiveSession) -> bool:
    """Whether the last that was heard of a sign-in is that one is needed.

    The refusal puts a mark into the session's `_meta`; a turn that is completed, an agent that is there, and
    a sign-in that came about take it out. So it is in the journal, and survives the host.
    """
    return LOGIN in (session.head.meta or {})


def status_of(session: LiveSession) -> AgentStatus:
    """The status of a session whose host runs."""
    head = session.head
    if head.lifecycle == SessionLifecycle.CREATING:
        return AgentStatus.STARTING
    if head.input_requests or (session.turn is not None and session.turn.waits_for_someone):
        return AgentStatus.WAITING
    if session.turn is not None:
        return AgentStatus.ACTIVE
    if needs_sign_in(session):
        return AgentStatus.BLOCKED
    if head.lifecycle == SessionLifecycle.CREATION_FAILED:
        return AgentStatus.FAILED
    return AgentStatus.IDLE
