"""A message for the turn that runs, to agents that take such."""

from __future__ import annotations

from collections.abc import Callable

from serai.acp import fit_prompt
from serai.acp.shapes import object_of
from serai.ahp.actions import SessionPendingMessageSetAction
from serai.errors import AgentError
from serai.harness.acp.declared import STEERING_METHOD
from serai.harness.acp.linking import Link
from serai.harness.acp.prompting import blocks_of
from serai.host.seat import Seat
from serai.host.turn import Turn

__all__ = ["steer"]


async def steer(
    action: SessionPendingMessageSetAction,
    seat: Seat,
    link: Link | None,
    turn: Turn | None,
    *,
    warn: Callable[[str], None],
    label: str,
) -> None:
    """Bring a message into the turn that runs. One that the agent does not take is the next one.

    Someone may have replaced the message meanwhile, or cancelled the turn: that changes nothing for other
    messages, and begins no turn.

    Args:
        action: The message.
        seat: The agent's place in the session.
        link: The agent, with its session.
        turn: The turn.
        warn: Is told, in a sentence, why the agent did not take it.
        label: What people call the agent.
    """
    waiting = seat.steering
    if waiting is None or waiting.id != action.id:
        return  # it was replaced or taken back before it could be sent
    dropped: tuple[str, ...] | None = None
    if link is not None and turn is not None and turn.is_running:
        try:
            dropped = await _send(action, link)
        except AgentError as error:
            warn(f'Agent "{label}" did not take the message in this turn: {error.message}.')
    if dropped is None:
        seat.queue_steering(waiting, "steering")
        return
    seat.take_steering(waiting, "the answer to the steering request")
    if dropped and turn is not None:
        await turn.notice(f'Agent "{label}" does not take these parts — dropped: {", ".join(dropped)}.')


async def _send(action: SessionPendingMessageSetAction, link: Link) -> tuple[str, ...] | None:
    """Have the agent take a message. Returns the types of what was left out; `None` when it did not."""
    blocks, unknown = blocks_of(action.user_message)
    kept, dropped = fit_prompt(blocks, link.agent.capabilities)
    if not kept:
        return None
    params = {
        "sessionId": link.session.id,
        "prompt": kept,
        "_meta": {"steering": {"idleBehavior": "promptRequired"}},
    }
    if link.replay is not None:
        link.replay.steered()
    answer = await link.agent.request(STEERING_METHOD, params)
    return (*dropped, *unknown) if object_of(answer).get("outcome") == "injected" else None
