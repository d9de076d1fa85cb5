"""Files as they are, byte for byte.

The trees of bases have content in the form in which git stores it: without carriage returns, for instance, or
as a filter made it. By that it is compared with commits. But it does not lead back: git's conversion gives a
file with line ends of one kind, whatever it had. So next to each tree there is another one with the very
bytes of the files that git had to convert anew, that is, of all that are not as they were committed or
staged. Most content is the same in both, and is then there once.

For files that are as they were committed or staged there is no such content. They come back as git would
check them out: to have their bytes too, all files would have to be read.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from serai.changes.mirror import Mirror
from serai.changes.records import Side
from serai.changes.scanning import removal, take_entries

__all__ = ["Plain"]

_NO_CONVERSION = "* -text !eol !crlf -ident -filter !working-tree-encoding\n"
"""The list of attributes that git obeys before all others."""


class Plain:
    """The files of a work tree, stored and written without conversion.

    It is a git directory in the private side, with an index of its own and the same objects.

    Args:
        mirror: The private side.
    """

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._folder = mirror.folder / "plain"

    @property
    def _index(self) -> Path:
        return self._folder / "index"

    def _environment(self, index: Path) -> dict[str, str]:
        return self._mirror.environment(index) | {
            "GIT_DIR": str(self._folder),
            "GIT_OBJECT_DIRECTORY": str(self._mirror.folder / "objects"),
            "GIT_LITERAL_PATHSPECS": "1",
        }

    def _make(self) -> None:
        for name in ("objects", "refs", "info"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        for name in ("HEAD", "config"):
            shutil.copyfile(self._mirror.folder / name, self._folder / name)
        (self._folder / "info/attributes").write_text(_NO_CONVERSION)

    async def begin(self) -> None:
        """Begin anew, with no file."""
        await asyncio.to_thread(self._make)
        self._index.unlink(missing_ok=True)

    async def store(self, paths: Iterable[str]) -> None:
        """Store files of the work tree; those that are gone are dropped.

        Args:
            paths: The files, from the root of the work tree.

        Raises:
            GitFailed: One of them cannot be read.
        """
        if names := list(paths):
            await take_entries(self._mirror, names, self._environment(self._index))

    async def drop(self, paths: Iterable[str]) -> None:
        """Have files no longer, whatever is in the work tree.

        Args:
            paths: The files, from the root of the work tree.

        Raises:
            GitFailed: That could not be noted.
        """
        await self._put([removal(self._mirror.repository, path) for path in paths], self._index)

    async def tree(self, instead: Iterable[bytes] = ()) -> str:
        """The tree of all that was stored.

        Args:
            instead: What it is to have in place of some of it, as `update-index --index-info` takes it.

        Raises:
            GitFailed: It could not be written.
        """
        index = self._index
        if entries := list(instead):
            index = self._folder / "index.once"
            await asyncio.to_thread(_copy, self._index, index)
            await self._put(entries, index)
        answer = await self._mirror.run(
            "write-tree", doing="record what there is", environment=self._environment(index)
        )
        return answer.output.decode().strip()

    async def _put(self, entries: Sequence[bytes], index: Path) -> None:
        if entries:
            await self._mirror.run(
                *("update-index", "--add", "--replace", "-z", "--index-info"),
                doing="record what there was",
                data=b"".join(entries),
                environment=self._environment(index),
            )

    async def unpack(self, sides: Mapping[str, Side], *, index: Path, files: Path) -> None:
        """Write content as files, as it is.

        Args:
            sides: The content, by paths from the root of the work tree.
            index: An index to be made for it.
            files: The folder to be made for it.

        Raises:
            GitFailed: Content is not there, or cannot be written.
        """
        await asyncio.to_thread(self._make)
        environment = self._environment(index) | {"GIT_WORK_TREE": str(self._folder)}
        entries = (
            f"{side.mode:o} {side.content}\t".encode() + os.fsencode(path) + b"\0"
            for path, side in sides.items()
        )
        await self._mirror.run(
            *("update-index", "-z", "--index-info"),
            doing="find earlier content",
            data=b"".join(entries),
            environment=environment,
        )
        await self._mirror.run(
            *("checkout-index", "-z", "--stdin", "--quiet", f"--prefix={files}/"),
            doing="read earlier content",
            data=b"".join(os.fsencode(path) + b"\0" for path in sides),
            environment=environment,
            folder=str(self._folder),
        )


def _copy(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    with suppress(FileNotFoundError):  # there is none before there are files
        shutil.copy2(source, target)
