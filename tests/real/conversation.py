"""A conversation with a real agent, through the port: say something, wait for what follows, answer."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from conformance.client import Client, calls_of, text_of
from conformance.conftest import new_session, over
from serai.ahp.types import (
    ChangesetState,
    SessionState,
    SystemNotificationResponsePart,
    ToolCallPendingConfirmationState,
    Turn,
)


class Conversation:
    """One session, and a client that follows it. Its turns are `t1`, `t2` and so on."""

    def __init__(self, client: Client, uri: str) -> None:
        self.client = client
        self.uri = uri
        self._turn_id = ""

    @property
    def state(self) -> SessionState:
        return self.client.session(self.uri)

    @property
    def turns(self) -> list[str]:
        """The ids of the turns that are over."""
        return [turn.id for turn in self.state.turns]

    @property
    def opened(self) -> str:
        """How the agent's own session came to be open."""
        return (self.state.meta or {})["serai.acp"]["opened"]

    # -- turns ---------------------------------------------------------------------------------------------

    async def start(self, text: str) -> None:
        """Begin a turn."""
        self._turn_id = f"t{len(self.state.turns) + 1}"
        await self._dispatch("turnStarted", userMessage={"text": text})
        await self.client.until(lambda: self.state.active_turn or self._turn_id in self.turns)

    async def says(self, text: str) -> None:
        """Wait until the agent has said something in the turn that runs."""
        await self.client.until(
            lambda: self.state.active_turn is None or text in text_of(self.state.active_turn)
        )
        assert self.state.active_turn is not None, f"the turn is over: {self.state.turns[-1]}"

    async def over(self) -> Turn:
        """Wait until the turn that was begun is over."""
        return await over(self.client, self.uri, self._turn_id)

    async def converse(self, text: str) -> Turn:
        """A turn in which nobody is asked anything."""
        await self.start(text)
        turn = await self.over()
        assert turn.state == "complete", turn
        return turn

    async def cancel(self) -> Turn:
        """Cancel the turn that runs."""
        await self._dispatch("turnCancelled")
        return await self.over()

    # -- tools ---------------------------------------------------------------------------------------------

    async def asked(self) -> ToolCallPendingConfirmationState:
        """Wait until the person is asked whether a tool may run."""
        await self.client.until(lambda: self.state.active_turn is None or self._waiting)
        assert self._waiting, f"nobody was asked: {self.state.turns[-1]}"
        return self._waiting[0]

    async def allow(self, call: ToolCallPendingConfirmationState) -> None:
        """Say yes."""
        answer = {"approved": True, "confirmed": "user-action"}
        await self._dispatch("toolCallConfirmed", toolCallId=call.tool_call_id, **answer)

    async def answered_yes(self) -> None:
        """Say yes if the person is asked before the turn is over."""
        await self.client.until(lambda: self.state.active_turn is None or self._waiting)
        if self._waiting:
            await self.allow(self._waiting[0])

    async def deny(self, call: ToolCallPendingConfirmationState) -> None:
        """Say no."""
        answer = {"approved": False, "reason": "denied"}
        await self._dispatch("toolCallConfirmed", toolCallId=call.tool_call_id, **answer)

    @property
    def _waiting(self) -> list[ToolCallPendingConfirmationState]:
        calls = calls_of(self.state.active_turn) if self.state.active_turn is not None else []
        return [call for call in calls if isinstance(call, ToolCallPendingConfirmationState)]

    # -- changes -------------------------------------------------------------------------------------------

    async def changed(self, what: str) -> set[str]:
        """The names of the files of a changeset, as soon as it has any: of the `session`, or of `turn/ID`."""
        changeset = f"{self.uri.replace('ahp-session', 'ahp-changeset')}/{what}"
        await self.client.subscribe(changeset)

        def state() -> ChangesetState:
            found = self.client.state.confirmed(changeset)
            assert isinstance(found, ChangesetState)
            return found

        await self.client.until(lambda: state().status != "computing" and state().files)
        return {Path(file.id).name for file in state().files}

    async def _dispatch(self, kind: str, **fields: Any) -> None:
        await self.client.dispatch(self.uri, kind, turnId=self._turn_id, **fields)


async def begin(client: Client, agent: str, folder: Path, **params: Any) -> Conversation:
    """A session with an agent."""
    uri = f"ahp-session:/{uuid.uuid4()}"
    await new_session(client, uri, provider=agent, workingDirectory=folder.as_uri(), **params)
    conversation = Conversation(client, uri)
    assert conversation.state.lifecycle == "ready", conversation.state.creation_error
    return conversation


@asynccontextmanager
async def conversing(client: Client, agent: str, folder: Path, **params: Any) -> AsyncGenerator[Conversation]:
    """A session with an agent that is disposed of when the block ends well."""
    conversation = await begin(client, agent, folder, **params)
    yield conversation
    await client.request("disposeSession", conversation.uri)


def notices(turn: Turn) -> list[str]:
    """What a turn tells that neither the agent nor the person said."""
    return [
        str(part.content) for part in turn.response_parts if isinstance(part, SystemNotificationResponsePart)
    ]
