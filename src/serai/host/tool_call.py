"""One tool call of a running turn, as the agent sees it; and the calls that a turn leaves open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from serai.ahp import actions as a, types as t
from serai.ahp.reducers import LiveSession
from serai.changes.diff import count_lines
from serai.host.session.questions import Expected, failed_result
from serai.machine.files.content import content_type

OUTCOME_UNKNOWN = "outcome_unknown"
"""Error code of a call that ran, and whose end is unknown."""


class ToolCall:
    """A tool call of a running turn.

    `begun` has the calls, by id, that run already while a person is asked about them; `patience` is the
    longest time for a client to run one, in seconds.
    """

    def __init__(
        self,
        turn_id: str,
        call_id: str,
        name: str,
        *,
        act: Callable[[a.StateAction], None],
        expect: Callable[[Expected], asyncio.Future[Any]],
        begun: dict[str, ToolCall],
        patience: float,
    ) -> None:
        self._turn_id = turn_id
        self._act = act
        self._expect = expect
        self._begun = begun
        self._patience = patience
        self.id = call_id
        self.name = name
        self.input: str | None = None
        """The input in force: the person may have changed it."""
        self.approved = False
        self.denied = False
        """True when the person said no."""
        self.option: str | None = None
        """The chosen option."""
        self.reason: t.StringOrMarkdown | None = None
        """The person's reason for a no."""
        self.suggestion: t.UserMessage | None = None
        """The person's suggestion with a no."""
        self.shown: list[t.ToolResultContent] = []
        """The content that it has shown so far."""
        self._answer: asyncio.Future[Any] | None = None
        self._result: asyncio.Future[Any] | None = None
        self._leave: asyncio.Future[Any] | None = None

    def grow(self, more: str, message: t.StringOrMarkdown | None = None) -> None:
        """Add to the input, or change the description of the call."""
        self.input = (self.input or "") + more
        self._act(
            a.SessionToolCallDeltaAction(
                turn_id=self._turn_id, tool_call_id=self.id, content=more, invocation_message=message
            )
        )

    async def ready(
        self,
        *,
        message: t.StringOrMarkdown,
        confirmed: str | None = None,
        title: t.StringOrMarkdown | None = None,
        options: list[t.ConfirmationOption] | None = None,
        editable: bool = False,
        edits: list[t.FileEdit] | None = None,
        meta: t.FreeForm | None = None,
    ) -> None:
        """Ask whether the call may run; also again, while it runs. `approved` then has the answer.

        Cancelling takes the question back: the call ends as skipped. So does `done`, which ends it.
        `meta` says what this confirmation is about. It goes out with the action and is not kept.
        """
        asked = confirmed is None
        if asked and self.approved:
            self.begun()
        answer = self._expect(("call", self.id)) if asked else None
        self._act(
            a.SessionToolCallReadyAction(
                turn_id=self._turn_id,
                tool_call_id=self.id,
                meta=meta,
                invocation_message=message,
                tool_input=self.input,
                confirmation_title=title if asked else None,
                edits=t.FileEdits(items=edits) if edits and asked else None,
                editable=editable or None if asked else None,
                confirmed=confirmed,
                options=options if asked else None,
            ),
        )
        if answer is None:
            self.approved = True
        else:
            await self._wait_for(answer)

    async def rejoin(self, state: t.ToolCallState) -> None:
        """Continue a call of a turn that the end of the host has interrupted.

        An open question waits for its answer, under the same id.
        """
        self.input = getattr(
            state, "tool_input", None
        )  # of one that was still being written, nobody knows it
        if isinstance(state, t.ToolCallPendingConfirmationState):
            await self._wait_for(self._expect(("call", self.id)))
        else:
            self.approved = isinstance(state, t.ToolCallRunningState | t.ToolCallCompletedState)
            self.denied = isinstance(state, t.ToolCallCancelledState)
            chosen: t.ConfirmationOption | None = getattr(state, "selected_option", None)
            self.option = chosen.id if chosen is not None else None
            self.suggestion = getattr(state, "user_suggestion", None)
            self.reason = getattr(state, "reason_message", None)

    async def _wait_for(self, answer: asyncio.Future[Any]) -> None:
        self._answer = answer
        try:
            await asyncio.wait({answer})
        except asyncio.CancelledError:
            if not answer.done():
                answer.cancel()
                self._skip()
            raise
        action: a.SessionToolCallConfirmedAction = answer.result()
        self.approved, self.denied = action.approved, not action.approved
        self.option = action.selected_option_id
        self.suggestion = action.user_suggestion
        self.reason = action.reason_message
        if action.edited_tool_input is not None:
            self.input = action.edited_tool_input

    def _skip(self) -> None:
        self._act(
            a.SessionToolCallConfirmedAction(
                turn_id=self._turn_id,
                tool_call_id=self.id,
                approved=False,
                reason=t.ToolCallCancellationReason.SKIPPED.value,
            ),
        )

    def begun(self) -> None:
        """Mark the call as running, though a person is still asked about it.

        When the turn ends, such a call has failed, and was not skipped.
        """
        self._begun[self.id] = self

    def show(self, *content: t.ToolResultContent) -> None:
        """Show the content that the running tool has so far."""
        self.shown = list(content)
        self._act(
            a.SessionToolCallContentChangedAction(
                turn_id=self._turn_id, tool_call_id=self.id, content=list(content)
            ),
        )

    async def done(
        self,
        message: t.StringOrMarkdown,
        *,
        text: str | None = None,
        content: list[t.ToolResultContent] | None = None,
        structured: t.FreeForm | None = None,
        error: str | t.ToolCallError | None = None,
        confirm_result: bool = False,
        meta: t.FreeForm | None = None,
    ) -> bool:
        """End the call, well or (with `error`) not. Returns whether its result may be used.

        `meta` goes out with the action and is not kept.
        """
        if text is not None:
            content = [t.ToolResultTextContent(text=text), *(content or ())]
        result = t.ToolCallResult(
            success=error is None,
            past_tense_message=message,
            content=content,
            structured_content=structured,
            error=t.ToolCallError(message=error) if isinstance(error, str) else error,
        )
        answer = self._expect(("result", self.id)) if confirm_result else None
        self._act(
            a.SessionToolCallCompleteAction(
                turn_id=self._turn_id,
                tool_call_id=self.id,
                meta=meta,
                result=result,
                requires_result_confirmation=confirm_result or None,
            ),
        )
        if self._answer is not None:
            self._answer.cancel()  # nobody need say any more whether it may run
        if answer is None:
            return True
        confirmed: a.SessionToolCallResultConfirmedAction = await answer
        return confirmed.approved

    def expect_result(self) -> None:
        """Prepare for the result of a call that a client runs, before the client knows of it."""
        self._result = self._expect(("complete", self.id))
        # Someone may be asked whether the result may be used, and answer in the same moment.
        self._leave = self._expect(("result", self.id))

    async def result(self) -> t.ToolCallResult:
        """Wait for the result of a call that a client runs, and for leave to use it where that is needed.

        A call fails when its client takes too long. A person may take any time. For a result that they deny,
        this returns an error with the code `result-denied`.
        """
        if self._result is None or self._leave is None:
            raise RuntimeError(f"call {self.id!r} is not run by a client")
        limit = self._patience
        try:
            async with asyncio.timeout(limit):
                action: a.SessionToolCallCompleteAction = await self._result
        except TimeoutError:
            message, why = "The client did not answer", f"the client did not answer in {limit:g} s"
            await self.done(message, error=why)
            return failed_result(message, why)
        if action.requires_result_confirmation:
            confirmed: a.SessionToolCallResultConfirmedAction = await self._leave
            if not confirmed.approved:
                code = t.ToolCallCancellationReason.RESULT_DENIED.value
                return failed_result("The result was denied", "the result was denied", code)
        return action.result


