"""Telling what changed in a work tree, by what is recorded of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from serai.changes.catalogue import UNCOMMITTED, ChangesetKind, Which
from serai.changes.diff import diff_to_index
from serai.changes.elsewhere import Elsewhere
from serai.changes.git import both
from serai.changes.lingering import Lingering
from serai.changes.mirror import Mirror
from serai.changes.noted import NotedChanges
from serai.changes.recording import Recording
from serai.changes.records import Change, Changes, Outcome
from serai.changes.repository import EMPTY_TREES, head_tree
from serai.changes.scanning import Scanner
from serai.changes.trees import SESSION_BASE, RecordedTrees, is_lost
from serai.errors import FileInTheWay, GitFailed, GitTimedOut, ProtocolError

__all__ = ["Telling", "base_of"]

_SEEN_LATE = (
    "Before the folder was in this repository, only what agents edited through the host was seen, if anything"
)


class Telling:
    """Compares what there is with what was recorded.

    Not for several tasks at once: whoever owns it takes turns.

    Args:
        mirror: The private side.
        scanner: What keeps its index up to date.
        lingering: What finds files that git no longer sees.
        trees: What is recorded.
        recording: What looks at the files.
        noted: What was noted before the directory was in a repository, if anything.
        elsewhere: What was recorded in other places, if anything.
    """

    def __init__(
        self,
        mirror: Mirror,
        scanner: Scanner,
        lingering: Lingering,
        trees: RecordedTrees,
        recording: Recording,
        *,
        noted: NotedChanges | None,
        elsewhere: Elsewhere | None,
    ) -> None:
        self.has_commit = True
        """Whether anything was committed, when that was last looked at."""
        self._mirror = mirror
        self._scanner = scanner
        self._lingering = lingering
        self._trees = trees
        self._recording = recording
        self._noted = noted
        self._elsewhere = elsewhere
        self._known: dict[str, tuple[int, tuple[Change, ...]]] = {}

    def is_live(self, which: Which) -> bool:
        """Whether a changeset follows the files as they change; a turn does only while it is running."""
        return which.kind is not ChangesetKind.TURN or self._recording.is_running(which.turn_id)

    def is_noted(self, which: Which) -> bool:
        """Whether a turn was while the directory was in no repository, or in another session."""
        is_recorded = self._trees.has(f"turn/{which.turn_id}")
        return self._noted is not None and not is_recorded and self._noted.knows_turn(which.turn_id)

    async def all_of(self, wanted: Sequence[Which]) -> dict[Which, Outcome]:
        """What changed, in several changesets. What is wrong with one is its own.

        Raises:
            GitFailed: git could not look at the files, or takes too long.
        """
        head = await self.look(wanted)
        found = {which: await self.tried(which, head) for which in wanted}
        if isinstance(found.get(UNCOMMITTED), GitFailed):
            # The last commit is always there. So it is the private index that needs what git has deleted.
            self._mirror.forget_index()
            head = await self.look(wanted)
            found = {which: await self.tried(which, head) for which in wanted}
        return found

    async def look(self, wanted: Sequence[Which]) -> str:
        """Look at the files, if one of these needs it, and at the last commit, whose tree is returned then.

        Raises:
            GitFailed: git could not look at the files, or takes too long.
        """
        if UNCOMMITTED in wanted:
            head, _ = await both(
                head_tree(self._mirror.git, self._mirror.repository), self._recording.refresh()
            )
            self.has_commit = head != EMPTY_TREES[self._mirror.repository.object_format]
            return head
        if any(self.is_live(which) for which in wanted):
            await self._recording.refresh()
        return ""

    async def tried(self, which: Which, head: str) -> Outcome:
        """What changed in one of them since it was looked, or why that is not known.

        Raises:
            GitTimedOut: git takes too long.
        """
        try:
            if which.kind is ChangesetKind.UNCOMMITTED:
                return self._result(await self._against(head))
            return await self._since(which)
        except GitTimedOut:
            raise  # the others would take as long
        except (ProtocolError, FileInTheWay) as error:
            return error
        except GitFailed as error:
            if which.kind is not ChangesetKind.UNCOMMITTED and is_lost(error):
                lost = "what there was before this session or turn is no longer in the repository"
                return GitFailed(
                    f"{lost}: git has deleted it, or this is another repository", words=error.words
                )
            return error

    async def _since(self, which: Which) -> Changes:
        if self._noted is not None and self.is_noted(which):
            return await self._noted.compute(which)
        if not self.is_live(which):
            return await self._of_elsewhere(which) or await self._trees.in_turn(which.turn_id)
        is_session = which.kind is ChangesetKind.SESSION
        start = self._trees.of(base_of(which))
        found = self._result(await self._lingering.seen(start, await self._against(start)))
        lacks = _SEEN_LATE if is_session and self._recording.is_late else None
        return replace(found, lacks=lacks, start=start)

    async def _of_elsewhere(self, which: Which) -> Changes | None:
        """A turn that was in another place, if it was."""
        if self._elsewhere is None or which.turn_id is None or self._trees.has(f"turn/{which.turn_id}"):
            return None
        return await self._elsewhere.in_turn(which.turn_id)

    async def _against(self, tree: str) -> tuple[Change, ...]:
        generation = self._scanner.generation
        known = self._known.get(tree)
        if known is not None and known[0] == generation:
            return known[1]
        changes = await diff_to_index(self._mirror, tree, self._scanner.conflicts)
        self._known = {key: one for key, one in self._known.items() if one[0] == generation}
        self._known[tree] = (generation, changes)
        return changes

    def _result(self, changes: tuple[Change, ...]) -> Changes:
        return Changes(changes, self._recording.left_out)

    async def since_session(self) -> tuple[Change, ...] | None:
        """What changed since the session began, if that can be told.

        Raises:
            GitTimedOut: git takes too long.
        """
        try:
            return await self._against(self._trees.of(SESSION_BASE))
        except GitTimedOut:
            raise
        except (GitFailed, ProtocolError):
            return None

    async def changed_since(self, which: Which, changes: Sequence[Change]) -> dict[str, str]:
        """The files that have changed again since a turn ended: discarding the turn would lose that.

        Raises:
            GitFailed: git could not look at the files.
        """
        await self._recording.refresh()
        end = self._trees.end_of(which.turn_id)
        later = await self._against(end)
        ignored = {*await self._lingering.behind(later)}
        again = {path for change in await self._lingering.seen(end, later) for path in change.paths}
        refused = {
            change.path: "it has changed since that turn"
            for change in changes
            if not again.isdisjoint(change.paths)
        }
        if refused:
            start = await self._against(self._trees.of(base_of(which)))
            other = {path for change in start for path in change.paths}
            as_before = [one.path for one in changes if other.isdisjoint(one.paths)]
            refused |= {path: "it is as it was before that turn" for path in as_before if path in refused}
        # What is recorded comes back; what is new is left to whoever had git ignore it.
        new = {change.path for change in changes if change.before is None}
        return refused | dict.fromkeys(ignored & new, "git ignores it now")


def base_of(which: Which) -> str:
    """The name of the base of a changeset; for what is not committed, that of the session."""
    return f"turn/{which.turn_id}" if which.kind is ChangesetKind.TURN else SESSION_BASE
