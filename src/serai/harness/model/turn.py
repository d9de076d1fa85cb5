"""One turn of a session, or one node of a run: does the steps that `turn_core` returns, and stores them.

A request, with what it may cost, and a call are on the disk before they happen. What has happened is written
in one transaction with what clients see of it. So a turn that the end of the host has cut off continues with
the same function over the same records.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from serai.ahp import types as t
from serai.errors import FailureKind, ModelFailure, TurnStopped
from serai.harness.model.calls import CallRunner, TurnSetup, ask_yes_or_no
from serai.harness.model.transcript import TurnRecords
from serai.host.turn import Turn
from serai.session.agent_file import OnExceed
from serai.session.messages import (
    LlmReply,
    LlmRequest,
    MediaPart,
    ReasoningPart,
    SessionMessageRole,
    TextPart,
    ToolCallPart,
)
from serai.session.transcript import projected
from serai.session.turn_core import (
    AskModel,
    CallEnded,
    DecideCall,
    EndTurn,
    ModelAnswered,
    Requested,
    RequestFailed,
    RunCall,
    SettleDoubt,
    Steered,
    Step,
    next_effect,
)

DEFAULT_TOKENS = 8192
"""Default number of tokens of one answer."""
_SHORT_WAIT = 60.0
"""Longest wait for a rate limit, in seconds."""
_MOST_WAITS = 3
_DOLLAR = 100_000_000
"""Number of microcents in a dollar."""
COST = "costMicrocents"
"""Key in the `_meta` of a turn's usage: its cost so far, as far as that is known."""
RAISED = "serai.budget"
"""Key in a session's `_meta`: the budget that a person has raised."""


