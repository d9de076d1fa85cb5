"""Who offers something, and the answer to the command `completions`.

    index = FileIndex(folder)
    items = await complete(params.text, params.offset, [FileSource(index), PromptSource(prompts)])

A source of another kind, such as the rooms that one could write to, is a class with `trigger` and
`candidates`.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from unicodedata import normalize

from serai.ahp.commands import CompletionItem
from serai.ahp.rules.session import COMPLETION
from serai.ahp.types import MessageResourceAttachment, SimpleMessageAttachment
from serai.completions.completing import ITEM_LIMIT, Candidate, items, token_at, words_at
from serai.completions.fuzzy import Found, search
from serai.completions.index import FileIndex
from serai.completions.turns import in_turns

__all__ = ["KIND", "FileSource", "Prompt", "PromptSource", "Source", "complete"]

KIND = "serai.kind"
"""In an attachment's `_meta`: what was chosen, a `file`, `folder`, `skill` or `prompt`."""


class Source(Protocol):
    """Offers what can stand after a trigger."""

    @property
    def trigger(self) -> str:
        """Which of `TRIGGERS` it answers to."""
        ...

    async def candidates(self, query: str) -> Sequence[Candidate]:
        """What fits, best first. It should answer soon."""
        ...


async def complete(text: str, offset: int, sources: Sequence[Source]) -> list[CompletionItem]:
    """What could stand at a place in a text, best first, at most `ITEM_LIMIT`.

    Sources of the same trigger are asked in their order. Cancelling is safe.

    Raises:
        InvalidParams: The offset is before the text, behind it, or inside a character (`params.offset`).
    """
    token = token_at(text, offset)
    words = words_at(text, offset) if token is None else None
    begun = token or words
    if begun is None:
        return []
    found: list[Candidate] = []
    for source in sources:
        if source.trigger == begun.trigger and len(found) < ITEM_LIMIT:
            found += await source.candidates(begun.query)
    if words:  # most likely it is said to a command, so only a name that begins just so is meant
        found = [item for item in found if _folded(item.name).startswith(_folded(words.query))]
    return items(begun, found)


class FileSource:
    """Files and folders of a working directory, after `@`. What is chosen is attached by reference.

    Args:
        index: Which files there are.
    """

    trigger = "@"

    def __init__(self, index: FileIndex) -> None:
        self._index = index

    async def candidates(self, query: str) -> Sequence[Candidate]:
        """Files and folders that fit and are there; a folder's name ends with `/`."""
        listing = await self._index.listing()
        query = query.removeprefix("./")
        # A letter with a sign is one character, or two as macOS has them.
        spellings = {query: None} | {normalize(form, query): None for form in ("NFC", "NFD")}
        found: list[Found] = []
        for spelling in spellings:
            found += await in_turns(search(listing, spelling, ITEM_LIMIT - len(found)))
        return await asyncio.to_thread(_attached, self._index.folder, found)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A skill or a prompt that can be called by its name."""

    name: str
    description: str = ""
    uri: str | None = None
    """The file that says what to do; without one, the name and description are all that the model gets."""
    kind: str = "prompt"
    """`prompt` or `skill`."""


class PromptSource:
    """Skills and prompts, after `/`.

    Args:
        prompts: Gives those that there are now; it is asked each time.
    """

    trigger = "/"

    def __init__(self, prompts: Callable[[], Sequence[Prompt]]) -> None:
        self._prompts = prompts

    async def candidates(self, query: str) -> Sequence[Candidate]:
        """Those whose name begins with the query, then those that have it elsewhere or in the description."""
        small = _folded(query)
        placed = [
            (place, prompt) for prompt in self._prompts() if (place := _place(prompt, small)) is not None
        ]
        placed.sort(key=lambda pair: (pair[0], pair[1].name))
        return [_offered(prompt) for _, prompt in placed]


def _place(prompt: Prompt, query: str) -> int | None:
    name = _folded(prompt.name)
    if name.startswith(query):
        return 0
    if query in name:
        return 1
    return 2 if query in _folded(prompt.description) else None


def _folded(text: str) -> str:
    return normalize("NFC", text.lower())


def _offered(prompt: Prompt) -> Candidate:
    meta: dict[str, Any] = {KIND: prompt.kind, "serai.description": prompt.description}
    if prompt.uri is None:
        said = f"/{prompt.name}: {prompt.description}" if prompt.description else f"/{prompt.name}"
        meta[COMPLETION] = True
        return Candidate(
            prompt.name, SimpleMessageAttachment(label=prompt.name, meta=meta, model_representation=said)
        )
    attachment = MessageResourceAttachment(
        uri=prompt.uri, label=prompt.name, display_kind="document", meta=meta, content_type="text/markdown"
    )
    return Candidate(prompt.name, attachment)


def _attached(folder: Path, found: list[Found]) -> list[Candidate]:
    """What is really there of what was found: git also knows files that were deleted. Reads the disk."""
    candidates: dict[str, Candidate] = {}  # git names a submodule like a file, and what is in it too
    for item in found:
        path = folder / item.path
        try:
            is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
        except OSError:
            continue
        kind = None if is_folder else mimetypes.guess_type(item.path)[0]
        picture = kind is not None and kind.startswith("image/")
        attachment = MessageResourceAttachment(
            uri=path.as_uri(),
            label=path.name,
            display_kind="directory" if is_folder else "image" if picture else "document",
            content_type=kind,
            meta={KIND: "folder" if is_folder else "file"},
        )
        name = f"{item.path}/" if is_folder else item.path
        candidates.setdefault(name, Candidate(name, attachment))
    return list(candidates.values())
