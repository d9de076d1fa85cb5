"""Runs git so that it does what it was asked, and runs nothing else.

`machine/processes/environment.py` has the switches that keep it from that.
"""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass

from serai.errors import GitFailed, GitTimedOut, GitUnavailable
from serai.machine.processes.environment import HARDENED, find_program, git_environment
from serai.machine.processes.processes import beginning, brief, feed, kill
from serai.machine.safe_paths import persons_umask

OLDEST = (2, 32)
"""First version that can leave the person's own configuration unread."""

NO_REPOSITORY = "not a git repository"
"""Git's message where there is no repository, or none any more."""

_SECONDS = 60.0
_MAX_BYTES = 64 << 20
"""Most output of a command, in bytes."""
_MAX_WORDS = 16 << 10
"""Most bytes that are kept of the errors of git."""


class TooMuchOutput(GitFailed):
    """A git command printed more than was allowed, and was ended."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of a command, and its exit code."""

    output: bytes
    code: int

    @property
    def names(self) -> list[str]:
        """Names in the output, each ended by a NUL."""
        return [os.fsdecode(name) for name in self.output.split(b"\0")[:-1]]


@dataclass(frozen=True, slots=True)
class Git:
    """A git program."""

    program: str
    version: tuple[int, ...]

    async def run(
        self,
        *arguments: str,
        doing: str,
        folder: str,
        environment: Mapping[str, str] | None = None,
        data: bytes = b"",
        accept: tuple[int, ...] = (0,),
        max_bytes: int = _MAX_BYTES,
        grace: float = 0,
    ) -> Answer:
        """Run a command. When cancelled, the command and all that it started are ended first.

        Args:
            arguments: The command and its arguments; no shell sees them.
            doing: Its purpose, in words that follow "git could not".
            folder: The working directory.
            environment: Variables on top of the hardened ones.
            data: The standard input.
            accept: Exit codes that are answers rather than failures.
            max_bytes: Most output, in bytes.
            grace: Seconds to clean up when the command is ended early. Git removes its locks then; without
                such seconds they stay.

        Raises:
            GitFailed: It ended with another code.
            TooMuchOutput: It printed too much.
            GitTimedOut: It took too long.
            GitUnavailable: It could not be started.
        """
        try:
            async with (
                brief(
                    self.program,
                    *HARDENED,
                    *arguments,
                    folder=folder,
                    environment={**git_environment(os.environ), **(environment or {})},
                    stdin=PIPE,
                    stderr=PIPE,
                    grace=grace,
                    umask=persons_umask(),  # for files of the person; private ones have `--shared=0600`
                ) as process,
                asyncio.timeout(_SECONDS),
            ):
                _, output, words = await asyncio.gather(
                    feed(process, data), _read(process, max_bytes), beginning(process.stderr, _MAX_WORDS)
                )
                code = await process.wait()
        except TimeoutError:
            raise GitTimedOut(
                f"git could not {doing}: it took more than {_SECONDS:g} s",
                remedy="Look whether the disk is slow, or the folder very large",
            ) from None
        except FileNotFoundError as error:
            if not os.path.isdir(folder):  # noqa: PTH112, ASYNC240 - one look at a folder that should be there
                raise GitFailed("the folder is gone") from None
            raise GitUnavailable(f"git could not be started: {error.strerror}") from None
        except (OSError, ValueError) as error:
            raise GitUnavailable(f"git could not be started: {error}") from None
        if output is None:
            raise TooMuchOutput(f"git could not {doing}: there is more than {max_bytes >> 20} MB of it")
        if code not in accept:
            raise _failure(doing, words, code)
        return Answer(output, code)


async def find_git() -> Git:
    """Find git in `PATH`.

    Raises:
        GitUnavailable: There is none, or it is too old.
    """
    program = find_program("git", os.environ)
    if program is None:
        raise GitUnavailable("git is not installed, but changes need it", remedy="Install git")
    git = Git(program, ())
    answer = await git.run("version", doing="tell its version", folder="/" if os.name == "posix" else ".")
    found = re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", answer.output)
    version = tuple(int(number) for number in found.groups() if number is not None) if found else ()
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        said = answer.output.decode("utf-8", "replace").strip()
        raise GitUnavailable(f"git is too old to show changes: {said}", remedy=f"Install git {oldest}")
    return Git(program, version)


async def _read(process: Process, max_bytes: int) -> bytes | None:
    """Return the output of the command; `None`, and the command is ended, when it is too long."""
    assert process.stdout is not None  # noqa: S101 - it was asked for
    pieces: list[bytes] = []
    size = 0
    while piece := await process.stdout.read(1 << 16):
        size += len(piece)
        if size > max_bytes:
            kill(process)
            pieces.clear()
        else:
            pieces.append(piece)
    return None if size > max_bytes else b"".join(pieces)


def _failure(doing: str, words: bytes, code: int) -> GitFailed:
    text = words.decode("utf-8", "replace").strip()
    lines = [line for line in text.splitlines() if line.startswith(("fatal:", "error:"))] or text.splitlines()
    why = (
        lines[-1].removeprefix("fatal:").removeprefix("error:").strip() if lines else f"it ended with {code}"
    )
    remedy = None
    if ".lock': File exists" in text:
        remedy = "Another git command may be at work in this folder; try again when it is done"
    elif "dubious ownership" in text:
        remedy = "The repository belongs to another user; git's safe.directory setting says which it may use"
    return GitFailed(f"git could not {doing}: {why.rstrip('.')}", words=text, remedy=remedy)
