"""One turn: while it runs in its session (`RunningTurn`), and as a stream of events (`AgentStream`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Self, TypeAlias

from serai.acp import updates
from serai.acp.prompt import Finished, Item, Mark, PromptFailure, PromptTurn
from serai.acp.session import AcpSession
from serai.acp.tool_calls import AgentToolCall, ToolCalls
from serai.agents.ask.costs import Meter
from serai.agents.ask.events import (
    AskResult,
    CommandsChanged,
    Event,
    ModeChanged,
    OptionsChanged,
    PlanChanged,
    RawEvent,
    SessionInfoChanged,
    TextAdded,
    ThinkingAdded,
    ToolCalled,
    ToolChanged,
    TurnFinished,
    UsageChanged,
)
from serai.agents.ask.permissions import PermissionAsked, ToolFilter
from serai.agents.ask.start import Closing
from serai.errors import SeraiError

__all__ = ["AgentStream"]

Events: TypeAlias = AsyncGenerator[Event, None]
_AHEAD = 64
"""Number of events that may wait to be taken, before the turn waits."""


class Cancelling:
    """A request to cancel a turn, also before it has begun."""

    def __init__(self) -> None:
        self.is_wanted = False
        self._stop: Callable[[], None] | None = None

    def want(self) -> None:
        """Cancel the turn, now or as soon as it begins."""
        self.is_wanted = True
        if self._stop is not None:
            self._stop()

    def began(self, stop: Callable[[], None]) -> None:
        """Note that the turn has begun, and how to stop it."""
        self._stop = stop
        if self.is_wanted:
            stop()


class AgentStream(Closing):
    """The events of one turn, the last of which is `TurnFinished`. Iterate it, or `await stream.result()`.

    Nothing is sent before that. The turn then runs in a task of its own, a little ahead of its consumer. Use
    `async with` when you may stop early: leaving the block, or `close`, cancels the turn and ends the
    iteration in another task; cancelling the consumer does the same.
    """

    def __init__(self, begin: Callable[[Cancelling], Events]) -> None:
        self._cancelling = Cancelling()
        self._turn = begin(self._cancelling)
        self._events = asyncio.Queue[Event | Exception | None]()
        self._task: asyncio.Task[None] | None = None
        self._result: AskResult | None = None
        self._error: Exception | None = None
        self._is_closed = False

    def cancel(self) -> None:
        """Tell the agent to stop, once. The stream ends once it has stopped, as `cancelled`."""
        self._cancelling.want()

    async def result(self) -> AskResult:
        """Take the remaining events, and return the turn's result. Again gives the same.

        Cancelling it cancels the turn.

        Raises:
            SeraiError: The turn has failed.
        """
        try:
            async for _ in self:
                pass
        finally:
            await self.close()
        if self._result is None:
            raise self._error or RuntimeError("the stream was closed before its end")
        return self._result

    async def _close(self) -> None:
        was_closed, self._is_closed = self._is_closed, True
        if self._task is not None:
            if not was_closed:
                self._task.cancel()
            await asyncio.wait([self._task])

    aclose = Closing.close
    """The same, under the name that `contextlib.aclosing` needs."""

    def __del__(self) -> None:
        if self._task is not None:  # the task does not refer to the stream, so an abandoned one ends, too
            self._task.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._is_closed:
            raise StopAsyncIteration
        if self._task is None:
            self._task = asyncio.create_task(_queue_events(self._turn, self._events))
        try:
            item = await self._events.get()
        except asyncio.CancelledError:
            await self.close()
            raise
        self._events.task_done()
        if isinstance(item, TurnFinished):
            self._result = item.result
        elif not isinstance(item, Exception | None) and not self._is_closed:
            return item
        else:
            self._is_closed = True
            self._events.put_nowait(None)  # for other consumers
            self._error = item if isinstance(item, Exception) else None
            raise self._error or StopAsyncIteration
        return item


async def _queue_events(turn: Events, queue: asyncio.Queue[Event | Exception | None]) -> None:
    """Follow a turn to its end, and queue its events."""
    end: Exception | None = None
    try:
        async with aclosing(turn):
            async for event in turn:
                queue.put_nowait(event)
                if queue.qsize() >= _AHEAD:
                    await queue.join()
    except Exception as error:  # noqa: BLE001 - the consumer gets any error
        end = error
    finally:
        queue.put_nowait(end)


class RunningTurn:
    """Takes the items of a turn, one after the other."""

    def __init__(
        self, meter: Meter, tools: ToolFilter | None, warn: Callable[[str], None], *, is_asking: bool
    ) -> None:
        self.is_asking = is_asking
        """True if the stream's consumer answers the agent's questions."""
        self.turn: PromptTurn | None = None
        """The prompt, once it was sent."""
        self.end: Finished | PromptFailure | None = None
        """The end of the turn, once it was taken."""
        self.verdict: SeraiError | None = None
        """The reason why the turn was stopped, if the caller did not stop it."""
        self.calls = ToolCalls()
        self._meter = meter
        self._tools = tools
        self._warn = warn
        self._since = time.monotonic()
        self._has_begun = False
        self._messages: list[list[str]] = []
        self._message_id: str | None = None
        self._is_apart = True
        self._thinking: list[str] = []
        self._judged: dict[str, AgentToolCall] = {}  # by their ids, as in their questions
        self._noticed: set[str] = set()

    def cancel(self) -> None:
        """Tell the agent to stop, once."""
        if self.turn is not None and self.turn.outcome is None:  # else it would stop the next one
            self.turn.cancel()

    def stop(self, verdict: SeraiError) -> None:
        """Stop the turn. It fails with this error."""
        self.verdict = self.verdict or verdict
        self.cancel()

    def take(self, item: Item) -> Event | None:
        """Take an item, and return its event; `None` for the turn's beginning and end."""
        match item:
            case Finished() | PromptFailure():
                self.end = item
                return None
            case Mark(PermissionAsked() as asked):
                return self._asked(asked)
            case Mark():
                self._has_begun = True
                return None
            # Text before the prompt is no part of the answer.
            case updates.AgentMessageChunk(text=str(text)) if self._has_begun:
                self._say(text, item.message_id)
                return TextAdded(text, item.message_id)
            case updates.AgentThoughtChunk(text=str(text)) if self._has_begun:
                self._thinking.append(text)
                return ThinkingAdded(text, item.message_id)
            case updates.ToolCall() | updates.ToolCallUpdate():
                change = self.calls.update(item)
                self._is_apart = self._is_apart or change.before is None
                self._look_at(change.call)
                return ToolCalled(change.call) if change.before is None else ToolChanged(change.call)
            case UsageChanged(cost=updates.Cost() as cost):
                if self._meter.observe(cost):
                    self.stop(self._meter.tracker.exceeded())
                return item
            case (
                PlanChanged()
                | ModeChanged()
                | CommandsChanged()
                | OptionsChanged()
                | SessionInfoChanged()
                | UsageChanged()
            ):
                return item
            case _:
                return RawEvent(item)

    def _say(self, text: str, message_id: str | None) -> None:
        if self._is_apart or (message_id and self._message_id and message_id != self._message_id):
            self._messages.append([])
            self._is_apart = False
        self._message_id = message_id
        self._messages[-1].append(text)

    def answered(self, asked: PermissionAsked) -> None:
        """Note the answer to a question of the agent, or that there is none."""
        if asked.call.key:
            option = asked.chosen
            approved = None if option is None else option.kind.startswith("allow")
            self.calls.answer(asked.call.key, approved=approved)

    def result(self, session: AcpSession, finished: Finished) -> AskResult:
        """Return the result of the turn, once it has finished."""
        usage = session.usage
        messages = ("".join(pieces) for pieces in self._messages)
        return AskResult(
            messages=tuple(message for message in messages if message),
            thinking="".join(self._thinking),
            stop_reason=finished.stop_reason,
            agent=session.agent.name,
            session_id=session.id,
            duration=time.monotonic() - self._since,
            tool_uses=tuple(self.calls),
            dropped=self.turn.dropped if self.turn is not None else (),
            usage=finished.usage,
            context_used=usage.used if usage else None,
            context_size=usage.size if usage else None,
            cost=usage.cost if usage else None,
            raw=finished.raw,
        )

    def _asked(self, asked: PermissionAsked) -> PermissionAsked:
        change = self.calls.ask(asked.request.tool_call)
        self._is_apart = self._is_apart or change.before is None
        self._judged[change.call.id] = asked.call = change.call
        asked.reached.set()
        return asked

    def _look_at(self, call: AgentToolCall) -> None:
        """Warn of a refused tool that is used without asking."""
        if self._tools is None or call.status == "pending" or call.key in self._noticed:
            return
        judged = self._judged.get(call.id)
        if judged is not None and self._tools.refuses(judged):
            return  # it was denied, with a warning
        if reason := self._tools.refuses(call):
            self._noticed.add(call.key)
            how = "without asking" if judged is None else "otherwise than it was asked for"
            self._warn(f"A tool was used {how}: {call.title or call.id} ({call.kind}) — {reason}.")
