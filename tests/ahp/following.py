"""A client that follows channels, what it is told, and what it shows."""

from __future__ import annotations

from typing import Any, Final

from ahp.strategies import action as read_action
from serai.ahp.actions import ActionEnvelope, ActionOrigin, StateAction
from serai.ahp.client import ClientState
from serai.ahp.commands import InitializeResult, Snapshot
from serai.ahp.notifications import DispatchActionParams
from serai.ahp.types import SessionState

NOW: Final = 9999
S: Final = "ahp-session:/1"
OTHER: Final = "ahp-session:/2"
TERMINAL: Final = "ahp-terminal:/1"
LOGS: Final = "ahp-otlp:logs"


def session_json(title: str = "A") -> dict[str, Any]:
    summary = {
        "resource": S,
        "provider": "demo",
        "title": title,
        "status": 1,
        "createdAt": 1,
        "modifiedAt": 1,
    }
    return {"summary": summary, "lifecycle": "ready", "turns": []}


TERMINAL_JSON: dict[str, Any] = {"title": "sh", "content": [], "claim": {"kind": "client", "clientId": "me"}}


def snapshot(uri: str = S, seq: int = 10, title: str = "A") -> Snapshot:
    state = TERMINAL_JSON if uri == TERMINAL else session_json(title)
    return Snapshot(resource=uri, state=state, from_seq=seq)


def titled(title: str) -> StateAction:
    return read_action({"type": "session/titleChanged", "title": title})


def queued(message: str) -> StateAction:
    return read_action(
        {"type": "session/pendingMessageSet", "kind": "queued", "id": message, "userMessage": {"text": "x"}}
    )


def envelope(
    seq: int,
    action: StateAction,
    origin: DispatchActionParams | tuple[str, int] | None = None,
    *,
    uri: str = S,
    rejected: str | None = None,
) -> ActionEnvelope:
    """An envelope; `origin` is what this client dispatched, or who did."""
    if isinstance(origin, DispatchActionParams):
        origin = ("me", origin.client_seq)
    who = None if origin is None else ActionOrigin(client_id=origin[0], client_seq=origin[1])
    return ActionEnvelope(channel=uri, action=action, server_seq=seq, origin=who, rejection_reason=rejected)


def following(*uris: str, seq: int = 10) -> ClientState:
    """The client `me`, which has just been connected and follows these channels."""
    client = ClientState("me")
    client.initialize(["0.2.0"], list(uris))
    snapshots = [snapshot(uri, seq) for uri in uris if uri != LOGS]
    client.initialized(InitializeResult(protocol_version="0.2.0", server_seq=seq, snapshots=snapshots))
    return client


def session_of(client: ClientState, uri: str = S) -> SessionState:
    state = client.state(uri, NOW)
    assert isinstance(state, SessionState)
    return state


def title(client: ClientState, uri: str = S) -> str:
    return session_of(client, uri).summary.title


def confirmed_title(client: ClientState, uri: str = S) -> str:
    state = client.confirmed(uri)
    assert isinstance(state, SessionState)
    return state.summary.title


def queue(client: ClientState) -> list[str]:
    return [message.id for message in session_of(client).queued_messages or []]
