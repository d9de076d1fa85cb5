"""Processes for the terminals of a test, a home, and someone who watches."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from machine.processes.watching import children
from machine.terminals.viewer import Viewer
from serai.machine.processes.processes import Processes
from serai.machine.terminals.terminal import Terminal

Open = Callable[..., Awaitable[Viewer]]


class OpenShell(Protocol):
    """Opens a shell."""

    def __call__(self, program: str, settings: str = "") -> Awaitable[Viewer]: ...


@pytest.fixture
async def processes() -> AsyncIterator[Processes]:
    """When they are closed, nothing of them may be left: no process, no zombie, no file descriptor."""
    descriptors = open_files()
    before = children()
    processes = Processes()
    yield processes
    await processes.close(grace=1)
    assert children() <= before
    assert open_files() <= descriptors


def open_files() -> int:
    directory = Path("/proc/self/fd")
    return sum(1 for _ in directory.iterdir()) if directory.is_dir() else 0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A person's home, with nothing in it."""
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
async def open_terminal(processes: Processes, home: Path) -> AsyncIterator[Open]:
    """Opens terminals that are watched, in an empty home, and closes them after the test."""
    viewers: list[Viewer] = []

    async def open_one(*argv: str, **options: Any) -> Viewer:
        program = argv[0] if argv else "bash"
        if shutil.which(program) is None:
            pytest.skip(f"NOT CHECKED: {program} is not installed")
        options.setdefault("cwd", home)
        options.setdefault("environ", {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"})
        viewer = Viewer(await Terminal.start(processes, argv=argv or None, **options))
        viewers.append(viewer)
        return viewer

    yield open_one
    await asyncio.gather(*(viewer.close() for viewer in viewers))


@pytest.fixture
def open_shell(open_terminal: Open, home: Path) -> OpenShell:
    """Opens shells of a person who has the prompt `me> ` and some settings in the file of that shell."""

    def open_one(program: str, settings: str = "") -> Awaitable[Viewer]:
        (home / f".{program}rc").write_text(f"PS1='me> '\n{settings}\n")
        return open_terminal(program)

    return open_one
