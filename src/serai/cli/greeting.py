"""What a chat says first: whom one talks to, and what was said last."""

from __future__ import annotations

from serai.ahp.extensions import LOGIN
from serai.cli.terminal import Terminal
from serai.cli.tool_outputs import ToolOutputs
from serai.cli.turn_view import TurnView
from serai.client import Client, SessionClient

__all__ = ["greet"]


async def greet(client: Client, session: SessionClient, terminal: Terminal, view: TurnView) -> None:
    """Say where we are, and what was said last."""
    state = session.state
    title = f" {state.summary.title!r}" if state.summary.title else ""
    terminal.note(f"{state.summary.provider}{title} ({session.id}). /help tells more.")
    if not state.turns and state.active_turn is None and (about := _about(client, state.summary.provider)):
        terminal.note(about)
    if LOGIN in (state.meta or {}):
        terminal.note("(nobody is signed in to the agent: /signin does it)")
    if state.turns:
        last = state.turns[-1]
        terminal.note(f"(turns so far: {len(state.turns)}; the last one:)\n> {last.user_message.text}")
        outputs = ToolOutputs(client, view.show_output)
        async for event in session.follow_turn(last.id):
            await outputs.before(event)
            view.show(event)


def _about(client: Client, provider: str) -> str:
    """What the agent says of itself, for whoever meets it for the first time."""
    agents = client.root.agents if client.root else []
    return next((agent.description for agent in agents if agent.provider == provider), "")
