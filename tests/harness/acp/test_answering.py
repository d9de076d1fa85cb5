"""What agents ask of the host: files, terminals, and questions to the person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance.client import Client, calls_of
from harness.acp.conftest import Inn, begin, ended, said, say, status
from machine.processes.watching import runs, until, written_pid
from requirements import proves

WITH_FILES: dict[str, Any] = {"definition": {"fs": True}}
WITH_TERMINALS: dict[str, Any] = {"definition": {"terminal": True}}


def told(turn: Any) -> list[Any]:
    """The JSON that the agent repeated, one value after the other."""
    text, found, decoder = said(turn), [], json.JSONDecoder()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


async def test_files_are_read_and_written_below_the_sessions_folder_only(inn: Inn, client: Client) -> None:
    inn.offer(**WITH_FILES)
    (inn.folder / "notes").write_text("one\ntwo\nthree\n")
    turn = await say(client, await inn.session(client), f"fs {inn.folder / 'notes'}")
    whole, line, written, outside, missing = told(turn)
    assert (whole, line) == ({"content": "one\ntwo\nthree\n"}, {"content": "two\n"})
    assert written == {}
    assert (inn.folder / "notes.new").read_text() == "made\n"
    assert (outside["code"], missing["code"]) == (-32603, -32002)


@proves("wire:additionalDirectories/readable-for-lifetime", "wire:additionalDirectories/read-only")
async def test_additional_folders_are_read_as_long_as_the_session_lives_and_never_written(
    inn: Inn, client: Client, tmp_path: Path
) -> None:
    inn.offer(
        **WITH_FILES, capabilities={"loadSession": True, "sessionCapabilities": {"additionalDirectories": {}}}
    )
    more = tmp_path / "more"
    more.mkdir()
    (more / "notes").write_text("one\ntwo\n")
    session = await inn.session(client, config={"additionalDirectories": [str(more)]})
    for again in (False, False, True):
        if again:
            await inn.restart()
            client = await inn.connect("again", session)
        whole, line, written, outside, _ = told(await say(client, session, f"fs {more / 'notes'}"))
        assert (whole, line) == ({"content": "one\ntwo\n"}, {"content": "two\n"})
        assert written["code"] == outside["code"] == -32603
        assert [file.name for file in more.iterdir()] == ["notes"]


async def test_what_the_catalogue_does_not_offer_is_not_there(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    assert {answer["code"] for answer in told(await say(client, session, "fs /notes"))} == {-32601}
    assert told(await say(client, session, "terminal"))[0]["code"] == -32601


async def test_commands_run_in_terminals_that_people_can_follow(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, **WITH_TERMINALS)
    turn = await say(client, session, "terminal")
    ended_well, output, gone, line = told(turn)
    assert (ended_well["exitCode"], output["output"], output["truncated"]) == (0, "words", False)
    assert gone == -32002
    assert (line["truncated"], line["exitStatus"]["exitCode"]) == (True, 0)
    assert len(line["output"].encode()) <= 6
    (call,) = calls_of(turn)
    (content,) = call.content
    assert status(call) == "completed"
    await client.subscribe(content.resource)
    terminal: Any = client.state.confirmed(content.resource)
    assert "words" in "".join(part.value for part in terminal.content)
    assert terminal.claim.session == session


async def answers(inn: Inn) -> Any:
    """What the agent was told, and has written down."""
    written = inn.folder / "answers"
    await until(lambda: written.exists() and bool(written.read_text()))
    return json.loads(written.read_text())


async def test_after_a_cancel_nothing_is_written_and_nothing_runs(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, definition={"fs": True, "terminal": True})
    turn = await begin(client, session, "unstoppable")
    await client.hear("delta", content="waiting")
    await client.dispatch(session, "turnCancelled", turnId=turn)
    assert {answer["error"]["code"] for answer in await answers(inn)} == {-32600}
    assert said(await say(client, session, "echo on")) == "on"
    assert sorted(file.name for file in inn.folder.iterdir()) == ["answers"]
    assert not client.root.terminals


async def test_terminals_end_with_the_agents_process(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, **WITH_TERMINALS)
    await say(client, session, "lasting echo $$ > pid; exec sleep 100")
    pid = await written_pid(inn.folder / "pid")
    await say(client, session, "echo still there")
    assert runs(pid)
    over = await say(client, session, "vanish")
    assert over.error.error_type == "connection_closed"
    await until(lambda: not runs(pid))
    await client.until(lambda: [each.exit_code for each in client.root.terminals or ()] == [129])


async def test_a_form_is_a_list_of_questions(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "form")
    await client.until(lambda: client.session(session).input_requests)
    (request,) = client.session(session).input_requests or []
    assert request.message == "Who?"
    kinds = [str(type(question).__struct_config__.tag) for question in request.questions or ()]
    assert kinds == ["text", "integer", "single-select", "boolean", "multi-select"]
    values: dict[str, Any] = {
        "name": {"kind": "text", "value": "Ada"},
        "size": {"kind": "number", "value": 4},
        "colour": {"kind": "selected", "value": "green"},
        "tags": {"kind": "selected-many", "value": ["a"]},
    }
    answers = {name: {"state": "submitted", "value": value} for name, value in values.items()}
    await client.dispatch(session, "inputCompleted", requestId=request.id, response="accept", answers=answers)
    (answer,) = told(await ended(client, session, turn))
    assert answer == {
        "action": "accept",
        "content": {"name": "Ada", "size": 4, "colour": "green", "tags": ["a"]},
    }


async def test_nobody_is_sent_to_what_is_no_address_of_the_web(inn: Inn, client: Client) -> None:
    (answer,) = told(await say(client, await inn.begun(client), "elsewhere javascript:alert(1)"))
    assert answer["code"] == -32602
    assert client.heard("inputRequested") == []


async def test_a_question_that_the_agent_takes_back_is_not_asked_any_more(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, modes=True)
    turn = await begin(client, session, "withdrawn elicitation/create")
    await client.until(lambda: client.session(session).input_requests)
    await client.dispatch(session, "configChanged", config={"mode": "do"})
    (answer,) = told(await ended(client, session, turn))
    assert answer["code"] == -32800
    assert client.session(session).input_requests is None


async def test_what_was_done_at_an_address_is_no_longer_asked(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await say(client, session, "address")
    assert told(turn) == [{"action": "accept"}]
    asked = client.heard("inputRequested")[0]["request"]
    assert (asked["url"], asked["message"]) == ("https://example.org/x", "Go")
    assert client.session(session).input_requests is None
