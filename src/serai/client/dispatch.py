"""Actions on their way: sent again after a gap, and settled when the host has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from serai import jsonrpc
from serai.ahp import actions as a, codec
from serai.ahp.actions import ActionEnvelope, StateAction
from serai.ahp.client import ClientState
from serai.ahp.notifications import DispatchActionParams
from serai.ahp.types import URI
from serai.errors import Rejected, SeraiError


class _Dispatched(NamedTuple):
    """An action that the host has not answered."""

    params: DispatchActionParams
    answer: asyncio.Future[None]
    frame: bytes


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
        self._waiting[params.client_seq] = _Dispatched(params, answer, frame)
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
        elif reason == "duplicate" and not self._is_missing(dispatched):
            self._settle(dispatched)  # the host had taken it, and the answer got lost
        else:
            self._settle(dispatched, Rejected(reason))

    def resume(self, resend: Iterable[DispatchActionParams], send: Callable[[bytes], None]) -> None:
        """After a reconnect: send what was not answered.

        The host knows the numbers that it has seen, and does nothing twice.
        """
        for params in resend:
            send(self._waiting[params.client_seq].frame)

    def fail(self, error: SeraiError, uri: URI | None = None) -> None:
        """No answers will come any more, from this channel or at all."""
        for dispatched in list(self._waiting.values()):
            if uri is None or dispatched.params.channel == uri:
                self._settle(dispatched, error)

    def _is_missing(self, dispatched: _Dispatched) -> bool:
        """Whether it was to begin a turn, and there is none: nobody must wait for what was refused."""
        session, action = self._state.session(dispatched.params.channel), dispatched.params.action
        if session is None or not isinstance(action, a.SessionTurnStartedAction):
            return False
        turns = [*session.head.turns, *([session.turn] if session.turn is not None else [])]
        return all(turn.id != action.turn_id for turn in turns)

    def _settle(self, dispatched: _Dispatched, error: SeraiError | None = None) -> None:
        self._waiting.pop(dispatched.params.client_seq, None)
        self._state.withdraw(dispatched.params)
        if dispatched.answer.done():
            return  # nobody waits for it any more
        if error is None:
            dispatched.answer.set_result(None)
        else:
            dispatched.answer.set_exception(error)
