"""What an agent does with a tool, put together from all that it tells of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from serai.acp import ToolCall, ToolCallUpdate
from serai.acp.shapes import object_of, text_of

__all__ = ["Diff", "ToolUse", "ToolUses"]

_OVER = frozenset({"completed", "failed"})


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
    content: tuple[Mapping[str, Any], ...] = ()
    """What it has produced so far, as the agent tells it."""
    locations: tuple[Mapping[str, Any], ...] = ()
    input: Any = None
    output: Any = None
    update: ToolCall | ToolCallUpdate | None = field(default=None, repr=False, compare=False)
    """What was told last."""

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
        return "\n".join(
            text for block in blocks if block.get("type") == "text" and (text := text_of(block.get("text")))
        )

    @property
    def is_over(self) -> bool:
        """Whether it has been completed, or has failed."""
        return self.status in _OVER

    def after(self, told: ToolCall | ToolCallUpdate) -> ToolUse:
        """The same call when more is known. What was not told stays as it was; content is replaced."""
        changes: dict[str, Any] = {
            "title": told.title,
            "kind": told.tool_kind,
            "status": told.status,
            "name": _name_in(told.meta),
            "content": None if told.content is None else tuple(told.content),
            "locations": None if told.locations is None else tuple(told.locations),
            "input": told.raw_input,
            "output": told.raw_output,
        }
        known = {name: value for name, value in changes.items() if value is not None}
        return replace(self, update=told, **known)


class ToolUses:
    """The tool calls of a turn, by their ids. One comes to be when it is first heard of, in whatever way."""

    def __init__(self) -> None:
        self._uses: dict[str, ToolUse] = {}

    def __iter__(self) -> Iterator[ToolUse]:
        return iter(self._uses.values())

    def take(self, told: ToolCall | ToolCallUpdate) -> tuple[ToolUse, bool]:
        """The call as it is now, and whether this is the first that is heard of it."""
        before = self._uses.get(told.tool_call_id)
        use = (before or ToolUse(told.tool_call_id)).after(told)
        self._uses[use.id] = use
        return use, before is None


def _name_in(meta: Mapping[str, Any] | None) -> str | None:
    """The name of a tool, which some agents tell as `toolName`, under a name of their own or not."""
    told = object_of(meta)
    return next(
        (name for each in (told, *map(object_of, told.values())) if (name := text_of(each.get("toolName")))),
        None,
    )
