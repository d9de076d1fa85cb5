"""The tool calls of one turn: turns the fold of `serai.acp.tool_calls` into AHP's actions and questions."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from serai.acp.client_side import PermissionOption, PermissionRequest
from serai.acp.shapes import is_object
from serai.acp.tool_calls import OVER, AgentToolCall, CallChange, CallStage, ToolCalls, text_in
from serai.acp.updates import ToolCall as AcpToolCall, ToolCallUpdate
from serai.ahp import types as t
from serai.harness.acp.content import contents_of, edit_of
from serai.host.tool_call import ToolCall, unknown_outcome
from serai.host.turn import Turn

if TYPE_CHECKING:
    from serai.harness.acp.session import AcpAgentSession

_LARGEST_OUTPUT = 16 * 1024
"""Largest raw output that is kept beside a tool's content, in bytes of JSON."""
_PAUSE = 0.2
"""Seconds between two publications of a running tool's output: each is a whole copy."""
_NAMES = {
    "read": "Read",
    "edit": "Edit",
    "delete": "Delete",
    "move": "Move",
    "search": "Search",
    "execute": "Run a command",
    "think": "Think",
    "fetch": "Fetch",
    "switch_mode": "Switch mode",
}
"""Names of the kinds of calls, for people."""


@dataclass(slots=True)
class _Shown:
    """The AHP side of one call."""

    ahp: ToolCall
    shown_at: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def rest(self) -> None:
        """Cancel the publication that is scheduled."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class TurnCalls:
    """Publishes the calls of a turn, and asks the person about them."""

    def __init__(self, session: AcpAgentSession, turn: Turn) -> None:
        self._session = session
        self._turn = turn
        self._folder = session.folder
        self._fold = ToolCalls()
        self._shown: dict[str, _Shown] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Locks by the agent's ids of calls: one question at a time is asked about a call."""

    async def updated(self, update: AcpToolCall | ToolCallUpdate) -> None:
        """Publish what an update changes in a call."""
        change = self._fold.update(update)
        shown, call = self._call(change), change.call
        was = CallStage.STREAMING if change.before is None else change.before.stage
        if was in OVER:
            return
        if was is CallStage.STREAMING:
            if change.is_retold:
                self._grow(shown, call)
            if call.stage is not CallStage.STREAMING:
                await self._run(shown, call)
        elif was is CallStage.RUNNING and change.is_retold and not call.is_allowed:
            await self._run(shown, call)  # with its new title
        if call.stage is CallStage.CLOSED:
            for one in (call, *change.ended):
                await self._close(one)
        elif call.stage is CallStage.ASKED and call.has_begun:
            shown.ahp.begun()
        elif change.before is None or call.results != change.before.results:
            self._show(call.key)

    async def ask(self, request: PermissionRequest) -> str | None:
        """Ask the person whether a call may run. Several questions about one call are asked in turn.

        Returns the agent's id of the option; `None` to cancel. The person's suggestion is queued.

        Cancelling withdraws the question. It is cancelled when the call or the turn ends before the answer.
        """
        async with self._asking[request.tool_call.tool_call_id]:
            change = self._fold.ask(request.tool_call)
            shown, key = self._call(change), change.call.key
            if change.before is None or change.before.stage is CallStage.STREAMING:
                self._grow(shown, change.call)
            asking = asyncio.create_task(self._question(shown, change.call, request))
            try:
                await asyncio.wait({asking})
                asking.result()
            except asyncio.CancelledError:
                await self._take_back(key)
                asking.cancel()
                await asyncio.wait({asking})
                raise
            approved = shown.ahp.approved
            self._fold.answer(key, approved=approved)
            if approved:
                self._show(key)  # the question had replaced its output
        option = choose(request.options, shown.ahp.option, approved=approved)
        if approved and option is None:
            label = self._session.harness.found.label
            await self._turn.notice(f"{label} offers no matching answer, and was told nothing.")
        if shown.ahp.suggestion is not None:
            self._session.seat.queue(shown.ahp.suggestion, "suggestion")
        return option

    async def end(self) -> None:
        """End the turn. Running calls end as unknown; AHP skips the rest."""
        running = self._fold.end()
        for call in running if self._turn.is_running else ():
            await self._close(call, unknown_outcome())
        for shown in self._shown.values():
            shown.rest()

    # -- steps ---------------------------------------------------------------------------------------------

    def _call(self, change: CallChange) -> _Shown:
        call = change.call
        if call.key not in self._shown:
            # By its kind: a title describes the single call, and the first one is often "Preparing…".
            name = _NAMES.get(call.kind) or call.title or call.kind
            ahp = self._turn.begin_call(call.kind, name, call_id=call.key, meta=_meta(call))
            self._shown[call.key] = _Shown(ahp)
        return self._shown[call.key]

    def _grow(self, shown: _Shown, call: AgentToolCall) -> None:
        """Publish title and input while they are still coming in."""
        text = _input(call)
        shown.ahp.grow("" if shown.ahp.input else text or "", _message(call))
        shown.ahp.input = text

    async def _run(self, shown: _Shown, call: AgentToolCall) -> None:
        shown.ahp.input = _input(call)
        reason = t.ToolCallConfirmationReason
        confirmed = reason.USER_ACTION if call.is_allowed else reason.NOT_NEEDED
        await shown.ahp.ready(message=_message(call), confirmed=confirmed.value, meta=_meta(call))

    async def _question(self, shown: _Shown, call: AgentToolCall, request: PermissionRequest) -> None:
        shown.rest()
        # A question in words alone is shown too: a person must read what they allow.
        shown.ahp.input = _input(call) or text_in(list(call.content)) or None
        shown.ahp.approved = call.has_begun  # a call that nobody allowed has not run, whatever the agent says
        edits = (edit_of(entry, self._folder, self._turn.keep) for entry in call.content)
        await shown.ahp.ready(
            message=_message(call),
            title=call.title or None,
            options=offered(request.options),
            edits=[edit for edit in edits if edit is not None],
            meta=_meta(call),
        )

    async def _take_back(self, key: str) -> None:
        """Withdraw the question about a call. If the call runs anyway, close it."""
        if self._fold.answer(key, approved=None).runs and self._turn.is_running:
            for call in self._fold.end(key):
                await self._close(call, unknown_outcome())  # this ends the question, too

    def _show(self, key: str) -> None:
        """Publish the output of a running call, now or after the pause."""
        shown, call = self._shown[key], self._fold[key]
        if shown.timer is not None or call.stage is not CallStage.RUNNING or not call.results:
            return
        loop = asyncio.get_running_loop()
        if (wait := shown.shown_at + _PAUSE - loop.time()) > 0:
            shown.timer = loop.call_later(wait, self._show_later, key)
        else:
            shown.shown_at = loop.time()
            shown.ahp.show(*self._contents(call))

    def _show_later(self, key: str) -> None:
        self._shown[key].timer = None
        self._show(key)

    async def _close(self, call: AgentToolCall, error: str | t.ToolCallError | None = None) -> None:
        shown = self._shown[call.key]
        shown.rest()
        content: list[t.ToolResultContent] = self._contents(call)
        if not content and (text := text_in(call.output)):
            content = [t.ToolResultTextContent(text=text)]
        if error is None and call.status == "failed":
            error = call.text or "the tool failed"
        is_small = is_object(call.output) and len(json.dumps(call.output)) <= _LARGEST_OUTPUT
        await shown.ahp.done(
            _message(call),
            content=content or None,
            structured=dict(call.output) if is_small else None,
            error=error,
            meta=_meta(call),
        )

    def _contents(self, call: AgentToolCall) -> list[t.ToolResultContent]:
        return contents_of(
            call.results,
            folder=self._folder,
            keep=self._turn.keep,
            terminal=self._session.shown_terminals.get,
        )


