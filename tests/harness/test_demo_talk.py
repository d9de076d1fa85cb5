"""What the demo agent says, how it is steered, and how its turns end."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from harness.conversation import Conversation, calls, kinds, prose, thoughts
from serai.ahp.types import (
    MessageEmbeddedResourceAttachment,
    MessageResourceAttachment,
    ModelSelection,
    SessionStatus,
    SimpleMessageAttachment,
    SystemNotificationResponsePart,
    ToolCallCancelledState,
    ToolCallCompletedState,
    TurnState,
)
from serai.harness.demo import COMMANDS
from serai.host.host import Host

USAGES = [command.usage for command in COMMANDS]


class TestHelp:
    async def test_it_lists_every_command(self, demo: Conversation) -> None:
        text = prose(await demo.say("help"))
        assert [line[3:].partition("`")[0] for line in text.splitlines() if line.startswith("- `")] == USAGES

    def test_the_page_about_agents_lists_every_command_as_help_does(
        self, pytestconfig: pytest.Config
    ) -> None:
        page = Path(pytestconfig.rootpath, "docs", "agents.md").read_text(encoding="utf-8")
        rows = dict(re.findall(r"^\| `(.+?)` \| (.+?) \|$", page, re.MULTILINE))
        assert {usage: rows.get(usage) for usage in USAGES} == {c.usage: c.does for c in COMMANDS}


class TestMessages:
    async def test_anything_else_is_said_back_with_an_explanation(self, demo: Conversation) -> None:
        text = prose(await demo.say("hello there; how are you?"))
        assert text.startswith("You said “hello there; how are you?”.")
        assert text.count("You said") == 1
        assert "`help`" in text

    async def test_commands_are_joined_by_semicolons_and_lines(self, demo: Conversation) -> None:
        turn = await demo.say("usage 10; notice one\nnotice two ;; hello")
        notices = [p.content for p in turn.response_parts if isinstance(p, SystemNotificationResponsePart)]
        assert notices == ["one", "two"]
        assert turn.usage
        assert "You said “hello”" in prose(turn)

    @pytest.mark.parametrize(
        ("said", "answer"),
        [
            ("write", "it needs a number of words"),
            ("write me a poem", "“me a poem” is not a number of words"),
            ("write 0", "a number of words can be 1 to 100,000"),
            ("write 1e9", "is not a number of words"),
            ("work", "it needs a number of seconds"),
            ("work 1 every never", "“never” is not a number of milliseconds"),
            ("work on the bug", "it needs a number of seconds"),
            ("tool big 99999", "a size in KiB can be 1 to 8,192"),
            ("usage much", "“much” is not a number of tokens"),
            ("activity", "it needs a text"),
            ("client tool", "it needs the name of a tool"),
            ("ask riddle", "“riddle” is no kind of question"),
        ],
    )
    async def test_a_command_that_is_used_wrongly_is_explained(
        self, demo: Conversation, said: str, answer: str
    ) -> None:
        turn = await demo.say(said)
        assert turn.state == TurnState.COMPLETE
        assert answer in prose(turn)
        assert any(f"`{usage}`" in prose(turn) for usage in USAGES)

    async def test_attachments_are_listed_by_kind_label_and_size(self, demo: Conversation) -> None:
        turn = await demo.say(
            "notice here",
            [
                SimpleMessageAttachment(label="a note", model_representation="twelve chars"),
                MessageEmbeddedResourceAttachment(
                    label="a picture",
                    data=base64.b64encode(b"x" * 1000).decode(),
                    content_type="image/png",
                ),
                MessageResourceAttachment(label="a file", uri="file:///a.txt", size_hint=2048),
                MessageResourceAttachment(label="another", uri="file:///b.txt"),
            ],
        )
        text = prose(turn)
        assert "Your message has 4 attachments" in text
        assert "- simple: **a note**, 12 characters\n" in text
        assert "- embeddedResource: **a picture**, image/png, 1,000 bytes\n" in text
        assert "- resource: **a file**, file:///a.txt, 2,048 bytes\n" in text
        assert "- resource: **another**, file:///b.txt, unknown size" in text


class TestStreaming:
    async def test_think_streams_reasoning_before_the_answer(self, demo: Conversation) -> None:
        turn = await demo.say("think about camels")
        assert "about “camels”" in thoughts(turn)
        assert kinds(turn) == ["reasoning", "markdown"]
        assert "session/reasoning" in {action["type"] for action in demo.actions}

    async def test_write_streams_so_many_words_of_markdown(self, demo: Conversation) -> None:
        text = prose(await demo.say("write 300"))
        assert len(text.split()) == 300
        for sign in ("# Chapter 1\n\n", "## Chapter 2\n\n", "\n- ", "```python\n", "| guest |", "\n> ", "**"):
            assert sign in text


class TestWork:
    async def test_it_works_as_long_as_it_is_told_to(self, demo: Conversation) -> None:
        text = prose(await demo.say("work 0.05 every 10"))
        assert 1 <= text.count("\n- step") <= 6
        assert re.search(r"Done, after \d steps?", text)

    async def test_a_message_that_steers_is_heard_at_the_next_step(self, demo: Conversation) -> None:
        demo.start("work 60 every 1")
        await demo.heard("session/delta", 2)
        demo.steer("mind the gap")
        await demo.heard("session/pendingMessageRemoved")
        assert demo.state.steering_message is None
        demo.steer("STOP ")
        text = prose(await demo.end())
        assert "You steer me: “mind the gap”. Heard." in text
        assert "So I stop here." in text

    async def test_activity_stands_until_the_turn_ends(self, demo: Conversation) -> None:
        demo.start("activity counting sheep; work 60 every 1")
        await demo.heard("session/activityChanged")
        assert demo.state.summary.activity == "counting sheep"
        demo.steer("stop")
        await demo.end()
        assert demo.state.summary.activity is None


class TestReports:
    async def test_usage_reports_tokens_for_the_model_that_was_chosen(self, host: Host) -> None:
        demo = await Conversation.begin(host, "demo", model=ModelSelection(id="demo-large"))
        turn = await demo.say("usage 1000")
        assert turn.usage
        assert (turn.usage.input_tokens, turn.usage.output_tokens) == (1000, 100)
        assert (turn.usage.cache_read_tokens, turn.usage.model) == (500, "demo-large")

    async def test_notice_adds_a_notice(self, demo: Conversation) -> None:
        turn = await demo.say("notice The gate closes")
        assert turn.response_parts == [SystemNotificationResponsePart(content="The gate closes")]


class TestFailing:
    async def test_fail_ends_the_turn_with_the_message(self, demo: Conversation) -> None:
        turn = await demo.say("notice first; fail The roof leaks; notice never")
        assert turn.state == TurnState.ERROR
        assert turn.error
        assert (turn.error.error_type, turn.error.message) == ("demo_failed", "The roof leaks")
        assert len(turn.response_parts) == 1

    async def test_crash_ends_the_turn_with_an_error_and_the_session_goes_on(
        self, demo: Conversation
    ) -> None:
        turn = await demo.say("crash")
        assert turn.error
        assert turn.error.error_type == "agent_error"
        assert (await demo.say("notice still here")).state == TurnState.COMPLETE

    @pytest.mark.parametrize(
        "script",
        ["think", "activity busy; work 60 every 1", "tool result", "tool big 100", "notice a; ask text"],
    )
    async def test_a_turn_that_is_cancelled_leaves_nothing_behind(
        self, demo: Conversation, script: str
    ) -> None:
        begun = len(demo.actions)
        demo.start(script)
        live = demo.session.live
        waiting = int(SessionStatus.INPUT_NEEDED)
        await demo.until(
            lambda: (
                len(demo.actions) >= begun + 3
                or live.head.summary.status & waiting == waiting
                or live.turn is None  # adjacent pieces of text are one action: there may be fewer
            )
        )
        if live.turn is None:
            return  # it was done before
        demo.cancel()
        turn = await demo.end()
        await demo.quiet()
        assert turn.state == TurnState.CANCELLED
        assert all(isinstance(call, ToolCallCancelledState | ToolCallCompletedState) for call in calls(turn))
        assert demo.state.input_requests is None
        assert demo.state.summary.activity is None
        assert demo.state.summary.status & SessionStatus.IDLE
        assert (await demo.say("notice and on it goes")).state == TurnState.COMPLETE
