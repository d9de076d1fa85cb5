"""One turn with an agent: its updates become actions of the turn, until it has finished."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from serai.acp import updates as acp
from serai.acp.prompt import Finished, Item
from serai.acp.shapes import is_amount, is_object, text_of
from serai.ahp.extensions import SESSION_COST
from serai.ahp.types import Markdown, UsageInfo, UserMessage
from serai.contract import Delivered, Failed, MessageReceipt
from serai.harness.acp.call_actions import TurnCalls
from serai.harness.acp.content import bytes_of, in_words
from serai.host.turn import Turn

if TYPE_CHECKING:
    from serai.harness.acp.session import AcpAgentSession

PLAN = "serai.plan"
"""Key in a session's `_meta`: the agent's plan, as a list of `content`, `priority` and `status`."""
_CONTEXT = "serai.context"
"""Key in a turn's usage: the context window's `used` and `size`."""

_STOPPED = {
    "max_tokens": "The agent stopped: its model may not say more in one answer.",
    "max_turn_requests": "The agent stopped: it may not ask its model more often in one turn.",
    "refusal": "The agent refused to go on.",
    "cancelled": "The agent ended the turn as cancelled.",
}
_CHUNKS = (acp.AgentMessageChunk, acp.AgentThoughtChunk)
OF_A_TURN = (*_CHUNKS, acp.UserMessageChunk, acp.ToolCall, acp.ToolCallUpdate, acp.PlanUpdate)
"""The updates that belong to a prompt. Others may come at any time."""


class RunningPrompt:
    """One prompt, which carries a delivery, and the turn that gets the answer."""

    def __init__(self, session: AcpAgentSession, turn: Turn, message: UserMessage, delivery_id: str) -> None:
        loop = asyncio.get_running_loop()
        self.turn = turn
        self.message = message
        self.done: asyncio.Future[Finished] = loop.create_future()
        """The end of the prompt, once all earlier items are in the turn."""
        self.receipt: asyncio.Future[MessageReceipt] = loop.create_future()
        """The receipt of the message, as soon as it is known."""
        self.sent = False
        """True once the prompt was sent to the agent."""
        self.calls = TurnCalls(session, turn)
        self._delivery_id = delivery_id
        self._seat = session.seat
        self._part: tuple[type, str | None] | None = None
        """The current part: a message or a thought, and its id."""
        self._text: list[str] = []
        self._plan: str | None = None
        self._shown_plan: str | None = None
        self._usage: dict[str, Any] = {}

    def takes(self, item: Item) -> bool:
        """Append to the gathering text, as most updates do. Returns whether the item was such text."""
        if (
            self._text
            and isinstance(item, _CHUNKS)
            and (type(item), item.message_id) == self._part
            and (text := item.text) is not None
        ):
            self._text.append(text)
            return True
        return False

    async def take(self, update: Item) -> None:
        """Take an item."""
        if not self.receipt.done() and isinstance(update, OF_A_TURN):
            self.delivered("the first update")
        if isinstance(update, _CHUNKS):
            await self._say(update)
            return
        self.flush()
        match update:
            case acp.ToolCall() | acp.ToolCallUpdate():
                self._part = None
                await self.calls.updated(update)
            case acp.PlanUpdate():
                self._seat.note(PLAN, [entry for entry in update.entries if is_object(entry)])
                self._plan = _checklist(update.entries)
                if self._shown_plan is None:
                    await self._show_plan()
            case acp.UsageUpdate():
                await self._used(update)
            case _:
                pass

    async def _say(self, chunk: acp.AgentMessageChunk | acp.AgentThoughtChunk) -> None:
        text = chunk.text
        if text is None:
            self.flush()
            await self._show(chunk.content)
            return
        part = type(chunk), chunk.message_id
        if part != self._part:
            self.flush()
            self.turn.apart()
            self._part = part
        self._text.append(text)
        if len(self._text) == 1:
            # What an agent writes in one go becomes one action, in the next step of the loop.
            asyncio.get_running_loop().call_soon(self.flush)
            await self.turn.room()

    def flush(self) -> None:
        """Put the gathered text into the turn."""
        if self._text and self._part is not None:
            text, self._text = "".join(self._text), []
            self.turn.add(text, reasoning=self._part[0] is acp.AgentThoughtChunk)

    async def _show(self, block: dict[str, Any]) -> None:
        """Publish content that is no text."""
        if (text := in_words(block)) is not None:
            await self.turn.say(text)
        elif (data := bytes_of(block)) is not None:
            kind = text_of(block.get("mimeType")) or "application/octet-stream"
            await self.turn.refer(self.turn.keep(data, kind))
        else:
            await self.turn.notice(f"The agent sent content that cannot be shown: {block.get('type')}.")

    async def _show_plan(self) -> None:
        """Publish the plan at its beginning, and at the end of the turn if it has changed."""
        if self._plan and self._plan != self._shown_plan:
            self._part = None
            self._shown_plan = self._plan
            await self.turn.notice(Markdown(markdown=self._plan))

    async def _used(self, update: acp.UsageUpdate) -> None:
        if update.cost is not None:
            self._usage[SESSION_COST] = {"amount": update.cost.amount, "currency": update.cost.currency}
        if update.used is not None:
            self._usage[_CONTEXT] = {"used": update.used, "size": update.size}
        await self._publish_usage({})

    async def _publish_usage(self, tokens: dict[str, Any]) -> None:
        model = self._seat.model
        counts = {name: value for name, value in tokens.items() if is_amount(value)}
        await self.turn.used(
            UsageInfo(
                input_tokens=counts.get("inputTokens"),
                output_tokens=counts.get("outputTokens"),
                cache_read_tokens=counts.get("cachedReadTokens"),
                model=model.id if model else None,
                meta=dict(self._usage) or None,
            )
        )

    async def finish(self, finished: Finished, *, cancelled: bool) -> None:
        """End the turn: the agent has answered the prompt."""
        self.flush()
        if finished.usage:
            await self._publish_usage(finished.usage)
        await self._show_plan()
        if finished.stop_reason != "end_turn" and not cancelled:
            text = _STOPPED.get(finished.stop_reason, f"The agent stopped: {finished.stop_reason}.")
            await self.turn.notice(text)
        await self.calls.end()
        if not self.done.done():
            self.done.set_result(finished)
        self.delivered("the response to the prompt")

    async def fail(self, error: Exception, *, answered: bool) -> None:
        """End the turn with an error. `answered`: the error is the agent's answer, so it had the prompt."""
        self.flush()
        await self.calls.end()
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()  # a cancelled turn does not look at it
        if answered:
            self.delivered("the response to the prompt")
        else:
            self.undelivered("outcome_unknown" if self.sent else str(error))

    def delivered(self, evidence: str) -> None:
        """Give the receipt that the agent has the message."""
        if not self.receipt.done():
            receipt = Delivered(delivery_id=self._delivery_id, metadata={"evidence": evidence})
            self.receipt.set_result(receipt)

    def undelivered(self, reason: str) -> None:
        """Give the receipt that the agent does not have the message, or that this is unknown."""
        if not self.receipt.done():
            self.receipt.set_result(Failed(delivery_id=self._delivery_id, reason=reason))


def _checklist(entries: list[dict[str, Any]]) -> str:
    lines: list[str] = []
    for entry in entries:
        content, status = text_of(entry.get("content")) or "", entry.get("status")
        shown = f"**{content}**" if status == "in_progress" else content
        lines.append(f"- [{'x' if status == 'completed' else ' '}] {shown}")
    return "\n".join(lines)
