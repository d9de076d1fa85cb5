"""Agents that tell the history late: after they were asked to open a session, or only in the next turn."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import Client, calls_of
from harness.acp.conftest import (
    FORKS,
    LOADS,
    RESUMES,
    Inn,
    back,
    begin,
    confirm,
    ended,
    notices,
    pending,
    said,
    say,
    status,
)
from serai.harness.acp import work

FORK = "ahp-session:/fork"


@pytest.mark.parametrize("can", [LOADS, RESUMES])
@pytest.mark.parametrize("late", [0.01, 0.05])
async def test_history_that_is_told_after_the_answer_is_history_too(
    inn: Inn, client: Client, keep: str, late: float, can: dict[str, Any]
) -> None:
    inn.offer(keep=keep, capabilities=can, late=late)
    session = await inn.session(client)
    await say(client, session, "echo one")
    client = await back(inn)
    turn = await say(client, session, "recall")
    assert (said(turn), calls_of(turn)) == ('["echo one"]', [])
    assert len(notices(turn)) == 1


@pytest.mark.parametrize("can", [LOADS, RESUMES])
async def test_history_that_is_told_in_the_next_turn_is_known_by_what_it_says(
    inn: Inn, client: Client, keep: str, can: dict[str, Any]
) -> None:
    inn.offer(keep=keep, capabilities=can, late="prompt")
    session = await inn.session(client)
    await say(client, session, "tool")
    await say(client, session, "think")
    client = await back(inn)
    turn = await say(client, session, "echo new")
    assert (said(turn), calls_of(turn)) == ("new", [])
    assert [type(part).__name__ for part in turn.response_parts] == [
        "SystemNotificationResponsePart",
        "MarkdownResponsePart",
    ]


@pytest.mark.parametrize(("repeats", "calls"), [(True, 0), (False, 1)])
async def test_what_was_done_last_is_shown_again_when_nothing_parts_it_from_the_answer(
    inn: Inn, client: Client, keep: str, calls: int, *, repeats: bool
) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late="prompt", repeats=repeats)
    session = await inn.session(client)
    await say(client, session, "think")
    await say(client, session, "tool")
    client = await back(inn)
    turn = await say(client, session, "echo new")
    assert (said(turn), len(calls_of(turn))) == ("new", calls)


async def test_links_and_pictures_in_history_are_known_too(inn: Inn, client: Client, keep: str) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late="prompt")
    session = await inn.session(client)
    await say(client, session, "illustrated")
    client = await back(inn)
    turn = await say(client, session, "echo new")
    assert (said(turn), len(turn.response_parts)) == ("new", 2)  # the other is the notice


async def test_history_is_known_also_when_the_next_prompt_has_an_old_message_in_it(
    inn: Inn, client: Client, keep: str
) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late="prompt")
    session = await inn.session(client)
    await say(client, session, "echo one")
    await say(client, session, "echo two")
    client = await back(inn)
    assert said(await say(client, session, "echo new echo one")) == "newechoone"


async def test_history_that_is_told_in_the_next_turn_need_not_be_the_same_to_the_letter(
    inn: Inn, client: Client, keep: str
) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late="prompt", around="\n\n{} ")
    session = await inn.session(client)
    await say(client, session, "echo one two")
    client = await back(inn)
    assert said(await say(client, session, "echo new")) == "new"


@pytest.mark.parametrize("late", [0.01, 0.05, "prompt"])
async def test_the_history_of_a_fork_is_not_recorded_again(
    inn: Inn, client: Client, keep: str, late: float | str
) -> None:
    inn.offer(keep=keep, capabilities=FORKS, late=late)
    session = await inn.session(client)
    last = await say(client, session, "echo one")
    await inn.session(client, FORK, fork={"session": session, "turnId": last.id})
    turn = await say(client, FORK, "recall")
    assert (said(turn), calls_of(turn)) == ('["echo one"]', [])
    (notice,) = notices(turn)
    assert "has forked its session" in notice
    assert notices(await say(client, FORK, "echo more")) == []


# -- the next prompt is one of before ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "repeats"),
    [
        (["echo one"], True),
        (["echo one", "echo two"], True),
        (["echo one", "echo two"], False),
        (["echo two", "echo one"], True),
        (["echo one", "echo one"], True),
        (["echo", "echo one"], True),
    ],
)
async def test_history_is_not_recorded_when_the_next_prompt_is_one_of_before(
    inn: Inn, client: Client, keep: str, before: list[str], *, repeats: bool
) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late="prompt", repeats=repeats)
    session = await inn.session(client)
    for text in before:
        await say(client, session, text)
    client = await back(inn)
    assert said(await say(client, session, "echo one")) == "one"
    assert said(await say(client, session, "echo one")) == "one"


@pytest.mark.parametrize("before", [["echo one"], ["echo two", "echo one"], ["echo one", "echo one"]])
async def test_the_last_of_history_is_shown_again_when_it_may_be_the_answer_to_the_same_prompt(
    inn: Inn, client: Client, keep: str, before: list[str]
) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late="prompt")
    session = await inn.session(client)
    for text in before:
        await say(client, session, text)
    client = await back(inn)
    assert said(await say(client, session, "echo one")) == "oneone"
    assert said(await say(client, session, "echo one")) == "one"


@pytest.mark.parametrize("late", ["prompt", "never"])
@pytest.mark.parametrize("text", ["echo one", "think", "tool", "plan"])
async def test_an_answer_that_is_the_same_as_before_is_recorded_once_whether_history_comes_with_it_or_not(
    inn: Inn, client: Client, keep: str, text: str, late: str
) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late=late, repeats=True)
    session = await inn.session(client)
    first = await say(client, session, text)
    client = await back(inn)
    again = await say(client, session, text)
    assert (said(again), len(calls_of(again))) == (said(first), len(calls_of(first)))
    assert len(again.response_parts) == len(first.response_parts) + 1  # the notice


async def test_an_answer_that_is_the_same_as_before_is_shown_before_the_person_is_asked(
    inn: Inn, client: Client, keep: str
) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late="never", repeats=True)
    session = await inn.session(client)
    for number in range(2):
        turn = await begin(client, session, "careful")
        call = await pending(client, session)
        active = client.session(session).active_turn
        assert said(active) == "I will ask."
        await confirm(client, session, call)
        over = await ended(client, session, turn)
        assert (said(over), len(calls_of(over))) == ("I will ask.yes", 1)
        if number == 0:
            client = await back(inn)


async def test_a_call_that_runs_as_one_did_before_is_shown_while_it_runs(
    inn: Inn, client: Client, keep: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "_PAUSE", 0.05)
    inn.offer(keep=keep, capabilities=RESUMES, late="never", repeats=True, modes=True)
    session = await inn.session(client)

    def runs() -> bool:
        active = client.session(session).active_turn
        return active is not None and [status(call) for call in calls_of(active)] == ["running"]

    for mode in ("do", "ask"):
        turn = await begin(client, session, "paused")
        await client.until(runs)
        await client.dispatch(session, "configChanged", config={"mode": mode})
        over = await ended(client, session, turn)
        assert (said(over), len(calls_of(over))) == ("made", 1)
        if mode == "do":
            client = await back(inn)


async def test_what_was_held_back_is_told_when_the_agent_goes_down(
    inn: Inn, client: Client, keep: str
) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late="never", repeats=True)
    session = await inn.session(client)
    await say(client, session, "echo one")
    await say(client, session, "crash 3")
    client = await back(inn)
    turn = await say(client, session, "crash 3")
    assert (said(turn), turn.state) == ("going down", "error")


# -- nothing new is lost -----------------------------------------------------------------------------------


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("can", [LOADS, RESUMES])
@pytest.mark.parametrize("text", ["fixit", "fixit keeps"])
async def test_what_an_agent_does_again_after_it_went_down_is_shown(
    inn: Inn, client: Client, keep: str, can: dict[str, Any], text: str, *, repeats: bool
) -> None:
    inn.offer(keep=keep, capabilities=can, repeats=repeats, keeps_at_once=True)
    session = await inn.session(client)
    assert (await say(client, session, text)).state == "error"
    client = await back(inn)
    turn = await say(client, session, text)
    assert (said(turn), [status(call) for call in calls_of(turn)]) == ("It is fixed.", ["completed"])


async def test_what_an_agent_says_to_itself_is_not_taken_for_an_old_turn(
    inn: Inn, client: Client, keep: str
) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late="never", repeats=True)
    session = await inn.session(client)
    assert said(await say(client, session, "echo Done.")) == "Done."
    client = await back(inn)
    assert said(await say(client, session, "itself Working. | echo Done. | Done.")) == "Working.Done."
    client = await back(inn)
    assert said(await say(client, session, "itself | echo Done. | Done.")) == "Done."


async def test_an_answer_is_not_taken_for_that_of_a_message_that_had_none(
    inn: Inn, client: Client, keep: str
) -> None:
    inn.offer(keep=keep, capabilities=RESUMES, late="prompt", keeps_at_once=True)
    session = await inn.session(client)
    assert said(await say(client, session, "pass_once")) == "All pass."
    assert said(await say(client, session, "pass_once")) == ""
    client = await back(inn)
    assert said(await say(client, session, "echo All pass.")) == "Allpass."


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("told", [{"capabilities": LOADS}, {"capabilities": RESUMES, "late": "never"}])
async def test_an_answer_that_goes_further_than_the_one_before_is_shown_as_a_whole(
    inn: Inn, client: Client, keep: str, told: dict[str, Any], *, repeats: bool
) -> None:
    inn.offer(keep=keep, repeats=repeats, **told)
    session = await inn.session(client)
    assert said(await say(client, session, "further")) == "Done."
    client = await back(inn)
    turn = await say(client, session, "further")
    assert said(turn) == "Done. All tests pass."
    assert [call.tool_call_id for call in calls_of(turn)] == ["k0", "k1"]
