"""What Tab offers in a chat: its own commands, and the files, prompts and others that the host knows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress

from serai.ahp.commands import CompletionItemKind, CompletionsParams, CompletionsResult
from serai.ahp.types import MessageAttachment
from serai.cli.console.output import clean
from serai.cli.console.terminal import Offer
from serai.client import Client, SessionClient
from serai.completions.completion import index_of, units
from serai.errors import SeraiError

_PATIENCE = 2.0
"""How long the host has to answer, in seconds."""


class ChatCompletions:
    """Completes messages to a session, and remembers what is to be attached to them.

    Args:
        client: Whose host is asked.
        session: To whom the message goes.
        commands: The chat's own, with what they do. They come first.
    """

    def __init__(self, client: Client, session: SessionClient, commands: Mapping[str, str]) -> None:
        self._client = client
        self._session = session
        self._commands = commands
        self._offered: dict[str, MessageAttachment] = {}

    async def offers(self, text: str, place: int) -> list[Offer]:
        """What could stand at a place; of the host nothing where it does not answer. Cancelling is safe."""
        begun = text[:place]
        own = [Offer(name, 0, about) for name, about in self._commands.items() if name.startswith(begun)]
        found = own if begun.startswith("/") else []
        params = CompletionsParams(
            channel=self._session.uri,
            kind=CompletionItemKind.USER_MESSAGE.value,
            text=text,
            offset=units(begun),
        )
        with suppress(SeraiError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                result: CompletionsResult = await self._client.request("completions", params)
            for item in result.items:
                start = place if item.range_start is None else index_of(text, item.range_start)
                meta: dict[str, object] = getattr(item.attachment, "meta", None) or {}
                about = str(meta.get("serai.description", ""))
                if clean(item.insert_text) == item.insert_text not in self._commands:
                    self._offered[item.insert_text] = item.attachment
                    found.append(Offer(item.insert_text, start, clean(about)))
        return found

    async def has(self, command: str) -> bool:
        """Whether the host knows a command by just this name."""
        return any(offer.text == command for offer in await self.offers(command, len(command)))

    def attachments(self, text: str) -> list[MessageAttachment]:
        """What belongs to a message: what stands in it as it was offered."""
        return [
            attachment
            for name, attachment in self._offered.items()
            if re.search(rf"(?<!\S){re.escape(name)}(?=[.,;:!?)]*(\s|\Z))", text)
        ]
