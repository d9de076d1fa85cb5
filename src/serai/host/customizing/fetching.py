"""Fetching a plugin's files from the client that publishes it, within bounds."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

from serai.ahp import commands as c
from serai.ahp import wire
from serai.ahp.types import ROOT
from serai.errors import FileUnreadable, SeraiError

__all__ = ["Ask", "Fetched", "fetch_files"]

_MAX_FILES = 1_000
_MAX_FOLDERS = 1_000
_MAX_DEPTH = 8
_MAX_FILE = 1024 * 1024
_MAX_BYTES = 4 * 1024 * 1024
_WITHIN = 30.0
"""How long all of it may take, in seconds."""
_AT_ONCE = 8
"""So many questions a client is asked at the same time."""
_READ = (".md", ".mdc", ".json")
"""The files that say what a plugin has. What else is in it stays where it is."""
_PASSED_OVER = {".git", "node_modules"}

Ask: TypeAlias = Callable[[str, wire.Value], Awaitable[Any]]
"""Asks the client: the method and its parameters. It raises a `SeraiError` when there is no good answer."""

T = TypeVar("T")


class Fetched(NamedTuple):
    """What a client has sent."""

    files: dict[str, bytes]
    """By their path below the plugin's URI."""
    problems: list[str]
    """What is missing of it, in sentences."""


async def fetch_files(ask: Ask, uri: str) -> Fetched:
    """Fetch the files of a plugin that say what it has.

    Raises:
        SeraiError: The client is gone, does not list the plugin, or takes too long; or the plugin is too
            large.
    """
    fetching = _Fetching(ask, uri)
    try:
        async with asyncio.timeout(_WITHIN):
            await fetching.walk()
            await fetching.read()
    except TimeoutError:
        raise FileUnreadable(f"the client did not send it within {_WITHIN:g} s") from None
    return Fetched(fetching.files, fetching.problems)


class _Fetching:
    def __init__(self, ask: Ask, uri: str) -> None:
        self._ask = ask
        self._base = uri.rstrip("/")
        self._paths: list[str] = []
        self.files: dict[str, bytes] = {}
        self.problems: list[str] = []

    async def walk(self) -> None:
        """List the plugin, one level after the other."""
        entries = await self._list("")
        level = self._sort("", entries)
        folders = 0
        for _ in range(_MAX_DEPTH):
            folders += len(level)
            if folders > _MAX_FOLDERS:
                raise FileUnreadable(f"it has more than {_MAX_FOLDERS:,} folders")
            below: list[str] = []
            for some in _groups(level):
                for path, entries in await self._all(some, self._list):
                    below += self._sort(path, entries)
            if not below:
                return
            level = below
        self.problems.append(f"what is more than {_MAX_DEPTH} folders deep is not read")

    async def read(self) -> None:
        """Read what was listed."""
        size = 0
        for some in _groups(self._paths):
            for path, data in await self._all(some, self._read):
                size += len(data)
                self.files[path] = data
            if size > _MAX_BYTES:
                raise FileUnreadable(f"its texts have more than {_MAX_BYTES // 1024 // 1024} MiB")

    async def _all(
        self, paths: list[str], do: Callable[[str], Coroutine[Any, Any, T]]
    ) -> list[tuple[str, T]]:
        """Do something with some paths at the same time. Those that it fails with are told of."""
        done: list[tuple[str, T]] = []
        outcomes = await asyncio.gather(*map(do, paths), return_exceptions=True)
        for path, outcome in zip(paths, outcomes, strict=True):
            if isinstance(outcome, SeraiError):
                self.problems.append(f"{path} cannot be read ({outcome.message})")
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                done.append((path, outcome))
        return done

    async def _list(self, path: str) -> list[c.DirectoryEntry]:
        params = c.ResourceListParams(channel=ROOT, uri=self._uri(path))
        result: c.ResourceListResult = await self._ask("resourceList", params)
        return result.entries

    def _sort(self, folder: str, entries: list[c.DirectoryEntry]) -> list[str]:
        """Note the files of a folder that are to be read; the folders in it."""
        folders: list[str] = []
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name in {"", ".", ".."} or "/" in entry.name:
                self.problems.append(f"{path} is no name of a file")
            elif entry.type == c.ResourceType.DIRECTORY and entry.name not in _PASSED_OVER:
                folders.append(path)
            elif entry.type == c.ResourceType.FILE and entry.name.lower().endswith(_READ):
                self._paths.append(path)
        if len(self._paths) > _MAX_FILES:
            raise FileUnreadable(f"it has more than {_MAX_FILES:,} files")
        return folders

    async def _read(self, path: str) -> bytes:
        params = c.ResourceReadParams(
            channel=ROOT, uri=self._uri(path), encoding=c.ContentEncoding.UTF8.value
        )
        result: c.ResourceReadResult = await self._ask("resourceRead", params)
        try:
            if result.encoding == c.ContentEncoding.BASE64:
                data = base64.b64decode(result.data, validate=True)
            else:
                data = result.data.encode()
        except ValueError:
            raise FileUnreadable("the client sent what cannot be decoded") from None
        if len(data) > _MAX_FILE:
            raise FileUnreadable(f"it is larger than {_MAX_FILE // 1024 // 1024} MiB")
        return data

    def _uri(self, path: str) -> str:
        return f"{self._base}/{quote(path, errors='replace')}" if path else self._base


def _groups(paths: list[str]) -> Iterator[list[str]]:
    """Some paths after the other, as many as are asked for at the same time."""
    for start in range(0, len(paths), _AT_ONCE):
        yield paths[start : start + _AT_ONCE]
