"""One turn of an agent for a request: its events, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Self

import anyio

from serai.agents.ask.events import Event, TurnFinished
from serai.agents.ask.prompt import Part
from serai.agents.ask.session import WireSession
from serai.agents.ask.turn import Cancelling
from serai.errors import SeraiError
from serai.models.problems import failure_of


class ModelTurn:
    """A turn that runs in a task of its own. Use it with `async with`: at the end the turn is over.

    pydantic-ai waits within cancel scopes, which cancel again and again, and may end a stream in another task
    than it reads it in. Here all of the agent is in one task, which is cancelled once and then waited for.
    """

    def __init__(
        self, opening: AbstractAsyncContextManager[tuple[WireSession, list[Part]]], model_name: str
    ) -> None:
        self.session_id: str | None = None
        """The agent's name for the session, once it is open."""
        self._opening = opening
        self._model_name = model_name
        self._cancelling = Cancelling()
        self._events = asyncio.Queue[Event | Exception](1)  # so the agent has to wait for a slow reader
        self._first: Event | None = None
        self._has_begun = False

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *what: object) -> None:
        self._task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([self._task])

    def cancel(self) -> None:
        """Tell the agent to stop. The events go on until it has."""
        self._cancelling.want()

    async def began(self) -> None:
        """Wait until something of the answer is there.

        Raises:
            ModelAPIError: The agent cannot be asked. The error's cause is Serai's.
        """
        self._first = await self._next()

    async def events(self) -> AsyncGenerator[Event, None]:
        """The events, the last of which is `TurnFinished`. By then an agent of its own is gone.

        Raises:
            ModelAPIError: The turn has failed. The error's cause is Serai's.
        """
        event = self._first or await self._next()
        while not isinstance(event, TurnFinished):
            yield event
            event = await self._next()
        yield event

    async def _next(self) -> Event:
        item = await self._events.get()
        if isinstance(item, SeraiError):
            raise failure_of(item, self._model_name, in_stream=self._has_begun) from item
        if isinstance(item, Exception):
            raise item
        self._has_begun = True
        return item

    async def _run(self) -> None:
        try:
            told: Event | Exception = await self._follow()
        except Exception as error:  # noqa: BLE001 - whoever reads the events is told, whatever it is
            told = error
        await self._events.put(told)

    async def _follow(self) -> TurnFinished:
        async with self._opening as (session, prompt):
            self.session_id = session.id
            # Nobody sees the questions of the agent who could answer them: its policy does.
            turn = session.follow(prompt, self._cancelling, is_attended=False)
            async with aclosing(turn) as events:
                async for event in events:
                    if isinstance(event, TurnFinished):
                        return event
                    await self._events.put(event)
        raise RuntimeError("a turn has no end")  # `follow` promises one
