"""Follows a session: its state, its turns, and waiting for what comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.types import URI, SessionLifecycle, SessionState
from serai.client.events import Inbox, QuestionAsked, QuestionClosed
from serai.client.turn import OpenQuestions, TurnStream
from serai.errors import Rejected, SeraiError, SessionFailed, SessionGone

if TYPE_CHECKING:
    from serai.client.channels import ChannelClient

__all__ = ["Follower", "SessionFollower"]

# Actions that only make something longer: nobody waits for them with `until`.
_GROWING = (a.SessionDeltaAction, a.SessionReasoningAction, a.SessionToolCallDeltaAction)


class Follower(Protocol):
    """Who hears of one channel."""

    def heard(self, action: a.StateAction) -> None:
        """An action was confirmed."""
        ...

    def caught_up(self) -> None:
        """The state is known again, after a gap or for the first time."""
        ...

    def failed(self, error: SeraiError) -> None:
        """Nothing more will be known of the channel."""
        ...


class SessionFollower:
    """The half of a session client that listens."""

    def __init__(self, client: ChannelClient, uri: URI) -> None:
        self.uri = uri
        self._followed = client
        self._streams: list[TurnStream] = []
        self._arrivals: list[Inbox[TurnStream]] = []
        self._askings: list[tuple[OpenQuestions, Inbox[QuestionAsked | QuestionClosed]]] = []
        self._waiting: list[tuple[Callable[[SessionState], bool], asyncio.Future[SessionState]]] = []
        self._last_turn: str | None = None
        self._end: SeraiError | None = None
        """Why it was last no longer followed."""

    # -- state ---------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The last part of the URI."""
        return self.uri.rpartition("/")[2]

    @property
    def state(self) -> SessionState:
        """The session as the host has confirmed it, with what this client has dispatched on top.

        Of a client that was closed, it is the last state that was known.

        Raises:
            SessionGone: The session is not followed any more.
        """
        state = self._followed.state(self.uri)
        if not isinstance(state, SessionState):
            raise self._gone()
        return state

    @property
    def live(self) -> LiveSession | None:
        """What the host has confirmed: to look at, not to change or keep. `None` if not followed."""
        return self._followed.live_session(self.uri)

    @property
    def active_turn_id(self) -> str | None:
        """The id of the turn that is running, as the host has confirmed it."""
        turn = self._live().turn
        return turn.id if turn is not None else None

    async def until(self, condition: Callable[[SessionState], bool]) -> SessionState:
        """Wait until the state is as wanted, and return it. It is not looked at for every piece of text.

        Raises:
            SessionGone: The session is not followed any more.
            ConnectionLost: The client was closed, or gave up.
        """
        if self._followed.failure is not None:
            raise self._followed.failure
        state = self.state
        if condition(state):
            return state
        found: asyncio.Future[SessionState] = asyncio.get_running_loop().create_future()
        waiting = condition, found
        self._waiting.append(waiting)
        try:
            return await found
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    async def ready(self) -> SessionState:
        """Wait until the session's agent is there.

        Raises:
            SessionFailed: The agent did not start.
        """
        state = await self.until(lambda state: state.lifecycle != SessionLifecycle.CREATING)
        if state.lifecycle == SessionLifecycle.CREATION_FAILED:
            error = state.creation_error
            raise SessionFailed(
                error.message if error else "the host does not say why",
                error_type=error.error_type if error else "unknown",
            )
        return state

    # -- turns -----------------------------------------------------------------------------------------------

    def follow_turn(self, turn_id: str) -> TurnStream:
        """Follow a turn from its beginning, whoever began it; also one that is over.

        Raises:
            Rejected: There is no such turn.
        """
        live = self._live()
        running = live.turn is not None and live.turn.id == turn_id
        if not running and all(turn.id != turn_id for turn in live.head.turns):
            raise Rejected(f"no_such_turn: the session has no turn {turn_id!r}")
        stream = self._new_stream(turn_id)
        stream.caught_up(live)
        return stream

    async def turns(self) -> AsyncGenerator[TurnStream, None]:
        """Every turn from the running one on, whoever begins it. Leave the loop to follow no more."""
        arrivals: Inbox[TurnStream] = Inbox()
        self._arrivals.append(arrivals)
        try:
            running = self.active_turn_id
            if running is not None:
                arrivals.put(self.follow_turn(running))
            async for stream in arrivals:
                yield stream
        finally:
            if arrivals in self._arrivals:
                self._arrivals.remove(arrivals)

    async def questions(self) -> AsyncGenerator[QuestionAsked | QuestionClosed, None]:
        """What the session asks, whether or not a turn runs: what is open now, and what comes.

        A turn's own stream tells what is open while it runs, too. Leave the loop to hear no more.
        """
        told, inbox = asking = OpenQuestions(), Inbox[QuestionAsked | QuestionClosed]()
        self._askings.append(asking)
        try:
            for event in told.look(self._live()):
                inbox.put(event)
            async for event in inbox:
                yield event
        finally:
            if asking in self._askings:
                self._askings.remove(asking)

    # -- for the client ------------------------------------------------------------------------------------

    def heard(self, action: a.StateAction) -> None:
        """An action was confirmed."""
        live = self.live
        if live is None:
            return
        for stream in self._streams.copy():
            stream.heard(action, live)
        # An answer to our own action may come after a snapshot that has told of the turn already.
        if isinstance(action, a.SessionTurnStartedAction) and action.turn_id != self._last_turn:
            self._arrived(live, [action.turn_id])
        if not isinstance(action, _GROWING):
            self._look_at_questions(live)
            self._look()

    def caught_up(self) -> None:
        """The state is known again, after a gap or for the first time."""
        live = self.live
        if live is None:
            return
        for stream in self._streams.copy():
            stream.caught_up(live)
        known = [turn.id for turn in live.head.turns]
        if live.turn is not None:
            known.append(live.turn.id)
        # What began and ended while nobody looked was missed by nobody who looks at all turns.
        place = known.index(self._last_turn) + 1 if self._last_turn in known else len(live.head.turns)
        self._arrived(live, known[place:])
        if known:
            self._last_turn = known[-1]
        self._look_at_questions(live)
        self._look()

    def failed(self, error: SeraiError) -> None:
        """Nothing more will be known of the session."""
        self._end = error
        for stream in self._streams.copy():
            stream.fail(error)
        for arrivals in self._arrivals.copy():
            arrivals.end(error)
        for _told, inbox in self._askings:
            inbox.end(error)
        waiting, self._waiting = self._waiting, []
        for _condition, found in waiting:
            if not found.done():
                found.set_exception(error)

    def _arrived(self, live: LiveSession, turn_ids: Sequence[str]) -> None:
        for turn_id in turn_ids:
            self._last_turn = turn_id
            for arrivals in self._arrivals:
                stream = self._new_stream(turn_id)
                stream.caught_up(live)
                arrivals.put(stream)

    def _look_at_questions(self, live: LiveSession) -> None:
        for told, inbox in self._askings:
            for event in told.look(live):
                inbox.put(event)

    def _look(self) -> None:
        if not self._waiting:
            return
        state = self.state
        for condition, found in self._waiting:
            if found.done():
                continue
            try:
                if condition(state):
                    found.set_result(state)
            except Exception as error:  # noqa: BLE001 - it belongs to whoever asked, not to the connection
                found.set_exception(error)

    def _new_stream(self, turn_id: str) -> TurnStream:
        stream = TurnStream(turn_id, self._unfollow)
        self._streams.append(stream)
        return stream

    def _unfollow(self, stream: TurnStream) -> None:
        if stream in self._streams:
            self._streams.remove(stream)

    def _live(self) -> LiveSession:
        live = self.live
        if live is None or self._followed.failure is not None:
            raise self._gone()
        return live

    def _gone(self) -> SeraiError:
        return self._followed.failure or self._end or SessionGone(f"{self.uri} is not followed any more")
