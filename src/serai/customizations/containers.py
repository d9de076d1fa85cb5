"""The results of discovery: containers with ids, load states, and names that a client can show.

A folder may come from a stranger, and all texts of its containers go to every client of a session. So they
are bounded, and have no characters that move a cursor or reverse text.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from serai.ahp.types import (
    ChildCustomization,
    Customization,
    CustomizationDegradedState,
    CustomizationErrorState,
    CustomizationLoadedState,
    CustomizationLoadState,
    KnownChildCustomization,
)
from serai.ahp.wire import encode
from serai.customizations.frontmatter import BrokenText, take_apart
from serai.customizations.trees import MAX_FILE, Tree
from serai.errors import FileUnreadable

_log = logging.getLogger(__name__)

MAX_SHOWN = 640 * 1024
"""Most JSON about a working directory, or about a home, in bytes: with the rest of a new session it fits into
a message of 1 MiB, which is as long as many clients allow."""

MAX_SECONDS = 5.0
"""Most processor time for the files of a working directory, of a home, or of a client's plugin, in seconds.
Two thousand usual files take a second or two. As many of a stranger's could take minutes, and few are read at
the same time."""

_MAX_NAME = 256
_MAX_PROBLEMS = 5
_MAX_PROBLEM = 400
# Control characters, except breaks and tabs, and those that reverse the direction of text.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of the files of one container."""

    tree: Tree
    container: str
    trusted: bool
    until: float = float("inf")
    """Limit of the processor time of the thread, by its own clock; after it, no more is read."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The content of a customisation, beyond what AHP shows of it.

    Attributes:
        child: The form in which AHP shows it.
        container: The id of its container.
        path: Its file, in the folder or the plugin.
        fields: The fields of its file: the frontmatter, with numbers and flags as text; the settings of an
            MCP server; the hooks by event, for a file of hooks.
        runnable: True when its folder is trusted and it is not switched off in its file. What is not runnable
            is never started: no hook, no MCP server, no command in a prompt or a skill.
        user_invocable: True when it is offered to people.
        enabled: True when its container is switched on. Discovery leaves it to the session.
    """

    child: KnownChildCustomization
    container: str
    path: str
    runnable: bool
    fields: Mapping[str, Any] = field(repr=False)
    tree: Tree = field(repr=False, compare=False)
    user_invocable: bool = True
    enabled: bool = True

    @property
    def name(self) -> str:
        """Name of the customisation."""
        return self.child.name

    def body(self) -> str:
        """Read the current text, without its frontmatter.

        Raises:
            FileUnreadable: The file is gone, or cannot be read any more.
        """
        data = self.tree.read(self.path)
        if data is None:
            raise FileUnreadable(f"{self.tree.shown(self.path)} is no longer there")
        text = data.decode("utf-8-sig", "replace")
        try:
            return take_apart(self.path, text)[1]
        except BrokenText:
            return text


@dataclass(frozen=True, slots=True)
class Customizations:
    """The customisations of a folder, a home or a plugin, as AHP shows them, and their content.

    Attributes:
        containers: The containers in a fixed order, before anyone switches one on or off.
        definitions: The content of the containers.
        locked: Ids of containers that stay off whatever is asked, since their folder is not trusted.
    """

    containers: list[Customization] = field(default_factory=list[Customization])
    definitions: tuple[Definition, ...] = ()
    locked: frozenset[str] = frozenset()


@dataclass(slots=True)
class Contents:
    """The customisations that were read for one container so far."""

    definitions: list[Definition] = field(default_factory=list[Definition])
    problems: list[str] = field(default_factory=list[str])
    """Sentences about what was not read or is not as it should be, with the file, and the line if any."""

    @property
    def children(self) -> list[ChildCustomization]:
        """The customisations as AHP shows them."""
        return [item.child for item in self.definitions]


def identity(kind: str, *parts: str) -> str:
    """Return an id that is the same whenever the same thing is found again."""
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{kind}-{sha256(data).hexdigest()[:16]}"


def clean(text: str) -> str:
    """Make a text safe for JSON and for display.

    Half a surrogate pair, as in odd names, control characters, and characters that reverse text become
    replacement signs.
    """
    if not text.isascii():  # joins two halves of one character
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _UNSHOWABLE.sub("\ufffd", text.replace("\r\n", "\n"))


def in_one_line(text: str) -> str:
    """Make a name safe: clean, in one line, and not too long."""
    name = " ".join(clean(text[: 4 * _MAX_NAME]).split())
    return name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"


def fit(contents: Contents, room: int) -> None:
    """Leave out customisations that need more room than there is, in bytes of JSON, and note that."""
    for place, item in enumerate(contents.definitions):
        room -= len(encode(item.child))
        if room < 0:
            left = len(contents.definitions) - place
            contents.problems.insert(0, f"{left:,} more are left out: there are too many")
            del contents.definitions[place:]
            return


def load_state(contents: Contents) -> CustomizationLoadState:
    """Return the load state of a container: `error` when nothing of it could be read."""
    if not contents.problems:
        return CustomizationLoadedState()
    message = _message(contents.problems)
    if contents.definitions:
        return CustomizationDegradedState(message=message)
    return CustomizationErrorState(message=message)


def read_text(origin: Origin, path: str, largest: int = MAX_FILE) -> str | None:
    """Read a file's text; return `None` when there is no file.

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
def noting_problems(origin: Origin, path: str, into: Contents) -> Generator[None]:
    """Note all errors from reading one file as problems, so that the other files are still read."""
    try:
        yield
    except FileUnreadable as error:
        into.problems.append(error.message)
    except Exception:  # noqa: BLE001 - see above
        shown = origin.tree.shown(path)
        _log.exception("%s cannot be read", in_one_line(shown))
        into.problems.append(f"{shown} cannot be read because of an unexpected error")


def _message(problems: Iterable[str]) -> str:
    lines = list(dict.fromkeys(map(_shortened, problems)))
    left = len(lines) - _MAX_PROBLEMS
    if left > 0:
        lines[_MAX_PROBLEMS:] = [f"and {left:,} more"]
    return clean("\n".join(lines))


def _shortened(problem: str) -> str:
    """Shorten a problem in the middle: its beginning names the file, its end says what is wrong."""
    half = _MAX_PROBLEM // 2
    return problem if len(problem) <= _MAX_PROBLEM else f"{problem[:half]} … {problem[-half:]}"
