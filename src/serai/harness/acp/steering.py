"""A message for the turn that runs, to agents that take such."""

from __future__ import annotations

from serai.acp import AcpSession, Agent, fit_prompt
from serai.acp.shapes import object_of
from serai.ahp.types import UserMessage
from serai.harness.acp.declared import STEERING_METHOD
from serai.harness.acp.prompting import blocks_of
from serai.host.turn import Turn

__all__ = ["steer"]


async def steer(agent: Agent, session: AcpSession, turn: Turn, message: UserMessage, *, label: str) -> bool:
    """Bring a message into the turn that runs. Returns whether the agent has taken it.

    Args:
        agent: The agent.
        session: Its session.
        turn: The turn.
        message: The message.
        label: What people call the agent.

    Raises:
        AgentError: It has refused, or is gone.
    """
    blocks, _ = blocks_of(message)
    kept, dropped = fit_prompt(blocks, agent.capabilities)
    params = {
        "sessionId": session.id,
        "prompt": kept,
        "_meta": {"steering": {"idleBehavior": "promptRequired"}},
    }
    if object_of(await agent.request(STEERING_METHOD, params)).get("outcome") != "injected":
        return False
    turn.steering("the answer to the steering request")
    if dropped:
        what = ", ".join(dropped)
        await turn.notice(f'Agent "{label}" does not take these parts — dropped: {what}.')
    return True
