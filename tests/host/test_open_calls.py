"""What becomes of tool calls that are open when their turn ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from harness.conversation import Conversation, calls, frame
from hosts import WITHIN
from serai.ahp.actions import SessionToolCallCompleteAction
from serai.ahp.types import (
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallResult,
    ToolCallRunningState,
    ToolCallState,
    ToolResultTextContent,
    Turn,
    UserMessage,
)
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.tool_call import ToolCall
from serai.host.turn import Turn as HostTurn
from serai.store.memory import MemoryStore

NOT_NEEDED = "not-needed"
HALF = ToolResultTextContent(text="half")


async def begun(turn: HostTurn, *, client_id: str | None = None) -> ToolCall:
    call = await turn.tool("bash", "Run", message="make", confirmed=NOT_NEEDED, client_id=client_id)
    call.show(HALF)
    return call


async def answer(turn: HostTurn) -> None:
    """Do as the message says, and then end as its last word says."""
    call, _, then = turn.message.text.partition(" ")
    match call:
        case "runs":
            await begun(turn)
        case "lent":
            await begun(turn, client_id="tester")
        case "done":
            await (await begun(turn)).done("made", text="all")
        case "streams":
            turn.begin_call("bash", "Run").grow("{")
        case "asked" | "offered":
            owner = "tester" if call == "offered" else None
            await turn.tool("bash", "Run", message="make", client_id=owner)
        case "reasked":
            await (await begun(turn)).ready(message="make more")
        case "result":
            await (await begun(turn)).done("made", text="all", confirm_result=True)
        case _:
            pass
    if then == "fails":
        raise ValueError("out of flour")
    if then != "completes":
        await asyncio.Event().wait()


class Kitchen:
    """A host whose store outlives it."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.host = self._make()

    def _make(self) -> Host:
        return Host(self.store, [CallbackHarness("cook", answer)], frame)

    async def restart(self, talk: Conversation, *, killed: bool) -> Conversation:
        """End the host, and bring the session back on the next one."""
        await self.host.journal.committed()
        if killed:
            self.store.crash()
        await self.host.close()
        self.host = self._make()
        await self.host.open()
        session = await self.host.sessions.bring(talk.session.uri)
        assert session is not None
        return Conversation(self.host, session)


@pytest.fixture
async def kitchen() -> AsyncIterator[Kitchen]:
    kitchen = Kitchen()
    await kitchen.host.open()
    async with asyncio.timeout(WITHIN):
        yield kitchen
    await kitchen.host.close()


async def ended(
    kitchen: Kitchen, call: str, how: str, status: type[ToolCallState]
) -> tuple[Turn, Conversation]:
    """A turn that ends with a call that is open, in one way or another."""
    talk = await Conversation.begin(kitchen.host, "cook")
    talk.start(f"{call} {how}")
    if how in ("completes", "fails"):
        return await talk.end(), talk
    await talk.call(status)
    if status is ToolCallRunningState:
        await talk.heard("session/toolCallContentChanged")
    if how == "cancelled":
        talk.cancel()
    else:
        talk = await kitchen.restart(talk, killed=how == "killed")
    turn = talk.session.live.head.turns[-1]
    await talk.host.journal.committed()
    return turn, talk


ENDS = ["completes", "fails", "cancelled", "stopped", "killed"]
STATES = dict(zip(ENDS, ["complete", "error", "cancelled", "error", "error"], strict=True))


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize(("call", "who"), [("runs", "agent"), ("lent", "client")])
async def test_a_call_that_ran_has_failed_and_keeps_what_it_had(
    kitchen: Kitchen, call: str, who: str, how: str
) -> None:
    turn, _ = await ended(kitchen, call, how, ToolCallRunningState)
    [over] = calls(turn)
    assert turn.state == STATES[how]
    assert isinstance(over, ToolCallCompletedState)
    assert (over.success, over.content, over.past_tense_message) == (False, [HALF], "make")
    assert over.error is not None
    assert (over.error.message, over.error.code) == (
        f"the {who} did not tell how this ended",
        "outcome_unknown",
    )


