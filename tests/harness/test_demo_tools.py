"""What the demo agent's tools ask for, and what becomes of the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.conversation import Conversation, calls, frame, prose
from serai.ahp.types import (
    FileEdit,
    SessionActiveClient,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallError,
    ToolCallPendingConfirmationState,
    ToolCallResult,
    ToolDefinition,
    ToolResultFileEditContent,
    ToolResultTextContent,
    Turn,
    TurnState,
)
from serai.host.host import Host

CLIENT = SessionActiveClient(client_id="tester", tools=[ToolDefinition(name="look", title="Look around")])


def completed(turn: Turn) -> ToolCallCompletedState:
    """The turn's only call, which was completed."""
    [call] = calls(turn)
    assert isinstance(call, ToolCallCompletedState)
    return call


def cancelled(turn: Turn) -> ToolCallCancelledState:
    """The turn's only call, which was cancelled."""
    [call] = calls(turn)
    assert isinstance(call, ToolCallCancelledState)
    return call


def output(call: ToolCallCompletedState) -> str:
    return "".join(item.text for item in call.content or () if isinstance(item, ToolResultTextContent))


class TestApproval:
    async def test_it_offers_two_ways_to_say_yes_and_two_to_say_no(self, demo: Conversation) -> None:
        demo.start("tool")
        call = await demo.pending()
        assert [(option.id, option.kind, option.group) for option in call.options or ()] == [
            ("allow-once", "approve", 0),
            ("allow-session", "approve", 0),
            ("deny", "deny", 1),
            ("deny-suggest", "deny", 1),
        ]
        assert call.editable
        assert json.loads(call.tool_input or "") == {"command": "ls -l"}
        assert call.confirmation_title

    async def test_a_plain_yes_runs_it(self, demo: Conversation) -> None:
        demo.start("tool cat  README.md")
        await demo.approve()
        call = completed(await demo.end())
        assert (call.confirmed, call.success) == ("user-action", True)
        assert output(call).startswith("$ cat  README.md\n")

    async def test_a_no_may_come_with_a_suggestion(self, demo: Conversation) -> None:
        demo.start("tool")
        await demo.deny(option="deny-suggest", suggestion="use find")
        turn = await demo.end()
        assert cancelled(turn).user_suggestion
        assert "“use find”" in prose(turn)

    async def test_the_input_that_a_person_edited_is_the_one_that_counts(self, demo: Conversation) -> None:
        edited = '{"command": "pwd"}'
        demo.start("tool")
        await demo.approve(edited=edited)
        call = completed(await demo.end())
        assert call.tool_input == edited
        assert output(call).startswith("$ pwd\n")

    async def test_the_grant_stands_in_the_session_and_survives_a_restart(
        self, host: Host, demo: Conversation
    ) -> None:
        demo.start("tool")
        await demo.approve(option="allow-session")
        await demo.end()
        await host.close()
        again = Host(host.journal.store, host.harnesses.values(), frame)
        await again.open()
        session = await again.sessions.bring(demo.session.uri)
        assert session
        assert completed(await Conversation(again, session).say("tool")).confirmed == "setting"
        await again.close()

    @pytest.mark.parametrize("script", ["tool edit", "tool again"])
    async def test_with_the_setting_always_nobody_is_asked(self, host: Host, script: str) -> None:
        demo = await Conversation.begin(host, "demo", config={"approve": "always"})
        assert completed(await demo.say(script)).confirmed == "setting"


class TestEdit:
    async def test_it_shows_the_edit_before_it_is_made(self, demo: Conversation) -> None:
        demo.start("tool edit")
        call = await demo.pending()
        assert call.edits
        [edit] = call.edits.items
        assert await _contents(demo, edit) == [
            "Rooms: twelve.\nWater: yes.\n",
            "Rooms: fourteen.\nWater: yes.\nStables: two.\n",
        ]
        assert edit.diff
        assert (edit.diff.added, edit.diff.removed) == (2, 1)


async def _contents(demo: Conversation, edit: FileEdit | ToolResultFileEditContent) -> list[str]:
    assert edit.before
    assert edit.after
    blobs = [await demo.blob(side.content.uri) for side in (edit.before, edit.after)]
    return [blob.decode() for blob in blobs]


class TestResult:
    async def test_the_result_is_used_when_it_is_allowed(self, demo: Conversation) -> None:
        demo.start("tool result")
        await demo.approve()
        await demo.judge_result(approved=True)
        turn = await demo.end()
        assert completed(turn).success
        assert "I use the result" in prose(turn)


class TestAgain:
    async def test_it_asks_a_second_time_while_it_runs(self, demo: Conversation) -> None:
        demo.start("tool again")
        first = await demo.pending()
        await demo.approve(option="allow-session")
        second = await demo.until(lambda: _asked_again(demo, first))
        assert second.confirmation_title == "Go on and install?"
        assert "allow-session" not in {option.id for option in second.options or ()}
        again = await demo.heard("session/toolCallReady", 2)
        assert again["_meta"] == {"serai.demo.permission": "write-outside"}
        await demo.approve()
        assert completed(await demo.end()).success


def _asked_again(demo: Conversation, first: ToolCallPendingConfirmationState) -> Any:
    [call] = demo.session.live.turn.calls() if demo.session.live.turn else [None]
    asked = isinstance(call, ToolCallPendingConfirmationState)
    return call if asked and call.confirmation_title != first.confirmation_title else None


class TestOutput:
    async def test_live_output_grows_while_the_tool_runs(self, demo: Conversation) -> None:
        turn = await demo.say("tool live")
        shown = [
            action["content"][0]["text"]
            for action in demo.actions
            if action["type"] == "session/toolCallContentChanged"
        ]
        assert [text.count("ok") for text in shown] == [1, 2, 3, 4, 5]
        call = completed(turn)
        assert call.structured_content == {"passed": 5, "failed": 0}
        assert output(call) == shown[-1] + "5 passed\n"

    async def test_a_tool_that_fails_does_not_end_the_turn(self, demo: Conversation) -> None:
        turn = await demo.say("tool fail")
        call = completed(turn)
        assert not call.success
        assert call.error == ToolCallError(message="the page is not there")
        assert turn.state == TurnState.COMPLETE


class TestClientTools:
    async def test_it_calls_a_tool_of_the_active_client_and_tells_the_result(
        self, demo: Conversation
    ) -> None:
        demo.lend(CLIENT)
        demo.start('client tool look {"where": "up"}')
        text = ToolResultTextContent(text="many stars")
        call = await demo.complete(ToolCallResult(success=True, past_tense_message="Looked", content=[text]))
        assert (call.tool_client_id, call.display_name) == ("tester", "Look around")
        assert (call.tool_input, call.confirmed) == ('{"where": "up"}', "not-needed")
        assert "`look` says: “many stars”." in prose(await demo.end())

    async def test_without_an_active_client_it_says_so(self, demo: Conversation) -> None:
        assert "These are offered: none." in prose(await demo.say("client tool look"))
