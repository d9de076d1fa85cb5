"""Shows turns on a plain terminal: text as it comes, a line for each tool call, and what the tool shows."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from serai.ahp.types import (
    ContentRef,
    FileEdit,
    ToolCallBase,
    ToolCallCancellationReason,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallPendingResultConfirmationState,
    ToolCallRunningState,
    ToolCallState,
    ToolResultContent,
    ToolResultEmbeddedResourceContent,
    ToolResultFileEditContent,
    ToolResultResourceContent,
    ToolResultSubagentContent,
    ToolResultTextContent,
    TurnState,
)
from serai.cli.chat.calls import CallOutput
from serai.cli.console.output import about_size, plain
from serai.cli.console.terminal import PlainTerminal
from serai.client import (
    ContentAdded,
    NoticeGiven,
    ReasoningAdded,
    ResultWaiting,
    TextAdded,
    ToolFinished,
    ToolRunning,
    TurnEnded,
    TurnEvent,
    UsageReported,
)

__all__ = [
    "LAST",
    "LIVE",
    "OutputLines",
    "TurnView",
    "about",
    "about_edit",
    "call_told",
    "last_lines",
    "plain_line",
    "text_of",
]

LAST = 20
"""So many lines of an output are shown from its end."""
LIVE = 40
"""So many lines of an output are shown as they come; then it is waited for its end."""
_WIDTH = 400
_UNFINISHED = 64 * 1024
"""How much of a line that does not end is kept."""

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links, marks
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS and the like
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, the cursor
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = {code: None for code in [*range(32), *range(127, 160)] if code != 9}


def plain_line(line: str) -> str:
    """A line of a terminal as it stands there in the end: without colours and what was overwritten."""
    shown = _ESCAPES.sub("", line).rstrip("\r").rpartition("\r")[2].translate(_CONTROLS)
    return shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"


class OutputLines:
    """A text that grows, shown line by line: the first lines as they come, and the last ones at its end.

    Args:
        show: Is given each line to show.
        live: How many lines are shown as they come.
    """

    def __init__(self, show: Callable[[str], None], *, live: int = LIVE) -> None:
        self._show = show
        self._live = live
        self._shown = 0
        self._left_out = 0
        # The last lines that are not shown yet, and the last of all.
        self._last: deque[str] = deque(maxlen=LAST)
        self._tail: deque[str] = deque(maxlen=LAST)
        self._unfinished = ""

    def ends_as(self, other: str) -> bool:
        """Whether another text ends with the same lines: then it need not be shown, too."""
        lines = OutputLines(lambda _line: None)
        lines.add(other)
        lines.break_line()
        return bool(self._tail) and self._tail == lines._tail

    def add(self, text: str) -> None:
        """There is more of it."""
        *lines, rest = (self._unfinished + text).split("\n")
        self._unfinished = rest[-_UNFINISHED:]
        for line in lines:
            self._add_line(line)

    def end(self) -> None:
        """There is no more: show what is left. Ending again shows nothing."""
        self.break_line()
        if self._left_out:
            self._show(f"… ({self._left_out:,} line{'s' if self._left_out > 1 else ''} left out)")
        for line in self._last:
            self._show(line)
        self._left_out = 0
        self._last.clear()

    def break_line(self) -> None:
        """What comes next begins on a line of its own."""
        if self._unfinished:
            line, self._unfinished = self._unfinished, ""
            self._add_line(line)

    def _add_line(self, raw: str) -> None:
        line = plain_line(raw)
        self._tail.append(line)
        if self._shown < self._live:
            self._shown += 1
            self._show(line)
            return
        if self._shown == self._live and self._live:
            self._shown += 1
            self._show("… (it goes on; its end is shown when it is there)")
        self._left_out += len(self._last) == LAST
        self._last.append(line)


def last_lines(text: str) -> list[str]:
    """The end of a text, and how much was left out before it."""
    found: list[str] = []
    lines = OutputLines(found.append, live=0)
    lines.add(text)
    lines.end()
    return found


# -- content -----------------------------------------------------------------------------------------------


def text_of(content: list[ToolResultContent] | None) -> str:
    """The text among what a tool shows."""
    *before, last = [one.text for one in content or () if isinstance(one, ToolResultTextContent)] or [""]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in before) + last


def about(content: ToolResultContent) -> str | None:
    """One line on what is no text; `None` for text and terminals, which are shown themselves."""
    match content:
        case ToolResultFileEditContent():
            return about_edit(content)
        case ToolResultSubagentContent(resource=uri, title=title, agent_name=name):
            who = f"{name} works on it" if name else "another agent works on it"
            return f"{who}: {title} (serai chat {uri.rpartition('/')[2]})"
        case ToolResultEmbeddedResourceContent(data=data, content_type=kind):
            return f"[{kind}, {about_size(len(data) * 3 // 4)}]"
        case ToolResultResourceContent():
            return _about_reference(content)
        case _:
            return None


def about_edit(edit: FileEdit) -> str:
    """A change to a file: what became of it, and how many lines came and went."""
    before, after = (_path(side.uri) if side else None for side in (edit.before, edit.after))
    if before and after:
        what = f"changed {after}" if before == after else f"moved {before} to {after}"
    else:
        what = f"made {after}" if after else f"deleted {before or 'a file'}"
    counts = f" (+{edit.diff.added or 0} -{edit.diff.removed or 0})" if edit.diff else ""
    return what + counts


def _about_reference(content: ContentRef) -> str:
    size = f", {about_size(content.size_hint)}" if content.size_hint is not None else ""
    return f"[{content.content_type or 'content'}{size}: {content.uri}]"


def _path(uri: str) -> str:
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


@dataclass(slots=True)
class _Shown:
    """What of a call is on the screen."""

    name: str
    text: str = ""
    """What it showed of its text while it ran."""
    lines: OutputLines | None = None
    """Its output, once there is some."""
    result: str = ""
    """What is kept elsewhere of its result, to be shown when it is over."""
    about: set[str] = field(default_factory=set[str])
    """What is no text, and was named."""


class TurnView:
    """Shows the events of turns."""

    def __init__(self, terminal: PlainTerminal) -> None:
        self._terminal = terminal
        self._calls: dict[str, _Shown] = {}
        # The call that was shown last, and whether its line may still go on.
        self._current: str | None = None
        self._is_line_open = False
        self._is_thinking = False

    def show(self, event: TurnEvent) -> None:
        """Show one event. ChatQuestions are not shown here: they are asked."""
        if not isinstance(event, ToolFinished | ToolRunning):
            self.interrupt()
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
            case ResultWaiting(call=call):
                self._show_result_waiting(call)
            case ToolFinished(call=call):
                self._show_finished(call)
            case TurnEnded():
                self._show_end(event)
            case _:
                self._show_notice(event)

    def show_output(self, output: CallOutput) -> None:
        """Show more of what a call shows elsewhere."""
        shown = self._calls.setdefault(output.call_id, _Shown(""))
        if output.is_live and shown.name:
            self._lines(output.call_id, shown).add(output.text)
        else:
            shown.result += output.text

    def interrupt(self) -> None:
        """Something else than a call is shown now."""
        if self._is_line_open:
            self._terminal.new_line()
        self._current, self._is_line_open = None, False

    # -- calls ---------------------------------------------------------------------------------------------

    def _show_running(self, call: ToolCallRunningState) -> None:
        shown = self._calls.get(call.tool_call_id)
        if shown is None or not shown.name:
            shown = self._calls.setdefault(call.tool_call_id, _Shown(call.display_name))
            shown.name = call.display_name
            message = _one_line(plain(call.invocation_message))
            self._terminal.note(f"* {call.display_name}: {message} ", end="")
            self._current, self._is_line_open = call.tool_call_id, True
        self._show_content(call, call.content)

    def _show_content(self, call: ToolCallBase, content: list[ToolResultContent] | None) -> None:
        """Show what is new of what a running call shows."""
        shown = self._calls[call.tool_call_id]
        text = text_of(content)
        if text != shown.text:
            lines = self._lines(call.tool_call_id, shown)
            if text.startswith(shown.text):
                lines.add(text.removeprefix(shown.text))
            else:
                lines.break_line()  # it shows something else now
                lines.add(text)
            shown.text = text
        self._name(call, shown, content)

    def _name(self, call: ToolCallBase, shown: _Shown, content: list[ToolResultContent] | None) -> None:
        """Name what is no text, once."""
        for line in filter(None, map(about, content or ())):
            if line not in shown.about:
                shown.about.add(line)
                self._output_line(call.tool_call_id, shown, line)

    def _show_result_waiting(self, call: ToolCallPendingResultConfirmationState) -> None:
        """The result itself is part of the question."""
        shown = self._calls.get(call.tool_call_id)
        if shown is not None and shown.lines is not None:
            shown.lines.end()

    def _show_finished(self, call: ToolCallCompletedState | ToolCallCancelledState) -> None:
        shown = self._calls.setdefault(call.tool_call_id, _Shown(""))
        content = call.content if isinstance(call, ToolCallCompletedState) else None
        text = text_of(content)
        if shown.text and text.startswith(shown.text):
            self._show_content(call, content)
            text = ""
        if shown.lines is not None:
            shown.lines.end()
            text = "" if shown.lines.ends_as(text) else text  # a tool may return what its terminal has shown
        outcome = _outcome(call, has_run=bool(shown.name))
        is_there = self._is_line_open and self._current == call.tool_call_id and self._terminal.is_mid_line
        if is_there:
            self._terminal.more(f"- {outcome}\n")  # on the line where it began
        else:
            self._terminal.note(f"* {call.display_name}: {outcome}")
        self._current, self._is_line_open = call.tool_call_id, False
        results = last_lines(text), last_lines(shown.result)
        for line in [*results[0], *(results[1] if results[1] != results[0] else ())]:
            self._output_line(call.tool_call_id, shown, line)
        self._name(call, shown, content)
        del self._calls[call.tool_call_id]
        self._current = None

    def _lines(self, call_id: str, shown: _Shown) -> OutputLines:
        if shown.lines is None:
            shown.lines = OutputLines(lambda line: self._output_line(call_id, shown, line))
        return shown.lines

    def _output_line(self, call_id: str, shown: _Shown, line: str) -> None:
        if self._current != call_id and shown.name:
            self._terminal.note(f"* {shown.name}:")  # something else was shown in between
        self._current, self._is_line_open = call_id, False
        self._terminal.note(f"  | {line}")

    # -- the rest ------------------------------------------------------------------------------------------

    def _show_notice(self, event: TurnEvent) -> None:
        match event:
            case NoticeGiven(content=content):
                self._terminal.note(f"({plain(content)})")
            case ContentAdded(content=content):
                self._terminal.note(f"[{content.content_type or 'content'}: {content.uri}]")
            case UsageReported(usage=usage):
                self._terminal.new_line()
                tokens = f"({usage.input_tokens or 0} tokens in, {usage.output_tokens or 0} out)\n"
                self._terminal.dim(tokens)
            case _:
                pass

    def _show_end(self, event: TurnEnded) -> None:
        for shown in self._calls.values():
            if shown.lines is not None:
                shown.lines.end()
        self._calls.clear()
        if event.error is not None:
            self._terminal.note(f"The turn failed: {event.error.message} [{event.error.error_type}]")
        elif event.state != TurnState.COMPLETE:
            self._terminal.note(f"(the turn was {event.state})")
        self._terminal.new_line()


def call_told(call: ToolCallState) -> list[str]:
    """A call of a turn that is over, in lines: how it ended, and what it brought."""
    match call:
        case ToolCallCompletedState():
            shown = [*last_lines(text_of(call.content)), *filter(None, map(about, call.content or ()))]
            return [f"* {call.display_name}: {_outcome(call)}", *(f"  | {line}" for line in shown)]
        case ToolCallCancelledState():
            return [f"* {call.display_name}: {_outcome(call)}"]
        case ToolCallBase():
            return [f"* {call.display_name}"]
        case _:
            return []  # a state that is newer than we are


def _outcome(call: ToolCallCompletedState | ToolCallCancelledState, *, has_run: bool = False) -> str:
    if isinstance(call, ToolCallCancelledState):
        why = plain(call.reason_message)
        if call.reason == ToolCallCancellationReason.RESULT_DENIED:
            return f"ran, and its result was kept from the agent{f' ({why})' if why else ''}"
        what = "was stopped" if has_run else "did not run"
        return f"{what} ({call.reason}{f': {why}' if why else ''})"
    if call.success:
        return _one_line(plain(call.past_tense_message)) or "done"
    return f"failed: {call.error.message if call.error else plain(call.past_tense_message)}"


def _one_line(text: str) -> str:
    """Text on one line, cut when it is long."""
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:99] + "…"
