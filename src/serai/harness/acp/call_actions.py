"""The tool calls of one turn: the fold of `serai.acp.tool_calls` becomes AHP's actions and questions."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from serai.acp.client_side import PermissionOption, PermissionRequest
from serai.acp.shapes import is_object
from serai.acp.tool_calls import OVER, CallChange, CallStage, ToolCalls, ToolUse, text_in
from serai.acp.updates import ToolCall as AcpToolCall, ToolCallUpdate
from serai.ahp import types as t
from serai.harness.acp.content import contents_of, edit_of
from serai.host.tool_call import ToolCall, unknown_outcome
from serai.host.turn import Turn

if TYPE_CHECKING:
    from serai.harness.acp.session import AcpAgentSession

_LARGEST_OUTPUT = 16 * 1024
"""A tool's raw output above this size is not kept beside its content."""
_PAUSE = 0.2
"""Seconds between two showings of what a running tool has: each is a whole copy of it."""
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
"""What calls of a kind do, for people."""


@dataclass(slots=True)
class _Shown:
    """What people see of one call."""

    ahp: ToolCall
    shown_at: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def rest(self) -> None:
        """Show nothing later any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class TurnCalls:
    """Shows the calls of a turn, and asks the person about them."""

    def __init__(self, session: AcpAgentSession, turn: Turn) -> None:
        self._session = session
        self._turn = turn
        self._folder = session.folder
        self._fold = ToolCalls()
        self._shown: dict[str, _Shown] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By the agent's ids of calls: one question at a time is asked about a call."""

    async def updated(self, update: AcpToolCall | ToolCallUpdate) -> None:
        """A call has begun, or something is new of it."""
        change = self._fold.update(update)
        call, use = self._call(change), change.use
        was = CallStage.STREAMING if change.before is None else change.before.stage
        if was in OVER:
            return
        if was is CallStage.STREAMING:
            if change.is_retold:
                self._grow(call, use)
            if use.stage is not CallStage.STREAMING:
                await self._run(call, use)
        elif was is CallStage.RUNNING and change.is_retold and not use.is_allowed:
            await self._run(call, use)  # under its new title
        if use.stage is CallStage.CLOSED:
            await self._close(use)
        elif use.stage is CallStage.ASKED and use.has_begun:
            call.ahp.begun()
        elif change.before is None or use.results != change.before.results:
            self._show(use.key)

    async def ask(self, request: PermissionRequest) -> str | None:
        """Ask the person whether a call may run. Several questions about one call are asked in turn.

        Returns the agent's id of the option; `None` to cancel. What the person would rather have is queued.

        Cancelling takes the question back. It is cancelled when the call or the turn ends before the answer.
        """
        async with self._asking[request.tool_call.tool_call_id]:
            change = self._fold.ask(request.tool_call)
            call, key = self._call(change), change.use.key
            if change.before is None or change.before.stage is CallStage.STREAMING:
                self._grow(call, change.use)
            asking = asyncio.create_task(self._question(call, change.use, request))
            try:
                await asyncio.wait({asking})
                asking.result()
            except asyncio.CancelledError:
                await self._take_back(key)
                asking.cancel()
                await asyncio.wait({asking})
                raise
            approved = call.ahp.approved
            self._fold.answer(key, approved=approved)
            if approved:
                self._show(key)  # to be asked about has taken away what it had
        option = choose(request.options, call.ahp.option, approved=approved)
        if approved and option is None:
            label = self._session.harness.found.label
            await self._turn.notice(f"{label} offers no answer that means this: it was told nothing.")
        if call.ahp.suggestion is not None:
            self._session.seat.queue(call.ahp.suggestion, "suggestion")
        return option

    async def end(self) -> None:
        """The turn is over. Of what ran it is said that its end is not known; AHP skips the rest."""
        running = self._fold.end()
        for use in running if self._turn.is_running else ():
            await self._close(use, unknown_outcome())
        for call in self._shown.values():
            call.rest()

    # -- steps ---------------------------------------------------------------------------------------------

    def _call(self, change: CallChange) -> _Shown:
        use = change.use
        if use.key not in self._shown:
            # By its kind: a title tells what the call does, and the first is often no more than "Preparing…".
            name = _NAMES.get(use.kind) or use.title or use.kind
            ahp = self._turn.begin_call(use.kind, name, call_id=use.key, meta=_meta(use))
            self._shown[use.key] = _Shown(ahp)
        return self._shown[use.key]

    def _grow(self, call: _Shown, use: ToolUse) -> None:
        """Show title and input while they are still coming in."""
        text = _input(use)
        call.ahp.grow("" if call.ahp.input else text or "", _message(use))
        call.ahp.input = text

    async def _run(self, call: _Shown, use: ToolUse) -> None:
        call.ahp.input = _input(use)
        reason = t.ToolCallConfirmationReason
        confirmed = reason.USER_ACTION if use.is_allowed else reason.NOT_NEEDED
        await call.ahp.ready(message=_message(use), confirmed=confirmed.value, meta=_meta(use))

    async def _question(self, call: _Shown, use: ToolUse, request: PermissionRequest) -> None:
        call.rest()
        # What a question says in words alone is shown, too: a person allows what they have read.
        call.ahp.input = _input(use) or text_in(list(use.content)) or None
        call.ahp.approved = use.has_begun  # what nobody allowed has not run, whatever the agent said
        edits = (edit_of(entry, self._folder, self._turn.keep) for entry in use.content)
        await call.ahp.ready(
            message=_message(use),
            title=use.title or None,
            options=offered(request.options),
            edits=[edit for edit in edits if edit is not None],
            meta=_meta(use),
        )

    async def _take_back(self, key: str) -> None:
        """Nobody need say any more whether a call may run. One that runs all the same was not skipped."""
        if self._fold.answer(key, approved=None).runs and self._turn.is_running:
            for use in self._fold.end(key):
                await self._close(use, unknown_outcome())  # this ends the question, too

    def _show(self, key: str) -> None:
        """Show what a running call has so far, now or when it may be shown again."""
        call, use = self._shown[key], self._fold[key]
        if call.timer is not None or use.stage is not CallStage.RUNNING or not use.results:
            return
        loop = asyncio.get_running_loop()
        if (wait := call.shown_at + _PAUSE - loop.time()) > 0:
            call.timer = loop.call_later(wait, self._show_later, key)
        else:
            call.shown_at = loop.time()
            call.ahp.show(*self._contents(use))

    def _show_later(self, key: str) -> None:
        self._shown[key].timer = None
        self._show(key)

    async def _close(self, use: ToolUse, error: str | t.ToolCallError | None = None) -> None:
        call = self._shown[use.key]
        call.rest()
        content: list[t.ToolResultContent] = self._contents(use)
        if not content and (text := text_in(use.output)):
            content = [t.ToolResultTextContent(text=text)]
        if error is None and use.status == "failed":
            error = use.text or "the tool failed"
        await call.ahp.done(
            _message(use),
            content=content or None,
            structured=_small(use.output),
            error=error,
            meta=_meta(use),
        )

    def _contents(self, use: ToolUse) -> list[t.ToolResultContent]:
        return contents_of(
            use.results, folder=self._folder, keep=self._turn.keep, terminal=self._session.shown_terminals.get
        )


def _message(use: ToolUse) -> str:
    """What a call does, for people."""
    return use.title or _NAMES.get(use.kind, use.kind)


def _input(use: ToolUse) -> str | None:
    """The tool's input, as JSON text."""
    if use.input is None or isinstance(use.input, str):
        return use.input
    return json.dumps(use.input, ensure_ascii=False)


def _meta(use: ToolUse) -> t.FreeForm:
    """What AHP has no field for."""
    return {"serai.toolKind": use.kind, **({"serai.locations": list(use.locations)} if use.locations else {})}


def _small(output: Any) -> t.FreeForm | None:
    if not is_object(output) or len(json.dumps(output)) > _LARGEST_OUTPUT:
        return None
    return dict(output)


# -- what a person can answer ------------------------------------------------------------------------------


def offered(options: Iterable[PermissionOption]) -> list[t.ConfirmationOption]:
    """The agent's options, as AHP has them.

    What is not known to reject stands among the ways to say yes: a no must never allow anything.
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
    """The option that a yes or a no means. A plain yes is for once; what cannot be said cancels."""
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
