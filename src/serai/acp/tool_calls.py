"""A pure fold of an agent's updates about tool calls, and of its questions about them, into tool calls.

Updates of a call add up: fields that are missing stay as they were. There are two exceptions. The content of
a question is no result of the call. And an id may be used again once its call was allowed or is over: that is
another call, so that a yes for one question never counts for the next, and each shows what it asks about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, NamedTuple, TypeAlias

from serai.acp.shapes import object_of, objects_of, text_of
from serai.acp.updates import ToolCall, ToolCallUpdate

CallUpdate: TypeAlias = ToolCall | ToolCallUpdate
Content: TypeAlias = tuple[Mapping[str, Any], ...]
"""The content of a tool call, as ACP has it."""
ENDED = frozenset({"completed", "failed"})
"""The statuses of calls that have ended."""
_OUTPUT_KEYS = ("terminal_output", "terminal_output_delta")
"""Keys in `_meta` under which agents with terminals of their own send a command's output."""


class CallStage(Enum):
    """The stage of a call.

    STREAMING → ASKED | RUNNING | CLOSED; ASKED → RUNNING | CLOSED | TAKEN_BACK | DENIED;
    RUNNING → ASKED | CLOSED
    """

    STREAMING = auto()
    """Announced; its input may be incomplete."""
    ASKED = auto()
    RUNNING = auto()
    CLOSED = auto()
    TAKEN_BACK = auto()
    """The question was withdrawn unanswered: the call did not run."""
    DENIED = auto()
    """Denied. A call that runs after this is another one."""


OVER = frozenset({CallStage.CLOSED, CallStage.TAKEN_BACK, CallStage.DENIED})


@dataclass(frozen=True, slots=True)
class Diff:
    """A file that the agent changes."""

    path: str
    new_text: str
    old_text: str | None = None
    """`None` for a new file."""


@dataclass(frozen=True, slots=True)
class AgentToolCall:
    """A tool call of an agent, as far as it is known by now."""

    id: str
    title: str = ""
    """Free text; often the command line itself."""
    kind: str = "other"
    """`read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode`, `other`, ..."""
    status: str = "pending"
    """`pending`, `in_progress`, `completed`, `failed`, or something newer."""
    name: str | None = None
    """The tool's own name, from agents that send it."""
    content: Content = ()
    """Its output so far, as ACP content; before there is any, the content of the question about it."""
    locations: tuple[Mapping[str, Any], ...] = ()
    input: Any = None
    output: Any = None
    update: CallUpdate | None = field(default=None, repr=False, compare=False)
    """The last update."""
    key: str = field(default="", compare=False)
    """Its id, unique among the calls of a turn: `id#1` when the id was used before."""
    stage: CallStage = field(default=CallStage.STREAMING, compare=False)
    is_allowed: bool = field(default=False, repr=False, compare=False)
    """True once someone was asked and said yes."""
    has_begun: bool = field(default=False, repr=False, compare=False)
    """True if it runs already while someone is asked: it was allowed before, or the agent says so."""
    before: Content | None = field(default=None, repr=False, compare=False)
    """While `content` is that of a question: the content from before."""
    printed: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)
    """Output of its commands in terminals of the agent's own, by the terminals' ids."""

    @property
    def diffs(self) -> tuple[Diff, ...]:
        """The changes to files that it shows."""
        return tuple(
            Diff(path, text_of(each.get("newText")) or "", text_of(each.get("oldText")))
            for each in self.content
            if each.get("type") == "diff" and (path := text_of(each.get("path"))) is not None
        )

    @property
    def terminals(self) -> tuple[str, ...]:
        """The ids of the terminals that it uses."""
        return tuple(
            terminal
            for each in self.content
            if each.get("type") == "terminal" and (terminal := text_of(each.get("terminalId"))) is not None
        )

    @property
    def results(self) -> Content:
        """The results so far, without the content of a question.

        The output of a command in a terminal of the agent's own replaces the terminal.
        """
        if self.before is not None:
            return ()
        texts = {
            name: {"type": "content", "content": {"type": "text", "text": text}}
            for name, text in self.printed.items()
        }
        shown = [
            texts.get(text_of(each.get("terminalId")) or "", each) if each.get("type") == "terminal" else each
            for each in self.content
        ]
        shown += [entry for name, entry in texts.items() if name not in self.terminals]
        return tuple(shown)

    @property
    def text(self) -> str:
        """The text of its results."""
        return text_in(list(self.results)) or text_in(self.output)

    @property
    def is_over(self) -> bool:
        """True once it has been completed or has failed."""
        return self.status in ENDED

    @property
    def runs(self) -> bool:
        """True while it runs, as far as the agent says."""
        return self.stage is CallStage.RUNNING or (self.stage is CallStage.ASKED and self.has_begun)

    def after(self, update: CallUpdate) -> AgentToolCall:
        """Return the call after an update. Missing fields stay; content is replaced."""
        changes = _fields(update)
        if update.content is not None:
            changes |= {"content": tuple(update.content), "before": None}
        elif self.before is not None:
            left = _answered(self.content, self.before)
            if left or update.raw_output is not None or update.status in ENDED:
                changes |= {"content": left, "before": None}
        if printed := _printed(update, self.id):
            name, text = printed
            so_far = self.printed.get(name, "")
            whole = text if so_far and text.startswith(so_far) else so_far + text
            changes["printed"] = {**self.printed, name: whole}
        return replace(self, update=update, **changes)

    def asked(self, update: ToolCallUpdate) -> AgentToolCall:
        """Return the call while someone is asked about it."""
        changes = _fields(update)
        own = self.content if self.before is None else self.before
        if update.content is not None:
            changes |= {"content": tuple(update.content), "before": own}
        begun = self.is_allowed and self.stage is CallStage.RUNNING
        return replace(self, update=update, stage=CallStage.ASKED, has_begun=begun, **changes)


