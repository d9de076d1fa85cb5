"""A conversation with an agent on a real host: say something, wait for what follows, answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from serai.ahp import actions as a, wire
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import (
    MarkdownResponsePart,
    MessageAttachment,
    PendingMessageKind,
    ReasoningResponsePart,
    SessionActiveClient,
    SessionInputAnswer,
    SessionInputRequest,
    SessionLifecycle,
    SessionState,
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallResponsePart,
    ToolCallRunningState,
    ToolCallState,
    Turn,
    UserMessage,
)
from serai.host.host import Host
from serai.host.session.session import Session

T = TypeVar("T")
C = TypeVar("C", bound=ToolCallState)

CLIENT = "tester"
_PATIENCE = 30.0


def frame(message: bytes) -> bytes:
    """One message per line: easy to take apart again."""
    return message + b"\n"


class Conversation:
    """One session, and a client that follows it."""

    def __init__(self, host: Host, session: Session) -> None:
        self.host = host
        self.session = session
        self.actions: list[dict[str, Any]] = []
        """What the client has heard, in order."""
        self.rejections: list[str] = []
        self._heard = asyncio.Event()
        host.journal.subscriptions.add(session.uri, self)

    @classmethod
    async def begin(
        cls, host: Host, provider: str, scheme: str = "ahp-session", **params: Any
    ) -> Conversation:
        uri = f"{scheme}:/{host.new_id()}"
        session = await host.create(
            CreateSessionParams(channel=uri, provider=provider, **params), client_id=CLIENT
        )
        conversation = cls(host, session)
        await conversation.until(lambda: session.live.head.lifecycle != SessionLifecycle.CREATING)
        return conversation

    # -- hearing -------------------------------------------------------------------------------------------

    def publish(self, frames: bytes) -> None:
        for line in frames.splitlines():
            params = msgspec.json.decode(line)["params"]
            if "rejectionReason" in params:
                self.rejections.append(params["rejectionReason"])
            else:
                self.actions.append(params["action"])
        self._heard.set()

    async def until(self, condition: Callable[[], T]) -> T:
        """Wait until a condition holds; look again whenever something was heard."""
        async with asyncio.timeout(_PATIENCE):
            while not (found := condition()):
                self._heard.clear()
                await self._heard.wait()
        return found

    async def heard(self, kind: str, count: int = 1) -> dict[str, Any]:
        """Wait for so many actions of a type; the last of them."""

        def found() -> dict[str, Any] | None:
            matching = [action for action in self.actions if action["type"] == kind]
            return matching[count - 1] if len(matching) >= count else None

        action = await self.until(found)
        assert action is not None
        return action

    async def quiet(self) -> None:
        """Wait until nothing runs in the session."""
        async with asyncio.timeout(_PATIENCE):
            while tasks := self.session.tasks:
                await asyncio.wait(tasks)

    @property
    def state(self) -> SessionState:
        return self.session.live.snapshot()

    # -- saying --------------------------------------------------------------------------------------------

    def dispatch(self, action: a.StateAction, client_id: str = CLIENT) -> None:
        origin = a.ActionOrigin(client_id=client_id, client_seq=0)
        self.host.dispatch(self.session.uri, action, origin, self)

    def start(self, text: str, attachments: list[MessageAttachment] | None = None) -> str:
        """Begin a turn."""
        turn_id = self.host.new_id()
        message = UserMessage(text=text, attachments=attachments)
        self.dispatch(a.SessionTurnStartedAction(turn_id=turn_id, user_message=message))
        assert self.session.live.turn, "the host did not begin the turn"
        return turn_id

    async def end(self) -> Turn:
        """Wait for the end of the running turn."""
        await self.until(lambda: self.session.live.turn is None)
        await self.host.journal.committed()
        return self.session.live.head.turns[-1]

    async def say(self, text: str, attachments: list[MessageAttachment] | None = None) -> Turn:
        """A whole turn."""
        self.start(text, attachments)
        return await self.end()

    def cancel(self) -> None:
        assert self.session.live.turn
        self.dispatch(a.SessionTurnCancelledAction(turn_id=self.session.live.turn.id))

    def steer(self, text: str) -> None:
        self.dispatch(
            a.SessionPendingMessageSetAction(
                kind=PendingMessageKind.STEERING.value,
                id=self.host.new_id(),
                user_message=UserMessage(text=text),
            )
        )

    def lend(self, client: SessionActiveClient | None) -> None:
        self.dispatch(a.SessionActiveClientChangedAction(active_client=client))

    async def blob(self, uri: str) -> bytes:
        """Content that is kept beside the session."""
        await self.host.journal.committed()
        blob = await self.host.journal.store.blob(uri.removeprefix("serai-blob:/"))
        assert blob
        return blob.data

    # -- tool calls ----------------------------------------------------------------------------------------

    async def call(self, status: type[C]) -> C:
        """Wait until the newest tool call is in a state."""

        def found() -> C | None:
            every = self.session.live.turn.calls() if self.session.live.turn else []
            return every[-1] if every and isinstance(every[-1], status) else None

        call = await self.until(found)
        assert call is not None
        return call

    async def pending(self) -> ToolCallPendingConfirmationState:
        return await self.call(ToolCallPendingConfirmationState)

    async def approve(self, *, option: str | None = None, edited: str | None = None) -> None:
        call = await self.pending()
        self.dispatch(
            a.SessionToolCallConfirmedAction(
                turn_id=self._turn_id,
                tool_call_id=call.tool_call_id,
                approved=True,
                confirmed="user-action",
                selected_option_id=option,
                edited_tool_input=edited,
            )
        )

    async def deny(self, *, option: str | None = None, suggestion: str | None = None) -> None:
        call = await self.pending()
        self.dispatch(
            a.SessionToolCallConfirmedAction(
                turn_id=self._turn_id,
                tool_call_id=call.tool_call_id,
                approved=False,
                reason="denied",
                selected_option_id=option,
                user_suggestion=UserMessage(text=suggestion) if suggestion else None,
            )
        )

    async def judge_result(self, *, approved: bool) -> None:
        call = await self.call(ToolCallPendingResultConfirmationState)
        self.dispatch(
            a.SessionToolCallResultConfirmedAction(
                turn_id=self._turn_id, tool_call_id=call.tool_call_id, approved=approved
            )
        )

    async def complete(self, result: Any) -> ToolCallRunningState:
        """End a call that this client runs."""
        call = await self.call(ToolCallRunningState)
        self.dispatch(
            a.SessionToolCallCompleteAction(
                turn_id=self._turn_id, tool_call_id=call.tool_call_id, result=result
            )
        )
        return call

    @property
    def _turn_id(self) -> str:
        assert self.session.live.turn
        return self.session.live.turn.id

    # -- questions -----------------------------------------------------------------------------------------

    async def request(self) -> SessionInputRequest:
        requests = await self.until(lambda: self.session.live.head.input_requests)
        assert requests
        return requests[0]

    async def answer(self, answers: dict[str, SessionInputAnswer] | None, response: str = "accept") -> None:
        request = await self.request()
        self.dispatch(
            a.SessionInputCompletedAction(request_id=request.id, response=response, answers=answers)
        )


# -- looking at turns --------------------------------------------------------------------------------------


def prose(turn: Turn) -> str:
    """All Markdown of a turn."""
    return "\n\n".join(part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart))


def thoughts(turn: Turn) -> str:
    """All reasoning of a turn."""
    return "".join(part.content for part in turn.response_parts if isinstance(part, ReasoningResponsePart))


def calls(turn: Turn) -> list[Any]:
    """All tool calls of a turn."""
    return [part.tool_call for part in turn.response_parts if isinstance(part, ToolCallResponsePart)]


def kinds(turn: Turn) -> list[str]:
    """Of which kinds the parts of a turn are."""
    return [wire.to_json(part)["kind"] for part in turn.response_parts]
