"""Tool calls of agents, whether they may run, and what came of them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from conformance.client import Client, calls_of
from harness.acp.conftest import Inn, back, begin, confirm, ended, notices, pending, said, say, status


def steps(client: Client) -> list[str]:
    kinds = [envelope["action"]["type"] for envelope in client.envelopes]
    return [kind.removeprefix("session/toolCall") for kind in kinds if "/toolCall" in kind]


async def test_a_call_goes_through_all_of_its_states(inn: Inn, client: Client) -> None:
    turn = await say(client, await inn.begun(client), "tool")
    (call,) = calls_of(turn)
    assert steps(client) == ["Start", "Delta", "Delta", "Ready", "ContentChanged", "Complete"]
    assert (status(call), call.success, call.confirmed) == ("completed", True, "not-needed")
    assert (call.tool_name, call.display_name, call.invocation_message) == ("read", "Read", "Read notes")
    assert call.tool_input == '{"path": "notes.md"}'
    assert [content.text for content in call.content] == ["the whole"]
    ready = next(a for a in client.heard("toolCallReady"))
    assert ready["_meta"]["serai.locations"] == [{"path": "/notes.md", "line": 3}]


async def test_a_call_that_fails_says_why(inn: Inn, client: Client) -> None:
    (call,) = calls_of(await say(client, await inn.begun(client), "tool failed"))
    assert (call.success, call.error.message) == (False, "the whole")


async def test_content_of_every_kind_is_shown(inn: Inn, client: Client) -> None:
    (call,) = calls_of(await say(client, await inn.begun(client), "mixed"))
    kinds = [str(type(content).__struct_config__.tag) for content in call.content]
    assert kinds == ["embeddedResource", "resource", "text", "fileEdit", "text"]
    edit = call.content[3]
    assert (edit.diff.added, edit.diff.removed, edit.before.uri) == (2, 1, "file:///w/a.py")
    after = await client.request("resourceRead", uri=edit.after.content.uri)
    assert after["data"] == "1\n3\n4\n"
    assert '"hologram"' in call.content[4].text


# -- permissions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "chosen"),
    [
        ({"selectedOptionId": "ever"}, "ever"),
        ({"approved": False}, "no"),
    ],
)
async def test_the_persons_choice_reaches_the_agent(
    inn: Inn, client: Client, fields: dict[str, Any], chosen: str
) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "permission")
    call = await pending(client, session)
    assert (call.confirmation_title, call.tool_input) == ("rm -rf /", '{"command": "rm"}')
    assert [(option.id, option.kind) for option in call.options] == [
        ("yes", "approve"),
        ("ever", "approve"),
        ("no", "deny"),
    ]
    assert call.editable is None
    await confirm(client, session, call, **fields)
    over = await ended(client, session, turn)
    assert said(over) == chosen
    assert status(calls_of(over)[0]) == ("completed" if fields.get("approved", True) else "cancelled")


async def test_an_answer_that_was_not_offered_is_rejected(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "permission")
    call = await pending(client, session)
    await confirm(client, session, call, selectedOptionId="zz")
    envelope = await client.hear("toolCallConfirmed")
    assert envelope["rejectionReason"].startswith("no_such_option")
    await confirm(client, session, call, selectedOptionId="ever")
    assert said(await ended(client, session, turn)) == "ever"


async def test_what_a_person_would_rather_have_is_the_next_message(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "permission")
    call = await pending(client, session)
    other = {"text": "echo instead"}
    await confirm(client, session, call, approved=False, selectedOptionId="no", userSuggestion=other)
    await ended(client, session, turn)
    await client.until(lambda: len(client.session(session).turns) == 2)
    after = client.session(session).turns[1]
    assert (after.user_message.text, said(after)) == ("echo instead", "instead")


async def test_an_edited_input_is_rejected(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "permission")
    call = await pending(client, session)
    await confirm(client, session, call, editedToolInput="{}")
    envelope = await client.hear("toolCallConfirmed")
    assert envelope["rejectionReason"].startswith("not_editable")
    await confirm(client, session, call)
    assert said(await ended(client, session, turn)) == "yes"


@pytest.mark.parametrize("call_id", ["c", "sk-ant-api03-" + "Zk9Qx7Lm2Vt4Rw8Yb1Nc5Hd3Jf6Gs0Pa" * 3])
async def test_a_second_question_under_one_id_shows_what_it_asks_about(
    inn: Inn, client: Client, call_id: str
) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, f"twice {call_id}")
    for name in ("one", "two"):
        await client.until(
            lambda name=name: any(
                call.confirmation_title == f"touch {name}" for call in _asked(client, session)
            )
        )
        (call,) = _asked(client, session)
        assert call.tool_input == f'{{"command": "touch {name}"}}'
        await confirm(client, session, call)
    calls = calls_of(await ended(client, session, turn))
    assert {(status(call), call.tool_input) for call in calls} == {
        ("completed", '{"command": "touch one"}'),
        ("completed", '{"command": "touch two"}'),
    }
    assert all(call_id not in call.tool_call_id for call in calls) is (call_id != "c"), "secrets are masked"


def _asked(client: Client, session: str) -> list[Any]:
    turn = client.session(session).active_turn
    calls = calls_of(turn) if turn else []
    return [call for call in calls if status(call) == "pending-confirmation"]


async def test_whoever_is_asked_when_the_turn_is_cancelled_need_not_answer(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "storm 5")
    await pending(client, session)
    await client.dispatch(session, "turnCancelled", turnId=turn)
    over = await ended(client, session, turn)
    assert (over.state, {status(call) for call in calls_of(over)}) == ("cancelled", {"cancelled"})
    after = await say(client, session, "recall")
    assert said(after) == '["storm 5"]'


async def test_a_call_that_ran_and_whose_end_is_not_told_is_not_called_skipped(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "untold")
    await confirm(client, session, await pending(client, session))
    *ran, never = calls_of(await ended(client, session, turn))
    for call in ran:
        assert (status(call), call.success) == ("completed", False)
        assert call.error.message == "the agent did not tell how this ended"
    assert [part.text for part in ran[1].content] == ["half"]
    assert (status(never), never.reason) == ("cancelled", "skipped")


async def test_a_question_that_the_agent_takes_back_is_not_asked_any_more(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, modes=True)
    turn = await begin(client, session, "withdrawn session/request_permission")
    await pending(client, session)
    await client.dispatch(session, "configChanged", config={"mode": "do"})
    over = await ended(client, session, turn)
    assert "-32800" in said(over)
    skipped, run = calls_of(over)
    assert (skipped.tool_call_id, status(skipped), skipped.reason) == ("c", "cancelled", "skipped")
    assert (run.tool_call_id, status(run)) == ("c#1", "completed")


async def test_a_call_that_runs_after_a_no_is_another_one(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "defiant")
    await confirm(client, session, await pending(client, session), approved=False)
    denied, run = calls_of(await ended(client, session, turn))
    assert (status(denied), denied.reason) == ("cancelled", "denied")
    assert (run.tool_call_id, status(run), run.content[0].text) == ("c#1", "completed", "made")


async def test_a_yes_that_the_agent_has_no_option_for_cancels_and_says_so(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "unkind")
    await confirm(client, session, await pending(client, session))
    over = await ended(client, session, turn)
    assert "cancelled" in said(over)
    assert "offers no matching answer" in notices(over)[0]


# -- edits -------------------------------------------------------------------------------------------------


async def test_what_an_agent_writes_is_shown_beforehand_and_is_a_change(
    inn: Inn, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # here git is wanted
    await (await asyncio.create_subprocess_exec("git", "init", "-q", str(inn.folder))).wait()
    session = await inn.begun(client)
    turn = await begin(client, session, "edit made.txt")
    call = await pending(client, session)
    (edit,) = call.edits.items
    assert (edit.before, edit.after.uri) == (None, (inn.folder / "made.txt").as_uri())
    await confirm(client, session, call, selectedOptionId="yes")
    over = await ended(client, session, turn)
    assert calls_of(over)[0].content[0].diff.added == 1
    await client.until(lambda: client.session(session).summary.changesets)
    listed = client.session(session).summary.changesets or []
    changeset = next(one.uri_template for one in listed if one.uri_template.endswith("session"))
    await client.subscribe(changeset)
    await client.until(lambda: _files(client, changeset))
    assert _files(client, changeset) == [(inn.folder / "made.txt").as_uri()]


def _files(client: Client, uri: str) -> list[str]:
    state: Any = client.state.confirmed(uri)
    return [file.edit.after.uri for file in state.files] if state else []


def text(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


AGAIN = {"do": "tool_call", "title": "make", "kind": "execute", "status": "in_progress"}


def shown(call: Any) -> list[str]:
    """The texts that a call shows; of an edit, the name of its kind."""
    return [getattr(each, "text", None) or type(each).__struct_config__.tag for each in call.content or ()]


# -- turns that end before it is told ----------------------------------------------------------------------

HALF = {**AGAIN, "content": [text("half")]}
QUESTION = {"do": "begin asking", "title": "make"}
WAIT = {"do": "wait"}


async def waiting(inn: Inn, client: Client, *steps: dict[str, Any]) -> tuple[str, str]:
    """A session and its turn, in which the agent waits after these steps."""
    session = await inn.begun(client)
    turn = await begin(client, session, f"scripted {json.dumps([*steps, WAIT])}")
    await client.until(lambda: said(client.session(session).active_turn) == "waiting")
    return session, turn


async def test_a_call_that_runs_when_someone_cancels_was_not_skipped(inn: Inn, client: Client) -> None:
    session, turn = await waiting(inn, client, HALF)
    await client.dispatch(session, "turnCancelled", turnId=turn)
    over = await ended(client, session, turn)
    (call,) = calls_of(over)
    assert (over.state, status(call), call.success) == ("cancelled", "completed", False)
    assert call.error.message == "the agent did not tell how this ended"
    assert shown(call) == ["half"]


async def test_a_call_that_runs_when_the_host_is_stopped_was_not_skipped(inn: Inn, client: Client) -> None:
    session, turn = await waiting(inn, client, HALF)
    again = await back(inn)
    over = await ended(again, session, turn)
    (call,) = calls_of(over)
    assert (over.error.error_type, status(call), call.success) == ("interrupted", "completed", False)
    assert call.error.message == "the agent did not tell how this ended"
    assert shown(call) == ["half"]


async def test_a_call_that_someone_is_asked_about_when_they_cancel_was_skipped(
    inn: Inn, client: Client
) -> None:
    session, turn = await waiting(inn, client, HALF, QUESTION)
    await pending(client, session)
    await client.dispatch(session, "turnCancelled", turnId=turn)
    (call,) = calls_of(await ended(client, session, turn))
    assert (status(call), call.reason) == ("cancelled", "skipped")