@pytest.mark.parametrize(("call", "client"), [("asked", "tester"), ("offered", "another")])
async def test_a_call_that_waits_for_a_yes_is_not_completed_by_a_client_that_does_not_run_it(
    kitchen: Kitchen, call: str, client: str
) -> None:
    talk = await Conversation.begin(kitchen.host, "cook")
    turn_id = talk.start(f"{call} completes")
    asked = await talk.pending()
    result = ToolCallResult(success=True, past_tense_message="made")
    done = SessionToolCallCompleteAction(turn_id=turn_id, tool_call_id=asked.tool_call_id, result=result)
    talk.dispatch(done, client)
    await talk.until(lambda: talk.rejections)
    assert talk.rejections[0].startswith("not_owner: ")
    assert await talk.pending() == asked
    await talk.approve()  # the agent has waited for this, and not for a result that nobody may give
    assert (await talk.end()).state == "complete"


async def test_that_is_told_before_the_end_of_the_turn(kitchen: Kitchen) -> None:
    _, talk = await ended(kitchen, "runs", "cancelled", ToolCallRunningState)
    kinds = [action["type"].removeprefix("session/") for action in talk.actions]
    assert kinds[kinds.index("toolCallContentChanged") + 1 :][:2] == ["toolCallComplete", "turnCancelled"]


@pytest.mark.parametrize("how", ENDS)
async def test_a_call_that_had_ended_is_as_it_was(kitchen: Kitchen, how: str) -> None:
    turn, _ = await ended(kitchen, "done", how, ToolCallCompletedState)
    [over] = calls(turn)
    assert isinstance(over, ToolCallCompletedState)
    assert (over.success, over.content) == (True, [ToolResultTextContent(text="all")])


@pytest.mark.parametrize("how", ["cancelled", "stopped", "killed"])
@pytest.mark.parametrize(
    ("call", "status"), [("streams", ToolCallState), ("asked", ToolCallPendingConfirmationState)]
)
async def test_a_call_that_did_not_begin_was_skipped(
    kitchen: Kitchen, call: str, status: Any, how: str
) -> None:
    turn, _ = await ended(kitchen, call, how, status)
    [over] = calls(turn)
    assert isinstance(over, ToolCallCancelledState)
    assert over.reason == "skipped"


async def test_a_call_that_ran_and_was_asked_about_again_was_not_skipped(kitchen: Kitchen) -> None:
    turn, _ = await ended(kitchen, "reasked", "cancelled", ToolCallPendingConfirmationState)
    [over] = calls(turn)
    assert isinstance(over, ToolCallCompletedState)
    assert (over.success, over.content) == (False, [HALF])


@pytest.mark.parametrize("how", ["cancelled", "stopped", "killed"])
async def test_a_result_that_nobody_has_allowed_is_denied_and_not_skipped(kitchen: Kitchen, how: str) -> None:
    turn, _ = await ended(kitchen, "result", how, ToolCallPendingResultConfirmationState)
    [over] = calls(turn)
    assert isinstance(over, ToolCallCancelledState)
    assert over.reason == "result-denied"


async def test_a_call_that_ran_has_failed_also_in_a_session_that_is_disposed_of(kitchen: Kitchen) -> None:
    talk = await Conversation.begin(kitchen.host, "cook")
    talk.start("runs on")
    await talk.heard("session/toolCallContentChanged")
    await kitchen.host.dispose(talk.session.uri)
    [over] = calls(talk.session.live.head.turns[-1])
    assert isinstance(over, ToolCallCompletedState)


async def test_a_call_that_ran_has_failed_also_when_the_agent_above_is_cancelled(kitchen: Kitchen) -> None:
    talk = await Conversation.begin(kitchen.host, "cook")
    waiting = asyncio.create_task(talk.session.turns.converse(UserMessage(text="runs on"), "above"))
    await talk.heard("session/toolCallContentChanged")
    waiting.cancel()
    await asyncio.wait({waiting})
    [over] = calls(talk.session.live.head.turns[-1])
    assert isinstance(over, ToolCallCompletedState)
