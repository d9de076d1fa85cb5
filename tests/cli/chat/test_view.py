"""What a chat shows of tools."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from hypothesis import given, strategies as st

from cli.screens import Desk, talk
from client.hosts import House, soon
from serai.ahp.types import (
    ROOT,
    ContentRef,
    FileEditDiff,
    FileEditSide,
    ToolCallCompletedState,
    ToolCallConfirmationReason,
    ToolResultContent,
    ToolResultEmbeddedResourceContent,
    ToolResultFileEditContent,
    ToolResultResourceContent,
    ToolResultSubagentContent,
    ToolResultTerminalContent,
    ToolResultTextContent,
)
from serai.cli.chat.view import LAST, TurnView, about, last_lines, plain_line
from serai.host.tool_call import ToolCall
from serai.host.turn import Turn


class Agent:
    """Does with tools what a chat can meet; waits for the test where it is told to."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()

    async def __call__(self, turn: Turn) -> None:
        words = turn.message.text
        await getattr(self, words.partition(" ")[0])(turn)
        await turn.say(f"done with {words}")

    async def call(self, turn: Turn) -> ToolCall:
        return await turn.tool("run", "Run it", message="x --all", confirmed="not-needed")

    async def short(self, turn: Turn) -> None:
        await (await self.call(turn)).done("Ran it", text="a b\n\x1b[31mc\x1b[0m\n")

    async def long(self, turn: Turn) -> None:
        await (await self.call(turn)).done("Ran it", text="\n".join(f"line {n}" for n in range(50)))

    async def huge(self, turn: Turn) -> None:
        text = "".join(f"line {n}\n" for n in range(20_000))
        await (await self.call(turn)).done("Ran it", text=text)

    async def waits(self, turn: Turn) -> None:
        await self.call(turn)
        await self.may_go_on.wait()

    async def things(self, turn: Turn) -> None:
        side = FileEditSide(uri="file:///notes.md", content=ContentRef(uri="x:/"))
        edit = ToolResultFileEditContent(before=side, after=side, diff=FileEditDiff(added=3, removed=1))
        agent = ToolResultSubagentContent(resource="ahp-session:/77", title="Look it up", agent_name="demo")
        call = await self.call(turn)
        call.show(agent)
        await call.done("Ran it", content=[agent, edit])

    async def asks(self, turn: Turn) -> None:
        call = await self.call(turn)
        await call.done("Ran it", text="a secret", confirm_result=True)

    async def stopped(self, turn: Turn) -> None:
        call = await self.call(turn)
        call.show(ToolResultTextContent(text="half of it\n"))
        await call.ready(message="Go on?")

    async def quick(self, turn: Turn) -> None:
        call = await self.call(turn)
        terminal = await turn.terminal(["sh", "-c", "seq 1 500"], title="x", call=call)
        await terminal.wait()
        await call.done("Counted", text=terminal.text(), content=[terminal.content])

    async def kept(self, turn: Turn) -> None:
        call = await self.call(turn)
        terminal = await turn.terminal(["sh", "-c", "seq 1 500"], title="x", call=call)
        await terminal.wait()
        await call.done("Counted", content=[terminal.content])


async def piped(*lines: str, words: tuple[str, ...] = ()) -> str:
    desk = Desk(*lines, person=False)
    async with House(agent=Agent()) as house, house.client() as client:
        await talk(client, desk, *words)
    return desk.text


