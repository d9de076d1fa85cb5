"""One pure fold of what an agent tells of its tool calls, and of the questions about them, into tool calls.

What is told of a call adds up: what was not told stays as it was. Three things do not add up. What a question
shows is what it asks about: where an agent asks twice under one id, the second question does not show what
the first one asked. What a question was asked with is no result of the call. And an id may be used again
once its call is over: that is another call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, NamedTuple, TypeAlias

from serai.acp.shapes import object_of, objects_of, text_of
from serai.acp.updates import ToolCall, ToolCallUpdate

Told: TypeAlias = ToolCall | ToolCallUpdate
Content: TypeAlias = tuple[Mapping[str, Any], ...]
"""The content of a tool call, as ACP has it."""
ENDED = frozenset({"completed", "failed"})
"""The statuses of a call that has ended."""
_OUTPUT_KEYS = ("terminal_output", "terminal_output_delta")
"""Where agents with terminals of their own tell, in `_meta`, what a command printed."""


class CallStage(Enum):
    """Where a call is.

    STREAMING → ASKED | RUNNING | CLOSED; ASKED → RUNNING | CLOSED | TAKEN_BACK | DENIED;
    RUNNING → ASKED | CLOSED
    """

    STREAMING = auto()
    """Announced: its input may still be coming."""
    ASKED = auto()
    RUNNING = auto()
    CLOSED = auto()
    TAKEN_BACK = auto()
    """Nobody answered, and nobody is asked any more: it did not run."""
    DENIED = auto()
    """It may not run. One that runs all the same is another call."""


OVER = frozenset({CallStage.CLOSED, CallStage.TAKEN_BACK, CallStage.DENIED})


@dataclass(frozen=True, slots=True)
class Diff:
    """A file that the agent changes."""

    path: str
    new_text: str
    old_text: str | None = None
    """`None` for a new file."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call, as far as it is known by now."""

    id: str
    title: str = ""
    """Free text; often the command line itself."""
    kind: str = "other"
    """`read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode`, `other`, ..."""
    status: str = "pending"
    """`pending`, `in_progress`, `completed`, `failed`, or something newer."""
    name: str | None = None
    """The tool's own name, from agents that tell it."""
    content: Content = ()
    """What it has produced so far, as the agent tells it; before that, what it asked permission with."""
    locations: tuple[Mapping[str, Any], ...] = ()
    input: Any = None
    output: Any = None
    update: Told | None = field(default=None, repr=False, compare=False)
    """What was told last."""
    key: str = field(default="", compare=False)
    """Its id, unique among the calls of a turn: `id#1` when the id was used before."""
    stage: CallStage = field(default=CallStage.STREAMING, compare=False)
    is_allowed: bool = field(default=False, repr=False, compare=False)
    """Whether someone was asked and said yes."""
    has_begun: bool = field(default=False, repr=False, compare=False)
    """Whether it runs already while someone is asked: it was allowed before, or the agent says so."""
    before: Content | None = field(default=None, repr=False, compare=False)
    """While `content` is what it asked permission with: the content that it had until then."""
    printed: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)
    """What its commands printed in terminals of the agent's own, by the terminals' ids."""

    @property
    def diffs(self) -> tuple[Diff, ...]:
        """The files that it changes."""
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
        """What has come of it so far, without what it asked permission with.

        What a command printed in a terminal of the agent's own stands in the terminal's place.
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
        """What it has produced, as far as that is text."""
        return text_in(list(self.results)) or text_in(self.output)

    @property
    def is_over(self) -> bool:
        """Whether it has been completed, or has failed."""
        return self.status in ENDED

    @property
    def runs(self) -> bool:
        """Whether it runs, as far as the agent says."""
        return self.stage is CallStage.RUNNING or (self.stage is CallStage.ASKED and self.has_begun)

    def after(self, told: Told) -> ToolUse:
        """The same call when more is told of it. What was not told stays; content is replaced."""
        changes = _fields(told)
        if told.content is not None:
            changes |= {"content": tuple(told.content), "before": None}
        elif self.before is not None:
            left = _answered(self.content, self.before)
            if left or told.raw_output is not None or told.status in ENDED:
                changes |= {"content": left, "before": None}
        if printed := _printed(told, self.id):
            name, text = printed
            so_far = self.printed.get(name, "")
            whole = text if so_far and text.startswith(so_far) else so_far + text
            changes["printed"] = {**self.printed, name: whole}
        return replace(self, update=told, **changes)

    def asked(self, told: ToolCallUpdate) -> ToolUse:
        """The same call while someone is asked about it."""
        changes = _fields(told)
        own = self.content if self.before is None else self.before
        if told.content is not None:
            changes |= {"content": tuple(told.content), "before": own}
        if self.is_allowed and _tells_of_itself(told):
            # It was allowed before, and is asked about again: nothing of what was asked then may stand beside
            # the question, for it may not be what is asked now.
            changes = {"input": None, "locations": (), "content": (), "before": own, **changes}
        begun = self.is_allowed and self.stage is CallStage.RUNNING
        return replace(self, update=told, stage=CallStage.ASKED, has_begun=begun, **changes)


class CallChange(NamedTuple):
    """What a step of the fold has changed."""

    use: ToolUse
    """The call as it is now."""
    before: ToolUse | None
    """The call as it was; `None` when this is the first that is heard of it."""

    @property
    def is_new(self) -> bool:
        """Whether this is the first that is heard of the call."""
        return self.before is None

    @property
    def is_retold(self) -> bool:
        """Whether people should see another title or input."""
        had = ("", None) if self.before is None else (self.before.title, self.before.input)
        return (self.use.title, self.use.input) != had


class ToolCalls:
    """The tool calls of a turn. A call comes to be when it is first heard of, in whatever way."""

    def __init__(self) -> None:
        self._uses: dict[str, ToolUse] = {}
        self._keys: dict[str, str] = {}
        """The calls that the agent's ids stand for now."""
        self._told: set[str] = set()
        """The keys of calls that the agent told of, and did not only ask about."""
        self._last_asked: str | None = None
        """The call that was asked about, while no other has begun since."""

    def __iter__(self) -> Iterator[ToolUse]:
        return iter(self._uses.values())

    def __getitem__(self, key: str) -> ToolUse:
        return self._uses[key]

    def update(self, told: Told) -> CallChange:
        """The agent tells of a call. It may be the first that is heard of it, or the end."""
        use, is_first = self._find(told.tool_call_id), False
        if use is None and (use := self._question_for(told)) is not None:
            self._keys[told.tool_call_id] = use.key  # it was asked about under another id
            is_first = True
        if use is None or _is_another(use, told, is_first=is_first):
            before, use = None, self._begin(told, use)
        else:
            before = use
        self._told.add(use.key)
        use = use.after(told)
        if use.stage is CallStage.ASKED and told.status == "in_progress":
            use = replace(use, has_begun=True)
        elif use.stage is CallStage.STREAMING and use.status != "pending":
            use = replace(use, stage=CallStage.RUNNING)
        if use.status in ENDED and use.stage not in OVER:
            use = replace(use, stage=CallStage.CLOSED)
        return CallChange(self._keep(use), before)

    def ask(self, told: ToolCallUpdate) -> CallChange:
        """The agent asks whether a call may run: `use` is what the question is to show."""
        before = self._find(told.tool_call_id) or self._call_for(told)
        if before is None or before.stage in OVER:
            # Of a call that is over nothing stands beside a new question, unless that tells nothing at all.
            use, before = self._begin(told, None if _tells_of_itself(told) else before), None
        else:
            self._keys[told.tool_call_id] = before.key
            use = before
        use = self._keep(use.asked(told))
        self._last_asked = use.key
        return CallChange(use, before)

    def answer(self, key: str, *, approved: bool | None) -> ToolUse:
        """The question about a call was answered, or (`None`) nobody need answer it any more.

        A call that was taken back did not run, unless it had begun: then it stays as it was.
        """
        use = self._uses[key]
        if use.stage is not CallStage.ASKED:
            return use
        if approved:
            left = _answered(use.content, use.before) if use.before is not None else ()
            done = {"content": left, "before": None} if left else {}
            use = replace(use, stage=CallStage.RUNNING, is_allowed=True, **done)
        elif approved is False:
            use = replace(use, stage=CallStage.DENIED)
        else:
            use = replace(use, stage=CallStage.RUNNING if use.has_begun else CallStage.TAKEN_BACK)
        return self._keep(use)

    def end(self, key: str | None = None) -> list[ToolUse]:
        """The turn is over, or one call is. Returns those that ran, and whose end the agent did not tell."""
        running = [use for use in self if use.runs and key in (None, use.key)]
        return [self._keep(replace(use, stage=CallStage.CLOSED)) for use in running]

    # -- which call is meant -------------------------------------------------------------------------------

    def _find(self, call_id: str) -> ToolUse | None:
        key = self._keys.get(call_id)
        return self._uses[key] if key is not None else None

    def _question_for(self, told: Told) -> ToolUse | None:
        """The call that was asked about under an id of its own, and that the agent tells of now."""
        asked = [use for use in self if use.key not in self._told]
        found = next((use for use in asked if _is_same(use, told)), None)
        if found is None and len(asked) == 1 and asked[0].key == self._last_asked:
            # The call that follows the question, under another title; not after a no: it may be another one.
            use = asked[0]
            may_be = use.stage in (CallStage.ASKED, CallStage.RUNNING) and not _tells_another_input(use, told)
            is_named = use.kind == "other" and bool(told.title) and str(told.title) in use.title
            found = use if may_be and (use.kind == told.tool_kind or is_named) else None
        return found

    def _call_for(self, told: ToolCallUpdate) -> ToolUse | None:
        """The call that the agent told of before, and asks about now under an id of its own."""
        waiting = (CallStage.STREAMING, CallStage.RUNNING)
        return next(
            (use for use in self if use.stage in waiting and not use.is_allowed and _is_same(use, told)), None
        )

    def _begin(self, told: Told, last: ToolUse | None) -> ToolUse:
        """A call is heard of. `last` is the one that had its id, which is over."""
        call_id = told.tool_call_id
        key, number = call_id, 0
        while key in self._uses:
            number += 1
            key = f"{call_id}#{number}"
        self._keys[call_id] = key
        self._last_asked = None
        if last is not None and isinstance(told, ToolCallUpdate) and told.title in (None, "", last.title):
            # More is told of the same one, as when it runs after a no.
            return ToolUse(
                call_id, last.title, last.kind, input=last.input, locations=last.locations, key=key
            )
        return ToolUse(call_id, key=key)

    def _keep(self, use: ToolUse) -> ToolUse:
        self._uses[use.key] = use
        return use


