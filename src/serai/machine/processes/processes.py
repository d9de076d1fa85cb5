"""The one place where the host starts processes."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from serai.errors import ProcessNotStarted
from serai.machine import umask
from serai.machine.processes.census import ProcessIdentity, identity_of, number_of
from serai.machine.processes.child import Child, Kept, start_kept
from serai.machine.processes.environment import find_program, inheritable
from serai.machine.processes.keeper import Request
from serai.machine.processes.records import ChildRecord, ChildRecords, end_members
from serai.machine.processes.uninterrupted import uninterrupted

__all__ = ["Processes"]


@dataclass(frozen=True, slots=True)
class _ChildPlan:
    argv: Sequence[str]
    what: str
    cwd: Path | None
    environ: Mapping[str, str]
    stdin: int
    stdout: int
    stderr: int
    terminal: str | None
    mark: str


class Processes:
    """The children of this host. Each is written down before it starts, and until it and its kind are gone.

    A host that is killed leaves nothing: each child has a keeper (`keeper.py`), which ends all that came of
    it, and should that be killed too, the next start ends what the records name (`end_leftovers`).

    Args:
        directory: Where the records are kept; one host at a time.
    """

    def __init__(self, directory: Path) -> None:
        self._records = ChildRecords(directory)
        self._host: ProcessIdentity | None = None
        self._children: set[Child] = set()
        self._spawning = asyncio.Lock()
        self._closed = False

    @property
    def children(self) -> frozenset[Child]:
        """The children that are not gone yet."""
        return frozenset(self._children)

    async def start(
        self,
        argv: Sequence[str],
        *,
        what: str,
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.DEVNULL,
        stderr: int = subprocess.DEVNULL,
        terminal: str | None = None,
    ) -> Child:
        """Start a process in a session of its own. The event loop goes on meanwhile.

        When this is cancelled, a child that has started all the same is ended.

        Args:
            argv: The program and its arguments. A name without a slash is looked for in the folders of `PATH`
                that are the same from everywhere.
            what: What it is, for people: it stands in the record.
            cwd: Where it runs; by default where the host does.
            environ: Its whole environment; by default the host's without its secrets.
            stdin: As `subprocess.Popen` takes it: `PIPE`, `DEVNULL` or a file descriptor.
            stdout: The same.
            stderr: The same.
            terminal: The path of a terminal that shall be the session's own.

        Raises:
            ProcessNotStarted: The program or the directory is not there, or the system or the disk has no
                room.
        """
        plan = _ChildPlan(
            argv=argv,
            what=what,
            cwd=cwd,
            environ=inheritable(os.environ) if environ is None else environ,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            terminal=terminal,
            mark=secrets.token_hex(8),
        )
        return await uninterrupted(self._start(plan), undo=_end)

    async def close(self, grace: float = 5.0) -> None:
        """End all children and start no more. Cancelling it leaves the rest to the keepers."""
        self._closed = True
        async with self._spawning:
            pass  # whoever is being started is a child now, and nobody is after that
        await asyncio.gather(*(child.end(grace=grace) for child in self._children))

    # -- starting ------------------------------------------------------------------------------------------

    async def _start(self, plan: _ChildPlan) -> Child:
        async with self._spawning:
            if self._closed:
                raise ProcessNotStarted(f"{plan.what} was not started, since the host is closing")
            child = Child(
                await asyncio.to_thread(self._spawn, plan),
                plan.what,
                plan.mark,
                on_terminal=plan.terminal is not None,
                lost=self._end_rest,
                forget=self._forget,
            )
            self._children.add(child)
        return child

    def _spawn(self, plan: _ChildPlan) -> Kept:
        """Write the intention down, start the process, and write down which it is. Runs in a thread."""
        kept = None
        try:
            request = _request(plan)
            if self._host is None:
                self._host = identity_of(os.getpid())
            self._records.write(plan.mark, ChildRecord(plan.what, self._host))
            kept = start_kept(request, plan.stdin, plan.stdout, plan.stderr)
            self._records.write(plan.mark, ChildRecord(plan.what, self._host, kept.child))
        except (OSError, ValueError) as error:
            if kept is not None:
                kept.undo()
            with contextlib.suppress(OSError):
                self._records.remove(plan.mark)
            raise _refusal(plan, error) from error
        return kept

    # -- ending --------------------------------------------------------------------------------------------

    def _forget(self, child: Child) -> None:
        self._children.discard(child)
        if not child.left:
            with contextlib.suppress(OSError):  # then the next start finds that nothing of it runs
                self._records.remove(child.mark)

    async def _end_rest(self, child: Child) -> None:
        record = ChildRecord(child.what, child=child.identity)
        await asyncio.to_thread(end_members, {child.mark: record}, 0)


async def _end(child: Child) -> None:
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
    await child.end()


def _request(plan: _ChildPlan) -> Request:
    """What the keeper is asked for.

    Raises:
        OSError: There is no such program, or it may not be run.
        ValueError: No program could be given this.
    """
    argv = [os.fsencode(each) for each in (_find(plan), *plan.argv[1:])]
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in plan.environ.items()}
    if any(b"\0" in each for each in (*argv, *encoded, *encoded.values())):
        raise ValueError("embedded null byte")
    if any(not name or b"=" in name for name in encoded):
        raise ValueError("illegal environment variable name")
    folder = os.fsencode(plan.cwd.absolute() if plan.cwd is not None else Path.cwd())
    terminal = None if plan.terminal is None else os.fsencode(plan.terminal)
    return argv, encoded, folder, terminal, number_of(plan.mark), umask.persons()


def _find(plan: _ChildPlan) -> str:
    """Where the program is. The system itself might find fault with a directory in `PATH` instead.

    Raises:
        OSError: It is nowhere, or may not be run.
    """
    name = plan.argv[0]
    if "/" not in name:
        found = find_program(name, plan.environ)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return found
    path = Path(plan.cwd or "").absolute() / name
    path.stat()
    if not os.access(path, os.X_OK) or path.is_dir():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    return str(path)


def _refusal(plan: _ChildPlan, error: OSError | ValueError) -> ProcessNotStarted:
    name = plan.argv[0]
    if isinstance(error, ValueError):
        return ProcessNotStarted(f"{plan.what} was not started: {error}")
    if plan.cwd is not None and not plan.cwd.is_dir():
        return ProcessNotStarted(f"{plan.what} was not started: {plan.cwd} is no directory")
    if isinstance(error, FileNotFoundError):
        return ProcessNotStarted(
            f"{plan.what} was not started: there is no program {name!r}",
            remedy="Install it, or name it with its whole path",
        )
    return ProcessNotStarted(f"{plan.what} was not started: {error.strerror} ({error.filename or name})")
