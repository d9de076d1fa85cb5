"""What containers are made of: ids, names that JSON can carry, load states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256

from serai.ahp.types import (
    ChildCustomization,
    CustomizationDegradedState,
    CustomizationErrorState,
    CustomizationLoadedState,
    CustomizationLoadState,
)
from serai.customizations.definitions import Definition
from serai.customizations.trees import Tree
from serai.errors import FileUnreadable

__all__ = ["Contents", "Origin", "clean", "identity", "load_state", "read_text"]

_MAX_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the files of one container come from."""

    tree: Tree
    container: str
    source: str
    trusted: bool
    plugin: str | None = None


@dataclass(slots=True)
class Contents:
    """What was read for one container so far."""

    children: list[ChildCustomization] = field(default_factory=list[ChildCustomization])
    definitions: list[Definition] = field(default_factory=list[Definition])
    problems: list[str] = field(default_factory=list[str])
    """What was not read: sentences that name the file, and the line where there is one."""
    warnings: list[str] = field(default_factory=list[str])
    """What was read and is not as it should be."""


def identity(kind: str, *parts: str) -> str:
    """An id that is the same whenever the same thing is found again."""
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{kind}-{sha256(data).hexdigest()[:16]}"


def clean(text: str) -> str:
    """A text that JSON can carry: half a surrogate pair, as odd names have, becomes a replacement sign."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def load_state(contents: Contents) -> CustomizationLoadState:
    """How far a container was read: `error` when nothing of it could be."""
    if contents.problems and not contents.children:
        return CustomizationErrorState(message=_message([*contents.problems, *contents.warnings]))
    if contents.problems or contents.warnings:
        return CustomizationDegradedState(message=_message([*contents.warnings, *contents.problems]))
    return CustomizationLoadedState()


def read_text(origin: Origin, path: str) -> str | None:
    """A file's text; `None` when there is none.

    Raises:
        FileUnreadable: It cannot be read, or is not UTF-8; the message names it.
    """
    data = origin.tree.read(path)
    if data is None:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileUnreadable(f"{origin.tree.shown(path)}, line {line}: this is not UTF-8") from None


def _message(problems: Iterable[str]) -> str:
    lines = list(dict.fromkeys(problems))
    left = len(lines) - _MAX_PROBLEMS
    if left > 0:
        lines[_MAX_PROBLEMS:] = [f"and {left:,} more"]
    return clean("\n".join(lines))