class CallChange(NamedTuple):
    """The change that one step of the fold has made."""

    call: AgentToolCall
    """The call after the step."""
    before: AgentToolCall | None
    """The call before it; `None` when the call is new."""
    ended: tuple[AgentToolCall, ...] = ()
    """Earlier calls of the same id that were still running, and end with it."""

    @property
    def is_retold(self) -> bool:
        """True if the title or the input has changed."""
        had = ("", None) if self.before is None else (self.before.title, self.before.input)
        return (self.call.title, self.call.input) != had


class ToolCalls:
    """The tool calls of a turn. The first update or question about a call creates it."""

    def __init__(self) -> None:
        self._calls: dict[str, AgentToolCall] = {}
        self._keys: dict[str, str] = {}
        """The keys of the calls that the agent's ids mean now."""
        self._announced: set[str] = set()
        """The keys of calls of which there were updates, and not only questions."""
        self._last_asked: str | None = None
        """The key of the call that was asked about last, while no other has begun since."""

    def __iter__(self) -> Iterator[AgentToolCall]:
        return iter(self._calls.values())

    def __getitem__(self, key: str) -> AgentToolCall:
        return self._calls[key]

    def update(self, update: CallUpdate) -> CallChange:
        """Take an update of a call. It may be the first or the last one."""
        call, is_first = self._find(update.tool_call_id), False
        if call is None and (call := self._question_for(update)) is not None:
            self._keys[update.tool_call_id] = call.key  # the question about it had another id
            is_first = True
        if call is None or _is_another(call, update, is_first=is_first):
            before, call = None, self._begin(update, call)
        else:
            before = call
        self._announced.add(call.key)
        call = call.after(update)
        if call.stage is CallStage.ASKED and update.status == "in_progress":
            call = replace(call, has_begun=True)
        elif call.stage is CallStage.STREAMING and call.status != "pending":
            call = replace(call, stage=CallStage.RUNNING)
        ended: list[AgentToolCall] = []
        if call.status in ENDED and call.stage not in OVER:
            call = replace(call, stage=CallStage.CLOSED)
            ended = [one for one in self if one.id == call.id and one.key != call.key and one.runs]
        closed = [self._keep(replace(one, status=call.status, stage=CallStage.CLOSED)) for one in ended]
        return CallChange(self._keep(call), before, tuple(closed))

    def ask(self, update: ToolCallUpdate) -> CallChange:
        """Take a question whether a call may run. `call` in the result is what the question is to show."""
        before = self._find(update.tool_call_id) or self._call_for(update)
        asks_anew = _has_content(update)
        if before is None or before.stage in OVER or (before.is_allowed and asks_anew):
            # A new question shows nothing of the call before it, unless it has no content of its own.
            call = self._begin(update, None if asks_anew else before)
            if before is not None:
                call = replace(call, kind=before.kind, name=before.name)
            before = None
        else:
            self._keys[update.tool_call_id] = before.key
            call = before
        call = self._keep(call.asked(update))
        self._last_asked = call.key
        return CallChange(call, before)

    def answer(self, key: str, *, approved: bool | None) -> AgentToolCall:
        """Take the answer to a question about a call; `None` when the question is withdrawn.

        A call whose question is withdrawn did not run, unless it had begun: then it goes on.
        """
        call = self._calls[key]
        if call.stage is not CallStage.ASKED:
            return call
        if approved:
            left = _answered(call.content, call.before) if call.before is not None else ()
            done = {"content": left, "before": None} if left else {}
            call = replace(call, stage=CallStage.RUNNING, is_allowed=True, **done)
        elif approved is False:
            call = replace(call, stage=CallStage.DENIED)
        else:
            call = replace(call, stage=CallStage.RUNNING if call.has_begun else CallStage.TAKEN_BACK)
        if call.stage in OVER and (running := [one for one in self if one.id == call.id and one.runs]):
            self._keys[call.id] = running[-1].key  # later updates are about the call that runs
        return self._keep(call)

    def end(self, key: str | None = None) -> list[AgentToolCall]:
        """Close all calls, or one. Returns those that ran without a reported end."""
        running = [call for call in self if call.runs and key in (None, call.key)]
        return [self._keep(replace(call, stage=CallStage.CLOSED)) for call in running]

    # -- which call is meant -------------------------------------------------------------------------------

    def _find(self, call_id: str) -> AgentToolCall | None:
        key = self._keys.get(call_id)
        return self._calls[key] if key is not None else None

    def _question_for(self, update: CallUpdate) -> AgentToolCall | None:
        """Return the call whose question had an id of its own, and whose update this is."""
        asked = [call for call in self if call.key not in self._announced]
        found = next((call for call in asked if _is_same(call, update)), None)
        if found is None and len(asked) == 1 and asked[0].key == self._last_asked:
            # The call after the question, under another title. Not after a no: that may be another call.
            call = asked[0]
            has_same_input = None in (update.raw_input, call.input) or _is_same(call, update)
            may_be = call.stage in (CallStage.ASKED, CallStage.RUNNING) and has_same_input
            is_named = call.kind == "other" and bool(update.title) and str(update.title) in call.title
            found = call if may_be and (call.kind == update.tool_kind or is_named) else None
        return found

    def _call_for(self, update: ToolCallUpdate) -> AgentToolCall | None:
        """Return the call that was announced before, and is asked about under another id."""
        waiting = (CallStage.STREAMING, CallStage.RUNNING)
        calls = (call for call in self if call.stage in waiting and not call.is_allowed)
        return next((call for call in calls if _is_same(call, update)), None)

    def _begin(self, update: CallUpdate, last: AgentToolCall | None) -> AgentToolCall:
        """Create a call. `last` is the earlier call of the same id."""
        call_id = update.tool_call_id
        key, number = call_id, 0
        while key in self._calls:
            number += 1
            key = f"{call_id}#{number}"
        self._keys[call_id] = key
        self._last_asked = None
        if last is not None and isinstance(update, ToolCallUpdate) and update.title in (None, "", last.title):
            # More about the same call, as when it runs after a no.
            return AgentToolCall(
                call_id, last.title, last.kind, input=last.input, locations=last.locations, key=key
            )
        return AgentToolCall(call_id, key=key)

    def _keep(self, call: AgentToolCall) -> AgentToolCall:
        self._calls[call.key] = call
        return call


