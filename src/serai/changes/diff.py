"""From a tree to the private index, which is the work tree as it was last looked at; or to another tree."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from serai.changes.mirror import Mirror
from serai.changes.records import Change, Side

__all__ = ["GITLINK", "diff_to_index", "diff_to_tree", "parse"]

GITLINK = 0o160000
"""The mode of a submodule, in git's words."""

_FORM = (
    *("--raw", "--numstat", "-z", "--no-abbrev", "-M50%", "-l1000"),
    *("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color"),
)


async def diff_to_index(
    mirror: Mirror, tree: str, conflicts: Collection[str] = (), *, index: Path | None = None
) -> tuple[Change, ...]:
    """What is different in an index, the private one by default.

    Raises:
        GitFailed: The tree, or content that it names, is no longer there.
    """
    answer = await mirror.run(
        *("diff-index", "--cached", *_FORM, tree, *mirror.scope),
        doing="compare the files",
        environment=mirror.environment(index),
    )
    return parse(answer.output, mirror.repository.prefix, conflicts)


async def diff_to_tree(mirror: Mirror, before: str, after: str) -> tuple[Change, ...]:
    """What is different in another tree.

    Raises:
        GitFailed: A tree, or content that it names, is no longer there.
    """
    answer = await mirror.run(
        *("diff-tree", "-r", *_FORM, before, after, *mirror.scope), doing="compare the files"
    )
    return parse(answer.output, mirror.repository.prefix)


def parse(output: bytes, prefix: str, conflicts: Collection[str] = ()) -> tuple[Change, ...]:
    """Read what `--raw --numstat -z` prints. Submodules are nobody's change and left out. Pure.

    A file in the place of a submodule is left out too: to undo that, a repository would have to be made.

    Args:
        output: What git printed: all raw records, then all counts.
        prefix: What is taken from the beginning of each path.
        conflicts: The paths, with their prefix, that a merge left open.
    """
    words = iter(output.split(b"\0")[:-1])
    sides: dict[str, tuple[Side | None, Side | None]] = {}
    counts: dict[str, tuple[int | None, int | None]] = {}
    gone: set[str] = set()
    for word in words:
        if word.startswith(b":"):
            was_submodule, is_submodule, before, after = _raw(word, words)
            last = after or before
            if last is not None and is_submodule:
                gone.add(last.path)
            if last is not None and not was_submodule:
                sides[last.path] = (before, after)
        else:
            path, added, removed = _counted(word, words)
            counts[path] = (added, removed)
    changes: list[Change] = []
    for path, (before, after) in sides.items():
        added, removed = counts.get(path, (None, None))
        if path in gone and added is not None:
            added = 0  # what git counts is its word for the submodule that has come in its place
        changes.append(
            Change(
                _below(before, prefix),
                _below(after, prefix),
                added,
                removed,
                binary=path in counts and added is None,
                conflicted=path in conflicts,
            )
        )
    return tuple(sorted(changes, key=lambda change: os.fsencode(change.path)))


def _raw(header: bytes, words: Iterator[bytes]) -> tuple[bool, bool, Side | None, Side | None]:
    before_mode, after_mode, before_blob, after_blob, letter = header[1:].decode().split(" ")
    path = os.fsdecode(next(words))
    new_path = os.fsdecode(next(words)) if letter[0] in "RC" else path
    before, after = _side(path, before_mode, before_blob), _side(new_path, after_mode, after_blob)
    return int(before_mode, 8) == GITLINK, int(after_mode, 8) == GITLINK, before, after


def _side(path: str, mode: str, blob: str) -> Side | None:
    number = int(mode, 8)
    return None if number in {0, GITLINK} else Side(path, blob, number)


def _counted(word: bytes, words: Iterator[bytes]) -> tuple[str, int | None, int | None]:
    added, removed, name = word.split(b"\t", 2)
    if not name:  # a rename: both names follow
        next(words)
        name = next(words)
    is_binary = added == b"-"
    return os.fsdecode(name), None if is_binary else int(added), None if is_binary else int(removed)


def _below(side: Side | None, prefix: str) -> Side | None:
    return Side(side.path.removeprefix(prefix), side.content, side.mode) if side else None
