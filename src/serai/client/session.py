"""The client of one session.

A change shows in `state` at once, and its method returns when the host has confirmed it. If the host refuses,
the method raises `Rejected` with the reason, and the change leaves `state` again. Without a connection,
methods wait until the host is back. Cancelling takes nothing back that was sent.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from serai.ahp import actions as a, commands as c, types as t
from serai.ahp.reducers import LiveSession
from serai.client.address import HostAddress
from serai.client.answers import AnswerValue, answers_to
from serai.client.events import QuestionAsked, QuestionClosed
from serai.client.lending import ClientPlugin, ClientTool, Lender, Plugins, placed
from serai.client.session_events import opened, session_events
from serai.client.turn import OpenQuestions, TurnStream
from serai.errors import ConnectionLost, Rejected, SeraiError, SessionFailed, SessionGone
from serai.session.events import SessionEvent
from serai.session.messages import SessionMessage

if TYPE_CHECKING:
    from serai.client.client import Client

__all__ = ["SessionClient"]


# Actions that only make text longer: they do not wake `until`.
_GROWING = (a.SessionDeltaAction, a.SessionReasoningAction, a.SessionToolCallDeltaAction)


class SessionClient:
    """One session that a client follows. Made by `Client.create_session` and `Client.open_session`."""

    def __init__(self, client: Client, uri: t.URI) -> None:
        self.uri = uri
        self._client = client
        self._lender = Lender(client.client_id, self.dispatch, client.spawn)
        self._display_name: str | None = None
        self._streams: list[TurnStream] = []
        self._waiting: list[tuple[Callable[[t.SessionState], bool], asyncio.Future[t.SessionState]]] = []
        self._end: SeraiError | None = None
        """Reason why it is not followed any more."""

    # -- state ---------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The last part of the URI."""
        return self.uri.rpartition("/")[2]

    @property
    def state(self) -> t.SessionState:
        """The session's confirmed state, with this client's own actions on top.

        After the client was closed, it is the last known state.

        Raises:
            SessionGone: The session is not followed any more.
        """
        state = self._client.state(self.uri)
        if not isinstance(state, t.SessionState):
            raise self._gone()
        return state

    @property
    def live(self) -> LiveSession | None:
        """The confirmed state, to be read only and not kept. `None` if not followed."""
        return self._client.live_session(self.uri)

    @property
    def active_turn_id(self) -> str | None:
        """Id of the running turn, as the host has confirmed it."""
        turn = self._live().turn
        return turn.id if turn is not None else None

    async def until(self, condition: Callable[[t.SessionState], bool]) -> t.SessionState:
        """Wait until the state meets a condition, and return it. It is not checked for every piece of text.

        Raises:
            SessionGone: The session is not followed any more.
            ConnectionLost: The client was closed, or gave up.
        """
        if self._client.failure is not None:
            raise self._client.failure
        state = self.state
        if condition(state):
            return state
        found: asyncio.Future[t.SessionState] = asyncio.get_running_loop().create_future()
        waiting = condition, found
        self._waiting.append(waiting)
        try:
            return await found
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    async def ready(self) -> t.SessionState:
        """Wait until the session's agent is ready.

        Raises:
            SessionFailed: The agent did not start.
        """
        state = await self.until(lambda state: state.lifecycle != t.SessionLifecycle.CREATING)
        if state.lifecycle == t.SessionLifecycle.CREATION_FAILED:
            error = state.creation_error
            raise SessionFailed(
                error.message if error else "the host does not say why",
                error_type=error.error_type if error else "unknown",
            )
        return state

    # -- turns ---------------------------------------------------------------------------------------------

    async def prompt(self, text: str, *, attachments: Sequence[t.MessageAttachment] = ()) -> TurnStream:
        """Send a message to the agent, and follow the turn that it starts."""
        turn_id = str(uuid.uuid4())
        stream = self._new_stream(turn_id)
        try:
            await self.begin_turn(text, attachments=attachments, turn_id=turn_id)
        except BaseException:
            stream.close()
            raise
        return stream

    async def send_message(self, text: str) -> TurnStream:
        """Send a message, as `prompt` does. This is its name in the contract of agent sessions."""
        return await self.prompt(text)

    async def begin_turn(
        self, text: str, *, attachments: Sequence[t.MessageAttachment] = (), turn_id: str | None = None
    ) -> str:
        """Send a message to the agent without following the turn. Returns the turn's id."""
        turn_id = turn_id or str(uuid.uuid4())
        message = _message(text, attachments)
        await self.dispatch(a.SessionTurnStartedAction(turn_id=turn_id, user_message=message))
        return turn_id

    async def cancel(self) -> None:
        """Cancel the running turn."""
        await self.dispatch(a.SessionTurnCancelledAction(turn_id=self._running()))

    def follow_turn(self, turn_id: str) -> TurnStream:
        """Follow a turn from its beginning, whoever started it; also one that is over.

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
        """Yield every turn from the running one on, whoever starts it. Leave the loop to stop."""
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
        """Yield the open questions, then new ones and answered ones, with or without a running turn.

        The stream of a turn has the questions during the turn, too. Leave the loop to stop.
        """
        known = OpenQuestions()
        while True:
            for event in known.update(self._live()):
                yield event
            await self.until(lambda _state: known.has_news(self._live()))

    def events(self, after: int = 0) -> AsyncGenerator[SessionEvent, None]:
        """Yield the session's events by number: all after one, then each new one.

        After a lost connection it continues with the next number. `session:resync` stands for events that the
        host has deleted. Leave the loop to stop.

        Raises:
            SessionGone: There is no such session any more.
            InvalidParams: There is no event of that number yet.
            AccessRefused: The host does not let this client in.
            ConnectionLost: It gave up trying to reach the host, or this client was not made by `connect`.
        """
        return session_events(self._address(), self.uri, after, self._client.delays)

    async def export(self) -> str:
        """Return the session as a workflow file, for a person to look through.

        Raises:
            SessionGone: There is no such session any more.
            ConnectionLost: The host cannot be reached, or this client was not made by `connect`.
        """
        return (await self._fetched("export")).decode()

    async def messages(self) -> list[SessionMessage]:
        """Return the session's transcript.

        Raises:
            SessionGone: There is no such session any more.
            ConnectionLost: The host cannot be reached, or this client was not made by `connect`.
        """
        answer = msgspec.json.decode(await self._fetched("messages"), type=dict[str, list[SessionMessage]])
        return answer["messages"]

    async def cost(self) -> dict[str, int | None]:
        """Return the session's cost: `spentMicrocents`, `unpricedRequests`, and its limit if it has one.

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
            raise ConnectionLost("this is read over HTTP, and the address of the host is not known")
        return address

    # -- tool calls ----------------------------------------------------------------------------------------

    async def approve(
        self, call_id: str, *, option: str | None = None, edited_input: str | None = None
    ) -> None:
        """Let a tool call run.

        Args:
            call_id: The waiting call (`ToolWaiting`).
            option: The id of one of its options.
            edited_input: Other input for the tool, where the call is `editable`.
        """
        await self.dispatch(
            a.SessionToolCallConfirmedAction(
                turn_id=self._running(),
                tool_call_id=call_id,
                approved=True,
                confirmed=t.ToolCallConfirmationReason.USER_ACTION.value,
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
            call_id: The waiting call.
            reason: The reason, for all who look at the session.
            suggestion: A suggestion for the agent.
            option: The id of one of its options.
        """
        await self.dispatch(
            a.SessionToolCallConfirmedAction(
                turn_id=self._running(),
                tool_call_id=call_id,
                approved=False,
                reason=t.ToolCallCancellationReason.DENIED.value,
                reason_message=reason,
                user_suggestion=t.UserMessage(text=suggestion) if suggestion else None,
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
        """Lend tools of this client to the agent, in place of earlier ones; without any, stop lending.

        They run here when the agent calls them, as long as this session is followed. After a connection was
        lost for too long, lend them again.

        Args:
            tools: The tools, with different names.
            display_name: The client's name for people.
        """
        lent = {tool.definition.name: tool for tool in tools}
        await self._take_part(lent, self._client.published.get(self.uri, {}), display_name)

    async def publish(self, *plugins: ClientPlugin, display_name: str | None = None) -> None:
        """Publish plugins of this client, in place of earlier ones; without any, stop publishing.

        The host reads them from here, and shows them in `state.customizations` with their content. They stay
        as long as this session is followed. After a connection was lost for too long, publish them again.

        Args:
            plugins: The plugins, with different names.
            display_name: The client's name for people.

        Raises:
            ValueError: Two of them have the same name.
            Rejected: Another client lends its tools to this session, or publishes something.
        """
        published = placed(plugins, self._client.client_id, self.uri)
        await self._take_part(self._lender.tools, published, display_name)

    async def _take_part(
        self, tools: dict[str, ClientTool], plugins: Plugins, display_name: str | None
    ) -> None:
        """Be the active client, with these tools and plugins; without both, stop being it."""
        client, name = self._client, display_name or self._display_name
        active = t.SessionActiveClient(
            client_id=client.client_id,
            display_name=name,
            tools=[tool.definition for tool in tools.values()],
            customizations=[plugin.customization(uri) for uri, plugin in plugins.items()] or None,
        )
        # The host may call a tool, or read a plugin, before it has confirmed the action.
        before = self._lender.tools, client.published.get(self.uri, {})
        self._lender.tools, client.published[self.uri] = tools, plugins
        try:
            await self.dispatch(
                a.SessionActiveClientChangedAction(active_client=active if tools or plugins else None)
            )
        except Rejected:
            self._lender.tools, client.published[self.uri] = before
            raise
        self._display_name = name

    # -- questions -----------------------------------------------------------------------------------------

    async def answer(self, request_id: str, answers: Mapping[str, AnswerValue] | None = None) -> None:
        """Answer the agent's questions (`QuestionAsked`).

        Args:
            request_id: The request.
            answers: By question: text, a number, yes or no, ids of options; `None` skips a question.
        """
        requests = self._live().head.input_requests or ()
        request = next((one for one in requests if one.id == request_id), None)
        if request is None:
            raise Rejected(f"no_such_request: no input request {request_id!r} is open")
        await self.dispatch(
            a.SessionInputCompletedAction(
                request_id=request_id,
                response=t.SessionInputResponseKind.ACCEPT.value,
                answers=answers_to(request, answers or {}) or None,
            )
        )

    async def decline(self, request_id: str, *, cancel: bool = False) -> None:
        """Decline to answer; with `cancel`, without a decision."""
        response = t.SessionInputResponseKind.CANCEL if cancel else t.SessionInputResponseKind.DECLINE
        await self.dispatch(a.SessionInputCompletedAction(request_id=request_id, response=response.value))

    # -- queued messages -----------------------------------------------------------------------------------

    async def queue(self, text: str, *, attachments: Sequence[t.MessageAttachment] = ()) -> str:
        """Queue a message for after the running turn; an idle session takes it at once. Returns its id."""
        return await self._queue(t.PendingMessageKind.QUEUED, text, attachments)

    async def steer(self, text: str, *, attachments: Sequence[t.MessageAttachment] = ()) -> str:
        """Queue a message for the running turn, which takes it at its next step. Returns its id."""
        return await self._queue(t.PendingMessageKind.STEERING, text, attachments)

    async def unqueue(self, message_id: str, *, kind: str = t.PendingMessageKind.QUEUED.value) -> None:
        """Take back a queued message."""
        await self.dispatch(a.SessionPendingMessageRemovedAction(kind=kind, id=message_id))

    async def _queue(
        self, kind: t.PendingMessageKind, text: str, attachments: Sequence[t.MessageAttachment]
    ) -> str:
        message_id = str(uuid.uuid4())
        message = _message(text, attachments)
        await self.dispatch(
            a.SessionPendingMessageSetAction(kind=kind.value, id=message_id, user_message=message)
        )
        return message_id

    # -- the session ---------------------------------------------------------------------------------------

    async def set_title(self, title: str) -> None:
        """Change the session's title."""
        await self.dispatch(a.SessionTitleChangedAction(title=title))

    async def archive(self, *, archived: bool = True) -> None:
        """Archive the session, or bring it back."""
        await self.dispatch(a.SessionIsArchivedChangedAction(is_archived=archived))

    async def mark_read(self, *, read: bool = True) -> None:
        """Mark the session as read or unread."""
        await self.dispatch(a.SessionIsReadChangedAction(is_read=read))

    async def truncate(self, turn_id: str | None = None) -> None:
        """Remove the history after a turn, or all of it. A running turn is removed, too."""
        await self.dispatch(a.SessionTruncatedAction(turn_id=turn_id))

    async def fork(self, turn_id: str) -> SessionClient:
        """Create a session that starts with this one's history up to a turn.

        Raises:
            ProtocolError: There is no such turn.
        """
        return await self._client.create_session(fork=(self.uri, turn_id))

    async def fetch_turns(self, before: str | None = None, limit: int | None = None) -> c.FetchTurnsResult:
        """Return finished turns, oldest first: those before one of them, or the latest."""
        params = c.FetchTurnsParams(channel=self.uri, before=before, limit=limit)
        return await self._client.request("fetchTurns", params)

    async def dispose(self) -> None:
        """Dispose of the session, for all clients. Whoever follows it gets `SessionGone`.

        Raises:
            ProtocolError: It is gone already.
        """
        await self._client.dispose_session(self.uri)

    async def leave(self) -> None:
        """Stop following the session. It continues on the host."""
        self._client.unsubscribe(self.uri)

    async def dispatch(self, action: a.StateAction) -> None:
        """Send any action, also one that has no method here.

        A choice of model or agent during a turn is answered when the turn ends.

        Raises:
            Rejected: The host refused it.
            SessionGone: The session was disposed of, or is not followed any more.
            ConnectionLost: The client was closed or gave up, or the outcome of the action is not known
                because the host forgot this client before it answered.
        """
        if self.uri not in self._client.subscriptions:
            raise self._gone()
        await self._client.dispatch(self.uri, action)

    # -- for the client ------------------------------------------------------------------------------------

    def heard(self, action: a.StateAction) -> None:
        """Handle a confirmed action."""
        live = self.live
        if live is None:
            return
        for stream in self._streams.copy():
            stream.heard(action, live)
        if not isinstance(action, _GROWING):
            self._look()
        self._lender.heard(action, live)

    def caught_up(self) -> None:
        """Take up the state, after a gap or for the first time."""
        live = self.live
        if live is None:
            return
        for stream in self._streams.copy():
            stream.caught_up(live)
        self._look()
        self._lender.caught_up(live)

    def failed(self, error: SeraiError) -> None:
        """End all streams and waiters with an error."""
        self._end = error
        for stream in self._streams.copy():
            stream.fail(error)
        waiting, self._waiting = self._waiting, []
        for _condition, found in waiting:
            if not found.done():
                found.set_exception(error)
        self._lender.stop()
        self._client.published.pop(self.uri, None)

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
            except Exception as error:  # noqa: BLE001 - the fault of the condition, not of the connection
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


def _message(text: str, attachments: Sequence[t.MessageAttachment]) -> t.UserMessage:
    return t.UserMessage(text=text, attachments=list(attachments) or None)
