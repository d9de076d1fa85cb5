"""What tool calls show elsewhere: in terminals, in content that the host keeps, in sessions of subagents."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from serai.ahp.types import (
    URI,
    ToolResultContent,
    ToolResultResourceContent,
    ToolResultSubagentContent,
    ToolResultTerminalContent,
)
from serai.client import (
    Client,
    QuestionAsked,
    QuestionClosed,
    ResultWaiting,
    SessionClient,
    TerminalOutput,
    ToolFinished,
    ToolRunning,
    ToolWaiting,
    TurnEnded,
    TurnEvent,
)
from serai.errors import SeraiError

__all__ = ["CallOutput", "CallOutputs", "SubagentEvent", "Subagents"]

# How long the end of a call waits for what it has shown elsewhere.
_PATIENCE = 2.0
_MOST_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class CallOutput:
    """More of what a call shows."""

    call_id: str
    text: str
    is_live: bool
    """Whether it comes bit by bit, while the call runs."""


class CallOutputs:
    """Follows the terminals of tool calls while they run, and fetches what was too long for the session.

    Args:
        tell: Is called with what there is to show.
    """

    def __init__(self, client: Client, tell: Callable[[CallOutput], None]) -> None:
        self._client = client
        self._tell = tell
        # By call: what it shows elsewhere, and who gets that.
        self._calls: dict[str, dict[URI, asyncio.Task[None]]] = {}
        self._leave: dict[str, list[Callable[[], None]]] = {}

    async def before(self, event: TurnEvent) -> None:
        """Call it with each event of a turn before that is shown. What belongs before it is told first."""
        match event:
            case ToolRunning(call=call):
                self._begin(call.tool_call_id, call.content, is_live=True)
            case ToolFinished(call=call) | ResultWaiting(call=call):
                self._begin(call.tool_call_id, getattr(call, "content", None), is_live=False)
                tasks = self._calls.get(call.tool_call_id, {}).values()
                if tasks:
                    await asyncio.wait(tasks, timeout=_PATIENCE)
                if isinstance(event, ToolFinished):
                    self._end(call.tool_call_id)
            case TurnEnded():
                self.close()
            case _:
                pass

    def close(self) -> None:
        """Follow nothing any more."""
        for call_id in list(self._calls):
            self._end(call_id)

    def _begin(self, call_id: str, content: list[ToolResultContent] | None, *, is_live: bool) -> None:
        for one in content or ():
            match one:
                case ToolResultTerminalContent(resource=uri):
                    work = partial(self._follow, is_live=is_live)
                case ToolResultResourceContent(uri=uri) if _is_readable(one):
                    work = self._fetch
                case _:
                    continue
            known = self._calls.setdefault(call_id, {})
            if uri not in known:
                known[uri] = asyncio.create_task(work(call_id, uri))

    def _end(self, call_id: str) -> None:
        for task in self._calls.pop(call_id, {}).values():
            task.cancel()
        for leave in self._leave.pop(call_id, []):
            leave()

    async def _follow(self, call_id: str, uri: URI, *, is_live: bool) -> None:
        """Returns when what is on the terminal has been told. What comes is told until the call ends."""
        try:
            terminal = await self._client.open_terminal(uri)
        except SeraiError:
            return  # terminals do not stay for ever; the result of the call does

        def tell(output: TerminalOutput) -> None:
            self._tell(CallOutput(call_id, output.text, is_live))

        stop = terminal.listen(tell, lambda _error: None)
        self._leave.setdefault(call_id, []).extend([stop, terminal.leave])

    async def _fetch(self, call_id: str, uri: URI) -> None:
        with contextlib.suppress(SeraiError):  # its address is shown in any case
            data = await self._client.read(uri)
            self._tell(CallOutput(call_id, data.decode(errors="replace"), is_live=False))


def _is_readable(content: ToolResultResourceContent) -> bool:
    is_text = (content.content_type or "").startswith("text/")
    return is_text and (content.size_hint or 0) <= _MOST_BYTES


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
