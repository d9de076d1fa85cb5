"""Shows turns as lines: text as it comes, and for each tool call its beginning and its result."""

from __future__ import annotations

import asyncio
import re
from difflib import unified_diff
from urllib.parse import unquote, urlsplit

from serai.ahp import types as t
from serai.ahp.extensions import QUEUE_HELD
from serai.cli.console.markdown import DIM, RED
from serai.cli.console.output import about_size, cut, plain
from serai.cli.console.terminal import PlainTerminal
from serai.client import (
    Client,
    ContentAdded,
    NoticeGiven,
    ReasoningAdded,
    TextAdded,
    ToolRunning,
    TurnEnded,
    TurnEvent,
    UsageReported,
)
from serai.client.terminal import terminal_text
from serai.errors import SeraiError

LAST = 20
"""Most lines of an output that are shown, from its end."""
_WIDTH = 400
_PATIENCE = 2.0
"""Seconds that the end of a call waits for output that the host keeps elsewhere."""
_LARGEST = 4_000_000
"""Largest output that is fetched, in bytes."""

_LONGEST_DIFF = 1000
"""Most lines of a diff that are shown with a question."""

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links, marks
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS and the like
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, the cursor
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = {code: None for code in [*range(32), *range(127, 160)] if code != 9}


def plain_line(line: str) -> str:
    """Return the final form of a terminal's line, without colours and overwritten text."""
    return cut(_ESCAPES.sub("", line).rstrip("\r").rpartition("\r")[2].translate(_CONTROLS), _WIDTH)


def last_lines(text: str) -> list[str]:
    """Return the last lines of a text, after a note on the lines that were left out."""
    lines = text.removesuffix("\n").split("\n") if text else []
    left_out = len(lines) - LAST
    head = [f"… ({left_out:,} line{'s' if left_out > 1 else ''} left out)"] if left_out > 0 else []
    return [*head, *map(plain_line, lines[-LAST:])]


def one_line(text: str, width: int = 100) -> str:
    """Join text into one line, cut when it is long."""
    return cut(" ".join(text.split()), width)


# -- content of tool calls ---------------------------------------------------------------------------------


def text_of(content: list[t.ToolResultContent] | None) -> str:
    """Return the text in a tool's content."""
    *before, last = [one.text for one in content or () if isinstance(one, t.ToolResultTextContent)] or [""]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in before) + last


def about(content: t.ToolResultContent) -> str | None:
    """Describe content in a line; `None` for text and terminals, which are shown themselves."""
    match content:
        case t.ToolResultFileEditContent():
            return about_edit(content)
        case t.ToolResultSubagentContent(resource=uri, title=title, agent_name=name):
            return f"{name or 'another agent'} works on it: {title} (serai chat {uri.rpartition('/')[2]})"
        case t.ToolResultEmbeddedResourceContent(data=data, content_type=kind):
            return f"[{kind}, {about_size(len(data) * 3 // 4)}]"
        case t.ToolResultResourceContent(content_type=kind, size_hint=size, uri=uri):
            return f"[{kind or 'content'}{f', {about_size(size)}' if size is not None else ''}: {uri}]"
        case _:
            return None


def about_edit(edit: t.FileEdit) -> str:
    """Describe a change to a file, with the numbers of added and removed lines."""
    before, after = (_path(side.uri) if side else None for side in (edit.before, edit.after))
    if before and after:
        what = f"changed {after}" if before == after else f"moved {before} to {after}"
    else:
        what = f"made {after}" if after else f"deleted {before or 'a file'}"
    counts = f" (+{edit.diff.added or 0} -{edit.diff.removed or 0})" if edit.diff else ""
    return what + counts


def _path(uri: str) -> str:
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


async def output_elsewhere(client: Client, call: t.ToolCallState) -> str:
    """Return a call's output in terminals or kept content, if its own content has no text."""
    content: list[t.ToolResultContent] = getattr(call, "content", None) or []
    texts: list[str] = []
    try:
        async with asyncio.timeout(_PATIENCE):
            for one in content if not text_of(content) else ():
                match one:
                    case t.ToolResultTerminalContent(resource=uri):
                        terminal = await client.open_terminal(uri)
                        texts.append(terminal_text(terminal.state))
                        terminal.leave()
                    case t.ToolResultResourceContent(uri=uri, content_type=kind, size_hint=size) if (
                        kind or ""
                    ).startswith("text/") and (size or 0) <= _LARGEST:
                        texts.append((await client.read(uri)).decode(errors="replace"))
                    case _:
                        pass
    except (SeraiError, TimeoutError):
        pass  # it may be deleted; its address is shown in any case
    return "".join(texts)


async def diff_of(client: Client, call: t.ToolCallState) -> str:
    """Return the diff of the changes that a call wants to make; empty if there is none."""
    edits: t.FileEdits | None = getattr(call, "edits", None)
    lines: list[str] = []
    try:
        async with asyncio.timeout(_PATIENCE):
            for edit in edits.items if edits else ():
                before, after = [await _read_side(client, side) for side in (edit.before, edit.after)]
                lines += list(unified_diff(before, after, lineterm=""))[2:]
    except (SeraiError, TimeoutError, UnicodeDecodeError):
        return ""  # the line on each edit is shown in any case
    left_out = len(lines) - _LONGEST_DIFF
    more = [f"  … ({left_out:,} more lines of the diff)"] if left_out > 0 else []
    return "".join(f"{line}\n" for line in [*(f"  {line}" for line in lines[:_LONGEST_DIFF]), *more])


