"""Actions on their way: sent again after a gap, and settled when the host has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from serai import jsonrpc
from serai.ahp import actions as a, codec
from serai.ahp.actions import ActionEnvelope, StateAction
from serai.ahp.client import ClientState
from serai.ahp.notifications import DispatchActionParams
from serai.ahp.reducers import LiveSession
from serai.ahp.types import URI, ToolCallPendingConfirmationState, ToolCallPendingResultConfirmationState
from serai.errors import Rejected, SeraiError


def is_done(session: LiveSession, action: a.StateAction) -> bool | None:
    """Whether an action has had its effect, whoever's it was; `None` where the state does not tell."""
    turn, head = session.turn, session.head
    match action:
        case a.SessionTurnStartedAction(turn_id=turn_id):
            is_running = turn is not None and turn.id == turn_id
            return is_running or any(turn.id == turn_id for turn in head.turns)
        case a.SessionTurnCancelledAction(turn_id=turn_id):
            return turn is None or turn.id != turn_id
        case a.SessionToolCallConfirmedAction() | a.SessionToolCallResultConfirmedAction():
            call = turn.call(action.tool_call_id) if turn is not None and turn.id == action.turn_id else None
            is_call = isinstance(action, a.SessionToolCallConfirmedAction)
            asked = ToolCallPendingConfirmationState if is_call else ToolCallPendingResultConfirmationState
            return not isinstance(call, asked)
        case a.SessionInputCompletedAction(request_id=request_id):
            return all(request.id != request_id for request in head.input_requests or ())
        case a.SessionPendingMessageSetAction(id=message_id):
            waiting = [*(head.queued_messages or ()), head.steering_message]
            # Where it is not, it may have been taken already.
            return any(message is not None and message.id == message_id for message in waiting) or None
        case _:
            return None


@dataclass(slots=True)
class _Dispatched:
    """An action that the host has not answered."""

    params: DispatchActionParams
    answer: asyncio.Future[None]
    frame: bytes
    was_sent: bool = False


class Dispatches:
    """All actions that wait for the host's answer."""

    def __init__(self, state: ClientState) -> None:
        self._state = state
        self._waiting: dict[int, _Dispatched] = {}

    async def dispatch(self, uri: URI, action: StateAction, send: Callable[[bytes], None] | None) -> None:
        """Show an action, send it, and wait for the host's answer. Cancelling it does not take it back.

        Without a connection it is sent when there is one.

        Raises:
            ParseError: It cannot be written as JSON. Nothing was done.
        """
        params = self._state.dispatch(uri, action)
        try:
            frame = codec.encode(jsonrpc.Notification(method="dispatchAction", params=params))
        except SeraiError:
            self._state.withdraw(params)
            raise
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[params.client_seq] = _Dispatched(params, answer, frame, was_sent=send is not None)
        if send is not None:
            send(frame)
        await answer

    def heard(self, envelope: ActionEnvelope) -> None:
        """An envelope came. If it answers an action of ours, that one is settled."""
        origin = envelope.origin
        if origin is None or origin.client_id != self._state.client_id:
            return
        dispatched = self._waiting.get(origin.client_seq)
        if dispatched is None or dispatched.params.channel != envelope.channel:
            return
        reason = envelope.rejection_reason
        if reason is None:
            self._settle(dispatched)
        elif reason == "duplicate" and self._is_done(dispatched) is not False:
            self._settle(dispatched)  # the host had taken it, and the answer got lost
        else:
            self._settle(dispatched, Rejected(reason))

    def resume(self, resend: Iterable[DispatchActionParams], send: Callable[[bytes], None]) -> None:
        """After a reconnect: send what was not answered, but for what the state shows as done.

        The host knows the numbers that it has seen, and does nothing twice.
        """
        for params in resend:
            dispatched = self._waiting[params.client_seq]
            if dispatched.was_sent and self._is_done(dispatched):
                self._settle(dispatched)
            else:
                dispatched.was_sent = True
                send(dispatched.frame)

    def fail(self, error: SeraiError, uri: URI | None = None) -> None:
        """No answers will come any more, from this channel or at all."""
        for dispatched in list(self._waiting.values()):
            if uri is None or dispatched.params.channel == uri:
                self._settle(dispatched, error)

    def _is_done(self, dispatched: _Dispatched) -> bool | None:
        session = self._state.session(dispatched.params.channel)
        return None if session is None else is_done(session, dispatched.params.action)

    def _settle(self, dispatched: _Dispatched, error: SeraiError | None = None) -> None:
        self._waiting.pop(dispatched.params.client_seq, None)
        self._state.withdraw(dispatched.params)
        if dispatched.answer.done():
            return  # nobody waits for it any more
        if error is None:
            dispatched.answer.set_result(None)
        else:
            dispatched.answer.set_exception(error)
