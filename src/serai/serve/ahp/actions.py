"""Actions of clients. Each happens, waits, is ignored, or goes back to its sender with a reason."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from serai.ahp import actions as a, wire
from serai.ahp.notifications import DispatchActionParams
from serai.ahp.types import Count
from serai.contract import Role
from serai.errors import InvalidParams, SeraiError
from serai.serve.ahp.subscriptions import loaded

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer

_ANSWERS = (
    a.SessionToolCallResultConfirmedAction,
    a.SessionInputAnswerChangedAction,
    a.SessionInputCompletedAction,
    a.SessionIsReadChangedAction,
)


class _LooseParams(Struct, rename="camel"):
    channel: str
    client_seq: Count
    action: dict[str, Any]


class _LooseDispatch(Struct, tag_field="method", tag="dispatchAction"):
    """A dispatch whose action could not be read."""

    params: _LooseParams


def take_action(peer: AhpPeer, params: DispatchActionParams) -> Coroutine[Any, Any, None] | None:
    """Apply an action, at once if its channel is in memory. On an unknown channel it is ignored."""
    if peer.host.is_loaded(params.channel):
        _dispatch(peer, params)
        return None
    return _dispatch_later(peer, params) if peer.host.sessions.knows(params.channel) else None


def send_unreadable_back(peer: AhpPeer, data: bytes, error: InvalidParams) -> None:
    """Send back an action with invalid content, if its channel and number can be read."""
    try:
        params = wire.decode(data, _LooseDispatch).params
    except SeraiError:
        return
    if not (peer.host.is_loaded(params.channel) or peer.host.sessions.knows(params.channel)):
        return  # an action on a channel that does not exist is ignored, whatever it is
    origin = a.ActionOrigin(client_id=peer.client_id, client_seq=params.client_seq)
    action = wire.UnknownType(extra=params.action)
    _send_back(peer, params.channel, action, origin, f"invalid_action: {error}")


async def _dispatch_later(peer: AhpPeer, params: DispatchActionParams) -> None:
    try:
        async with loaded(peer.host, [params.channel]):
            _dispatch(peer, params)
    except SeraiError as error:
        origin = a.ActionOrigin(client_id=peer.client_id, client_seq=params.client_seq)
        _send_back(peer, params.channel, params.action, origin, f"{error.code}: {error}")


def _is_answer(action: a.StateAction) -> bool:
    """Tell whether an action is an answer. Editing the input of a tool is more than that."""
    if isinstance(action, a.SessionToolCallConfirmedAction):
        return action.edited_tool_input is None
    return isinstance(action, _ANSWERS)


def _dispatch(peer: AhpPeer, params: DispatchActionParams) -> None:
    is_gone = not peer.host.clients.is_connected(peer.client_id)
    if is_gone and isinstance(params.action, a.SessionActiveClientChangedAction):
        return  # a client that is gone cannot become the active one
    host, unavailable = peer.host, peer.journal.unavailable
    channel, client_seq = params.channel, params.client_seq
    origin = a.ActionOrigin(client_id=peer.client_id, client_seq=client_seq)
    action = params.action
    if host.clients.is_repeat(peer.count, client_seq):
        # The first one may still wait for room and be lost, so the refusal waits for it.
        _send_back(peer, channel, action, origin, "duplicate", waits=True)
    elif peer.link.role == Role.RESPONDER and not _is_answer(action):
        _send_back(peer, channel, action, origin, "forbidden: this device may read and answer, nothing else")
    elif unavailable is not None:
        _send_back(peer, channel, action, origin, f"{unavailable.code}: {unavailable}")
    else:
        host.clients.take(peer.client_id, peer.count, client_seq)
        host.dispatch(channel, action, origin, peer)


def _send_back(
    peer: AhpPeer,
    channel: str,
    action: a.StateAction,
    origin: a.ActionOrigin,
    reason: str,
    *,
    waits: bool = False,
) -> None:
    if peer.journal.is_crowded:
        peer.link.close(1013, "nothing can be written, and too many rejections wait")
        return
    action = peer.host.redactor.redact_value(action, observed=False)
    peer.journal.reject(channel, action, origin, reason, peer, waits=waits)
