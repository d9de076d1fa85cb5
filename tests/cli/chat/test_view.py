"""What a chat shows of tools: their output, while they run and afterwards."""

from __future__ import annotations

import asyncio
import os
import signal

from cli.screens import Desk, parse
from client.hosts import House, soon
from serai.ahp.types import (
    ContentRef,
    FileEditDiff,
    FileEditSide,
    ToolResultFileEditContent,
    ToolResultSubagentContent,
    ToolResultTextContent,
)
from serai.cli.chat.command import converse
from serai.client import Client
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

    async def live(self, turn: Turn) -> None:
        call = await self.call(turn)
        call.show(ToolResultTextContent(text="one\n"))
        await self.may_go_on.wait()
        call.show(ToolResultTextContent(text="one\ntwo\n"))
        await call.done("Ran it", text="one\ntwo\nthree\n")

    async def waits(self, turn: Turn) -> None:
        await self.call(turn)
        await self.may_go_on.wait()

    async def both(self, turn: Turn) -> None:
        first = await self.call(turn)
        second = await turn.tool("other", "The other", message="y", confirmed="not-needed")
        first.show(ToolResultTextContent(text="of the first\n"))
        second.show(ToolResultTextContent(text="of the second\n"))
        await first.done("Ran the first", text="of the first\n")
        await second.done("Ran the second", text="of the second\n")

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

    async def terminal(self, turn: Turn) -> None:
        call = await self.call(turn)
        script = "printf 'one\\n'; read word; printf '\\033[1mtwo\\033[0m %s\\n' $word"
        terminal = await turn.terminal(["sh", "-c", script], title="x", call=call)
        call.show(terminal.content)
        code = await terminal.wait()
        await call.done(f"Ended with {code}", text=terminal.text(), content=[terminal.content])

    async def quick(self, turn: Turn) -> None:
        call = await self.call(turn)
        terminal = await turn.terminal(["sh", "-c", "seq 1 500"], title="x", call=call)
        await terminal.wait()
        await call.done("Counted", text=terminal.text(), content=[terminal.content])


async def talk(client: Client, desk: Desk, *words: str) -> int:
    return await soon(converse(client, desk.terminal, parse("chat", *words)))


async def piped(*lines: str, words: tuple[str, ...] = ()) -> str:
    desk = Desk(*lines, person=False)
    async with House(agent=Agent()) as house, house.client() as client:
        await talk(client, desk, *words)
    return desk.text


class TestResults:
    async def test_text_stands_below_the_line_of_the_call(self) -> None:
        text = await piped("short")
        assert "* Run it: x --all - Ran it\n  | a b\n  | c\ndone with short\n" in text

    async def test_of_long_text_the_end_is_shown_and_how_much_was_left_out(self) -> None:
        text = await piped("long")
        assert "- Ran it\n  | … (30 lines left out)\n  | line 30\n" in text
        assert "  | line 49\ndone with long\n" in text

    async def test_text_that_is_kept_elsewhere_is_fetched(self) -> None:
        text = await piped("huge")
        assert "- Ran it\n  | … (19,980 lines left out)\n  | line 19980\n" in text
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
        assert "  | half of it\n" in text
        assert "* Run it: was stopped (denied)\n" in text


class TestLive:
    async def test_what_a_tool_shows_comes_while_it_runs_and_once(self) -> None:
        agent = Agent()
        desk = Desk()
        async with House(agent=agent) as house, house.client() as client:
            chat = asyncio.ensure_future(talk(client, desk))
            desk.keyboard.type("live")
            await desk.screen.shows("* Run it: x --all \n  | one\n")
            assert "two" not in desk.text
            agent.may_go_on.set()
            await desk.screen.shows("  | two\n  | three\n* Run it: Ran it\ndone with live")
            assert desk.text.count("  | one\n") == 1
            desk.keyboard.end()
            await soon(chat)

    async def test_the_end_of_a_call_begins_a_line_when_something_else_was_said(self) -> None:
        desk = Desk()
        async with House(agent=Agent()) as house, house.client() as client:
            chat = asyncio.ensure_future(talk(client, desk))
            desk.keyboard.type("waits")
            await desk.screen.shows("* Run it: x --all ")
            os.kill(os.getpid(), signal.SIGINT)
            await desk.screen.shows("leaves)\n* Run it: failed: the agent did not tell how this ended\n")
            await desk.screen.shows("(the turn was cancelled)")
            desk.keyboard.end()
            await soon(chat)

    async def test_a_terminal_is_followed_while_its_call_runs(self) -> None:
        desk = Desk()
        async with House(agent=Agent()) as house, house.client() as client, house.client() as other:
            chat = asyncio.ensure_future(talk(client, desk))
            desk.keyboard.type("terminal")
            await desk.screen.shows("  | one\n")
            assert other.root is not None
            assert other.root.terminals
            [info] = other.root.terminals
            [summary] = await soon(other.list_sessions())
            await soon(other.open_session(summary.resource))  # who follows it holds its terminals
            await soon((await soon(other.open_terminal(info.resource))).write("more\n"))
            await desk.screen.shows("  | two more\n* Run it: Ended with 0\n")
            await desk.screen.shows("done with terminal")
            assert desk.text.count("  | one\n") == 1
            assert desk.text.count("  | two more\n") == 1
            assert "\x1b" not in desk.text
            # Nobody follows it any more.
            assert info.resource not in client.subscriptions
            desk.keyboard.end()
            await soon(chat)

    async def test_a_terminal_that_has_ended_before_is_shown_with_its_call_also_later(self) -> None:
        async with House(agent=Agent()) as house, house.client() as client:
            desk = Desk("quick", person=False)
            await talk(client, desk)
            assert "- Counted\n  | … (480 lines left out)\n  | 481\n" in desk.text
            assert desk.text.count("  | 500\n") == 1
            [summary] = await soon(client.list_sessions())
            again = Desk(person=False)
            await talk(client, again, summary.resource)
            assert "* Run it: Counted\n  | … (480 lines left out)\n  | 481\n" in again.text
            assert "  | 500\ndone with quick\n" in again.text
