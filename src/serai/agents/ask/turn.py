"""One turn: while it runs, for its session (`RunningTurn`), and as a program follows it (`AgentStream`)."""

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
"""How many events may wait for whoever takes them, before the turn does."""


class Cancelling:
    """The wish that a turn be stopped, also before it has begun."""

    def __init__(self) -> None:
        self.is_wanted = False
        self._stop: Callable[[], None] | None = None

    def want(self) -> None:
        """Stop it, now or as soon as it begins."""
        self.is_wanted = True
        if self._stop is not None:
            self._stop()

    def began(self, stop: Callable[[], None]) -> None:
        """It has begun; this is how it is stopped."""
        self._stop = stop
        if self.is_wanted:
            stop()


class AgentStream(Closing):
    """The events of one turn, the last of which is `TurnFinished`. Iterate it, or `await stream.result()`.

    Nothing is sent before someone does. The turn then runs in a task of its own, a little ahead of whoever
    takes the events. Use `async with` where you may stop early: leaving the block cancels the turn, and so
    does cancelling who iterates.
    """

    def __init__(self, begin: Callable[[Cancelling], Events]) -> None:
        self._cancelling = Cancelling()
        self._turn = begin(self._cancelling)
        self._told = asyncio.Queue[Event | Exception | None]()
        self._task: asyncio.Task[None] | None = None
        self._result: AskResult | None = None
        self._error: Exception | None = None
        self._is_closed = False

    def cancel(self) -> None:
        """Tell the agent to stop, once. The stream goes on until it has: then it was `cancelled`."""
        self._cancelling.want()

    async def result(self) -> AskResult:
        """What came of the turn, after taking all events that nobody has taken. Asking again gives the same.

        Cancelling it cancels the turn.

        Raises:
            SeraiError: What the turn has failed with.
        """
        try:
            async for _ in self:
                pass
        finally:
            await self.close()
        if self._result is None:
            raise self._error or RuntimeError("the stream was closed before its end")
        return self._result

    async def close(self) -> None:
        """Be done with it. A turn that runs is cancelled. Again does no harm.

        Another task that waits for the next event meets the end of the stream. When this is cancelled, the
        turn ends all the same.
        """
        was_closed, self._is_closed = self._is_closed, True
        if self._task is not None:
            if not was_closed:
                self._task.cancel()
            await asyncio.wait([self._task])

    aclose = close
    """The same, by the name that `contextlib.aclosing` looks for."""

    def __del__(self) -> None:
        if self._task is not None:  # it does not know the stream: one that is forgotten ends as well
            self._task.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._is_closed:
            raise StopAsyncIteration
        if self._task is None:
            self._task = asyncio.create_task(_tell(self._turn, self._told))
        try:
            told = await self._told.get()
        except asyncio.CancelledError:
            await self.close()
            raise
        self._told.task_done()
        if isinstance(told, TurnFinished):
            self._result = told.result
        elif not isinstance(told, Exception | None) and not self._is_closed:
            return told
        else:
            self._is_closed = True
            self._told.put_nowait(None)  # for others who wait
            self._error = told if isinstance(told, Exception) else None
            raise self._error or StopAsyncIteration
        return told


async def _tell(turn: Events, told: asyncio.Queue[Event | Exception | None]) -> None:
    """Follow a turn to its end, and tell what happens."""
    end: Exception | None = None
    try:
        async with aclosing(turn):
            async for event in turn:
                told.put_nowait(event)
                if told.qsize() >= _AHEAD:
                    await told.join()
    except Exception as error:  # noqa: BLE001 - whoever takes the events is told, whatever it is
        end = error
    finally:
        told.put_nowait(end)


class RunningTurn:
    """Takes what happens in a turn, item after item."""

    def __init__(
        self, meter: Meter, tools: ToolFilter | None, warn: Callable[[str], None], *, is_asking: bool
    ) -> None:
        self.is_asking = is_asking
        """Whether someone follows who is to answer the agent's questions."""
        self.turn: PromptTurn | None = None
        """The prompt, once it was sent."""
        self.end: Finished | PromptFailure | None = None
        """How it ended, once that has been taken."""
        self.verdict: SeraiError | None = None
        """Why it was stopped, when it was not the caller who did."""
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
        self._judged: dict[str, AgentToolCall] = {}  # by their ids, as they were asked about
        self._noticed: set[str] = set()

    def cancel(self) -> None:
        """Tell the agent to stop, once."""
        if self.turn is not None and self.turn.outcome is None:  # else it would stop the next one
            self.turn.cancel()

    def stop(self, verdict: SeraiError) -> None:
        """Stop the turn: this is what it fails with."""
        self.verdict = self.verdict or verdict
        self.cancel()

    def take(self, item: Item) -> Event | None:
        """The event that an item is; `None` for the turn's beginning and its end."""
        match item:
            case Finished() | PromptFailure():
                self.end = item
                return None
            case Mark(PermissionAsked() as asked):
                return self._asked(asked)
            case Mark():
                self._has_begun = True
                return None
            # What is said before anyone has asked is no part of the answer.
            case updates.AgentMessageChunk(text=str(text)) if self._has_begun:
                self._say(text, item.message_id)
                return TextAdded(text, item.message_id)
            case updates.AgentThoughtChunk(text=str(text)) if self._has_begun:
                self._thinking.append(text)
                return ThinkingAdded(text, item.message_id)
            case updates.ToolCall() | updates.ToolCallUpdate():
                change = self.calls.update(item)
                self._is_apart = self._is_apart or change.is_new
                self._look_at(change.call)
                return ToolCalled(change.call) if change.is_new else ToolChanged(change.call)
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
        """The agent's question has its answer, or none."""
        if asked.call.key:
            option = asked.chosen
            approved = None if option is None else option.kind.startswith("allow")
            self.calls.answer(asked.call.key, approved=approved)

    def result(self, session: AcpSession, finished: Finished) -> AskResult:
        """Return what came of it, once it has finished."""
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
        self._is_apart = self._is_apart or change.is_new
        self._judged[change.call.id] = asked.call = change.call
        asked.reached.set()
        return asked

    def _look_at(self, call: AgentToolCall) -> None:
        """Warn of a tool that is used though it may not be: nobody could say no to what nobody was asked."""
        if self._tools is None or call.status == "pending" or call.key in self._noticed:
            return
        judged = self._judged.get(call.id)
        if judged is not None and self._tools.refuses(judged):
            return  # it was denied, and that was told
        if reason := self._tools.refuses(call):
            self._noticed.add(call.key)
            how = "without asking" if judged is None else "otherwise than it was asked for"
            self._warn(f"A tool was used {how}: {call.title or call.id} ({call.kind}) — {reason}.")
