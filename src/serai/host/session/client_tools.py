"""Tools that clients lend to a session. A call of one is its client's to run, and ends when that is gone."""

from __future__ import annotations

import asyncio

from serai.ahp import actions as a
from serai.ahp.types import ToolCallPendingConfirmationState, ToolCallRunningState
from serai.host.clients import Clients
from serai.host.session.core import SessionCore
from serai.host.session.questions import failed_result

_OPEN = ToolCallRunningState | ToolCallPendingConfirmationState


class ClientTools:
    """The clients that lend something to one session, and those that have left it."""

    def __init__(self, core: SessionCore, clients: Clients) -> None:
        self._core = core
        self._is_connected = clients.is_connected
        self._graces: dict[str, asyncio.TimerHandle] = {}
        """Timers that end the calls of clients that are gone, by client id."""

    def client_left(self, client_id: str) -> None:
        """End a client's time as the active one, and give it some time to come back to its calls."""
        active = self._core.live.head.active_client
        if active is not None and active.client_id == client_id:
            self._core.act(a.SessionActiveClientChangedAction(active_client=None))
        if (earlier := self._graces.pop(client_id, None)) is not None:
            earlier.cancel()  # it was back meanwhile
        if self._calls_of(client_id):
            self._wait_for(client_id)

    def call_ready(self, action: a.SessionToolCallReadyAction) -> None:
        """Give the owner of a call that can be run time to come back, if it is gone."""
        turn = self._core.live.turn
        for call in turn.calls(action.tool_call_id) if turn else ():
            owner = call.tool_client_id if isinstance(call, _OPEN) else None
            if owner is not None and owner not in self._graces and not self._is_connected(owner):
                self._wait_for(owner)

    def declined(self, action: a.SessionToolCallConfirmedAction, client_id: str) -> None:
        """End a running call that its own client has denied."""
        running = (call for call in self._calls_of(client_id) if isinstance(call, ToolCallRunningState))
        if not action.approved and action.tool_call_id in {call.tool_call_id for call in running}:
            told = action.reason_message
            why = (told if isinstance(told, str) else told.markdown) if told else "the client declined"
            self._end(action.tool_call_id, "The client cannot run this tool", why, "declined")

    def close(self) -> None:
        """Stop waiting for clients."""
        for grace in self._graces.values():
            grace.cancel()
        self._graces.clear()

    def _calls_of(self, client_id: str) -> list[ToolCallRunningState | ToolCallPendingConfirmationState]:
        turn = self._core.live.turn
        return [
            call
            for call in (turn.calls() if turn else ())
            if isinstance(call, _OPEN) and call.tool_client_id == client_id
        ]

    def _wait_for(self, client_id: str) -> None:
        loop, grace = asyncio.get_running_loop(), self._core.settings.client_grace_seconds
        self._graces[client_id] = loop.call_later(grace, self._give_up, client_id)

    def _give_up(self, client_id: str) -> None:
        del self._graces[client_id]
        for call in () if self._is_connected(client_id) else self._calls_of(client_id):
            message, why = "The client that runs this tool is gone", "the client disconnected"
            self._end(call.tool_call_id, message, why, "client_gone")

    def _end(self, call_id: str, message: str, why: str, code: str) -> None:
        """Complete a call in place of its client."""
        turn = self._core.live.turn
        if turn is not None:
            result = failed_result(message, why, code)
            done = a.SessionToolCallCompleteAction(turn_id=turn.id, tool_call_id=call_id, result=result)
            self._core.act(done)
            self._core.followed(done)
