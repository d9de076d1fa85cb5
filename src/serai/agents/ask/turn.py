"""One turn of a session while it runs: its events, its result, and why it is stopped."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from serai.acp import Failure, Finished, Item, PromptTurn, RawUpdate, UsageUpdate
from serai.agents.ask.costs import Meter
from serai.agents.ask.events import (
    AskResult,
    Event,
    ModeChanged,
    RawEvent,
    TextAdded,
    ThinkingAdded,
    ToolCalled,
    ToolChanged,
    UsageChanged,
    event_of,
)
from serai.agents.ask.permissions import PermissionAsked
from serai.agents.ask.tools import ToolFilter, ToolUse, ToolUses
from serai.errors import SeraiError

__all__ = ["AskedMark", "BeginMark", "Gathering", "RunningTurn", "take_rest"]


class Gathering:
    """Collects what an agent says in one turn.

    Args:
        agent: The agent's name.
        session_id: The session's id.
    """

    def __init__(self, agent: str, session_id: str) -> None:
        self.uses = ToolUses()
        self._agent = agent
        self._session_id = session_id
        self._began = time.monotonic()
        self._messages: list[list[str]] = []
        self._message_id: str | None = None
        self._is_apart = True
        self._thinking: list[str] = []

    def add(self, event: Event) -> None:
        """Something has happened."""
        match event:
            case TextAdded(text, message_id):
                if self._is_apart or (message_id and self._message_id and message_id != self._message_id):
                    self._messages.append([])
                    self._is_apart = False
                self._message_id = message_id
                self._messages[-1].append(text)
            case ThinkingAdded(text):
                self._thinking.append(text)
            case ToolCalled():
                self._is_apart = True
            case _:
                pass

    def result(
        self,
        finished: Finished,
        *,
        dropped: tuple[str, ...] = (),
        usage: UsageUpdate | None = None,
        cost_usd: float | None = None,
    ) -> AskResult:
        """What came of it.

        Args:
            finished: How the turn ended.
            dropped: The types of parts that were left out of the prompt.
            usage: What the agent told last of its context window and the session's cost.
            cost_usd: What the turn has cost.
        """
        messages = ("".join(pieces) for pieces in self._messages)
        return AskResult(
            messages=tuple(message for message in messages if message),
            thinking="".join(self._thinking),
            stop_reason=finished.stop_reason,
            agent=self._agent,
            session_id=self._session_id,
            duration=time.monotonic() - self._began,
            tool_uses=tuple(self.uses),
            dropped=dropped,
            usage=finished.usage,
            context_used=usage.used if usage else None,
            context_size=usage.size if usage else None,
            cost=usage.cost if usage else None,
            cost_usd=cost_usd,
            raw=finished.raw,
        )


# Two things that are no updates take their place among them, so that they are met in their order. They have
# types of their own: no agent can tell anything that is taken for one.


class BeginMark(RawUpdate):
    """Stands where the turn began: what comes before belongs to no answer."""

    def __init__(self) -> None:
        super().__init__("", {})


class AskedMark(RawUpdate):
    """Stands where the agent asked for permission."""

    def __init__(self, asked: PermissionAsked) -> None:
        super().__init__("", {"asked": asked})


class RunningTurn:
    """Takes what happens in a turn, item after item.

    Args:
        gathering: Collects the result.
        meter: Counts what it costs.
        tools: Which tools may be used.
        mode: The mode that the session was in when that was last told.
        is_asking: Whether whoever follows the events is to answer what the agent asks permission for.
        warn: Is told what could not be done.
    """

    def __init__(
        self,
        gathering: Gathering,
        meter: Meter,
        tools: ToolFilter | None,
        *,
        mode: str | None,
        is_asking: bool,
        warn: Callable[[str], None],
    ) -> None:
        self.gathering = gathering
        self.mode = mode
        self.is_asking = is_asking
        self.end: Finished | Failure | None = None
        """How it ended, once that has been taken."""
        self.verdict: SeraiError | None = None
        """Why it was stopped, when it was not the caller who did."""
        self._turn: PromptTurn | None = None
        self._meter = meter
        self._tools = tools
        self._warn = warn
        self._began = False
        self._asked: dict[str, ToolUse] = {}  # by their ids, as they were judged
        self._noticed: set[str] = set()

    @property
    def was_sent(self) -> bool:
        """Whether the agent has got the prompt."""
        return self._turn is not None

    @property
    def dropped(self) -> tuple[str, ...]:
        """The types of parts that were left out of the prompt."""
        return self._turn.dropped if self._turn is not None else ()

    @property
    def has_used_tools(self) -> bool:
        """Whether the agent has told of a tool call: it may have changed something."""
        return any(True for _ in self.gathering.uses)

    def sent(self, turn: PromptTurn) -> None:
        """The prompt has been sent."""
        self._turn = turn

    def cancel(self) -> None:
        """Tell the agent to stop, once."""
        if self._turn is not None:
            self._turn.cancel()

    def stop(self, verdict: SeraiError) -> None:
        """Stop the turn: this is what it fails with."""
        self.verdict = self.verdict or verdict
        self.cancel()

    def take(self, item: Item) -> Event | None:
        """The event that an item is; `None` for its beginning, its end, and what has been told already.

        A permission that is asked for has to be `reach`ed.
        """
        match item:
            case Finished() | Failure():
                self.end = item
                return None
            case BeginMark():
                self._began = True
                return None
            case AskedMark():
                return self._take_asked(item.data)
            case _:
                event = event_of(item, self.gathering.uses)
        if self._began:
            self.gathering.add(event)
        elif isinstance(event, TextAdded | ThinkingAdded):
            event = RawEvent(item)  # nobody has asked yet: it is no part of the answer
        if isinstance(event, UsageChanged) and event.cost is not None and self._meter.observe(event.cost):
            self.stop(self._meter.tracker.exceeded())
        if isinstance(event, ToolCalled | ToolChanged):
            self._look_at(event)
        if isinstance(event, ModeChanged):
            if event.mode_id == self.mode:
                return None  # it was set from here, and the agent tells it once more
            self.mode = event.mode_id
        return event

    def _take_asked(self, data: dict[str, Any]) -> PermissionAsked:
        asked: PermissionAsked = data["asked"]
        use, is_new = self.gathering.uses.take(asked.request.tool_call, asked=True)
        if is_new:
            self.gathering.add(ToolCalled(use))
        self._asked[use.id] = use
        asked.call = use
        asked.turn = self._turn
        return asked

    def _look_at(self, event: ToolCalled | ToolChanged) -> None:
        """Notice a tool that is used though it may not be: nobody could say no to what nobody was asked."""
        call = event.call
        if self._tools is None or call.status == "pending" or call.id in self._noticed:
            return
        judged = self._asked.get(call.id)
        if judged is not None and self._tools.refuses(judged):
            return  # it was denied, and that was told
        if reason := self._tools.refuses(call):
            self._noticed.add(call.id)
            how = "without asking" if judged is None else "otherwise than it was asked for"
            self._warn(f"A tool was used {how}: {call.title or call.id} ({call.kind}) — {reason}.")


_log = logging.getLogger(__name__)


async def take_rest(running: RunningTurn, rest: AsyncGenerator[Item, None]) -> None:
    """Take all up to the turn's end, so that the next begins at its own. Who asks is answered by nobody here.

    Args:
        running: The turn.
        rest: What comes.
    """
    async with aclosing(rest) as items:
        async for item in items:
            try:
                event = running.take(item)
            except Exception:  # noqa: BLE001 - a callback: the end has to be met all the same
                _log.exception("something in the rest of a turn was not dealt with")
                continue
            if running.end is not None:
                break
            if isinstance(event, PermissionAsked):
                event.reach(is_for_stream=False)
