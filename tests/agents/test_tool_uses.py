"""What is known of a tool call from all that was told of it."""

from __future__ import annotations

from typing import Any

from serai import agents
from serai.agents.testing import ScriptedAgent, ScriptedTurn


def text(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


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
