"""One session with a model: what it keeps from turn to turn, and how a turn is set up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from serai import contract as c
from serai.contract.record import decode
from serai.errors import TurnStopped
from serai.harness.model.setup import TurnSetup
from serai.harness.model.transcript import SpendLedger, Transcript, user_content
from serai.harness.model.turn import ModelTurn
from serai.host.agents import HostContext
from serai.host.messages import user_message
from serai.host.turn import Turn
from serai.session.messages import AgentSessionRecord, SessionMessageRole
from serai.session.steps import Begun, Step
from serai.session.turn_core import DEFAULT_TURNS

CAPABILITIES = c.AgentSessionCapabilities(
    messaging=c.MessagingCapabilities(
        receive=True, send=True, attachments=(c.ContentType.TEXT, c.ContentType.IMAGE)
    ),
    delivery=c.DeliveryCapabilities(
        modes=(c.DeliveryMode.IMMEDIATE, c.DeliveryMode.NEXT_TOOL_CALL, c.DeliveryMode.ON_IDLE)
    ),
    events=c.EventCapabilities(emits=c.OBSERVED_BY_HOST),
    lifecycle=c.LifecycleCapabilities(release=True),
)
"""What a session with a model can do. The host adds what it does for all."""

SetUp = Callable[[Turn, AgentSessionRecord], Awaitable[TurnSetup]]
"""Puts together what a turn works with."""


class ModelSession(c.BasicSession):
    """A model and its tools, in one session.

    Args:
        context: What the host gives.
        record: The session: its agent as it was at the start, and its context.
        transcript: What was said so far.
        ledger: What was spent so far.
        set_up: Puts together what a turn works with.
        close: Ends what the session has started.
    """

    def __init__(
        self,
        context: HostContext,
        record: AgentSessionRecord,
        transcript: Transcript,
        ledger: SpendLedger,
        set_up: SetUp,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(context.identity, CAPABILITIES)
        self._context = context
        self._record = record
        self._transcript = transcript
        self._ledger = ledger
        self._set_up = set_up
        self._close = close

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:
        """Answer a message in a turn. A repeat finds that turn over, or under way.

        The journal has the message already: that is the evidence.
        """
        turn = self._context.turn(context.id)
        if turn.task is None:
            turn.message = user_message(message)
            if not self._transcript.knows(turn.id):
                # The turn's beginning has written this message down; here it is only remembered.
                content, _ = user_content(turn.message, self._context.session)
                self._transcript.add(
                    turn.id, f"{turn.id}-0", SessionMessageRole.USER, content, self._context.seat.now()
                )
            turn.run(self._answer(turn, ()))
        return c.Delivered(delivery_id=context.id, metadata={"evidence": "journal"})

    async def take_up(self, turn: Turn) -> Sequence[str]:
        """Go on with a turn that the end of the host has cut off."""
        rows = await self._context.seat.rows("steps_of_turn", self._context.session, turn.id)
        steps: list[Step] = [decode(row[0], Step) for row in rows]
        turn.message = turn.asked
        turn.run(self._answer(turn, [step for step in steps if not isinstance(step, Begun)]))
        return [one for step in steps if isinstance(step, Begun) for one in step.deliveries]

    async def _answer(self, turn: Turn, steps: Sequence[Step]) -> None:
        agent = self._record.agent_snapshot
        most = (agent.limits.max_turns if agent else 0) or DEFAULT_TURNS
        if self._transcript.turn_count > most:
            raise TurnStopped("turn_limit", f"the session has had its {most} turns")
        setup = await self._set_up(turn, self._record)
        seat, session = self._context.seat, self._context.session
        await ModelTurn(turn, seat, session, setup, self._transcript, self._ledger, steps).run()

    async def release(self, reason: str | None = None) -> None:
        """End what the session has started, such as servers of tools."""
        del reason
        await self._close()
