"""Recording what there is in a work tree: when a session begins, and before and after its turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from serai.changes.diff import diff_to_index
from serai.changes.lingering import Lingering
from serai.changes.margins import Margins
from serai.changes.mirror import Mirror
from serai.changes.quiet import Quiet
from serai.changes.reaching import Found
from serai.changes.records import LeftOut, Limits
from serai.changes.scanning import Scanner
from serai.changes.trees import SESSION_BASE, RecordedTrees, names_of
from serai.errors import GitFailed, GitTimedOut

__all__ = ["LATE", "Recording"]

LATE = "session/late"
"""The same base once more, when it was recorded after the session began."""


@dataclass(frozen=True, slots=True)
class _Running:
    """How it was when a turn began."""

    renewals: int
    """How often the person's index had been copied."""
    left_out: frozenset[LeftOut]
    """What had not been looked at."""


class Recording:
    """Looks at the work tree of a session and records what it sees.

    Not for several tasks at once: whoever owns it takes turns. Other sessions may look at the same time.

    Args:
        mirror: The private side.
        scanner: What keeps its index up to date.
        lingering: What finds files that git no longer sees.
        trees: What is recorded.
        margins: What tells what else was there.
        quiet: So that nothing is undone meanwhile.
        limits: How much is looked at.
    """

    def __init__(
        self,
        mirror: Mirror,
        scanner: Scanner,
        lingering: Lingering,
        trees: RecordedTrees,
        margins: Margins,
        *,
        quiet: Quiet,
        limits: Limits,
    ) -> None:
        self._mirror = mirror
        self._scanner = scanner
        self._lingering = lingering
        self._trees = trees
        self._margins = margins
        self._quiet = quiet
        self._limits = limits
        self._running: dict[str, _Running] = {}

    def is_running(self, turn_id: str | None) -> bool:
        """Whether a turn began here, and has not ended."""
        return turn_id in self._running

    @property
    def is_late(self) -> bool:
        """Whether the session had begun for some time when its base was recorded."""
        return self._trees.has(LATE)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What the last look left out, by paths from the working directory."""
        return self._from_here(self._scanner.left_out)

    def _from_here(self, left_out: Iterable[LeftOut]) -> tuple[LeftOut, ...]:
        prefix = self._mirror.repository.prefix
        return tuple(replace(one, path=one.path.removeprefix(prefix)) for one in left_out)

    # -- bases ---------------------------------------------------------------------------------------------

    async def begin_session(self, earlier: Mapping[str, Found | None] | None) -> None:
        """Record what there is as what the session began with, unless that was done before."""
        if self._trees.has(SESSION_BASE):
            return
        if earlier is None:
            await self._record(SESSION_BASE)
            return
        async with self._quiet.looking():
            await self._scan()
            then = await self._trees.stored(earlier)
            tree = await self._trees.written_with(then)
            margin = await self._margins.written(then)
        await self._trees.keep(LATE, tree)
        await self._trees.keep(SESSION_BASE, tree, margin)

    async def begin_turn(self, turn_id: str) -> None:
        """Record what there is before a turn. Nothing that was recorded for another of that id is left."""
        await self._trees.drop(*names_of(turn_id))
        await self._record(f"turn/{turn_id}")
        self._running[turn_id] = _Running(self._scanner.renewals, frozenset(self._scanner.left_out))

    async def see_turn(self, turn_id: str) -> None:
        """Record what was seen at the last look, should this be the last one in a turn that is running."""
        if turn_id in self._running and self._scanner.is_whole:
            await self._trees.keep_index(f"seen/{turn_id}", self._scanner.generation)

    async def end_turn(self, turn_id: str) -> None:
        """Record what there is after a turn, if it began here."""
        running = self._running.pop(turn_id, None)
        if running is not None:
            await self._record(f"end/{turn_id}", since=(f"turn/{turn_id}", running.renewals))
            new = [one for one in self._scanner.left_out if one not in running.left_out]
            await self._trees.keep_left_out(turn_id, self._from_here(new))
            await self._trees.drop(f"seen/{turn_id}")

    async def forget_turn(self, turn_id: str) -> None:
        """Drop what was recorded for a turn, and delete what only it needed."""
        self._running.pop(turn_id, None)
        if await self._trees.drop(*names_of(turn_id)):
            await self._tidy()

    async def _record(self, name: str, *, since: tuple[str, int] | None = None) -> None:
        """Record what there is.

        Args:
            name: What it is to be known by.
            since: The base that it will be compared with, and how often the person's index had been copied
                then: in a new copy there is nothing of what is ignored by now.
        """
        async with self._quiet.looking():
            await self._scan()
            also = await self._behind(*since) if since is not None else []
            if not also:
                await self._trees.keep_index(name, self._scanner.generation, self._margins)
                return
            tree = await self._trees.written_also(also)
            await self._trees.keep(name, tree, await self._margins.written())

    async def _behind(self, base: str, renewals: int) -> list[str]:
        """The files of a base that are there, and that git does not see any more."""
        if renewals == self._scanner.renewals:
            return []
        try:
            changes = await diff_to_index(self._mirror, self._trees.of(base), self._scanner.conflicts)
        except GitTimedOut:
            raise
        except GitFailed:
            return []  # git has deleted what the base needs: nothing can be compared with it any more
        return await self._lingering.behind(changes)

    # -- looking -------------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Look at the files. What nobody needs any more is deleted when there is much of it.

        Raises:
            GitFailed: git could not look, or not store what it found.
        """
        async with self._quiet.looking():
            await self._scan()

    async def _scan(self) -> None:
        await self._scanner.refresh()
        if self._scanner.stored_bytes > self._limits.new_bytes:
            await self._tidy()

    async def _tidy(self) -> None:
        """Delete content that neither a base nor the private index needs: earlier states of files."""
        self._scanner.stored_bytes = 0
        self._margins.forget()
        try:
            await self._mirror.run("prune", "--expire=now", doing="delete what is no longer needed")
        except GitFailed:
            return  # git deletes nothing when a base is incomplete; nobody waits for this
