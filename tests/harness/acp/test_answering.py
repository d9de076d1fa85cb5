"""What agents ask of the host: files, terminals, and questions to the person."""

from __future__ import annotations

import json
from typing import Any

from conformance.client import Client, calls_of
from harness.acp.conftest import Inn, begin, ended, said, say, status

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


async def test_what_the_catalogue_does_not_offer_is_not_there(inn: Inn, client: Client) -> None:
    inn.offer()
    session = await inn.session(client)
    assert {answer["code"] for answer in told(await say(client, session, "fs /notes"))} == {-32601}
    assert told(await say(client, session, "terminal"))[0]["code"] == -32601


async def test_commands_run_in_terminals_that_people_can_follow(inn: Inn, client: Client) -> None:
    inn.offer(**WITH_TERMINALS)
    session = await inn.session(client)
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


async def test_a_form_is_a_list_of_questions(inn: Inn, client: Client) -> None:
    inn.offer()
    session = await inn.session(client)
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


async def test_a_form_can_be_declined(inn: Inn, client: Client) -> None:
    inn.offer()
    session = await inn.session(client)
    turn = await begin(client, session, "form")
    await client.until(lambda: client.session(session).input_requests)
    (request,) = client.session(session).input_requests or []
    await client.dispatch(session, "inputCompleted", requestId=request.id, response="decline")
    assert told(await ended(client, session, turn)) == [{"action": "decline"}]


async def test_what_was_done_at_an_address_is_no_longer_asked(inn: Inn, client: Client) -> None:
    inn.offer()
    session = await inn.session(client)
    turn = await say(client, session, "address")
    assert told(turn) == [{"action": "accept"}]
    asked = client.heard("inputRequested")[0]["request"]
    assert (asked["url"], asked["message"]) == ("https://example.org/x", "Go")
    assert client.session(session).input_requests is None
