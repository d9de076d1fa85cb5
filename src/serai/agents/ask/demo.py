"""The demo agent without a host: it needs no key and no network, and only pretends."""

from __future__ import annotations

from serai.agents.testing import ScriptedAgent, ScriptedTurn

__all__ = ["DEMO", "demo_agent"]

DEMO = "demo"


def demo_agent() -> ScriptedAgent:
    """`tool COMMAND` asks for permission to run a command, and pretends to; all else is said back."""
    return ScriptedAgent(_play, name=DEMO)


async def _play(turn: ScriptedTurn) -> str | None:
    word, _, command = turn.text.partition(" ")
    if word != "tool":
        turn.think("I say back what I am told.")
        turn.say(turn.text)
        return None
    call = turn.tool(f"Run {command or 'ls'}", "execute")
    if (await turn.ask_permission(call=call)).startswith("allow"):
        turn.tool_update(call, text="(it only pretends)")
        turn.say("I have pretended to run it.")
    else:
        turn.tool_update(call, "failed")
        turn.say("You said no, so I have not done it.")
    return None
