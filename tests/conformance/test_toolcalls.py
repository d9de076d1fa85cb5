"""Tool calls, through all of their states."""

from __future__ import annotations

import asyncio
import base64
import itertools
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, calls_of, connecting, text_of
from conformance.conftest import Connect, new_session, over, say
from hosts import House, housing
from requirements import proves
from serai.ahp.types import (
    ToolResultSubagentContent,
    ToolResultTerminalContent,
)
from serai.harness.callback import CallbackHarness
from serai.host.turn import Turn


def calls(client: Client, session: str) -> list[Any]:
    """The tool calls of the running turn, or else of the last one."""
    state = client.session(session)
    return calls_of(state.active_turn or state.turns[-1])


def status(client: Client, session: str) -> str:
    return str(type(calls(client, session)[-1]).__struct_config__.tag)


async def confirm(client: Client, session: str, *, approved: bool = True, **fields: Any) -> int:
    call = calls(client, session)[-1]
    how = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    return await client.dispatch(
        session,
        "toolCallConfirmed",
        turnId="t1",
        toolCallId=call.tool_call_id,
        approved=approved,
        **{**how, **fields},
    )


@proves(
    "ahp:ConfirmationOption/beyond-yes-and-no",
    "ahp:session/toolCallConfirmed/approved/tool-runs-after",
)
async def test_a_call_waits_for_a_yes_and_then_runs(client: Client, session: str) -> None:
    await say(client, session, "tool ls -l")
    assert status(client, session) == "pending-confirmation"
    assert client.session(session).summary.status & 31 == 24
    call = calls(client, session)[0]
    assert [option.id for option in call.options] == ["allow-once", "allow-session", "deny", "deny-suggest"]
    assert [option.group for option in call.options] == [0, 0, 1, 1]
    assert call.editable is True
    assert call.confirmation_title == "Run a command?"
    await confirm(client, session, selectedOptionId="allow-once")
    await over(client, session)
    done = calls(client, session)[0]
    assert status(client, session) == "completed"
    assert (done.success, done.confirmed, done.selected_option.id) == (True, "user-action", "allow-once")
    kinds = [e["action"]["type"] for e in client.envelopes if "/toolCall" in e["action"]["type"]]
    assert kinds == [
        f"session/toolCall{step}" for step in ("Start", "Delta", "Ready", "Confirmed", "Complete")
    ]


@proves("ahp:ToolCallRunningState/live-terminal", "ahp:ToolResultTerminalContent/terminal-can-be-followed")
async def test_the_output_of_a_tool_is_followed_in_its_terminal_before_it_ends(
    client: Client, tmp_path: Path
) -> None:
    session = await new_session(client, workingDirectory=tmp_path.as_uri())
    await say(client, session, "run echo be''gun; read line; echo $line ag''ain")
    await confirm(client, session)
    await client.until(lambda: status(client, session) == "running" and calls(client, session)[-1].content)
    [terminal] = calls(client, session)[-1].content
    assert isinstance(terminal, ToolResultTerminalContent)
    await client.subscribe(terminal.resource)

    def shown() -> str:
        state: Any = client.state.confirmed(terminal.resource)
        return "".join(getattr(part, "value", "") + getattr(part, "output", "") for part in state.content)

    await client.until(lambda: "begun" in shown())
    assert status(client, session) == "running"
    seen = len(client.envelopes)
    await client.dispatch(terminal.resource, "terminal/input", data="once\r")
    await over(client, session)
    await client.until(lambda: "once again" in shown())
    kinds = [e["action"]["type"] for e in client.envelopes[seen:] if e["channel"] == terminal.resource]
    assert "terminal/data" in kinds
    assert terminal in calls(client, session)[-1].content


async def test_a_call_that_is_denied_is_cancelled_with_the_suggestion(client: Client, session: str) -> None:
    await say(client, session, "tool rm -rf /")
    await confirm(
        client,
        session,
        approved=False,
        selectedOptionId="deny-suggest",
        userSuggestion={"text": "look first"},
        reasonMessage="too dangerous",
    )
    turn = await over(client, session)
    call = calls(client, session)[0]
    assert status(client, session) == "cancelled"
    assert (call.reason, call.reason_message) == ("denied", "too dangerous")
    assert call.user_suggestion.text == "look first"
    assert "look first" in text_of(turn)


@proves("ahp:session/toolCallConfirmed/approved/tool-runs-after")
async def test_a_call_runs_with_the_input_as_it_was_edited(client: Client, session: str) -> None:
    await say(client, session, "tool ls")
    await confirm(client, session, editedToolInput='{"command": "pwd"}')
    turn = await over(client, session)
    assert calls(client, session)[0].tool_input == '{"command": "pwd"}'
    assert "`pwd`" in text_of(turn)


async def test_a_tool_that_was_allowed_for_the_session_is_not_asked_about_again(
    house: House, client: Client, session: str
) -> None:
    await say(client, session, "tool ls")
    await confirm(client, session, selectedOptionId="allow-session")
    await over(client, session)
    await say(client, session, "tool pwd", "t2")
    await over(client, session, "t2")
    assert calls(client, session)[0].confirmed == "setting"
    await house.restart()
    async with connecting(house.url, "again") as again:
        await again.initialize(session)
        await say(again, session, "tool date", "t3")
        assert (await over(again, session, "t3")).state == "complete"


