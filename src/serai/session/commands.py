"""Which commands an allowlist allows: whole words, of which a last `*` stands for any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def is_allowed(words: Sequence[str], allowlist: Iterable[str]) -> bool:
    """Whether an entry names a command: `git log *` allows `git log` with anything behind it.

    The program itself is never left open: the entry `*` allows nothing.
    """
    return any(_fits(list(words), entry.split()) for entry in allowlist)


def is_narrower(entry: str, allowlist: Iterable[str]) -> bool:
    """Whether all that an entry allows is allowed by a list already."""
    words = entry.split()
    is_open = words[-1:] == ["*"]
    fixed = words[:-1] if is_open else words
    return any(
        _fits(fixed, wider.split()) and (not is_open or wider.split()[-1] == "*") for wider in allowlist
    )


def _fits(words: list[str], entry: list[str]) -> bool:
    if entry[-1:] == ["*"]:
        fixed = entry[:-1]
        return bool(fixed) and words[: len(fixed)] == fixed
    return bool(entry) and words == entry
