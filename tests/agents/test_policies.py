"""Who answers when an agent asks: a rejecting policy never allows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from agents.players import Players
from serai import agents
from serai.agents import PermissionAsked, PermissionPolicy, ToolFilter
from serai.errors import Mismatch, PermissionTimedOut

ALL_KINDS = "allow_once allow_always reject_once reject_always"


CHOICES: list[tuple[PermissionPolicy, str, str]] = [
    ("auto-allow", ALL_KINDS, "allow_always"),
    ("auto-allow", "reject_once allow_once", "allow_once"),
    ("auto-allow", "reject_once reject_always", "cancelled"),
    ("auto-allow", "novel_kind", "cancelled"),
    ("auto-allow-once", ALL_KINDS, "allow_once"),
    ("auto-allow-once", "allow_always reject_once", "cancelled"),
    ("auto-reject", ALL_KINDS, "reject_once"),
    ("auto-reject", "allow_once reject_always", "reject_always"),
    ("auto-reject", "allow_once allow_always", "cancelled"),
    ("auto-reject", "novel_kind", "cancelled"),
    (agents.Policy.AUTO_REJECT, ALL_KINDS, "reject_once"),
    (lambda _: True, ALL_KINDS, "allow_once"),
    (lambda _: False, ALL_KINDS, "reject_once"),
    (lambda _: False, "allow_once", "cancelled"),
    (lambda _: None, ALL_KINDS, "cancelled"),
    (lambda _: "allow_always", ALL_KINDS, "allow_always"),
    (lambda _: "cancel", ALL_KINDS, "cancelled"),
    (lambda _: "no such option", ALL_KINDS, "cancelled"),
    (lambda asked: asked.options[-1], ALL_KINDS, "reject_always"),
]


@pytest.mark.parametrize(("policy", "offered", "answer"), CHOICES)
async def test_a_policy_chooses_among_what_is_offered(
    players: Players, policy: PermissionPolicy, offered: str, answer: str
) -> None:
    result = await agents.ask("player", f"permit {offered}", permissions=policy, **players.options)
    assert result.text == answer


async def test_without_a_policy_all_is_allowed(players: Players) -> None:
    assert (await agents.ask("player", f"permit {ALL_KINDS}", **players.options)).text == "allow_always"


async def test_a_function_may_take_its_time_and_sees_the_call(players: Players) -> None:
    seen: list[PermissionAsked] = []

    async def decide(asked: PermissionAsked) -> bool:
        await asyncio.sleep(0)
        seen.append(asked)
        return asked.call.kind == "read"

    result = await agents.ask("player", "tool read cat x", permissions=decide, **players.options)
    assert result.text == "allow_once"
    assert seen[0].call.title == "cat x"  # told before the request, not in it
    assert not seen[0].allow()  # someone else answers
    result = await agents.ask("player", "tool execute rm x", permissions=decide, **players.options)
    assert result.text == "reject_once"


async def test_a_function_that_fails_allows_nothing(players: Players) -> None:
    def decide(_: PermissionAsked) -> bool:
        raise ZeroDivisionError("oh")

    result = await agents.ask("player", f"permit {ALL_KINDS}", permissions=decide, **players.options)
    assert result.text == "cancelled"
    assert "oh" in players.warnings[0]


ANSWERS: list[tuple[Callable[[PermissionAsked], bool], str]] = [
    (lambda asked: asked.allow(), "allow_once"),
    (lambda asked: asked.allow(always=True), "allow_always"),
    (lambda asked: asked.reject(), "reject_once"),
    (lambda asked: asked.reject(always=True), "reject_always"),
    (lambda asked: asked.choose("allow_always"), "allow_always"),
    (lambda asked: asked.cancel(), "cancelled"),
]


@pytest.mark.parametrize(("answer", "outcome"), ANSWERS)
async def test_whoever_follows_the_stream_answers(
    players: Players, answer: Callable[[PermissionAsked], bool], outcome: str
) -> None:
    stream = agents.stream("player", f"permit {ALL_KINDS}", permissions="stream", **players.options)
    async with stream:
        async for event in stream:
            if isinstance(event, PermissionAsked):
                assert event.is_open
                with pytest.raises(Mismatch):
                    event.choose("nothing")
                assert answer(event)
                assert not answer(event)
        assert (await stream.result()).text == outcome


async def test_to_reject_where_that_is_not_offered_cancels(players: Players) -> None:
    async with agents.stream(
        "player", "permit allow_once", permissions="stream", **players.options
    ) as stream:
        async for event in stream:
            if isinstance(event, PermissionAsked):
                with pytest.raises(Mismatch):
                    event.allow(always=True)
                event.reject()
        assert (await stream.result()).text == "cancelled"


async def test_when_nobody_follows_a_request_is_cancelled_with_a_warning(players: Players) -> None:
    result = await agents.ask("player", f"permit {ALL_KINDS}", permissions="stream", **players.options)
    assert result.text == "cancelled"
    assert "nobody follows its stream" in players.warnings[0]


async def test_an_answer_that_does_not_come_in_time_fails_the_turn(players: Players) -> None:
    stream = agents.stream(
        "player", f"permit {ALL_KINDS}", permissions="stream", permission_timeout=0.05, **players.options
    )
    with pytest.raises(PermissionTimedOut, match="rm x"):
        await stream.result()
    assert "session/cancel" in players.methods


async def test_a_turn_that_is_cancelled_takes_its_question_back(players: Players) -> None:
    asked: list[PermissionAsked] = []
    async with agents.session("player", permissions="stream", **players.options) as session:
        async with session.stream(f"permit {ALL_KINDS}") as stream:
            async for event in stream:
                if isinstance(event, PermissionAsked):
                    asked.append(event)
                    session.cancel()
            assert (await stream.result()).text == "cancelled"
        assert not asked[0].allow()


# -- filters -----------------------------------------------------------------------------------------------


async def test_a_filter_refuses_before_the_policy_is_asked(players: Players) -> None:
    tools = ToolFilter(block_kinds=["execute"])
    options = players.options
    assert (await agents.ask("player", "tool execute ls", tools=tools, **options)).text == "reject_once"
    assert (await agents.ask("player", "tool read ls", tools=tools, **options)).text == "allow_once"
    assert (await agents.ask("player", "permit allow_once", tools=tools, **options)).text == "cancelled"


async def test_what_passes_a_filter_is_still_a_matter_of_the_policy(players: Players) -> None:
    tools = ToolFilter(allow_kinds=["read"])
    result = await agents.ask(
        "player", "tool read x", tools=tools, permissions="auto-reject", **players.options
    )
    assert result.text == "reject_once"


async def test_a_tool_that_is_used_without_asking_is_warned_of_once(players: Players) -> None:
    await agents.ask(
        "player", "unasked execute", tools=ToolFilter(block_kinds=["execute"]), **players.options
    )
    assert players.warnings == [
        "A tool was used without asking: rm (execute) — tools of the kind execute are blocked."
    ]
