"""Which tools an agent may use, before anyone is asked.

What a tool is *for* (`execute`, `edit`, ...) is told by all agents in the same words. Its title is free text:
often the command line itself. So filter by kind where you can.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from fnmatch import fnmatchcase
from typing import TypeAlias

from serai.agents.tool_uses import ToolUse
from serai.errors import Mismatch

__all__ = ["TOOL_KINDS", "OnToolUse", "ToolFilter"]

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