async def test_the_first_answer_wins(client: Client, session: str, connect: Connect) -> None:
    other = await connect("other", session)
    await say(client, session, "tool ls")
    await other.until(lambda: other.session(session).summary.status & 16)
    await confirm(client, session, selectedOptionId="allow-once")
    await confirm(other, session, approved=False)
    await over(client, session)
    await over(other, session)
    refused = [e for e in [*client.envelopes, *other.envelopes] if "rejectionReason" in e]
    assert len(refused) == 1
    assert refused[0]["rejectionReason"].startswith("not_pending")
    assert calls(client, session) == calls(other, session)


@pytest.mark.parametrize("approved", [True, False])
async def test_a_result_may_need_a_yes_too(client: Client, session: str, *, approved: bool) -> None:
    await say(client, session, "tool result")
    await confirm(client, session)
    await client.until(lambda: status(client, session) == "pending-result-confirmation")
    assert client.session(session).summary.status & 31 == 24
    call = calls(client, session)[0]
    await client.dispatch(
        session, "toolCallResultConfirmed", turnId="t1", toolCallId=call.tool_call_id, approved=approved
    )
    turn = await over(client, session)
    assert status(client, session) == ("completed" if approved else "cancelled")
    assert ("I use the result" in text_of(turn)) is approved
    if not approved:
        assert calls(client, session)[0].reason == "result-denied"
    await client.dispatch(
        session, "toolCallResultConfirmed", turnId="t1", toolCallId=call.tool_call_id, approved=True
    )
    await client.hear("toolCallResultConfirmed")
    late = await client.hear("toolCallResultConfirmed")
    assert late["rejectionReason"].startswith("not_pending")


@pytest.mark.parametrize("approved", [True, False])
async def test_a_running_tool_may_ask_again(client: Client, session: str, *, approved: bool) -> None:
    await say(client, session, "tool again")
    await confirm(client, session)
    await client.until(lambda: len(client.heard("toolCallReady")) == 2)
    await client.until(lambda: status(client, session) == "pending-confirmation")
    again = client.heard("toolCallReady")[1]
    assert again["invocationMessage"] == "Write outside of the working directory"
    await confirm(client, session, approved=approved)
    await over(client, session)
    assert status(client, session) == ("completed" if approved else "cancelled")


@proves("ahp:session/toolCallContentChanged/live-feedback")
async def test_what_a_tool_has_so_far_is_shown_while_it_runs(client: Client, session: str) -> None:
    await say(client, session, "tool live")
    await over(client, session)
    shown = [action["content"][0]["text"] for action in client.heard("toolCallContentChanged")]
    assert len(shown) == 5
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(shown))


async def test_a_tool_that_fails_does_not_end_the_turn(client: Client, session: str) -> None:
    await say(client, session, "tool fail")
    assert (await over(client, session)).state == "complete"
    call = calls(client, session)[0]
    assert (call.success, call.error.message) == (False, "the page is not there")


async def test_an_edit_is_shown_beforehand_and_its_content_can_be_read(client: Client, session: str) -> None:
    await say(client, session, "tool edit")
    [edit] = calls(client, session)[0].edits.items
    texts: list[str] = []
    for side in (edit.before, edit.after):
        read = await client.request("resourceRead", uri=side.content.uri)
        assert read["contentType"] == "text/markdown"
        texts.append(read["data"])
    assert texts[0].startswith("Rooms: twelve")
    assert texts[1].startswith("Rooms: fourteen")
    assert (edit.diff.added, edit.diff.removed) == (2, 1)


@proves("ahp:ResourceReponsePart/large-content-outside-state", "ahp:ToolResultResourceContent/loaded-lazily")
async def test_large_output_is_referred_to_and_read_when_it_is_wanted(
    house: House, client: Client, session: str
) -> None:
    await say(client, session, "tool big 200; tool big 60")
    await over(client, session)
    large, small = calls(client, session)
    [reference] = large.content
    assert type(reference).__struct_config__.tag == "resource"
    assert reference.size_hint == 200 * 1024
    assert type(small.content[0]).__struct_config__.tag == "text"
    assert max(len(frame) for frame in client.frames) < 100_000
    await house.restart()
    async with connecting(house.url, "again") as again:
        await again.initialize()
        read = await again.request("resourceRead", uri=reference.uri)
        assert len(read["data"]) == 200 * 1024
        assert read["encoding"] == "utf-8"
        coded = await again.request("resourceRead", uri=reference.uri, encoding="base64")
        assert base64.b64decode(coded["data"]).decode() == read["data"]


@proves("ahp:ToolResultSubagentContent/subagent-can-be-followed")
async def test_a_subagent_can_be_followed_from_the_call_that_it_works_for() -> None:
    subagent = "ahp-session:/subagent"
    go_on = asyncio.Event()

    async def boss(turn: Turn) -> None:
        call = await turn.tool("delegate", "Delegate", message="Delegate", confirmed="not-needed")
        call.show(ToolResultSubagentContent(resource=subagent, title="A helper"))
        await go_on.wait()
        await call.done("Delegated")

    async with housing(harnesses=[CallbackHarness("boss", boss)]) as house, connecting(house.url) as client:
        await client.initialize()
        session = await new_session(client, provider="boss")
        await new_session(client, subagent)
        await client.notify("unsubscribe", channel=subagent)
        await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "go"})
        shown = await client.hear("toolCallContentChanged")
        named = shown["action"]["content"][0]["resource"]
        await client.subscribe(named)
        await say(client, named, "tool live", "s1")
        assert (await over(client, named, "s1")).state == "complete"
        assert client.heard("toolCallStart", named)
        go_on.set()
        await over(client, session)
