"""Which tools may be used, by kind and by name."""

from __future__ import annotations

from typing import Any, Literal, cast

import pytest

from serai import agents
from serai.acp import ToolCallUpdate
from serai.agents import ToolFilter, ToolUse
from serai.agents.testing import ScriptedAgent, ScriptedTurn
from serai.errors import Mismatch


@pytest.mark.parametrize(
    ("told", "use", "passes"),
    [
        ({}, ToolUse("1"), True),
        ({"allow_kinds": ["read"]}, ToolUse("1", kind="read"), True),
        ({"allow_kinds": ["read"]}, ToolUse("1", kind="edit"), False),
        ({"allow_kinds": []}, ToolUse("1", kind="read"), False),
        ({"allow_kinds": ["read"]}, ToolUse("1"), False),  # it does not say what it is
        ({"block_kinds": ["Execute"]}, ToolUse("1", kind="execute"), False),
        ({"block_kinds": ["execute"]}, ToolUse("1", kind="edit"), True),
        ({"block_names": ["bash"]}, ToolUse("1", title="ls", name="Bash"), False),
        ({"block_names": ["rm *"]}, ToolUse("1", title="rm -rf /"), False),
        ({"block_names": ["rm *"]}, ToolUse("1", title="ls"), True),
        ({"allow_names": ["git *"]}, ToolUse("1", title="GIT status"), True),
        ({"allow_names": ["git *"]}, ToolUse("1", title="rm"), False),
        ({"allow_names": ["[x]"]}, ToolUse("1", title="[x]"), True),
        # Its own name counts where it is told: a title can say anything.
        ({"allow_names": ["read*"]}, ToolUse("1", title="read it", name="Bash"), False),
        ({"allow_names": ["bash"]}, ToolUse("1", title="read it", name="Bash"), True),
        (
            {"allow_kinds": ["execute"], "block_names": ["rm*"]},
            ToolUse("1", title="rm", kind="execute"),
            False,
        ),
    ],
)
def test_a_filter(told: Any, use: ToolUse, passes: bool) -> None:
    assert (ToolFilter(**told).refuses(use) is None) is passes


def test_a_text_is_no_list_of_names() -> None:
    with pytest.raises(TypeError):
        ToolFilter(block_kinds="execute")


@pytest.mark.parametrize("told", [{"block_kinds": ["exec"]}, {"allow_kinds": ["read", "exec"]}])
def test_a_kind_that_there_is_not_is_told_with_those_that_there_are(told: Any) -> None:
    with pytest.raises(Mismatch, match=r"no kind exec: it is one of .*execute"):
        ToolFilter(**told)


@pytest.mark.parametrize("meta", [{"toolName": "Bash"}, {"vendor": {"toolName": "Bash"}}])
def test_a_tools_own_name_is_found_where_agents_put_it(meta: Any) -> None:
    use = ToolUse("1").after(ToolCallUpdate(tool_call_id="1", title="ls", meta=meta))
    assert (use.name, use.title) == ("Bash", "ls")
    assert use.after(ToolCallUpdate(tool_call_id="1", status="completed")).name == "Bash"


# -- what a function says ----------------------------------------------------------------------------------


async def later(use: ToolUse) -> bool | str:
    return use.kind == "read" or "only reading is allowed"


def wrong(use: ToolUse) -> bool:
    raise ZeroDivisionError(use.title)


FUNCTIONS: list[tuple[agents.OnToolUse, str, str]] = [
    (later, "read", ""),
    (later, "execute", "only reading is allowed"),
    (lambda _: False, "read", "has not allowed it"),
    (lambda _: cast("Any", None), "read", "has not allowed it"),
    (lambda _: cast("Any", {"rewrite": {}}), "read", "has not allowed it"),
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


def test_the_kinds_are_those_of_the_protocol() -> None:
    assert {"read", "edit", "execute", "other"} < agents.TOOL_KINDS
