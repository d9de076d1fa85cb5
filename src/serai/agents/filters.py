"""Which tools an agent may use, before anyone is asked.

What a tool is *for* (`execute`, `edit`, ...) is told by all agents in the same words. Its title is free text:
often the command line itself. So filter by kind where you can.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from serai.agents.tool_uses import ToolUse

__all__ = ["ToolFilter"]


class ToolFilter:
    """What may be used at all. Whatever passes is still a matter of the permission policy.

    Names are compared with the title and, where an agent tells it, the tool's own name; without regard to
    case, and `*` stands for anything. A call whose kind the agent does not tell is of the kind `other`.

    A filter works where the agent asks. One that uses a tool without asking cannot be stopped by it: that is
    told as a warning.

    Args:
        allow_kinds: The only kinds that are allowed.
        block_kinds: Kinds that are not.
        allow_names: The only names that are allowed.
        block_names: Names that are not.
    """

    def __init__(
        self,
        *,
        allow_kinds: Iterable[str] | None = None,
        block_kinds: Iterable[str] = (),
        allow_names: Iterable[str] | None = None,
        block_names: Iterable[str] = (),
    ) -> None:
        self._allow_kinds = None if allow_kinds is None else _folded(allow_kinds)
        self._block_kinds = _folded(block_kinds)
        self._allow_names = None if allow_names is None else _folded(allow_names)
        self._block_names = _folded(block_names)

    def refuses(self, use: ToolUse) -> str | None:
        """Why a tool may not be used, as a few words; `None` when it may."""
        kind = use.kind.casefold()
        names = [name.casefold() for name in (use.name, use.title) if name]
        if kind in self._block_kinds:
            return f"tools of the kind {use.kind} are blocked"
        if self._allow_kinds is not None and kind not in self._allow_kinds:
            return f"tools of the kind {use.kind} are not among those allowed"
        if _any_matches(names, self._block_names):
            return "tools of this name are blocked"
        if self._allow_names is not None and not _any_matches(names, self._allow_names):
            return "tools of this name are not among those allowed"
        return None


def _folded(words: Iterable[str]) -> frozenset[str]:
    if isinstance(words, str):
        raise TypeError(f"a list of names was expected, and not the text {words!r}")
    return frozenset(word.casefold() for word in words)


def _any_matches(names: list[str], patterns: frozenset[str]) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for name in names for pattern in patterns)
