"""The core of a turn, pure: from the records of a turn to its next step.

    ask the model ─→ decide about a call ─→ run it ─→ … ─→ ask the model ─→ … ─→ end

Sessions and workflows use this one function, and so does a turn that continues after a crash: from the same
records follows the same step. A record that announces something is committed before it happens, a record of
something that happened together with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from serai.contract.record import Record
from serai.errors import FailureKind
from serai.session.messages import FinishReason, LlmReply, ToolCallPart

DEFAULT_TURNS = 50
"""Default number of turns of a session."""
DEFAULT_TOOL_TURNS = 32
"""Default number of rounds of tool calls in a turn."""
MOST_MISUSES = 5
"""Number of wrong calls in a row after which the turn ends: the model does not recover by itself."""


# -- the records of a turn ---------------------------------------------------------------------------------


class Begun(Record, tag_field="kind", tag="turn_begun"):
    """The turn has begun."""

    deliveries: tuple[str, ...]
    """The ids of the deliveries that the turn answers."""


class Requested(Record, tag_field="kind", tag="requested"):
    """A request is about to be sent to a model."""

    model: str
    reserved: int | None = None
    """Most microcents that the request may cost; `None` when the price is not known.

    They count as spent until the answer says what the request did cost.
    """


class ModelAnswered(Record, tag_field="kind", tag="answered"):
    """A model has answered completely."""

    reply: LlmReply
    cost: int | None = None
    """The cost in microcents; `None` when the price is not known."""


class RequestFailed(Record, tag_field="kind", tag="failed"):
    """A request failed."""

    failure: FailureKind
    message: str
    has_begun: bool = False
    """True if part of an answer had come: then no other model is asked."""


class CallDecided(Record, tag_field="kind", tag="decided"):
    """A call may run. A call that may not has ended."""

    call_id: str
    input: dict[str, Any] | None = None
    """The input, where a person has changed it."""


class CallBegun(Record, tag_field="kind", tag="begun"):
    """A call is about to run."""

    call_id: str


class CallEnded(Record, tag_field="kind", tag="ended"):
    """A call ran, failed, was refused, or is impossible. Its result is in the transcript."""

    call_id: str
    is_misuse: bool = False
    """True if the model called wrongly: an unknown tool, broken or unfitting input."""


class Steered(Record, tag_field="kind", tag="steered"):
    """A steering message came in while the turn ran. It is in the transcript."""


Step: TypeAlias = (
    Begun | Requested | ModelAnswered | RequestFailed | CallDecided | CallBegun | CallEnded | Steered
)
"""One record of a turn."""


# -- the next step -----------------------------------------------------------------------------------------


class TurnPlan(NamedTuple):
    """The settings of a turn."""

    chain: tuple[str, ...]
    """The models to ask, in order."""
    max_tool_turns: int = DEFAULT_TOOL_TURNS


class AskModel(NamedTuple):
    """Ask a model for the next answer."""

    model: str
    instead_of: str | None = None
    """The model that has just failed, if this one is asked in its place."""
    is_repeat: bool = False
    """True if a crash cut off an answer, which is requested again."""


class DecideCall(NamedTuple):
    """Decide whether a call may run: a person may have to be asked."""

    call: ToolCallPart


class RunCall(NamedTuple):
    """Run a call that may run."""

    call: ToolCallPart


class SettleDoubt(NamedTuple):
    """Settle a call that had begun when the host was stopped: nobody knows how far it came."""

    call: ToolCallPart


class EndTurn(NamedTuple):
    """End the turn."""

    error: str | None = None
    """The code of the error; `None` for success."""
    message: str = ""


Effect: TypeAlias = AskModel | DecideCall | RunCall | SettleDoubt | EndTurn
"""The next step of a turn."""


def next_effect(plan: TurnPlan, steps: Sequence[Step]) -> Effect:
    """Return the next step of a turn, given its records."""
    talk = [step for step in steps if isinstance(step, Requested | ModelAnswered | RequestFailed)]
    match talk[-1] if talk else None:
        case None:
            return AskModel(plan.chain[0])
        case Requested(model=model):
            return AskModel(model, is_repeat=True)
        case RequestFailed() as failed:
            return _after_failure(plan, talk, failed)
        case ModelAnswered(reply=reply):
            calls = [part for part in reply.parts if isinstance(part, ToolCallPart)]
            if not calls:
                return _after_text(reply.finish)
            rounds = sum(isinstance(step, ModelAnswered) for step in talk)
            if rounds > plan.max_tool_turns:
                return EndTurn(
                    "turn_limit", f"the turn has reached its {plan.max_tool_turns} rounds of tool calls"
                )
            return _next_of_calls(steps, calls) or AskModel(_current_model(talk))


def _next_of_calls(steps: Sequence[Step], calls: Sequence[ToolCallPart]) -> Effect | None:
    """Return the next step for the calls of the last answer; `None` when all have ended."""
    misuses = 0
    for step in steps:
        if isinstance(step, CallEnded):
            misuses = misuses + 1 if step.is_misuse else 0
    if misuses >= MOST_MISUSES:
        return EndTurn("tool_misuse", f"the model called tools wrongly {misuses} times in a row")
    ended = {step.call_id for step in steps if isinstance(step, CallEnded)}
    begun = {step.call_id for step in steps if isinstance(step, CallBegun)}
    decided = {step.call_id: step for step in steps if isinstance(step, CallDecided)}
    for call in calls:
        if call.id in ended:
            continue
        decision = decided.get(call.id)
        if decision is None:
            return DecideCall(call)
        asked = call if decision.input is None else replace(call, input=decision.input)
        return SettleDoubt(asked) if call.id in begun else RunCall(asked)
    return None


def _after_failure(plan: TurnPlan, talk: Sequence[Step], failed: RequestFailed) -> Effect:
    model = _current_model(talk)
    later = plan.chain[plan.chain.index(model) + 1 :] if model in plan.chain else ()
    if failed.failure.may_pass and not failed.has_begun and later:
        return AskModel(later[0], instead_of=model)
    return EndTurn(f"model_{failed.failure.value}", failed.message)


def _after_text(finish: FinishReason) -> EndTurn:
    match finish:
        case FinishReason.LENGTH:
            return EndTurn("max_tokens", "the model stopped in the middle: it may not say more at once")
        case FinishReason.CONTENT_FILTER:
            return EndTurn("content_filter", "the model's provider did not let the answer through")
        case _:
            return EndTurn()


def _current_model(talk: Sequence[Step]) -> str:
    """Return the model that was asked last. A model that replaced another stays for the rest of the turn."""
    return next(step.model for step in reversed(talk) if isinstance(step, Requested))