async def _read_side(client: Client, side: t.FileEditSide | None) -> list[str]:
    return (await client.read(side.content.uri)).decode().splitlines() if side else []


def _call_lines(call: t.ToolCallState, *, elsewhere: str = "", has_run: bool = False) -> list[str]:
    """Return a finished call as lines: its outcome and its result."""
    match call:
        case t.ToolCallCompletedState(content=content):
            if call.success:
                outcome = one_line(plain(call.past_tense_message)) or "done"
            else:
                outcome = f"failed: {call.error.message if call.error else plain(call.past_tense_message)}"
            shown = [*last_lines(text_of(content) or elsewhere), *filter(None, map(about, content or ()))]
            return [f"* {call.display_name}: {outcome}", *(f"  | {line}" for line in shown)]
        case t.ToolCallCancelledState():
            return [f"* {call.display_name}: {_why_cancelled(call, has_run=has_run)}"]
        case t.ToolCallBase():
            return [f"* {call.display_name}"]
        case _:
            return []  # an unknown state


def _why_cancelled(call: t.ToolCallCancelledState, *, has_run: bool) -> str:
    why = plain(call.reason_message)
    if call.reason == t.ToolCallCancellationReason.RESULT_DENIED:
        return f"ran, and its result was kept from the agent{f' ({why})' if why else ''}"
    what = "was stopped" if has_run else "did not run"
    return f"{what} ({call.reason}{f': {why}' if why else ''})"


# -- turns -------------------------------------------------------------------------------------------------


class TurnView:
    """Shows the events of turns as they come."""

    def __init__(self, terminal: PlainTerminal) -> None:
        self._terminal = terminal
        self._calls: dict[str, set[str]] = {}
        """By running call: the lines about its content that were shown."""
        self._is_thinking = False
        self._usage: t.UsageInfo | None = None
        """Usage of the turn, shown at its end: reports may come in the middle of a word."""

    def show(self, event: TurnEvent) -> None:
        """Show one event, except for questions and for the end of calls (see `finish`)."""
        if isinstance(event, UsageReported):
            self._usage = event.usage
            return
        if self._is_thinking != isinstance(event, ReasoningAdded):
            self._is_thinking = not self._is_thinking
            self._terminal.new_line()
        match event:
            case TextAdded(text=text):
                self._terminal.text(text)
            case ReasoningAdded(text=text):
                self._terminal.dim(text)
            case ToolRunning(call=call):
                self._show_running(call)
            case NoticeGiven(content=content):
                self._terminal.note(f"({plain(content)})")
            case ContentAdded(content=content):
                self._terminal.note(f"[{content.content_type or 'content'}: {content.uri}]")
            case TurnEnded():
                self._show_end(event)
            case _:
                pass

    def finish(self, call: t.ToolCallState, elsewhere: str) -> None:
        """Show the end of a call, with the text of `output_elsewhere`."""
        if isinstance(call, t.ToolCallCompletedState) and call.tool_call_id not in self._calls:
            self._show_begun(call)  # its beginning was missed
        known = self._calls.pop(call.tool_call_id, None) if isinstance(call, t.ToolCallBase) else None
        for line in _call_lines(call, elsewhere=elsewhere, has_run=known is not None):
            if line.removeprefix("  | ") not in (known or ()):
                self._terminal.note(line, style=DIM if line.startswith("  | ") else "")

    def _show_begun(self, call: t.ToolCallRunningState | t.ToolCallCompletedState) -> None:
        self._calls[call.tool_call_id] = set()
        self._terminal.note(f"* {call.display_name}: {one_line(plain(call.invocation_message))}")

    def _show_running(self, call: t.ToolCallRunningState) -> None:
        if call.tool_call_id not in self._calls:
            self._show_begun(call)
        known = self._calls[call.tool_call_id]
        for line in filter(None, map(about, call.content or ())):
            if line not in known:
                known.add(line)
                self._terminal.note(f"  | {line}", style=DIM)

    def _show_end(self, event: TurnEnded) -> None:
        self._calls.clear()
        self._terminal.new_line()
        if usage := self._usage:
            self._usage = None
            self._terminal.dim(f"({usage.input_tokens or 0} tokens in, {usage.output_tokens or 0} out)")
            self._terminal.new_line()
        if event.error is not None:
            self._terminal.note(
                f"The turn failed: {event.error.message} [{event.error.error_type}]", style=RED
            )
        elif event.state != t.TurnState.COMPLETE:
            self._terminal.note(f"(the turn was {event.state})")


def turn_lines(turn: t.Turn) -> list[str]:
    """Return a finished turn as lines."""
    lines = [f"> {turn.user_message.text}"]
    for part in turn.response_parts:
        match part:
            case t.MarkdownResponsePart(content=content) if content.strip():
                lines.append(content.strip())
            case t.ToolCallResponsePart(tool_call=call):
                lines += _call_lines(call)
            case t.SystemNotificationResponsePart(content=content):
                lines.append(f"({plain(content)})")
            case _:
                pass
    if turn.error is not None:
        lines.append(f"(failed: {turn.error.message})")
    elif turn.state != t.TurnState.COMPLETE:
        lines.append(f"({turn.state})")
    return lines


_WHY_HELD = {
    "cancelled": "the turn was cancelled",
    "error": "the turn failed",
    "restart": "the host was restarted",
}


def why_held(state: t.SessionState) -> str | None:
    """Return the reason for which messages are held; `None` if they are not."""
    reason = (state.meta or {}).get(QUEUE_HELD)
    if reason is None or not state.queued_messages:
        return None
    return _WHY_HELD.get(str(reason), str(reason))
