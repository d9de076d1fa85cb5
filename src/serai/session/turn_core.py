"""How a turn goes on: its records go in, the next thing to do comes out.

    ask the model ─→ decide about a call ─→ run it ─→ … ─→ ask the model ─→ … ─→ end

Sessions and workflows use this one function, and so does whoever takes a turn up after a crash: the records
are the same, and so is what follows from them. Each is committed before what it announces happens, or with
what it tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from serai.contract.record import Record
from serai.errors import FailureKind
from serai.session.messages import FinishReason, LlmReply, ToolCallPart

DEFAULT_TURNS = 50
"""How many turns a session has, unless it is said."""
DEFAULT_TOOL_TURNS = 32
"""How many rounds of tool calls a turn has, unless it is said."""
MOST_MISUSES = 5
"""After so many wrong calls in a row the turn ends: the model does not get on by itself."""


# -- the records of a turn ---------------------------------------------------------------------------------


class Begun(Record, tag_field="kind", tag="turn_begun"):
    """The turn has begun."""

    deliveries: tuple[str, ...]
    """What it answers."""


class Requested(Record, tag_field="kind", tag="requested"):
    """A request is about to leave for a model."""

    model: str
    reserved: int | None = None
    """Microcents that it may cost at most; `None` when the price is not known. They stay spent until the
    answer says what it did cost."""


class ModelAnswered(Record, tag_field="kind", tag="answered"):
    """A model has answered, whole."""

    reply: LlmReply
    cost: int | None = None
    """Microcents; `None` when the price is not known."""


class RequestFailed(Record, tag_field="kind", tag="failed"):
    """A request brought no answer."""

    failure: FailureKind
    message: str
    has_begun: bool = False
    """Whether some of an answer had come: then no other model is asked."""


class CallDecided(Record, tag_field="kind", tag="decided"):
    """A call may run. One that may not has ended."""

    call_id: str
    input: dict[str, Any] | None = None
    """The input, where a person has changed it."""


class CallBegun(Record, tag_field="kind", tag="begun"):
    """A call is about to run."""

    call_id: str


class CallEnded(Record, tag_field="kind", tag="ended"):
    """A call ran, failed, was refused, or cannot be. What became of it is in the transcript."""

    call_id: str
    is_misuse: bool = False
    """Whether the model called it wrongly: an unknown tool, broken or unfitting input."""


class Steered(Record, tag_field="kind", tag="steered"):
    """A message came in while the turn ran. It is in the transcript."""


Step: TypeAlias = (
    Begun | Requested | ModelAnswered | RequestFailed | CallDecided | CallBegun | CallEnded | Steered
)
"""One record of a turn."""


# -- what follows from them --------------------------------------------------------------------------------


class TurnPlan(NamedTuple):
    """What is known of a turn before it begins."""

    chain: tuple[str, ...]
    """The models to ask, the first one first."""
    max_tool_turns: int = DEFAULT_TOOL_TURNS


class AskModel(NamedTuple):
    """Ask a model for the next answer."""

    model: str
    instead_of: str | None = None
    """The model that has just failed, where this one is asked in its place."""
    is_repeat: bool = False
    """Whether an answer was cut off by a crash, and is asked for anew."""


class DecideCall(NamedTuple):
    """Find out whether a call may run: a person may have to be asked."""

    call: ToolCallPart


class RunCall(NamedTuple):
    """Run a call that may run."""

    call: ToolCallPart


class SettleDoubt(NamedTuple):
    """A call had begun when the host was stopped, and nobody knows how far it came."""

    call: ToolCallPart


class EndTurn(NamedTuple):
    """The turn is over."""

    error: str | None = None
    """The code of what went wrong; `None` when nothing did."""
    message: str = ""


Effect: TypeAlias = AskModel | DecideCall | RunCall | SettleDoubt | EndTurn
"""What is to be done next in a turn."""


def next_effect(plan: TurnPlan, steps: Sequence[Step]) -> Effect:
    """What is to be done next, given all that has been done."""
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
                    "turn_limit", f"the turn has had its {plan.max_tool_turns} rounds of tool calls"
                )
            return _next_of_calls(steps, calls) or AskModel(_current_model(talk))


def _next_of_calls(steps: Sequence[Step], calls: Sequence[ToolCallPart]) -> Effect | None:
    """What is to be done about the calls of the last answer; `None` when all have ended."""
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
    """The model that was asked last: one that took another's place keeps it for the rest of the turn."""
    return next(step.model for step in reversed(talk) if isinstance(step, Requested))
