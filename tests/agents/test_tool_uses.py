"""What is known of a tool call from all that was told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from serai import agents
from serai.acp import ToolCallUpdate
from serai.agents import Diff, ToolUse
from serai.agents.testing import ScriptedAgent, ScriptedTurn

DIFF = {"type": "diff", "path": "/a", "oldText": "old", "newText": "new"}


def text(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


def told(use: ToolUse, *, asked: bool = False, **fields: Any) -> ToolUse:
    return use.after(ToolCallUpdate(tool_call_id=use.id, **fields), asked=asked)


def asked(*content: Mapping[str, Any]) -> ToolUse:
    return told(ToolUse("1"), asked=True, content=list(content))


def test_what_was_asked_is_told_until_something_comes_of_the_call() -> None:
    use = asked(text("May I?"))
    assert use.text == "May I?"
    assert told(use, status="in_progress").text == "May I?"
    assert told(use, status="completed", raw_output={"stdout": "made"}).text == "made"
    assert told(use, status="completed", raw_output={"stdout": ""}).text == ""
    assert told(use, status="completed", content=[text("all")]).text == "all"


def test_what_a_call_had_before_the_question_is_there_after_it() -> None:
    use = told(told(ToolUse("1"), content=[text("half")]), asked=True, content=[text("May I?")])
    assert use.text == "May I?"
    assert told(use, status="in_progress").text == "half"


def test_what_a_call_had_is_there_also_when_it_is_asked_about_twice() -> None:
    use = told(ToolUse("1"), content=[text("half")])
    for question in ("May I?", "And now?"):
        use = told(use, asked=True, content=[text(question)])
    assert told(use, status="in_progress").text == "half"


@pytest.mark.parametrize("fields", [{"status": "in_progress"}, {"raw_output": "written"}])
def test_an_edit_that_was_asked_about_stays(fields: dict[str, Any]) -> None:
    use = told(asked(text("May I?"), DIFF), **fields)
    assert use.diffs == (Diff("/a", "new", "old"),)


async def test_a_command_that_was_allowed_has_its_output() -> None:
    async def turn(turn: ScriptedTurn) -> None:
        call = {"toolCallId": "c", "title": "make", "kind": "execute", "content": [text("Proposed: make")]}
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        params = {"sessionId": turn.session_id, "toolCall": call, "options": options}
        await turn.request("session/request_permission", params)
        turn.tool("make", "execute", call="c", status="in_progress")
        turn.tool_update("c", rawOutput={"stdout": "made", "formatted_output": "made", "exit_code": 0})

    result = await agents.ask(ScriptedAgent([turn]), "go", permissions="auto-allow-once")
    assert [(use.status, use.text) for use in result.tool_uses] == [("completed", "made")]
