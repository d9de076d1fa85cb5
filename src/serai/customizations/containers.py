"""What containers are made of: ids, names that a client can show, load states.

A folder may come from a stranger, and all that its containers say goes to every client of a session. So it
has bounds, and no characters that move a cursor or turn a text around.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256

from serai.ahp.types import (
    ChildCustomization,
    CustomizationDegradedState,
    CustomizationErrorState,
    CustomizationLoadedState,
    CustomizationLoadState,
)
from serai.ahp.wire import Unknown, encode
from serai.customizations.definitions import Definition
from serai.customizations.trees import MAX_FILE, Tree
from serai.errors import FileUnreadable

__all__ = [
    "MAX_SECONDS",
    "MAX_SHOWN",
    "Contents",
    "Origin",
    "clean",
    "fit",
    "identity",
    "in_one_line",
    "kept_apart",
    "load_state",
    "read_text",
]

_log = logging.getLogger(__name__)

MAX_SHOWN = 640 * 1024
"""How much is shown of a working directory, and of a home, in bytes of JSON: with the rest of a new session
it fits into a message of 1 MiB, which is as long as many clients allow."""

MAX_SECONDS = 5.0
"""How long the processor may work on the files of a working directory, of a home, or of a client's plugin.
Two thousand usual files take a second or two. As many of a stranger's could take minutes, and few are read at
the same time."""

_MAX_NAME = 256
_MAX_PROBLEMS = 5
_MAX_PROBLEM = 400
# Control characters, apart from breaks and tabs, and those that turn the direction of what follows.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the files of one container come from."""

    tree: Tree
    container: str
    source: str
    trusted: bool
    plugin: str | None = None
    until: float = float("inf")
    """How much time of the processor the thread may have used, by its own clock; then no more is read."""


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
    """A text that JSON can carry and that does no harm where it is shown.

    Half a surrogate pair, as odd names have, control characters and such that turn a text around become
    replacement signs.
    """
    if not text.isascii():  # two halves of one character that stand beside each other are put together
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _UNSHOWABLE.sub("\ufffd", text.replace("\r\n", "\n"))


def in_one_line(text: str) -> str:
    """A name: clean, in one line, and not too long."""
    name = " ".join(clean(text[: 4 * _MAX_NAME]).split())
    return name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"


def fit(contents: Contents, room: int) -> None:
    """Leave out what would need more room than there is, in bytes of JSON, and tell of it."""
    children = contents.children
    for place, child in enumerate(children):
        room -= len(encode(child))
        if room < 0:
            left_out = {child.id for child in children[place:] if not isinstance(child, Unknown)}
            contents.problems.insert(0, f"{len(children) - place:,} more are left out: there are too many")
            del children[place:]
            contents.definitions[:] = [item for item in contents.definitions if item.id not in left_out]
            return


def load_state(contents: Contents) -> CustomizationLoadState:
    """How far a container was read: `error` when nothing of it could be."""
    if contents.problems and not contents.children:
        return CustomizationErrorState(message=_message([*contents.problems, *contents.warnings]))
    if contents.problems or contents.warnings:
        return CustomizationDegradedState(message=_message([*contents.warnings, *contents.problems]))
    return CustomizationLoadedState()


def read_text(origin: Origin, path: str, largest: int = MAX_FILE) -> str | None:
    """A file's text; `None` when there is none.

    Raises:
        FileUnreadable: It cannot be read, is not UTF-8, or there is no time left; the message names it.
    """
    if time.thread_time() > origin.until:
        raise FileUnreadable(f"{origin.tree.shown(path)} is not read: the files before it took too long")
    data = origin.tree.read(path, largest)
    if data is None:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileUnreadable(f"{origin.tree.shown(path)}, line {line}: this is not UTF-8") from None


@contextmanager
def kept_apart(origin: Origin, path: str, into: Contents) -> Generator[None]:
    """Let one file take no other along: whatever reading it sets off is told among the problems."""
    try:
        yield
    except FileUnreadable as error:
        into.problems.append(error.message)
    except Exception:  # noqa: BLE001 - see above
        shown = origin.tree.shown(path)
        _log.exception("%s cannot be read", in_one_line(shown))
        into.problems.append(f"{shown} cannot be read: there is something in it that was not expected")


def _message(problems: Iterable[str]) -> str:
    lines = list(dict.fromkeys(map(_shortened, problems)))
    left = len(lines) - _MAX_PROBLEMS
    if left > 0:
        lines[_MAX_PROBLEMS:] = [f"and {left:,} more"]
    return clean("\n".join(lines))


def _shortened(problem: str) -> str:
    """Its beginning names the file, its end says what is wrong."""
    half = _MAX_PROBLEM // 2
    return problem if len(problem) <= _MAX_PROBLEM else f"{problem[:half]} … {problem[-half:]}"