def _is_another(use: ToolUse, told: Told, *, is_first: bool) -> bool:
    """Whether something is told of a new call that has the id of one that is over."""
    if use.stage is CallStage.TAKEN_BACK:
        return told.status in ("in_progress", "completed")
    if is_first:
        return False
    if use.stage is CallStage.DENIED and told.status == "in_progress":
        return True
    return use.stage in OVER and isinstance(told, ToolCall)


def _is_same(use: ToolUse, told: Told) -> bool:
    """Whether two tell of the same call under different ids: by its input, else by its title."""
    if told.raw_input is not None and use.input is not None:
        return _agree(told.raw_input, use.input)
    return bool(told.title) and told.title == use.title


def _tells_another_input(use: ToolUse, told: Told) -> bool:
    return told.raw_input is not None and use.input is not None and not _agree(told.raw_input, use.input)


def _agree(one: Any, other: Any) -> bool:
    """Whether two inputs can be one: equal, or objects of which one only says more."""
    mine, its = object_of(one), object_of(other)
    shared = mine.keys() & its.keys()
    says_more = bool(shared) and len(shared) == min(len(mine), len(its))
    return one == other or (says_more and all(mine[key] == its[key] for key in shared))


def _tells_of_itself(told: ToolCallUpdate) -> bool:
    """Whether a question says anything of what it asks about, but for the id."""
    return bool(told.title) or any(
        each is not None for each in (told.raw_input, told.content, told.locations)
    )


