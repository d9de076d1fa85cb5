"""Questions to people, and other answers that agents wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from serai.ahp import actions as a, types as t
from serai.ahp.reducers import LiveSession
from serai.ahp.rules import Judgement, rejected
from serai.host.session.core import SessionCore

Expected = tuple[str, str]
"""The key of an expected answer: `call`, `result`, `complete` or `input`, and the id of the call or
question."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The outcome of an input request."""

    response: str
    answers: Mapping[str, t.SessionInputAnswer]

    @property
    def accepted(self) -> bool:
        """True when the person answered."""
        return self.response == t.SessionInputResponseKind.ACCEPT


class Questions:
    """The open questions of one session, and the answers that are expected."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self._futures: dict[Expected, asyncio.Future[Any]] = {}
        self._early: dict[Expected, Any] | None = None
        """Answers that came before they were expected; `None` when none can come early."""

    def expect_early(self) -> None:
        """Keep answers that come before they are expected: the agent is about to continue its turn."""
        self._early = {}

    async def ask(self, request: t.SessionInputRequest) -> Answers:
        """Ask the person something outside of any turn. It ends, unanswered, with a turn that runs.

        Cancelling takes the question back.
        """
        answer = self.expect(("input", request.id))
        self._core.act(a.SessionInputRequestedAction(request=request))
        try:
            await asyncio.wait({answer})
        except asyncio.CancelledError:
            self.conclude(request.id)
            raise
        return Answers(t.SessionInputResponseKind.CANCEL.value, {}) if answer.cancelled() else answer.result()

    def conclude(self, request_id: str, response: str = t.SessionInputResponseKind.CANCEL.value) -> None:
        """Close an open question."""
        if any(request.id == request_id for request in self._core.live.head.input_requests or ()):
            action = a.SessionInputCompletedAction(request_id=request_id, response=response)
            self._core.act(action)
            self._core.then(lambda: self.tell(action, {}))

    def expect(self, what: Expected) -> asyncio.Future[Any]:
        """Make a future for an answer of a client."""
        future = self._futures[what] = asyncio.get_running_loop().create_future()
        if self._early and what in self._early:
            self._answer(what, self._early.pop(what))
        return future

    def let_go(self) -> Callable[[], None]:
        """Expect no answer any more. Returns a function that cancels the waiting."""
        futures, self._futures = self._futures, {}
        self._early = None

        def cancel() -> None:
            for future in futures.values():
                future.cancel()

        return cancel

    def tell(self, action: a.StateAction, answers: Mapping[str, t.SessionInputAnswer]) -> None:
        """Give the answer in a client's committed action to the one who waits for it.

        `answers` are all answers to an input request that it completed.
        """
        match action:
            case a.SessionToolCallConfirmedAction():
                self._answer(("call", action.tool_call_id), action)
                if not action.approved:  # the result that the agent waits for
                    result = failed_result("The call was denied", "the call was denied", "denied")
                    denied = a.SessionToolCallCompleteAction(
                        turn_id=action.turn_id, tool_call_id=action.tool_call_id, result=result
                    )
                    self._answer(("complete", action.tool_call_id), denied)
            case a.SessionToolCallCompleteAction():
                # It may still have waited for a yes, and nobody need say it any more.
                granted = a.SessionToolCallConfirmedAction(
                    turn_id=action.turn_id,
                    tool_call_id=action.tool_call_id,
                    approved=True,
                    confirmed=t.ToolCallConfirmationReason.NOT_NEEDED.value,
                )
                self._answer(("call", action.tool_call_id), granted)
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
        elif future is None and self._early is not None:
            self._early[what] = answer


def all_answers(session: LiveSession, action: a.StateAction) -> dict[str, t.SessionInputAnswer]:
    """Return all answers to an input request that an action is about to complete and remove."""
    if not isinstance(action, a.SessionInputCompletedAction):
        return {}
    requests = session.head.input_requests or ()
    request = next((r for r in requests if r.id == action.request_id), None)
    return {**((request.answers if request else None) or {}), **(action.answers or {})}


def unknown_option(session: LiveSession, action: a.StateAction) -> Judgement | None:
    """Refuse an answer that was not offered; else return `None`. Nobody can know its meaning."""
    if not isinstance(action, a.SessionToolCallConfirmedAction) or action.selected_option_id is None:
        return None
    turn, option = session.turn, action.selected_option_id
    calls = turn.calls(action.tool_call_id) if turn is not None and turn.id == action.turn_id else []
    asked = next((call for call in calls if isinstance(call, t.ToolCallPendingConfirmationState)), None)
    if asked is None or not asked.options or any(offered.id == option for offered in asked.options):
        return None
    return rejected("no_such_option", f"call {action.tool_call_id!r} has no option {option!r}")


def failed_result(
    message: t.StringOrMarkdown,
    error: str,
    code: str | None = None,
    content: list[t.ToolResultContent] | None = None,
) -> t.ToolCallResult:
    """Make the result of a failed tool call, with the content that it has shown so far."""
    told = t.ToolCallError(message=error, code=code)
    return t.ToolCallResult(success=False, past_tense_message=message, content=content, error=told)