class TestResults:
    async def test_text_stands_below_the_line_of_the_call(self) -> None:
        text = await piped("short")
        assert "* Run it: x --all\n* Run it: Ran it\n  | a b\n  | c\ndone with short\n" in text

    async def test_of_long_text_the_end_is_shown_and_how_much_was_left_out(self) -> None:
        text = await piped("long")
        assert ": Ran it\n  | … (30 lines left out)\n  | line 30\n" in text
        assert "  | line 49\ndone with long\n" in text

    async def test_text_that_is_kept_elsewhere_is_fetched(self) -> None:
        text = await piped("huge")
        assert ": Ran it\n  | … (19,980 lines left out)\n  | line 19980\n" in text
        assert text.count("  | [text/plain") == 1

    async def test_edits_have_their_counts_and_other_agents_their_sessions(self) -> None:
        text = await piped("things")
        assert text.count("  | demo works on it: Look it up (serai chat 77)\n") == 1
        assert "  | changed /notes.md (+3 -1)\n" in text

    async def test_a_result_that_was_refused_came_from_a_tool_that_ran(self) -> None:
        text = await piped("asks", "n")
        assert "Ran it\n  | a secret\nMay the agent use this result? [y/n]" in text
        assert "* Run it: ran, and its result was kept from the agent\n" in text
        assert "did not run" not in text

    async def test_a_call_that_is_denied_half_way_was_stopped(self) -> None:
        text = await piped("stopped", "n")
        assert "* Run it: was stopped (denied)\n" in text

    async def test_what_a_terminal_showed_stands_below_its_call_also_later(self) -> None:
        async with House(agent=Agent()) as house, house.client() as client:
            desk = Desk("quick", "kept", person=False)
            await talk(client, desk)
            assert "* Run it: Counted\n  | … (480 lines left out)\n  | 481\n" in desk.text
            assert desk.text.count("  | 500\n") == 2  # of one call it is the text, of the other the terminal
            [summary] = await soon(client.list_sessions())
            assert client.subscriptions == [ROOT, summary.resource]
            session = await soon(client.open_session(summary.resource))
            await soon(session.truncate(session.state.turns[0].id))
            again = Desk(person=False)
            await talk(client, again, summary.resource)
            assert "* Run it: Counted\n  | … (480 lines left out)\n  | 481\n" in again.text
            assert "  | 500\ndone with quick\n" in again.text

    async def test_the_end_of_a_call_has_its_line_when_the_turn_is_stopped(self) -> None:
        desk = Desk()
        async with House(agent=Agent()) as house, house.client() as client:
            chat = asyncio.ensure_future(talk(client, desk))
            desk.keyboard.type("waits")
            await desk.screen.shows("* Run it: x --all\n")
            os.kill(os.getpid(), signal.SIGINT)
            await desk.screen.shows("leaves)\n* Run it: failed: the agent did not tell how this ended\n")
            await desk.screen.shows("(the turn was cancelled)")
            desk.keyboard.end()
            await soon(chat)


# -- lines -------------------------------------------------------------------------------------------------


def side(uri: str) -> FileEditSide:
    return FileEditSide(uri=uri, content=ContentRef(uri="x:/"))


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("\x1b[1;31mred\x1b[0m and plain\r", "red and plain"),
        ("\x1b]0;a title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "textlink"),
        ("10 %\r50 %\r100 %\r", "100 %"),
        ("a\tb\x08\x00\x9b2Jc", "a\tbc"),
        ("\x1b(Bcut short \x1b[", "cut short "),
        ("x" * 1000, "x" * 399 + "…"),
    ],
)
def test_a_line_is_what_a_terminal_shows_in_the_end(line: str, plain: str) -> None:
    assert plain_line(line) == plain


@given(st.text(alphabet=st.sampled_from("ab\x1b[]0;m\x07\\\r\t\x9b"), max_size=30))
def test_nothing_that_moves_a_cursor_is_left(line: str) -> None:
    assert not set(plain_line(line)) & {"\x1b", "\r", "\x07", "\x9b"}


def test_of_a_finished_text_the_end_is_shown() -> None:
    assert last_lines("a\nb\n") == ["a", "b"]
    assert last_lines("") == []
    shown = last_lines("\n".join(map(str, range(LAST + 1))))
    assert shown == ["… (1 line left out)", *map(str, range(1, LAST + 1))]
    assert len(last_lines("x" * 10_000_000)[0]) == 400


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (
            ToolResultFileEditContent(
                before=side("file:///a/b%20c"), after=side("file:///a/b%20c"), diff=FileEditDiff(added=2)
            ),
            "changed /a/b c (+2 -0)",
        ),
        (ToolResultFileEditContent(after=side("file:///new")), "made /new"),
        (ToolResultFileEditContent(before=side("x:/old")), "deleted x:/old"),
        (ToolResultFileEditContent(before=side("x:/a"), after=side("x:/b")), "moved x:/a to x:/b"),
        (
            ToolResultSubagentContent(resource="ahp-session:/12", title="Look it up", agent_name="demo"),
            "demo works on it: Look it up (serai chat 12)",
        ),
        (ToolResultEmbeddedResourceContent(data="A" * 4000, content_type="image/png"), "[image/png, 3.0 kB]"),
        (ToolResultResourceContent(uri="x:/y", size_hint=5, content_type="a/b"), "[a/b, 5 bytes: x:/y]"),
        (ToolResultTextContent(text="t"), None),
        (ToolResultTerminalContent(resource="ahp-terminal:/1", title="t"), None),
    ],
)
def test_what_is_no_text_has_one_line(content: ToolResultContent, line: str | None) -> None:
    assert about(content) == line


def test_a_call_that_was_over_before_it_was_heard_of_has_its_beginning_line() -> None:
    desk = Desk(person=False)
    call = ToolCallCompletedState(
        tool_call_id="1",
        tool_name="run",
        display_name="Run it",
        invocation_message="x --all",
        confirmed=ToolCallConfirmationReason.NOT_NEEDED.value,
        success=True,
        past_tense_message="Ran it",
    )
    TurnView(desk.terminal).finish(call, "")
    assert desk.text == "* Run it: x --all\n* Run it: Ran it\n"