def unknown_outcome(who: str = "agent") -> t.ToolCallError:
    """Make the error of a call whose end was not reported."""
    return t.ToolCallError(message=f"the {who} did not tell how this ended", code=OUTCOME_UNKNOWN)


def ends_of_calls(session: LiveSession, begun: Mapping[str, ToolCall]) -> Iterator[a.StateAction]:
    """Yield the actions that end the open calls of a turn, before it ends.

    By the protocol, the end of a turn cancels them as skipped. That would be wrong for a call that has run,
    wholly or in part. So a running call fails, with the content shown so far. A result that nobody has
    allowed may not be used. A call that has not begun is left to the end of the turn.
    """
    turn = session.turn
    if turn is None:
        return
    for call in list(turn.calls()):
        match call:
            case t.ToolCallRunningState():
                shown, error = (
                    call.content,
                    unknown_outcome("agent" if call.tool_client_id is None else "client"),
                )
            case t.ToolCallPendingConfirmationState() if call.tool_call_id in begun:
                shown, error = begun[call.tool_call_id].shown or None, unknown_outcome()
            case t.ToolCallPendingResultConfirmationState():
                yield a.SessionToolCallResultConfirmedAction(
                    turn_id=turn.id, tool_call_id=call.tool_call_id, approved=False
                )
                continue
            case _:
                continue
        result = failed_result(call.invocation_message, error.message, error.code, shown)
        yield a.SessionToolCallCompleteAction(turn_id=turn.id, tool_call_id=call.tool_call_id, result=result)


# -- edits of files ----------------------------------------------------------------------------------------

Keep = Callable[[bytes, str], t.ContentRef]
"""Function that keeps content beside the session, and refers to it."""


def file_edit(keep: Keep, uri: str, before: bytes | None, after: bytes) -> t.FileEdit:
    """Return the edit that writes a text into a file, or (`None`) into one that is not there."""

    def side(data: bytes) -> t.FileEditSide:
        return t.FileEditSide(uri=uri, content=keep(data, content_type(uri) or "text/plain"))

    added, removed = count_lines(before or b"", after)
    return t.FileEdit(
        before=None if before is None else side(before),
        after=side(after),
        diff=t.FileEditDiff(added=added, removed=removed),
    )


def made(edit: t.FileEdit) -> t.ToolResultFileEditContent:
    """Return an edit that was made, as the result of its call."""
    return t.ToolResultFileEditContent(before=edit.before, after=edit.after, diff=edit.diff)