# -- what is told ------------------------------------------------------------------------------------------


def _fields(told: Told) -> dict[str, Any]:
    """The fields that were told, but for the content."""
    fields: dict[str, Any] = {
        "title": told.title or None,
        "kind": told.tool_kind or None,
        "status": told.status or None,
        "name": _name_in(told.meta),
        "locations": None if told.locations is None else tuple(told.locations),
        "input": told.raw_input,
        "output": told.raw_output,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _answered(asked: Content, before: Content) -> Content:
    """What a call has once its question is answered: the edits that it asked with, or what it had before."""
    return tuple(each for each in asked if each.get("type") == "diff") or before


def _printed(told: Told, call_id: str) -> tuple[str, str] | None:
    """In which terminal a command printed more, and what."""
    for key in _OUTPUT_KEYS if told.meta else ():
        output = object_of(object_of(told.meta).get(key))
        if text := text_of(output.get("data")):
            return text_of(output.get("terminal_id")) or call_id, text
    return None


def text_in(value: Any) -> str:
    """The text of a value that a tool put out: what it says, and not how it is wrapped."""
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
    """The name of a tool, which some agents tell as `toolName`, under a name of their own or not."""
    told = object_of(meta)
    return next(
        (name for each in (told, *map(object_of, told.values())) if (name := text_of(each.get("toolName")))),
        None,
    )
