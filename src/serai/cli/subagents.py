"""What the agents want to know that an agent has begun, for the chat with that agent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from serai.ahp.types import URI, ToolResultSubagentContent
from serai.client import (
    Client,
    QuestionAsked,
    QuestionClosed,
    ResultWaiting,
    SessionClient,
    ToolFinished,
    ToolRunning,
    ToolWaiting,
    TurnEnded,
    TurnEvent,
)
from serai.errors import SeraiError

__all__ = ["SubagentEvent", "Subagents"]

_ABOUT_QUESTIONS = (ToolWaiting, ToolRunning, ResultWaiting, ToolFinished, QuestionAsked, QuestionClosed)


@dataclass(frozen=True, slots=True)
class SubagentEvent:
    """Something was asked in a subagent's session, or perhaps no longer is."""

    session: SessionClient
    whose: str
    """Whose session it is, for people."""
    event: TurnEvent


class Subagents:
    """Follows the sessions of subagents while the calls run that began them, and theirs in turn.

    Args:
        client: The connection.
        tell: Is called with what matters for questions. It may come late: ask the session what is open.
        followed: Sessions that are followed already, and are not followed here.
    """

    def __init__(
        self, client: Client, tell: Callable[[SubagentEvent], None], followed: frozenset[URI]
    ) -> None:
        self._client = client
        self._tell = tell
        self._followed = followed
        # By call, and by session.
        self._calls: dict[str, dict[URI, asyncio.Task[None]]] = {}

    def heard(self, event: TurnEvent) -> None:
        """Call it with each event of a turn."""
        match event:
            case ToolRunning(call=call):
                for content in call.content or ():
                    if isinstance(content, ToolResultSubagentContent):
                        self._begin(call.tool_call_id, content)
            case ToolFinished(call=call):
                self._end(call.tool_call_id)
            case TurnEnded():
                self.close()
            case _:
                pass

    def close(self) -> None:
        """Follow nothing any more."""
        for call_id in list(self._calls):
            self._end(call_id)

    def _begin(self, call_id: str, content: ToolResultSubagentContent) -> None:
        known = self._calls.setdefault(call_id, {})
        uri = content.resource
        if uri not in self._followed and not any(uri in sessions for sessions in self._calls.values()):
            known[uri] = asyncio.create_task(self._follow(content))

    def _end(self, call_id: str) -> None:
        for uri, task in self._calls.pop(call_id, {}).items():
            task.cancel()
            self._client.unsubscribe(uri)

    async def _follow(self, content: ToolResultSubagentContent) -> None:
        whose = f"{content.agent_name or 'another agent'} ({content.title})"
        below = Subagents(self._client, self._tell, self._followed | {content.resource})
        try:
            session = await self._client.open_session(content.resource)
            async with contextlib.aclosing(session.turns()) as turns:
                async for turn in turns:
                    async for event in turn:
                        below.heard(event)
                        if isinstance(event, _ABOUT_QUESTIONS):
                            self._tell(SubagentEvent(session, whose, event))
        except SeraiError:
            pass  # it is gone; its call tells what came of it
        finally:
            below.close()
