"""Asking for JSON, and once more when the answer is not right."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar

from serai.agents.json_answers import Shape, Unfit, instructions, read_answer, repair_instructions
from serai.agents.parts import Aside, Command, Prompt
from serai.agents.results import AskResult, JsonResult
from serai.errors import JsonInvalid

__all__ = ["Ask", "ask_for"]

T = TypeVar("T")


class Ask(Protocol):
    """Asks an agent in one session, into which nobody else comes meanwhile."""

    def __call__(self, prompt: Prompt, *, instead: Prompt | None = None) -> Awaitable[AskResult]:
        """Ask; and `instead` of that what it goes on from, if the agent knows nothing of it by then."""
        ...


async def ask_for(shape: Shape[T], prompt: Prompt, ask: Ask) -> JsonResult[T]:
    """Ask for an answer of a shape. One that does not have it is sent back once.

    Args:
        shape: What the answer has to be.
        prompt: What is asked.
        ask: Asks.

    Raises:
        JsonInvalid: The second answer was not right either.
    """
    parts: list[Any] = [prompt] if isinstance(prompt, str | Command) else list(prompt)
    question = [*parts, Aside(instructions(shape))]
    result = await ask(question)
    try:
        return _read(result, shape, repaired=False)
    except Unfit as unfit:
        if result.stop_reason != "end_turn":
            raise _unreadable(result, unfit) from None
        issues = unfit.issues
    result = await ask(repair_instructions(shape, issues), instead=question)
    try:
        return _read(result, shape, repaired=True)
    except Unfit as unfit:
        raise _unreadable(result, unfit) from None


def _read(result: AskResult, shape: Shape[T], *, repaired: bool) -> JsonResult[T]:
    data, raw = read_answer(result.text, shape)
    return JsonResult(data, raw, result, repaired)


def _unreadable(result: AskResult, unfit: Unfit) -> JsonInvalid:
    how = "" if result.stop_reason == "end_turn" else f" (the turn ended with {result.stop_reason})"
    return JsonInvalid(
        f"the agent {result.agent!r} did not answer with the JSON that was asked for{how}: {unfit}",
        agent=result.agent,
        text=result.text,
        issues=unfit.issues,
    )
