"""What an agent may do: policies, filters, and who answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal, cast

import pytest

from serai import agents
from serai.agents import AgentToolCall, PermissionAsked, PermissionPolicy, ToolFilter
from serai.agents.testing import ScriptedAgent, ScriptedTurn
from serai.errors import Mismatch, PermissionTimedOut

ALL_KINDS = "allow_once allow_always reject_once reject_always"


class Asker(ScriptedAgent):
    """Does what the prompt says: `permit` and the options, `tool` and its kind and title, and so on."""

    def __init__(self) -> None:
        super().__init__(self._play)
        self.warnings: list[str] = []

    @property
    def options(self) -> dict[str, Any]:
        return {"on_warning": self.warnings.append}

    async def _play(self, turn: ScriptedTurn) -> None:
        word, *words = turn.text.split()
        if word == "permit":
            turn.say(await turn.ask_permission("rm x", options=words))
        elif word == "tool":  # told before, and not again in the request
            call = turn.tool(" ".join(words[1:]), words[0])
            turn.say(await turn.ask_permission(call=call, options=("allow_once", "reject_once")))
        elif word == "changes":  # asked for as one kind, used as another
            call = turn.tool("cat it", words[0])
            await turn.ask_permission(call=call)
            for status in ("in_progress", "completed"):
                turn.tool_update(call, status=status, kind=words[1], title=" ".join(words[2:]))
        else:
            call = turn.tool("rm", words[0], status="in_progress")
            turn.tool_update(call)


@pytest.fixture
def asker() -> Asker:
    return Asker()


CHOICES: list[tuple[PermissionPolicy, str, str]] = [
    ("auto-allow", ALL_KINDS, "allow_always"),
    ("auto-allow", "reject_once allow_once", "allow_once"),
    ("auto-allow", "reject_once reject_always", "cancelled"),
    ("auto-allow-once", ALL_KINDS, "allow_once"),
    ("auto-allow-once", "allow_always reject_once", "cancelled"),
    ("auto-reject", ALL_KINDS, "reject_once"),
    ("auto-reject", "allow_once reject_always", "reject_always"),
    ("auto-reject", "allow_once allow_always", "cancelled"),
    (lambda _: True, ALL_KINDS, "allow_once"),
    (lambda _: False, ALL_KINDS, "reject_once"),
    (lambda _: False, "allow_once", "cancelled"),
    (lambda _: "allow_always", ALL_KINDS, "allow_always"),
    (lambda _: "no such option", ALL_KINDS, "cancelled"),
    (lambda asked: asked.options[-1], ALL_KINDS, "reject_always"),
]


@pytest.mark.parametrize(("policy", "offered", "answer"), CHOICES)
async def test_a_policy_chooses_among_what_is_offered(
    asker: Asker, policy: PermissionPolicy, offered: str, answer: str
) -> None:
    result = await agents.ask(asker, f"permit {offered}", permissions=policy, **asker.options)
    assert result.text == answer


async def test_without_a_policy_all_is_allowed(asker: Asker) -> None:
    assert (await agents.ask(asker, f"permit {ALL_KINDS}", **asker.options)).text == "allow_always"


async def test_a_function_may_take_its_time_and_sees_the_call(asker: Asker) -> None:
    seen: list[PermissionAsked] = []

    async def decide(asked: PermissionAsked) -> bool:
        await asyncio.sleep(0)
        seen.append(asked)
        return asked.call.kind == "read"

    result = await agents.ask(asker, "tool read cat x", permissions=decide, **asker.options)
    assert result.text == "allow_once"
    assert seen[0].call.title == "cat x"  # told before the request, not in it
    assert not seen[0].allow()  # someone else answers
    result = await agents.ask(asker, "tool execute rm x", permissions=decide, **asker.options)
    assert result.text == "reject_once"


async def test_a_function_that_fails_allows_nothing(asker: Asker) -> None:
    def decide(_: PermissionAsked) -> bool:
        raise ZeroDivisionError("oh")

    result = await agents.ask(asker, f"permit {ALL_KINDS}", permissions=decide, **asker.options)
    assert result.text == "cancelled"
    assert "oh" in asker.warnings[0]


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
    asker: Asker, answer: Callable[[PermissionAsked], bool], outcome: str
) -> None:
    stream = agents.stream(asker, f"permit {ALL_KINDS}", permissions="stream", **asker.options)
    async with stream:
        async for event in stream:
            if isinstance(event, PermissionAsked):
                assert event.is_open
                with pytest.raises(Mismatch):
                    event.choose("nothing")
                assert answer(event)
                assert not answer(event)
        assert (await stream.result()).text == outcome


async def test_when_nobody_follows_a_request_is_cancelled_with_a_warning(asker: Asker) -> None:
    result = await agents.ask(asker, f"permit {ALL_KINDS}", permissions="stream", **asker.options)
    assert result.text == "cancelled"
    assert "nobody follows its stream" in asker.warnings[0]


async def test_an_answer_that_does_not_come_in_time_fails_the_turn(asker: Asker) -> None:
    stream = agents.stream(
        asker, f"permit {ALL_KINDS}", permissions="stream", permission_timeout=0.05, **asker.options
    )
    with pytest.raises(PermissionTimedOut, match="rm x"):
        await stream.result()
    assert "session/cancel" in asker.methods


async def test_a_turn_that_is_cancelled_takes_its_question_back(asker: Asker) -> None:
    asked: list[PermissionAsked] = []
    async with agents.session(asker, permissions="stream", **asker.options) as session:
        async with session.stream(f"permit {ALL_KINDS}") as stream:
            async for event in stream:
                if isinstance(event, PermissionAsked):
                    asked.append(event)
                    session.cancel()
            assert (await stream.result()).text == "cancelled"
        assert not asked[0].allow()


# -- filters -----------------------------------------------------------------------------------------------


async def test_a_filter_refuses_before_the_policy_is_asked(asker: Asker) -> None:
    tools = ToolFilter(block_kinds=["execute"])
    options = asker.options
    assert (await agents.ask(asker, "tool execute ls", tools=tools, **options)).text == "reject_once"
    assert (await agents.ask(asker, "tool read ls", tools=tools, **options)).text == "allow_once"
    assert (await agents.ask(asker, "permit allow_once", tools=tools, **options)).text == "cancelled"


async def test_what_passes_a_filter_is_still_a_matter_of_the_policy(asker: Asker) -> None:
    tools = ToolFilter(allow_kinds=["read"])
    result = await agents.ask(asker, "tool read x", tools=tools, permissions="auto-reject", **asker.options)
    assert result.text == "reject_once"


async def test_a_tool_that_is_used_without_asking_is_warned_of_once(asker: Asker) -> None:
    await agents.ask(asker, "unasked execute", tools=ToolFilter(block_kinds=["execute"]), **asker.options)
    assert asker.warnings == [
        "A tool was used without asking: rm (execute) — tools of the kind execute are blocked."
    ]


NAMED = ToolFilter(block_names=["rm *"])
KINDS = ToolFilter(block_kinds=["execute"])
AS_ASKED: list[tuple[ToolFilter, str, list[str]]] = [
    (KINDS, "changes read execute rm -rf /", ["the kind execute are blocked"]),
    (NAMED, "changes read read rm -rf /", ["this name are blocked"]),
    (KINDS, "changes read read cat it", []),
    (ToolFilter(on_tool_use=lambda _: False), "changes read read cat it", ["has not allowed it"]),
]


@pytest.mark.parametrize(("tools", "prompt", "reasons"), AS_ASKED)
async def test_a_tool_that_is_not_what_was_asked_for_is_warned_of_once(
    asker: Asker, tools: ToolFilter, prompt: str, reasons: list[str]
) -> None:
    await agents.ask(asker, prompt, tools=tools, **asker.options)
    assert len(asker.warnings) == len(reasons)
    for warning, reason in zip(asker.warnings, reasons, strict=True):
        assert reason in warning


async def test_a_tool_that_was_denied_is_not_warned_of_again(asker: Asker) -> None:
    await agents.ask(asker, "changes execute execute rm -rf /", tools=KINDS, **asker.options)
    assert asker.warnings == ["A tool was denied: cat it (execute) — tools of the kind execute are blocked."]


# -- one id for two options --------------------------------------------------------------------------------

UNCLEAR: list[tuple[PermissionPolicy, str, str]] = [
    ("auto-reject", "x:allow_always x:reject_once", "cancelled"),
    ("auto-allow", "x:allow_once x:reject_once", "cancelled"),
    (lambda _: "x", "x:allow_always x:reject_once", "cancelled"),
]


def offering(offered: str) -> ScriptedAgent:
    options = [dict(zip(("optionId", "kind"), each.split(":"), strict=True)) for each in offered.split()]

    async def turn(turn: ScriptedTurn) -> None:
        params = {
            "sessionId": turn.session_id,
            "toolCall": {"toolCallId": "1", "title": "rm"},
            "options": [{"name": "it", **option} for option in options],
        }
        outcome = (await turn.request("session/request_permission", params))["outcome"]
        turn.say(outcome.get("optionId", outcome["outcome"]))

    return ScriptedAgent(turn)


@pytest.mark.parametrize(("policy", "offered", "answer"), UNCLEAR)
async def test_an_id_that_leaves_open_what_it_means_is_not_chosen(
    policy: PermissionPolicy, offered: str, answer: str
) -> None:
    assert (await agents.ask(offering(offered), "go", permissions=policy)).text == answer


# -- subagents ---------------------------------------------------------------------------------------------


async def ask_as_a_child(turn: ScriptedTurn) -> None:
    """Ask under the id of a session that the agent has made by itself, as subagents have them."""
    options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
    params = {"sessionId": "child", "toolCall": {"toolCallId": "c", "title": "rm x"}, "options": options}
    outcome = (await turn.request("session/request_permission", params))["outcome"]
    turn.say(outcome.get("optionId", outcome["outcome"]))


async def test_what_a_subagent_asks_is_decided_in_the_session_that_has_a_prompt_under_way() -> None:
    asked: list[PermissionAsked] = []

    def decide(request: PermissionAsked) -> bool:
        asked.append(request)
        return True

    async with agents.host(ScriptedAgent(ask_as_a_child), permissions="auto-reject") as host:
        await host.new_session()  # nothing is asked in it
        session = await host.new_session(permissions=decide)
        result = await session.ask("go")
    assert result.text == "allow_once"
    assert [one.call.title for one in asked] == ["rm x"]


async def test_a_subagent_of_nobody_knows_whom_gets_no_answer_and_that_is_told() -> None:
    warnings: list[str] = []
    both = asyncio.Barrier(2)

    async def turn(turn: ScriptedTurn) -> None:
        await both.wait()
        if turn.text == "a":
            await ask_as_a_child(turn)
        await both.wait()

    async with agents.host(ScriptedAgent(turn), on_warning=warnings.append) as host:
        sessions = [await host.new_session() for _ in range(2)]
        results = await asyncio.gather(*(s.ask(t) for s, t in zip(sessions, "ab", strict=True)))
    assert [result.text for result in results] == ["cancelled", ""]
    [warning] = warnings
    assert warning == (
        'Agent "scripted" asks for permission in a session that nobody opened, and several could be meant '
        "— cancelled."
    )


LIMIT = 5.0


async def permit(turn: ScriptedTurn) -> None:
    turn.say(await turn.ask_permission("rm x"))


# -- a filter that takes its time --------------------------------------------------------------------------


async def test_the_time_for_an_answer_is_that_of_the_filter_too() -> None:
    async def never(_: AgentToolCall) -> bool:
        return await asyncio.Event().wait()

    tools = ToolFilter(on_tool_use=never)
    stream = agents.stream(ScriptedAgent([permit]), "go", tools=tools, permission_timeout=0.05)
    async with asyncio.timeout(LIMIT):
        with pytest.raises(PermissionTimedOut, match="rm x"):
            await stream.result()


@pytest.mark.parametrize(
    ("told", "use", "passes"),
    [
        ({"allow_kinds": ["read"]}, AgentToolCall("1", kind="read"), True),
        ({"allow_kinds": ["read"]}, AgentToolCall("1", kind="edit"), False),
        ({"allow_kinds": []}, AgentToolCall("1", kind="read"), False),
        ({"allow_kinds": ["read"]}, AgentToolCall("1"), False),  # it does not say what it is
        ({"block_kinds": ["Execute"]}, AgentToolCall("1", kind="execute"), False),
        ({"block_names": ["bash"]}, AgentToolCall("1", title="ls", name="Bash"), False),
        ({"block_names": ["rm *"]}, AgentToolCall("1", title="rm -rf /"), False),
        ({"allow_names": ["git *"]}, AgentToolCall("1", title="GIT status"), True),
        ({"allow_names": ["git *"]}, AgentToolCall("1", title="rm"), False),
        # Its own name counts where it is told: a title can say anything.
        ({"allow_names": ["read*"]}, AgentToolCall("1", title="read it", name="Bash"), False),
        ({"allow_names": ["bash"]}, AgentToolCall("1", title="read it", name="Bash"), True),
        (
            {"allow_kinds": ["execute"], "block_names": ["rm*"]},
            AgentToolCall("1", title="rm", kind="execute"),
            False,
        ),
    ],
)
def test_a_filter(told: Any, use: AgentToolCall, passes: bool) -> None:
    assert (ToolFilter(**told).refuses(use) is None) is passes


@pytest.mark.parametrize("told", [{"block_kinds": ["exec"]}, {"allow_kinds": ["read", "exec"]}])
def test_a_kind_that_there_is_not_is_told_with_those_that_there_are(told: Any) -> None:
    with pytest.raises(Mismatch, match=r"no kind exec: it is one of .*execute"):
        ToolFilter(**told)


# -- what a function says ----------------------------------------------------------------------------------


async def later(use: AgentToolCall) -> bool | str:
    return use.kind == "read" or "only reading is allowed"


def wrong(use: AgentToolCall) -> bool:
    raise ZeroDivisionError(use.title)


FUNCTIONS: list[tuple[agents.OnToolUse, str, str]] = [
    (later, "read", ""),
    (later, "execute", "only reading is allowed"),
    (lambda _: cast("Any", None), "read", "has not allowed it"),
    (wrong, "read", "ZeroDivisionError"),
]


@pytest.mark.parametrize("policy", ["auto-allow-once", "stream"])
@pytest.mark.parametrize(("function", "kind", "reason"), FUNCTIONS)
async def test_a_function_may_say_no(
    function: agents.OnToolUse, kind: str, reason: str, policy: Literal["auto-allow-once", "stream"]
) -> None:
    async def turn(turn: ScriptedTurn) -> None:
        turn.say(await turn.ask_permission("cat x", kind))

    warnings: list[str] = []
    only = ToolFilter(block_kinds=["delete"], on_tool_use=function)
    async with agents.stream(
        ScriptedAgent(turn), "go", permissions=policy, tools=only, on_warning=warnings.append
    ) as stream:
        async for event in stream:
            if isinstance(event, agents.PermissionAsked):
                assert event.allow() is (not reason and policy == "stream")
                assert bool(event.refusal) is bool(reason)
                assert reason in (event.refusal or "")
        result = await stream.result()
    assert result.text == ("reject_once" if reason else "allow_once")
    assert len(warnings) == bool(reason)
    assert all(reason in warning for warning in warnings)


async def test_of_two_filters_both_count() -> None:
    async def turn(turn: ScriptedTurn) -> None:
        turn.say(await turn.ask_permission("x", turn.text))

    careful = agents.client(ScriptedAgent(turn), tools=ToolFilter(block_kinds=["delete"]))
    more = careful.having(tools=ToolFilter(on_tool_use=lambda use: use.kind != "fetch"))
    answers = [(await more.ask(kind)).text for kind in ("read", "delete", "fetch")]
    assert answers == ["allow_once", "reject_once", "reject_once"]
    assert (await careful.ask("fetch")).text == "allow_once"
