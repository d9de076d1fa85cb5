"""What the demo agent really does."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.conversation import Conversation, calls, prose
from serai.ahp.types import (
    ToolCallCompletedState,
    ToolCallRunningState,
    ToolResultFileEditContent,
    ToolResultSubagentContent,
    ToolResultTerminalContent,
    ToolResultTextContent,
    Turn,
)
from serai.host.host import Host
from serai.host.surroundings.terminals import HostTerminal


@pytest.fixture
async def worker(host: Host, tmp_path: Path) -> Conversation:
    """A conversation about a folder."""
    return await Conversation.begin(host, "demo", working_directory=tmp_path.as_uri())


def completed(turn: Turn) -> ToolCallCompletedState:
    [call] = calls(turn)
    assert isinstance(call, ToolCallCompletedState)
    return call


def files(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


async def test_a_command_is_run_in_a_terminal_that_can_be_followed(
    worker: Conversation, host: Host, tmp_path: Path
) -> None:
    worker.start("run read line && echo got $line > here.txt")
    await worker.approve()
    running = await worker.call(ToolCallRunningState)
    await worker.until(lambda: running.content or _content(worker))
    [shown] = _content(worker)
    assert isinstance(shown, ToolResultTerminalContent)
    terminal = host.channels.get(shown.resource)
    assert isinstance(terminal, HostTerminal)
    assert terminal.type("hello\r")
    call = completed(await worker.end())
    assert call.success
    assert (tmp_path / "here.txt").read_text() == "got hello\n"
    assert [type(item) for item in call.content or ()] == [ToolResultTextContent, ToolResultTerminalContent]


def _content(worker: Conversation) -> list[object]:
    turn = worker.state.active_turn
    parts = turn.response_parts if turn else []
    return [
        item for part in parts for item in getattr(getattr(part, "tool_call", None), "content", None) or ()
    ]


async def test_a_file_is_written_and_read(worker: Conversation, tmp_path: Path) -> None:
    worker.start("save note.txt three rooms left")
    pending = await worker.pending()
    assert pending.edits is not None
    assert not (tmp_path / "note.txt").exists(), "nothing happens before someone says yes"
    await worker.approve()
    edit = (completed(await worker.end()).content or [])[0]
    assert isinstance(edit, ToolResultFileEditContent)
    assert edit.before is None
    assert (tmp_path / "note.txt").read_text() == "three rooms left\n"
    call = completed(await worker.say("read note.txt"))
    text = (call.content or [])[0]
    assert isinstance(text, ToolResultTextContent)
    assert text.text == "three rooms left\n"


async def test_the_rest_of_the_line_belongs_to_a_command(worker: Conversation, tmp_path: Path) -> None:
    worker.start("notice first; run echo one > a; echo two > b\nsave c three; four")
    await worker.approve()
    await worker.approve()
    await worker.end()
    assert (tmp_path / "a").read_text() == "one\n"
    assert (tmp_path / "b").read_text() == "two\n"
    assert (tmp_path / "c").read_text() == "three; four\n"


async def test_nothing_outside_of_the_folder_is_had(worker: Conversation) -> None:
    call = completed(await worker.say("read ../../etc/passwd"))
    assert not call.success


@pytest.mark.parametrize("command", ["save"])
async def test_it_says_what_is_missing(demo: Conversation, command: str) -> None:
    assert "It is written" in prose(await demo.say(command))


async def test_another_agent_helps_in_a_session_of_its_own(worker: Conversation, host: Host) -> None:
    call = completed(await worker.say("subagent write 7"))
    content = (call.content or [])[1]
    assert isinstance(content, ToolResultSubagentContent)
    other = host.sessions.get(content.resource)
    assert other is not None
    assert other.live.head.turns[0].user_message.text == "write 7"


async def test_what_it_writes_is_a_changeset_also_without_git(worker: Conversation) -> None:
    worker.start("save note.txt three rooms left")
    await worker.approve()
    await worker.end()

    def shown() -> list[object]:
        return [each for each in worker.state.summary.changesets or () if each.files]

    await worker.until(shown)
