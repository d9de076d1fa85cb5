"""The tool calls of one turn: what the agent tells of them, through all the states that AHP has."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serai.acp import PermissionRequest, ToolCallUpdate
from serai.acp import ToolCall as AcpToolCall
from serai.acp.shapes import is_object
from serai.agents.ask.tools import text_in
from serai.ahp.types import (
    FileEdit,
    FreeForm,
    ToolCallConfirmationReason,
    ToolCallError,
    ToolResultContent,
    ToolResultTextContent,
)
from serai.contract import AgentSessionEvent, ToolCalled, ToolCompleted, ToolFailed
from serai.harness.acp.call import ENDED, NAMES, NOT_NEEDED, OVER, Call, Stage
from serai.harness.acp.contents import contents_of, edit_of, edited_paths, size_of
from serai.harness.acp.permitting import Answer, choose, offered
from serai.host.ending import untold
from serai.host.turn import Turn

__all__ = ["Calls"]

_LARGEST_OUTPUT = 16 * 1024
"""A tool's raw output above this size is not kept beside its content."""
_LARGE = 64 * 1024
"""What a running tool shows, above this size, is shown less often."""
_PAUSE = 0.25
"""So many seconds are between two showings of what is large: each is a whole copy of it."""


class Calls:
    """The calls of a turn. An update may be the first that is heard of a call, and so may a permission.

    Args:
        turn: The turn.
        folder: Where relative paths begin.
        terminal: Finds what a terminal of the host shows, by the id that the agent has for it.
        emit: Is told what happens.
        masked: Takes secrets out of JSON.
    """

    def __init__(
        self,
        turn: Turn,
        folder: Path,
        *,
        terminal: Callable[[str], ToolResultContent | None],
        emit: Callable[[AgentSessionEvent], None],
        masked: Callable[[Any], Any],
    ) -> None:
        self._turn = turn
        self._folder = folder
        self._terminal = terminal
        self._emit = emit
        self._masked = masked
        self._calls: dict[str, Call] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By the ids of calls: several may have one, and one question at a time is asked about them."""
        self._shown: dict[str, int] = {}
        """The ids that clients know, each with how often it was wanted again."""

    async def updated(self, update: AcpToolCall | ToolCallUpdate) -> None:
        """A call has begun, or something is new of it."""
        await self._defied(update)
        call = self._of(update)
        if call.is_about_to_show and update.status in ENDED:
            self._show_now(call)  # else what it had while it ran would never have been seen
        changed = call.learn(update)
        if call.stage in OVER:
            return
        await self._attend_edits(call)
        if update.status == "in_progress" and call.stage is Stage.ASKED:
            call.is_hasty = True
            call.ahp.begun()
        if call.stage is Stage.STREAMING:
            if changed:
                self._grow(call)
            if call.status == "pending":
                return
            await self._run(call)
        elif call.stage is Stage.RUNNING and changed and call.confirmed == NOT_NEEDED:
            await self._run(call)  # under its new title
        if call.status in ENDED:
            await self._close(call)
        elif call.stage is Stage.RUNNING and (update.content is not None or changed) and call.shows_something:
            self._show(call)

    async def ask(self, request: PermissionRequest) -> Answer:
        """Ask the person whether a call may run. Several questions about one call are asked in turn.

        Cancelling takes the question back. It is cancelled when the call or the turn ends before the answer.
        """
        async with self._asking[request.tool_call.tool_call_id]:
            call = self._of(request.tool_call)
            if call.stage in OVER:  # it was denied, or is done: this is another one
                call = self._begin(call.id, request.tool_call, call)
            if call.is_about_to_show:
                self._show_now(call)
            if call.learn(request.tool_call, asked=True) and call.stage is Stage.STREAMING:
                self._grow(call)
            await self._attend_edits(call, has_asked=True)
            asking = asyncio.create_task(self._question(call, request))
            try:
                await asyncio.wait({asking})
                asking.result()
            except asyncio.CancelledError:
                await self._take_back(call, asking)
                raise
            if call.ahp.approved:
                await call.begins()
                call.stage = Stage.RUNNING
                call.confirmed = ToolCallConfirmationReason.USER_ACTION.value
                self._emit_called(call)
                call.answered()
                if call.shows_something:
                    self._show(call)  # to be asked about has taken away what it had
            else:
                call.stage = Stage.DENIED
                await call.is_off()
        option = choose(request.options, call.ahp.option, approved=call.ahp.approved)
        return Answer(option, call.ahp.suggestion, is_unsayable=call.ahp.approved and option is None)

    async def end(self) -> None:
        """The turn is over. Of what ran it is said that its end is not known; AHP sees to the rest.

        That is cancelled as skipped, which must not be said of something that was done, or half of it.
        """
        for call in self._calls.values():
            if call.runs and self._turn.is_running:
                await self._close(call, untold())
            call.rest()
            await call.editing.aclose()

    # -- steps ---------------------------------------------------------------------------------------------

    async def _question(self, call: Call, request: PermissionRequest) -> None:
        if call.stage in OVER:
            raise asyncio.CancelledError  # it was told meanwhile how it ended
        call.is_hasty = call.stage is Stage.RUNNING
        call.stage = Stage.ASKED
        await call.ahp.ready(
            message=call.message,
            title=call.title or None,
            options=offered(request.options),
            edits=self._edits(call),
            meta=call.meta,
        )

    async def _take_back(self, call: Call, asking: asyncio.Task[None]) -> None:
        """Nobody need say any more whether a call may run. One that runs all the same was not skipped."""
        if call.stage is Stage.ASKED:
            if call.runs and self._turn.is_running:
                await self._close(call, untold())  # this ends the question, too
            call.stage = Stage.TAKEN_BACK
            await call.is_off()
        asking.cancel()
        await asyncio.wait({asking})

    async def _defied(self, update: AcpToolCall | ToolCallUpdate) -> None:
        """Tell it when an agent was told no, and says that it did it. A bare "completed" may be the no."""
        call = self._calls.get(update.tool_call_id)
        if call is None or call.stage is not Stage.DENIED or isinstance(update, AcpToolCall):
            return
        brought = text_in(update.content) or text_in(update.raw_output)
        if update.status == "in_progress":
            what = "it runs it."
        elif update.status == "completed" and (update.content or brought):
            call.stage = Stage.CLOSED  # once is enough
            what = f"this came of it: {brought[:_LARGEST_OUTPUT]}" if brought else "it has done it."
        else:
            return
        await self._turn.notice(f'The agent was told no to "{call.message}", and says that {what}')

    def _of(self, update: AcpToolCall | ToolCallUpdate) -> Call:
        call = self._calls.get(update.tool_call_id)
        if call is None or _is_another(call, update):
            return self._begin(update.tool_call_id, update, call)
        return call

    def _begin(self, call_id: str, update: AcpToolCall | ToolCallUpdate, before: Call | None) -> Call:
        """A call is heard of. `before` is the one that had its id, which is over."""
        shown = call_id
        while shown in self._shown:
            self._shown[call_id] += 1
            shown = f"{call_id}#{self._shown[call_id]}"
        self._shown[shown] = 0
        known = before if before is not None and _is_more_of(before, update) else None
        kind = update.tool_kind or (known.kind if known else "other")
        locations = update.locations or (known.locations if known else [])
        meta: FreeForm = {"serai.toolKind": kind}
        if locations:
            meta["serai.locations"] = locations
        # By its kind: a title tells what the call does, and the first one is often no more than "Preparing…".
        name = NAMES.get(kind) or update.title or (known and known.title) or kind
        ahp = self._turn.begin_call(kind, name, call_id=shown, meta=meta)
        call = self._calls[call_id] = Call(call_id, ahp, kind=kind, locations=locations)
        if known is not None:
            call.title, call.raw_input = known.title, known.raw_input
            self._grow(call)
        return call

    def _grow(self, call: Call) -> None:
        """Show title and input while they are still coming in."""
        more = "" if call.ahp.input else call.input or ""
        call.ahp.grow(more, call.message)
        call.ahp.input = call.input

    async def _run(self, call: Call) -> None:
        first = call.stage is Stage.STREAMING
        call.stage = Stage.RUNNING
        call.ahp.input = call.input
        await call.ahp.ready(message=call.message, confirmed=call.confirmed, meta=call.meta)
        if first:
            self._emit_called(call)

    def _show(self, call: Call) -> None:
        """Show what the call has so far, in the next step: tools that stream tell all of it, in bursts."""
        if call.showing is not None:
            return
        loop = asyncio.get_running_loop()
        wait = call.shown_at + _PAUSE - loop.time() if size_of(call.content) > _LARGE else 0
        if wait > 0:
            call.showing = loop.call_later(wait, self._show_now, call)
        else:
            call.showing = loop.call_soon(self._show_now, call)

    def _show_now(self, call: Call) -> None:
        call.rest()
        if call.stage is Stage.RUNNING and call.shows_something:
            call.shown_at = asyncio.get_running_loop().time()
            call.ahp.show(*self._contents(call))

    async def _close(self, call: Call, error: str | ToolCallError | None = None) -> None:
        call.stage = Stage.CLOSED
        call.rest()
        call.answered(is_over=True)
        content: list[ToolResultContent] = self._contents(call)
        if not content and (text := text_in(call.raw_output)):
            content = [ToolResultTextContent(text=text)]
        if error is None and call.status == "failed":
            error = call.text or text_in(call.raw_output) or "the tool failed"
        await call.editing.aclose()
        await call.ahp.done(
            call.message,
            content=content or None,
            structured=_small(call.raw_output),
            error=error,
            meta=call.meta,
        )
        if error is None:
            output = self._masked(call.text or call.raw_output)
            self._emit(ToolCompleted(run=call.id, tool=call.kind, output=output))
        else:
            why = error if isinstance(error, str) else error.message
            self._emit(ToolFailed(run=call.id, tool=call.kind, error=self._masked(why)))

    def _emit_called(self, call: Call) -> None:
        self._emit(ToolCalled(run=call.id, tool=call.kind, input=self._masked(call.raw_input)))

    # -- content -------------------------------------------------------------------------------------------

    def _contents(self, call: Call) -> list[ToolResultContent]:
        return contents_of(call.content, folder=self._folder, keep=self._turn.keep, terminal=self._terminal)

    def _edits(self, call: Call) -> list[FileEdit]:
        found = (
            edit_of(entry, self._folder, self._turn.keep)
            for entry in call.content
            if entry.get("type") == "diff"
        )
        return [edit for edit in found if edit is not None]

    async def _attend_edits(self, call: Call, *, has_asked: bool = False) -> None:
        """See to it that what the call changes is among the session's changes.

        An agent may tell of a path when it has written there already; not so when it asks whether it may.
        """
        since = None if has_asked and call.stage is not Stage.RUNNING else call.since
        for path in edited_paths(call.content, call.locations, call.kind):
            if path not in call.edited:
                call.edited.add(path)
                editing = self._turn.editing(self._folder / path, since=since)
                call.edits.append(await call.editing.enter_async_context(editing))


def _is_another(call: Call, update: AcpToolCall | ToolCallUpdate) -> bool:
    """Whether something is told of a new call that has the id of one that is over."""
    if call.stage is Stage.TAKEN_BACK:
        return update.status in ("in_progress", "completed")
    if call.stage is Stage.DENIED and update.status == "in_progress":
        return True
    return call.stage in OVER and isinstance(update, AcpToolCall)


def _is_more_of(before: Call, update: AcpToolCall | ToolCallUpdate) -> bool:
    """Whether what is told of a call that is over is of the same one, as when it runs after a no."""
    return isinstance(update, ToolCallUpdate) and update.title in (None, "", before.title)


def _small(output: Any) -> FreeForm | None:
    if not is_object(output) or len(json.dumps(output)) > _LARGEST_OUTPUT:
        return None
    return dict(output)
