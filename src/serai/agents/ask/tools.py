"""What an agent does with tools, and which it may use at all."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from serai.acp import ToolCall, ToolCallUpdate
from serai.acp.shapes import object_of, objects_of, text_of
from serai.errors import Mismatch

__all__ = [
    "TOOL_KINDS",
    "Content",
    "Diff",
    "OnToolUse",
    "ToolFilter",
    "ToolUse",
    "ToolUses",
    "content_after",
    "content_answered",
    "text_in",
]

_OVER = frozenset({"completed", "failed"})

Content: TypeAlias = tuple[Mapping[str, Any], ...]
"""The content of a tool call, as ACP has it."""


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
    update: ToolCall | ToolCallUpdate | None = field(default=None, repr=False, compare=False)
    """What was told last."""
    before: Content | None = field(default=None, repr=False, compare=False)
    """While `content` is what it asked permission with: the content that it had until then."""

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
    def text(self) -> str:
        """What it has produced, as far as that is text."""
        blocks = (object_of(each.get("content")) for each in self.content if each.get("type") == "content")
        texts = [
            text for block in blocks if block.get("type") == "text" and (text := text_of(block.get("text")))
        ]
        return "\n".join(texts) or text_in(self.output)

    @property
    def is_over(self) -> bool:
        """Whether it has been completed, or has failed."""
        return self.status in _OVER

    def after(self, told: ToolCall | ToolCallUpdate, *, asked: bool = False) -> ToolUse:
        """The same call when more is known. What was not told stays as it was; content is replaced.

        Args:
            told: What is known.
            asked: Whether that came with a request for permission.
        """
        content, before = content_after(self.content, self.before, told, asked=asked)
        changes: dict[str, Any] = {
            "title": told.title,
            "kind": told.tool_kind,
            "status": told.status,
            "name": _name_in(told.meta),
            "locations": None if told.locations is None else tuple(told.locations),
            "input": told.raw_input,
            "output": told.raw_output,
        }
        known = {name: value for name, value in changes.items() if value is not None}
        return replace(self, update=told, content=content, before=before, **known)


class ToolUses:
    """The tool calls of a turn, by their ids. One comes to be when it is first heard of, in whatever way."""

    def __init__(self) -> None:
        self._uses: dict[str, ToolUse] = {}

    def __iter__(self) -> Iterator[ToolUse]:
        return iter(self._uses.values())

    def take(self, told: ToolCall | ToolCallUpdate, *, asked: bool = False) -> tuple[ToolUse, bool]:
        """The call as it is now, and whether this is the first that is heard of it.

        Args:
            told: What is new of it.
            asked: Whether that came with a request for permission.
        """
        before = self._uses.get(told.tool_call_id)
        use = (before or ToolUse(told.tool_call_id)).after(told, asked=asked)
        self._uses[use.id] = use
        return use, before is None


def content_after(
    content: Content, before: Content | None, told: ToolCall | ToolCallUpdate, *, asked: bool
) -> tuple[Content, Content | None]:
    """The content of a call when more is told of it.

    Agents put into a request for permission what a person should know, and not what has come of the call: it
    stands there only as long as there is nothing else.

    Args:
        content: Its content until now.
        before: While that is what it asked permission with: the content that it had until then.
        told: What is new.
        asked: Whether that came with a request for permission.

    Returns:
        Its content, and `before` of that.
    """
    if told.content is not None:
        own = content if before is None else before
        return tuple(told.content), own if asked else None
    if asked or before is None:
        return content, before
    left = content_answered(content, before)
    is_told = told.raw_output is not None or told.status in _OVER
    return (left, None) if left or is_told else (content, before)


def content_answered(asked: Content, before: Content) -> Content:
    """What a call has once its question is answered: the edits that it asked with, or what it had before."""
    return tuple(each for each in asked if each.get("type") == "diff") or before


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


TOOL_KINDS = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
)
"""The kinds that ACP has. An agent may tell newer ones."""

OnToolUse: TypeAlias = Callable[[ToolUse], bool | str | Awaitable[bool | str]]
"""Looks at a call: `True` when it may pass; `False`, or a few words that say why, when it may not."""


class ToolFilter:
    """What may be used at all. Whatever passes is still a matter of the permission policy.

    Names are the tool's own, where an agent tells it, and else the title, which is free text; what is blocked
    is looked for in both. Case does not matter, and `*` stands for anything. A call whose kind the agent does
    not tell is of the kind `other`.

    Two filters can be joined by `&`: then a tool has to pass both.

    A filter works where the agent asks. One that uses a tool without asking cannot be stopped by it: that is
    told as a warning.

    Args:
        allow_kinds: The only kinds that are allowed.
        block_kinds: Kinds that are not.
        allow_names: The only names that are allowed.
        block_names: Names that are not.
        on_tool_use: Looks at what has passed so far. When it raises, the answer is no. ACP has no way to
            change a tool's input, so it cannot.

    Raises:
        Mismatch: There is no such kind.
    """

    def __init__(
        self,
        *,
        allow_kinds: Iterable[str] | None = None,
        block_kinds: Iterable[str] = (),
        allow_names: Iterable[str] | None = None,
        block_names: Iterable[str] = (),
        on_tool_use: OnToolUse | None = None,
    ) -> None:
        self._allow_kinds = None if allow_kinds is None else _kinds(allow_kinds, "allow_kinds")
        self._block_kinds = _kinds(block_kinds, "block_kinds")
        self._allow_names = None if allow_names is None else _folded(allow_names)
        self._block_names = _folded(block_names)
        self._on_tool_use = on_tool_use
        self._others: tuple[ToolFilter, ...] = ()

    def __and__(self, other: ToolFilter) -> ToolFilter:
        both = ToolFilter()
        both._others = (self, other)
        return both

    async def judge(self, use: ToolUse) -> str | None:
        """Why a tool may not be used, `on_tool_use` included; `None` when it may."""
        if reason := self.refuses(use):
            return reason
        for other in self._others:
            if reason := await other.judge(use):
                return reason
        if self._on_tool_use is None:
            return None
        verdict = self._on_tool_use(use)
        if inspect.isawaitable(verdict):
            verdict = await verdict
        if verdict is True:
            return None
        return verdict if isinstance(verdict, str) and verdict else "on_tool_use has not allowed it"

    def refuses(self, use: ToolUse) -> str | None:
        """Why the lists do not let a tool be used, as a few words; `None` when they do."""
        for other in self._others:
            if reason := other.refuses(use):
                return reason
        kind = use.kind.casefold()
        names = [name.casefold() for name in (use.name, use.title) if name]  # the own name first
        if kind in self._block_kinds:
            return f"tools of the kind {use.kind} are blocked"
        if self._allow_kinds is not None and kind not in self._allow_kinds:
            return f"tools of the kind {use.kind} are not among those allowed"
        if _any_matches(names, self._block_names):
            return "tools of this name are blocked"
        if self._allow_names is not None and not _any_matches(names[:1], self._allow_names):
            return "tools of this name are not among those allowed"
        return None


def _folded(words: Iterable[str]) -> frozenset[str]:
    if isinstance(words, str):
        raise TypeError(f"a list of names was expected, and not the text {words!r}")
    return frozenset(word.casefold() for word in words)


def _kinds(words: Iterable[str], field: str) -> frozenset[str]:
    kinds = _folded(words)
    if unknown := kinds - TOOL_KINDS:
        names = ", ".join(sorted(unknown))
        raise Mismatch(f"there is no kind {names}: it is one of {', '.join(sorted(TOOL_KINDS))}", field=field)
    return kinds


def _any_matches(names: list[str], patterns: frozenset[str]) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for name in names for pattern in patterns)
