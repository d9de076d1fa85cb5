"""What an agent waits for: answers that some client will give, each told to whoever expects it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.types import (
    SessionInputAnswer,
    SessionInputResponseKind,
    ToolCallConfirmationReason,
    ToolCallError,
    ToolCallResult,
)

__all__ = ["Answers", "Expected", "Expecting", "all_answers"]

Expected = tuple[str, str]
"""What is expected, and of which call or question: `call`, `result`, `complete` or `input`, and an id."""


@dataclass(frozen=True, slots=True)
class Answers:
    """How an input request ended."""

    response: str
    answers: Mapping[str, SessionInputAnswer]

    @property
    def accepted(self) -> bool:
        """Whether the person answered."""
        return self.response == SessionInputResponseKind.ACCEPT


class Expecting:
    """The answers that are expected in one session."""

    def __init__(self) -> None:
        self._futures: dict[Expected, asyncio.Future[Any]] = {}

    def expect(self, what: Expected) -> asyncio.Future[Any]:
        """A future for an answer that some client will give."""
        future = self._futures[what] = asyncio.get_running_loop().create_future()
        return future

    def let_go(self) -> Callable[[], None]:
        """Nothing of all that is expected any more. Returns what tells those who wait."""
        futures, self._futures = self._futures, {}

        def cancel() -> None:
            for future in futures.values():
                future.cancel()

        return cancel

    def tell(self, action: a.StateAction, answers: Mapping[str, SessionInputAnswer]) -> None:
        """A client's action is committed: if it answers something, whoever waits for that gets it.

        Args:
            action: What the client did.
            answers: All answers to an input request that it completed.
        """
        match action:
            case a.SessionToolCallConfirmedAction():
                self._answer(("call", action.tool_call_id), action)
                if not action.approved:
                    self._answer(("complete", action.tool_call_id), _denied(action))
            case a.SessionToolCallCompleteAction():
                # It may still have waited for a yes, and nobody need say it any more.
                self._answer(("call", action.tool_call_id), _not_needed(action))
                self._answer(("complete", action.tool_call_id), action)
            case a.SessionToolCallResultConfirmedAction():
                self._answer(("result", action.tool_call_id), action)
            case a.SessionInputCompletedAction():
                self._answer(("input", action.request_id), Answers(action.response, answers))
            case _:
                pass

    def _answer(self, what: Expected, answer: Any) -> None:
        future = self._futures.pop(what, None)
        if future is not None and not future.done():
            future.set_result(answer)


def all_answers(session: LiveSession, action: a.StateAction) -> dict[str, SessionInputAnswer]:
    """All answers to an input request that an action is about to complete, and so to take away."""
    if not isinstance(action, a.SessionInputCompletedAction):
        return {}
    requests = session.head.input_requests or ()
    request = next((r for r in requests if r.id == action.request_id), None)
    return {**((request.answers if request else None) or {}), **(action.answers or {})}


def _not_needed(action: a.SessionToolCallCompleteAction) -> a.SessionToolCallConfirmedAction:
    """What whoever waits to run a call is told when its owner has completed it already."""
    return a.SessionToolCallConfirmedAction(
        turn_id=action.turn_id,
        tool_call_id=action.tool_call_id,
        approved=True,
        confirmed=ToolCallConfirmationReason.NOT_NEEDED.value,
    )


def _denied(action: a.SessionToolCallConfirmedAction) -> a.SessionToolCallCompleteAction:
    """A client's own "no" to a call it was to run, as the result that the agent waits for."""
    return a.SessionToolCallCompleteAction(
        turn_id=action.turn_id,
        tool_call_id=action.tool_call_id,
        result=ToolCallResult(
            success=False,
            past_tense_message="The call was denied",
            error=ToolCallError(message="the call was denied", code="denied"),
        ),
    )