class ModelTurn:
    """Answers one turn.

    Args:
        turn: The turn that the answer goes to.
        setup: The agent, its models and its tools.
        records: The records of the turn; the person's message is in its transcript.
        before: In a run, the records of the nodes before this one; `None` outside of a run.
    """

    def __init__(
        self, turn: Turn, setup: TurnSetup, records: TurnRecords, before: Sequence[Step] | None = None
    ) -> None:
        self._turn = turn
        self._setup = setup
        self._records = records
        self._seat = records.seat
        self._transcript = records.transcript
        self._before = before
        self._calls = CallRunner(turn, setup, records)

    async def run(self) -> None:
        """Continue until the turn is over. Cancelling stops what is under way.

        Raises:
            TurnStopped: It ends with an error.
        """
        limit = self._setup.agent.limits.max_seconds or None
        clock = asyncio.timeout(limit)
        try:
            async with clock:
                hooks = self._setup.customized.hooks
                if (refusal := await hooks.prompt(self._turn.message.text)) is not None:
                    raise TurnStopped("hook_refused", refusal)
                await self._go_on()
                await hooks.stopped()
        except TimeoutError:
            if not clock.expired():
                raise
            raise TurnStopped("time_limit", f"the turn may take {limit} seconds, and took longer") from None

    async def _go_on(self) -> None:
        while True:
            match next_effect(self._setup.plan, self._records.steps):
                case AskModel() as asked:
                    await self._ask(asked)
                case DecideCall(call=call):
                    if not await self._steered(call):
                        await self._calls.decide(call)
                case RunCall(call=call):
                    if not await self._steered(call):
                        await self._calls.run(call)
                case SettleDoubt(call=call):
                    await self._calls.settle_doubt(call)
                case EndTurn(error=code, message=message):
                    if code is not None:
                        raise TurnStopped(code, message)
                    return

    async def _steered(self, before: ToolCallPart | None) -> bool:
        """Let in a steering message, if there is one: before a call, if a call comes next.

        The calls that have not begun are not carried out: the model decides anew, knowing the message.
        """
        named = before.id if before is not None else False
        message = self._turn.steering(before_call=named, of_relay=before is not None)
        if message is None:
            return False
        if before is not None:
            await self._calls.skip(_open_calls(self._records.steps))
        write = self._records.say(SessionMessageRole.USER, [TextPart(text=message.text, is_steering=True)])
        self._records.record(Steered(), write)
        return True

    # -- asking --------------------------------------------------------------------------------------------

    async def _ask(self, asked: AskModel) -> None:
        turn, money = self._turn, self._transcript
        await self._steered(None)
        if asked.instead_of is not None:
            await turn.notice(f"{asked.instead_of} gave no answer; {asked.model} is asked instead")
        if asked.is_repeat:
            await turn.notice("The host was stopped in the middle of an answer; it is asked for anew")
        request = await self._request(asked.model)
        reserved = self._setup.models.reservation(request)
        await self._afford(reserved, asked.model)
        for wait in range(_MOST_WAITS + 1):
            self._records.record(Requested(model=asked.model, reserved=reserved), *money.reserve(reserved))
            await self._seat.kept()
            try:
                reply = await self._stream(request)
            except ModelFailure as failure:
                cost = None if failure.has_begun else 0
                writes = money.settle(reserved, cost)
                self._records.record(
                    RequestFailed(
                        failure=failure.failure,
                        message=self._seat.mask(str(failure)),
                        has_begun=failure.has_begun,
                    ),
                    *writes,
                )
                if wait == _MOST_WAITS or not await self._waited(failure, asked.model):
                    return
            else:
                await self._answered(reply, asked.model, reserved)
                return

    async def _answered(self, reply: LlmReply, model: str, reserved: int | None) -> None:
        cost = self._setup.models.cost(model, reply.usage, reserved)
        write = self._records.say(SessionMessageRole.ASSISTANT, reply.parts, model)
        self._records.record(
            ModelAnswered(reply=reply, cost=cost), write, *self._transcript.settle(reserved, cost)
        )
        answers = [
            step for step in (*(self._before or ()), *self._records.steps) if isinstance(step, ModelAnswered)
        ]
        used = [answer.reply.usage for answer in answers]
        costs = [answer.cost for answer in answers if answer.cost is not None]
        await self._turn.used(
            t.UsageInfo(
                input_tokens=sum(one.input_tokens for one in used),
                output_tokens=sum(one.output_tokens for one in used),
                cache_read_tokens=sum(one.cache_read_tokens for one in used),
                model=model,
                meta={COST: sum(costs)} if costs else None,
            )
        )

    async def _request(self, model: str) -> LlmRequest:
        counting = (
            None if self._before is not None else {turn.id for turn in self._seat.turns} | {self._turn.id}
        )
        messages = projected(self._transcript.turns(counting), self._records.place, self._setup.max_messages)
        parts = [part for message in messages for part in message.content]
        handles = {part.handle for part in parts if isinstance(part, MediaPart)}
        found = [(handle, await self._seat.blob(handle)) for handle in handles]
        custom = self._seat.mask(await self._setup.customized.instructions(messages))
        return LlmRequest(
            model=model,
            system="\n\n".join(text for text in (self._setup.system, custom) if text),
            messages=messages,
            tools=tuple(tool.spec for tool in self._setup.tools.values()),
            max_tokens=self._setup.agent.limits.max_tokens or DEFAULT_TOKENS,
            media={handle: data for handle, data in found if data},
        )

    async def _stream(self, request: LlmRequest) -> LlmReply:
        """Ask a model, and show its answer as it comes."""
        turn = self._turn
        turn.apart()
        async with contextlib.aclosing(self._setup.models.ask(request)) as pieces:
            async for piece in pieces:
                match piece:
                    case TextPart(text=text):
                        turn.add(text)
                        await turn.room()
                    case ReasoningPart(text=text):
                        turn.add(text, reasoning=True)
                        await turn.room()
                    case LlmReply():
                        return piece
        raise ModelFailure("the answer has no end", failure=FailureKind.TRANSPORT, has_begun=True)

    async def _waited(self, failure: ModelFailure, model: str) -> bool:
        """Wait for a rate limit that ends soon, and show the wait. Returns whether it waited."""
        seconds = failure.retry_after
        if failure.failure is not FailureKind.RATE_LIMIT or failure.has_begun or seconds is None:
            return False
        if seconds > _SHORT_WAIT:
            return False
        await self._turn.activity(f"{model} takes no more requests for {seconds:.0f} s")
        await asyncio.sleep(seconds)
        await self._turn.activity(None)
        return True

    # -- the budget ----------------------------------------------------------------------------------------

    async def _afford(self, reserved: int | None, model: str) -> None:
        """Check that a request fits into the budget, before it is sent.

        Raises:
            TurnStopped: It does not.
        """
        budget = self._setup.agent.budget
        if budget is None:
            return
        if reserved is None:
            raise TurnStopped(
                "price_unknown", f"there is a budget, and the price of {model} is unknown: set it in [models]"
            )
        most = self._seat.noted(RAISED) or budget.max_cost_microcents
        spent = self._transcript.spent
        if spent + reserved <= most:
            return
        left, next_one = max(0, most - spent) / _DOLLAR, reserved / _DOLLAR
        why = f"the next request may cost up to ${next_one:.4f}, and ${left:.4f} of the budget are left"
        if budget.on_exceed is not OnExceed.ASK or not await self._may_spend(why):
            raise TurnStopped("budget_exceeded", why)
        self._seat.note(RAISED, max(most + budget.max_cost_microcents, spent + reserved))

    async def _may_spend(self, why: str) -> bool:
        asked = sum(isinstance(step, Requested) for step in self._records.steps)
        return await ask_yes_or_no(self._turn, f"{self._records.place}-budget-{asked}", why, "Spend more?")


def _open_calls(steps: Sequence[Step]) -> list[ToolCallPart]:
    """Return the calls of the last answer that have not ended."""
    answers = [step for step in steps if isinstance(step, ModelAnswered)]
    ended = {step.call_id for step in steps if isinstance(step, CallEnded)}
    calls = [part for part in answers[-1].reply.parts if isinstance(part, ToolCallPart)]
    return [call for call in calls if call.id not in ended]
