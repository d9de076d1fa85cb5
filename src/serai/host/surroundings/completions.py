"""Completions of what a person types: files, skills, prompts, and other participants."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from serai.ahp.commands import CompletionItem
from serai.completions.completion import items, token_at
from serai.completions.files import FileIndex
from serai.completions.names import Mention, Prompt, mentions, prompts
from serai.contract import IdentityKind
from serai.host.core import HostCore
from serai.host.session.core import SessionCore
from serai.host.surroundings.files import directory_of

_MOST = 16
"""Most folders whose files are indexed."""
_PATIENCE = 2.0
"""Longest wait of a person who types, in seconds. Then no files are offered, and more the next time."""


class Completions:
    """Completes text that is typed in the sessions of a host."""

    def __init__(self, host: HostCore) -> None:
        self._host = host
        self.rooms: Callable[[], Iterable[Mention]] = tuple
        """Returns the rooms of the workspace."""
        self._indexes: dict[Path, FileIndex] = {}

    async def complete(
        self, session: SessionCore, prompts_of: Callable[[], Sequence[Prompt]], text: str, offset: int
    ) -> list[CompletionItem]:
        """Return the completions at a place in a message to a session, best first.

        The answer comes soon, or without files: the first index of a large folder is completed later, for the
        next requests. `prompts_of` the session are offered behind a `/`.

        Raises:
            InvalidParams: The offset is before the text, behind it, or inside a character.
        """
        token = token_at(text, offset)
        if token is None:
            return []
        if token.trigger == "/":
            return items(token, prompts(token.query, prompts_of()))
        found = mentions(token.query, [*self._others(session.uri), *self.rooms()])
        folder = directory_of(session.live.head.summary.working_directory)
        if folder is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    found += await (await self._index(folder)).candidates(token.query)
        return items(token, found)

    def _others(self, session: str) -> Iterator[Mention]:
        """Return the other participants."""
        for one in self._host.identities:
            kind = one.identity.kind or IdentityKind.AGENT
            if one.session != session and not one.gone and kind != IdentityKind.SYSTEM:
                yield Mention(one.handle, kind.value, one.identity.description or "")

    async def _index(self, folder: Path) -> FileIndex:
        index = self._indexes.pop(folder, None) or FileIndex(folder, closed=self._host.home)
        self._indexes[folder] = index  # the most recently used one is last
        if len(self._indexes) > _MOST:
            await self._indexes.pop(next(iter(self._indexes))).close()
        return index

    async def close(self) -> None:
        """Close the indexes."""
        for index in self._indexes.values():
            await index.close()
        self._indexes.clear()