def _message(call: AgentToolCall) -> str:
    """Return what a call does, for people."""
    return call.title or _NAMES.get(call.kind, call.kind)


def _input(call: AgentToolCall) -> str | None:
    """Return the tool's input as JSON text."""
    if call.input is None or isinstance(call.input, str):
        return call.input
    return json.dumps(call.input, ensure_ascii=False)


def _meta(call: AgentToolCall) -> t.FreeForm:
    """Return the properties that AHP has no field for."""
    return {
        "serai.toolKind": call.kind,
        **({"serai.locations": list(call.locations)} if call.locations else {}),
    }


# -- the person's options -----------------------------------------------------------------------------------


def offered(options: Iterable[PermissionOption]) -> list[t.ConfirmationOption]:
    """Return the agent's options as AHP has them.

    Options of unknown kinds count as ways to say yes: a no must never allow anything.
    """
    kinds = t.ConfirmationOptionKind
    return [
        t.ConfirmationOption(
            id=option.id,
            label=option.name,
            kind=(kinds.DENY if _rejects(option) else kinds.APPROVE).value,
            group=1 if _rejects(option) else 0,
        )
        for option in options
    ]


def choose(options: Iterable[PermissionOption], chosen: str | None, *, approved: bool) -> str | None:
    """Return the option for a yes or a no. A plain yes means once; without a fitting option it cancels."""
    options = list(options)
    if approved:
        if any(option.id == chosen and not _rejects(option) for option in options):
            return chosen
        fitting = [option for option in options if option.kind.startswith("allow")]
        once = next((option.id for option in fitting if option.kind == "allow_once"), None)
        return fitting[0].id if once is None and len(fitting) == 1 else once
    fitting = [option for option in options if _rejects(option)]
    if any(option.id == chosen for option in fitting):
        return chosen
    return next((option.id for option in fitting if option.kind == "reject_once"), None)


def _rejects(option: PermissionOption) -> bool:
    return option.kind.startswith(("reject", "deny"))
