"""A session, as a client works with it.

Every method that changes something shows it in `state` at once, and returns when the host has let it happen.
If the host refuses, it raises `Rejected`, which says why, and `state` is as if nothing had been done. Without
a connection it waits until the host is back. Cancelling it takes back nothing that was sent.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from serai.ahp import actions as a, commands as c
from serai.ahp.reducers import LiveSession
from serai.ahp.types import (
    URI,
    MessageAttachment,
    PendingMessageKind,
    SessionActiveClient,
    SessionInputResponseKind,
    SessionLifecycle,
    SessionState,
    ToolCallCancellationReason,
    ToolCallConfirmationReason,
    UserMessage,
)
from serai.client.address import HostAddress
from serai.client.answers import AnswerValue, answers_to
from serai.client.events import QuestionAsked, QuestionClosed
from serai.client.lending import ClientPlugin, ClientTool, Lender
from serai.client.session_events import opened, session_events
from serai.client.turn import OpenQuestions, TurnStream
from serai.errors import ConnectionLost, Rejected, SeraiError, SessionFailed, SessionGone
from serai.session.events import SessionEvent
from serai.session.messages import SessionMessage

if TYPE_CHECKING:
    from serai.client.client import Client

__all__ = ["SessionClient"]


# Actions that only make something longer: nobody waits for them with `until`.
_GROWING = (a.SessionDeltaAction, a.SessionReasoningAction, a.SessionToolCallDeltaAction)


class SessionClient:
    """One session that a client follows. Made by `Client.create_session` and `Client.open_session`."""

    def __init__(self, client: Client, uri: URI) -> None:
        self.uri = uri
        self._client = client
        self._lender = Lender(client.client_id, self.dispatch, client.spawn)
        self._plugins: tuple[ClientPlugin, ...] = ()
        self._display_name: str | None = None
        self._streams: list[TurnStream] = []
        self._waiting: list[tuple[Callable[[SessionState], bool], asyncio.Future[SessionState]]] = []
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
        state = self._client.state(self.uri)
        if not isinstance(state, SessionState):
            raise self._gone()
        return state

    @property
    def live(self) -> LiveSession | None:
        """What the host has confirmed: to look at, not to change or keep. `None` if not followed."""
        return self._client.live_session(self.uri)

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
        if self._client.failure is not None:
            raise self._client.failure
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

    # -- turns ---------------------------------------------------------------------------------------------

    async def prompt(self, text: str, *, attachments: Sequence[MessageAttachment] = ()) -> TurnStream:
        """Send a message to the agent, and follow the turn that it begins."""
        turn_id = str(uuid.uuid4())
        stream = self._new_stream(turn_id)
        try:
            await self.begin_turn(text, attachments=attachments, turn_id=turn_id)
        except BaseException:
            stream.close()
            raise
        return stream

    async def send_message(self, text: str) -> TurnStream:
        """Say something. It is what the contract of agent sessions calls `prompt`."""
        return await self.prompt(text)

    async def begin_turn(
        self, text: str, *, attachments: Sequence[MessageAttachment] = (), turn_id: str | None = None
    ) -> str:
        """Send a message to the agent without following the turn. Returns the turn's id."""
        turn_id = turn_id or str(uuid.uuid4())
        message = _message(text, attachments)
        await self.dispatch(a.SessionTurnStartedAction(turn_id=turn_id, user_message=message))
        return turn_id

    async def cancel(self) -> None:
        """Stop the turn that is running."""
        await self.dispatch(a.SessionTurnCancelledAction(turn_id=self._running()))

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
        known = {turn.id for turn in self._live().head.turns}

        def new_ids() -> list[str]:
            live = self._live()
            turns = [*live.head.turns, *([live.turn] if live.turn is not None else [])]
            return [turn.id for turn in turns if turn.id not in known]

        while True:
            await self.until(lambda _state: bool(new_ids()))
            for turn_id in new_ids():
                known.add(turn_id)
                yield self.follow_turn(turn_id)

    async def questions(self) -> AsyncGenerator[QuestionAsked | QuestionClosed, None]:
        """What the session asks, whether or not a turn runs: what is open now, and what comes.

        A turn's own stream tells what is open while it runs, too. Leave the loop to hear no more.
        """
        known = OpenQuestions()
        while True:
            for event in known.update(self._live()):
                yield event
            await self.until(lambda _state: known.has_news(self._live()))

    def events(self, after: int = 0) -> AsyncGenerator[SessionEvent, None]:
        """What happens in the session, by number: all after one, then each event as it happens.

        A connection that is lost is made again, and goes on with the next number. Where the host has let
        earlier events go, `session:resync` comes in their place. Leave the loop to hear no more.

        Raises:
            SessionGone: There is no such session any more.
            InvalidParams: There is no event of that number yet.
            AccessRefused: The host does not let this client in.
            ConnectionLost: It gave up trying to reach the host, or this client was not made by `connect`.
        """
        return session_events(self._address(), self.uri, after, self._client.delays)

    async def export(self) -> str:
        """The session as a workflow file, for a person to look through.

        Raises:
            SessionGone: There is no such session any more.
            ConnectionLost: The host cannot be reached, or this client was not made by `connect`.
        """
        return (await self._fetched("export")).decode()

    async def messages(self) -> list[SessionMessage]:
        """The session's transcript.

        Raises:
            SessionGone: There is no such session any more.
            ConnectionLost: The host cannot be reached, or this client was not made by `connect`.
        """
        answer = msgspec.json.decode(await self._fetched("messages"), type=dict[str, list[SessionMessage]])
        return answer["messages"]

    async def cost(self) -> dict[str, int | None]:
        """What the session has cost: `spentMicrocents`, `unpricedRequests`, and its bound where it has one.

        Raises:
            SessionGone: There is no such session any more.
            ConnectionLost: The host cannot be reached, or this client was not made by `connect`.
        """
        return msgspec.json.decode(await self._fetched("cost"), type=dict[str, int | None])

    async def _fetched(self, what: str) -> bytes:
        async with opened(self._address(), self.uri, what) as response:
            return await response.aread()

    def _address(self) -> HostAddress:
        address = self._client.address
        if address is None:
            raise ConnectionLost("this is read over HTTP, and nobody knows where the host is")
        return address

    # -- tool calls ----------------------------------------------------------------------------------------

    async def approve(
        self, call_id: str, *, option: str | None = None, edited_input: str | None = None
    ) -> None:
        """Let a tool call run.

        Args:
            call_id: The call that waits (`ToolWaiting`).
            option: The id of one of its options.
            edited_input: Other input for the tool, where the call is `editable`.
        """
        await self.dispatch(
            a.SessionToolCallConfirmedAction(
                turn_id=self._running(),
                tool_call_id=call_id,
                approved=True,
                confirmed=ToolCallConfirmationReason.USER_ACTION.value,
                selected_option_id=option,
                edited_tool_input=edited_input,
            )
        )

    async def deny(
        self,
        call_id: str,
        *,
        reason: str | None = None,
        suggestion: str | None = None,
        option: str | None = None,
    ) -> None:
        """Do not let a tool call run.

        Args:
            call_id: The call that waits.
            reason: Why, for all who look at the session.
            suggestion: What the agent should do instead.
            option: The id of one of its options.
        """
        await self.dispatch(
            a.SessionToolCallConfirmedAction(
                turn_id=self._running(),
                tool_call_id=call_id,
                approved=False,
                reason=ToolCallCancellationReason.DENIED.value,
                reason_message=reason,
                user_suggestion=UserMessage(text=suggestion) if suggestion else None,
                selected_option_id=option,
            )
        )

    async def confirm_result(self, call_id: str, *, approved: bool = True) -> None:
        """Let the agent have a tool's result (`ResultWaiting`), or not."""
        turn_id = self._running()
        await self.dispatch(
            a.SessionToolCallResultConfirmedAction(turn_id=turn_id, tool_call_id=call_id, approved=approved)
        )

    async def lend(self, *tools: ClientTool, display_name: str | None = None) -> None:
        """Lend tools of this client to the agent, in place of those that it lent before; none ends it.

        They run here when the agent calls them, as long as this session is followed. A client whose
        connection was lost for too long is no longer asked, and lends them again.

        Args:
            tools: The tools. Each has a name of its own.
            display_name: The client's name for people.
        """
        before, self._lender.tools = self._lender.tools, {tool.definition.name: tool for tool in tools}
        try:
            await self._take_part(self._plugins, display_name)
        except Rejected:
            self._lender.tools = before
            raise

    async def publish(self, *plugins: ClientPlugin, display_name: str | None = None) -> None:
        """Publish plugins of this client, in place of those that it published before; none ends it.

        The host reads them from here, and shows them in `state.customizations` with what is in them. They
        stay as long as this session is followed. A client whose connection was lost for too long publishes
        them again.

        Args:
            plugins: The plugins. Each has a name of its own.
            display_name: The client's name for people.

        Raises:
            ValueError: Two of them have the same name.
            Rejected: Another client lends its tools to this session, or publishes something.
        """
        await self._take_part(plugins, display_name)

    async def _take_part(self, plugins: tuple[ClientPlugin, ...], display_name: str | None) -> None:
        """Be the active client, with the tools that are lent and these plugins; with neither, no more."""
        shelf, name = self._client.shelf, display_name or self._display_name
        published = shelf.put(self.uri, plugins)
        active = SessionActiveClient(
            client_id=self._client.client_id,
            display_name=name,
            tools=[tool.definition for tool in self._lender.tools.values()],
            customizations=published or None,
        )
        has_something = bool(active.tools or published)
        try:
            await self.dispatch(
                a.SessionActiveClientChangedAction(active_client=active if has_something else None)
            )
        except Rejected:
            shelf.put(self.uri, self._plugins)
            raise
        self._plugins, self._display_name = plugins, name

    # -- questions -----------------------------------------------------------------------------------------

    async def answer(self, request_id: str, answers: Mapping[str, AnswerValue] | None = None) -> None:
        """Answer what the agent asks (`QuestionAsked`).

        Args:
            request_id: The request.
            answers: By question: text, a number, yes or no, ids of options; `None` passes a question over.
        """
        requests = self._live().head.input_requests or ()
        request = next((one for one in requests if one.id == request_id), None)
        if request is None:
            raise Rejected(f"no_such_request: no input request {request_id!r} is open")
        await self.dispatch(
            a.SessionInputCompletedAction(
                request_id=request_id,
                response=SessionInputResponseKind.ACCEPT.value,
                answers=answers_to(request, answers or {}) or None,
            )
        )

    async def decline(self, request_id: str, *, cancel: bool = False) -> None:
        """Do not answer what the agent asks; with `cancel`, without having decided anything."""
        response = SessionInputResponseKind.CANCEL if cancel else SessionInputResponseKind.DECLINE
        await self.dispatch(a.SessionInputCompletedAction(request_id=request_id, response=response.value))

    # -- messages that wait --------------------------------------------------------------------------------

    async def queue(self, text: str, *, attachments: Sequence[MessageAttachment] = ()) -> str:
        """Leave a message for after the running turn; an idle session takes it at once. Returns its id."""
        return await self._leave(PendingMessageKind.QUEUED, text, attachments)

    async def steer(self, text: str, *, attachments: Sequence[MessageAttachment] = ()) -> str:
        """Leave a message for the running turn, which takes it at its next boundary. Returns its id."""
        return await self._leave(PendingMessageKind.STEERING, text, attachments)

    async def unqueue(self, message_id: str, *, kind: str = PendingMessageKind.QUEUED.value) -> None:
        """Take back a message that still waits."""
        await self.dispatch(a.SessionPendingMessageRemovedAction(kind=kind, id=message_id))

    async def _leave(
        self, kind: PendingMessageKind, text: str, attachments: Sequence[MessageAttachment]
    ) -> str:
        message_id = str(uuid.uuid4())
        message = _message(text, attachments)
        await self.dispatch(
            a.SessionPendingMessageSetAction(kind=kind.value, id=message_id, user_message=message)
        )
        return message_id

    # -- the session ---------------------------------------------------------------------------------------

    async def set_title(self, title: str) -> None:
        """Give the session another title."""
        await self.dispatch(a.SessionTitleChangedAction(title=title))

    async def archive(self, *, archived: bool = True) -> None:
        """Put the session away, or take it out again."""
        await self.dispatch(a.SessionIsArchivedChangedAction(is_archived=archived))

    async def mark_read(self, *, read: bool = True) -> None:
        """Say that someone has read what is new."""
        await self.dispatch(a.SessionIsReadChangedAction(is_read=read))

    async def truncate(self, turn_id: str | None = None) -> None:
        """End the history after a turn; without one, all of it goes. A running turn goes, too."""
        await self.dispatch(a.SessionTruncatedAction(turn_id=turn_id))

    async def fork(self, turn_id: str) -> SessionClient:
        """Make a new session that begins with this one's history up to a turn.

        Raises:
            ProtocolError: There is no such turn.
        """
        return await self._client.create_session(fork=(self.uri, turn_id))

    async def fetch_turns(self, before: str | None = None, limit: int | None = None) -> c.FetchTurnsResult:
        """Finished turns, oldest first: those before one of them, or the latest."""
        params = c.FetchTurnsParams(channel=self.uri, before=before, limit=limit)
        return await self._client.request("fetchTurns", params)

    async def dispose(self) -> None:
        """End the session for all. Whoever follows it gets `SessionGone`.

        Raises:
            ProtocolError: It is gone already.
        """
        await self._client.dispose_session(self.uri)

    async def leave(self) -> None:
        """Follow the session no more. It goes on on the host."""
        self._client.unsubscribe(self.uri)

    async def dispatch(self, action: a.StateAction) -> None:
        """Let any action happen: the way for what has no method here.

        A choice of model or agent during a turn is answered when the turn ends.

        Raises:
            Rejected: The host refused it.
            SessionGone: The session was disposed of, or is not followed any more.
            ConnectionLost: The client was closed or gave up, or the host forgot this client while the answer
                was under way: then it is not known what became of the action.
        """
        if self.uri not in self._client.subscriptions:
            raise self._gone()
        await self._client.dispatch(self.uri, action)

    # -- for the client ------------------------------------------------------------------------------------

    def heard(self, action: a.StateAction) -> None:
        """An action was confirmed."""
        live = self.live
        if live is None:
            return
        for stream in self._streams.copy():
            stream.heard(action, live)
        if not isinstance(action, _GROWING):
            self._look()
        self._lender.heard(action, live)

    def caught_up(self) -> None:
        """The state is known again, after a gap or for the first time."""
        live = self.live
        if live is None:
            return
        for stream in self._streams.copy():
            stream.caught_up(live)
        self._look()
        self._lender.caught_up(live)

    def failed(self, error: SeraiError) -> None:
        """Nothing more will be known of the session."""
        self._end = error
        for stream in self._streams.copy():
            stream.fail(error)
        waiting, self._waiting = self._waiting, []
        for _condition, found in waiting:
            if not found.done():
                found.set_exception(error)
        self._lender.stop()
        self._client.shelf.put(self.uri, ())

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
        stream = TurnStream(turn_id, self._streams.remove)
        self._streams.append(stream)
        return stream

    def _live(self) -> LiveSession:
        live = self.live
        if live is None or self._client.failure is not None:
            raise self._gone()
        return live

    def _gone(self) -> SeraiError:
        return self._client.failure or self._end or SessionGone(f"{self.uri} is not followed any more")

    def _running(self) -> str:
        turn_id = self.active_turn_id
        if turn_id is None:
            raise Rejected("no_active_turn: no turn is running")
        return turn_id


def _message(text: str, attachments: Sequence[MessageAttachment]) -> UserMessage:
    return UserMessage(text=text, attachments=list(attachments) or None)
