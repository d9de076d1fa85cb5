"""`serai chat`, in-process: with a person at the terminal, and with a pipe."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

from cli.screens import Desk, parse, talk
from client.hosts import House, soon
from serai.ahp.types import (
    ConfirmationOption,
    SessionInputBooleanQuestion,
    SessionInputIntegerQuestion,
    SessionInputMultiSelectQuestion,
    SessionInputOption,
    SessionInputRequest,
    SessionInputSingleSelectQuestion,
    SessionInputTextQuestion,
    UsageInfo,
)
from serai.cli.console.output import clean
from serai.cli.console.terminal import StdinLines
from serai.client import SessionGone
from serai.harness.callback import CallbackHarness
from serai.host.turn import Turn


async def agent(turn: Turn) -> None:  # noqa: C901 - one agent that does all that a chat can meet
    words = turn.message.text
    if words == "think":
        await turn.think("let me see")
    if words == "count":
        await turn.say("ha")
        await turn.used(UsageInfo(input_tokens=1))
        await turn.say("lf")
        return
    if words == "tool":
        call = await turn.tool("ls", "List files", message="ls", confirmed="not-needed")
        await call.done("Listed 2 files", text="a b")
        call = await turn.tool("rm", "Remove", message="rm", confirmed="not-needed")
        await call.done("Removed nothing", error="not there")
    if words in {"ask", "options"}:
        options = [
            ConfirmationOption(id="once", label="Just this once", kind="approve"),
            ConfirmationOption(id="always", label="Always", kind="approve"),
            ConfirmationOption(id="no", label="No", kind="deny"),
        ]
        call = await turn.tool(
            "bash",
            "Run a command",
            message="ls -l",
            input='{"command": "ls -l"}',
            editable=True,
            options=options if words == "options" else None,
        )
        suggestion = call.suggestion.text if call.suggestion else None
        await turn.say(f"[{call.approved} {call.option} {call.input} {suggestion}]")
        if call.approved:
            await call.done("Ran it", text="README.md", confirm_result=words == "options")
    if words == "questions":
        answers = await turn.ask(QUESTIONS)
        await turn.say(f"[{answers.response}:")
        for key, answer in sorted(answers.answers.items()):
            value: Any = getattr(answer, "value", None)
            free = getattr(value, "freeform_values", None)
            await turn.say(f" {key}={getattr(value, 'value', None)!r}{free or ''}")
        await turn.say("]")
    if words == "sleep":
        await turn.say("zzz")
        while (steering := turn.steering()) is None:  # noqa: ASYNC110 - an agent that looks now and then
            await asyncio.sleep(0)
        await turn.say(f" {steering.text}")
    if words == "fail":
        raise ValueError("it broke")
    if words == "escape":
        await turn.say("a\x1b[2Jb\x07c\td")
    await turn.notice("a notice")
    await turn.used(UsageInfo(input_tokens=3, output_tokens=4))
    await turn.say(f"you said {words}")


QUESTIONS = SessionInputRequest(
    id="q",
    message="Before I begin",
    url="https://example.org/form",
    questions=[
        SessionInputTextQuestion(id="name", message="Your name?", required=True, min=2),
        SessionInputIntegerQuestion(id="age", message="Your age?", min=0, default_value=30),
        SessionInputBooleanQuestion(id="sure", message="Sure?"),
        SessionInputSingleSelectQuestion(
            id="one",
            message="Which?",
            options=[
                SessionInputOption(id="a", label="Apple"),
                SessionInputOption(id="b", label="Pear", description="green", recommended=True),
            ],
        ),
        SessionInputMultiSelectQuestion(
            id="some",
            message="Which ones?",
            options=[SessionInputOption(id="x", label="X"), SessionInputOption(id="y", label="Y")],
            allow_freeform_input=True,
        ),
    ],
)


async def piped(*lines: str, words: tuple[str, ...] = ()) -> tuple[int, str]:
    """What a chat with these lines on a pipe prints."""
    desk = Desk(*lines, person=False)
    async with House(agent=agent) as house, house.client() as client:
        code = await talk(client, desk, *words)
    return code, desk.text


class TestPipes:
    async def test_each_line_is_a_turn(self) -> None:
        code, text = await piped("one", "", "two")
        assert code == 0
        assert "you said one\n" in text
        assert text.endswith("you said two\n")
        assert "> " not in text.partition("/help")[2]

    async def test_lines_answer_what_is_asked(self) -> None:
        _, text = await piped("ask", "what", "y", "last")
        assert "Run a command?" in text
        assert 'input: {"command": "ls -l"}' in text
        assert text.count("Your choice:") == 2
        assert '[True None {"command": "ls -l"} None]' in text
        assert "you said last" in text

    async def test_the_end_of_the_lines_denies(self) -> None:
        code, text = await piped("ask")
        assert code == 0
        assert "[False None" in text
        assert "did not run (denied: there was nobody to ask)" in text

    async def test_options_edited_input_and_a_result_to_confirm(self) -> None:
        _, text = await piped("options", "2", "y")
        assert '[True always {"command": "ls -l"} None]' in text
        assert "May the agent use this result?" in text
        assert "README.md" in text
        _, text = await piped("options", "e", "not json", '{"command": "pwd"}', "n")
        assert '[True once {"command": "pwd"} None]' in text
        assert "That is not JSON." in text
        _, text = await piped("options", "s", "read the file instead")
        assert '[False no {"command": "ls -l"} read the file instead]' in text
        _, text = await piped("options", "3")
        assert "[False no" in text

    async def test_questions_one_by_one_with_checks_and_defaults(self) -> None:
        _, text = await piped("questions", "", "x", "Ada", "-1", "old", "", "maybe", "y", "9", "", "1, other")
        assert "Before I begin\nOpen this address: https://example.org/form\nYour name?" in text
        assert "An answer is needed (or /decline).\nYour name?" in text
        assert "It must be at least 2 characters.\n" in text
        assert "It must be at least 0.\n" in text
        assert "'old' does not answer this." in text
        assert "(a whole number, at least 0, optional, empty: 30)" in text
        assert "  2  Pear: green (recommended)" in text
        assert "[accept: age=30 name='Ada' one='b' some=['x']['other'] sure=True]" in text

    async def test_an_agent_that_is_new_says_what_it_is(self) -> None:
        house = House(agent=agent)
        house.harnesses[:] = [CallbackHarness("agent", agent, description="Does what it is told.")]
        async with house, house.client() as client:
            desk = Desk("hi", person=False)
            await talk(client, desk)
            assert "/help tells more.\nDoes what it is told.\n" in desk.text
            [summary] = await soon(client.list_sessions())
            desk = Desk(person=False)
            await talk(client, desk, summary.resource)
            assert "Does what it is told." not in desk.text

    async def test_commands(self) -> None:
        code, text = await piped("/title A new title", "/nothing", "/queue", "/queue later", "/help", "//x")
        assert code == 0
        assert "There is no command /nothing." in text
        assert "/queue needs a text after it." in text
        assert "you said later" in text
        assert "/steer TEXT" in text
        assert "you said /x" in text

    async def test_the_last_command_is_done_before_leaving(self) -> None:
        desk = Desk("hello", "/title Kept", person=False)
        async with House(agent=agent) as house, house.client() as client:
            await talk(client, desk)
            [summary] = await soon(client.list_sessions())
            assert summary.title == "Kept"

    async def test_a_session_that_was_never_used_is_not_kept(self) -> None:
        desk = Desk(person=False)
        async with House(agent=agent) as house, house.client() as client:
            assert await talk(client, desk) == 0
            assert await soon(client.list_sessions()) == []

    async def test_a_session_by_the_beginning_of_its_id(self) -> None:
        async with House(agent=agent) as house, house.client() as client:
            session = await soon(client.create_session())
            await soon((await soon(session.prompt("before"))).result())
            desk = Desk("after", person=False)
            assert await talk(client, desk, session.id[:6]) == 0
            assert "(turns so far: 1; the last one:)\n> before" in desk.text
            assert "you said before" in desk.text
            assert desk.text.endswith("you said after\n")
            assert len(session.state.turns) == 2
            with pytest.raises(SessionGone, match="there is no session 'nothing'"):
                await talk(client, Desk(person=False), "nothing")

    async def test_tool_calls_have_a_line_at_their_beginning_and_at_their_end(self) -> None:
        _, text = await piped("tool")
        assert "* List files: ls\n* List files: Listed 2 files\n  | a b\n" in text
        assert "* Remove: rm\n* Remove: failed: not there\n" in text
        assert "(a notice)\n" in text

    async def test_a_failed_turn_says_why_and_the_chat_goes_on(self) -> None:
        code, text = await piped("fail", "next")
        assert code == 0
        assert "The turn failed: it broke [agent_error]" in text
        assert "you said next" in text


class TestOnce:
    async def once(self, text: str, *words: str, lines: tuple[str, ...] = ()) -> tuple[int, str, str]:
        desk = Desk(*lines, person=False, apart=True)
        async with House(agent=agent) as house, house.client() as client:
            code = await talk(client, desk, "--once", text, *words)
        return code, desk.text, desk.notes.getvalue()

    async def test_only_the_answer_is_on_the_output(self) -> None:
        code, out, notes = await self.once("tool")
        assert (code, out) == (0, "you said tool\n")
        assert "* List files: Listed 2 files" in notes

    async def test_what_is_told_of_the_cost_parts_no_word(self) -> None:
        code, out, _ = await self.once("count")
        assert (code, out) == (0, "half\n")

    async def test_a_failure_is_1(self) -> None:
        code, out, notes = await self.once("fail")
        assert (code, out) == (1, "")
        assert "it broke" in notes

    async def test_json_lines(self) -> None:
        code, out, _ = await self.once("think", "--json")
        assert code == 0
        events = [json.loads(line) for line in out.splitlines()]
        assert [event["type"] for event in events] == [
            "turn.started",
            "reasoning",
            "notice",
            "usage",
            "text",
            "turn.ended",
        ]
        assert events[0]["message"] == {"text": "think"}
        assert events[3]["usage"] == {"inputTokens": 3, "outputTokens": 4}
        assert events[-1] == {"type": "turn.ended", "state": "complete"}


class TestPeople:
    async def test_a_conversation(self) -> None:
        desk = Desk(colour=True)
        async with House(agent=agent) as house, house.client() as client:
            chat = asyncio.ensure_future(talk(client, desk))
            await desk.screen.shows("\n> ")
            desk.keyboard.type("think")
            await desk.screen.shows("\n> ", times=2)
            assert "\x1b[2mlet me see\x1b[0m\n(a notice)" in desk.text
            assert "\x1b[2m(3 tokens in, 4 out)\x1b[0m\n" in desk.text
            desk.keyboard.type("escape")
            await desk.screen.shows("you said escape")
            assert "a[2Jbc\td" in desk.text
            desk.keyboard.type("/quit")
            assert await soon(chat) == 0

    async def test_leaving_a_running_turn_says_that_it_goes_on(self) -> None:
        desk = Desk()
        async with House(agent=agent) as house, house.client() as client:
            chat = asyncio.ensure_future(talk(client, desk))
            desk.keyboard.type("sleep")
            await desk.screen.shows("zzz")
            desk.keyboard.type("/quit")
            assert await soon(chat) == 0
            [summary] = await soon(client.list_sessions())
            name = summary.resource.rpartition("/")[2]
            assert f"The turn goes on on the host. Come back with: serai chat {name}" in desk.text
            again = Desk()
            chat = asyncio.ensure_future(talk(client, again, name))
            await again.screen.shows("> sleep\nzzz")
            again.keyboard.type("/steer up")
            await again.screen.shows("you said sleep")
            again.keyboard.end()
            assert await soon(chat) == 0

    async def test_a_session_that_is_disposed_of_ends_the_chat(self) -> None:
        desk = Desk()
        async with House(agent=agent) as house, house.client() as client, house.client() as other:
            chat = asyncio.ensure_future(talk(client, desk))
            await desk.screen.shows("\n> ")
            [summary] = await soon(other.list_sessions())
            await soon(other.dispose_session(summary.resource))
            with pytest.raises(SessionGone):
                await soon(chat)


class TestLines:
    @pytest.mark.parametrize("as_file", [True, False])
    async def test_lines_of_a_file_and_of_a_pipe(self, tmp_path: Any, as_file: bool) -> None:
        text = b"one\r\ntwo\n\nlast"
        if as_file:
            (tmp_path / "lines").write_bytes(text)
            fd = os.open(tmp_path / "lines", os.O_RDONLY)
        else:
            fd, write = os.pipe()
            os.write(write, text)
            os.close(write)
        lines = StdinLines(fd)
        try:
            assert [await soon(anext(lines, None)) for _ in range(5)] == ["one", "two", "", "last", None]
        finally:
            lines.close()
            os.close(fd)

    def test_control_characters_do_not_reach_the_terminal(self) -> None:
        assert clean("a\x1b]0;title\x07b\r\n\tc\x9b1m") == "a]0;titleb\n\tc1m"

    def test_a_new_session_and_an_old_one_at_once_is_a_wrong_call(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        options = parse("chat", "abc", "--agent", "demo")
        with pytest.raises(SystemExit):
            options.run(options)
        assert "leave out SESSION" in capsys.readouterr().err