def _is_another(call: AgentToolCall, update: CallUpdate, *, is_first: bool) -> bool:
    """Tell whether an update is about a new call that has the id of one that is over."""
    if call.stage is CallStage.TAKEN_BACK:
        return update.status in ("in_progress", "completed")
    if is_first:
        return False
    if call.stage is CallStage.DENIED and update.status == "in_progress":
        return True
    return call.stage in OVER and isinstance(update, ToolCall)


def _is_same(call: AgentToolCall, update: CallUpdate) -> bool:
    """Tell whether an update with another id is about this call: by its input, else by its title."""
    if update.raw_input is not None and call.input is not None:
        return _can_be_same(update.raw_input, call.input)
    return bool(update.title) and update.title == call.title


def _can_be_same(one: Any, other: Any) -> bool:
    """Tell whether two inputs can be the same: equal, or one object contains the other."""
    mine, its = object_of(one), object_of(other)
    shared = mine.keys() & its.keys()
    says_more = bool(shared) and len(shared) == min(len(mine), len(its))
    return one == other or (says_more and all(mine[key] == its[key] for key in shared))


def _has_content(update: ToolCallUpdate) -> bool:
    """Tell whether a question has any content beside the id."""
    return bool(update.title) or any(
        each is not None for each in (update.raw_input, update.content, update.locations)
    )


# -- updates ----------------------------------------------------------------------------------------------


def _fields(update: CallUpdate) -> dict[str, Any]:
    """Return the fields of an update, except for the content."""
    fields: dict[str, Any] = {
        "title": update.title or None,
        "kind": update.tool_kind or None,
        "status": update.status or None,
        "name": _name_in(update.meta),
        "locations": None if update.locations is None else tuple(update.locations),
        "input": update.raw_input,
        "output": update.raw_output,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _answered(asked: Content, before: Content) -> Content:
    """Return a call's content after a question: the edits in the question, else the content from before."""
    return tuple(each for each in asked if each.get("type") == "diff") or before


def _printed(update: CallUpdate, call_id: str) -> tuple[str, str] | None:
    """Return the terminal in which a command has printed more, and the text."""
    for key in _OUTPUT_KEYS if update.meta else ():
        output = object_of(object_of(update.meta).get(key))
        if text := text_of(output.get("data")):
            return text_of(output.get("terminal_id")) or call_id, text
    return None


def text_in(value: Any) -> str:
    """Return the text in a tool's output, without its wrapping."""
    if isinstance(value, str):
        return value
    for name in ("error", "message", "text", "output", "formatted_output", "stdout"):
        found = object_of(value).get(name)
        if isinstance(found, str) and found:
            return found
    return "\n".join(
        text
        for entry in objects_of(value)
        if (text := text_of(object_of(entry.get("content")).get("text")) or text_of(entry.get("text")))
    )


def _name_in(meta: Mapping[str, Any] | None) -> str | None:
    """Return the name of a tool, which some agents send as `toolName`, directly or in an object."""
    sent = object_of(meta)
    return next(
        (name for each in (sent, *map(object_of, sent.values())) if (name := text_of(each.get("toolName")))),
        None,
    )
