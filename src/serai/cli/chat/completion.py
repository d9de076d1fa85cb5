"""Completions in a chat: its own commands, and the files, prompts and names that the host knows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress

from serai.ahp.commands import CompletionItemKind, CompletionsParams, CompletionsResult
from serai.ahp.types import MessageAttachment
from serai.cli.console.output import clean
from serai.cli.console.terminal import Suggestion
from serai.client import Client, SessionClient
from serai.completions.completion import index_of, units
from serai.errors import SeraiError

_PATIENCE = 2.0
"""Seconds that the host has to answer."""


class ChatCompletions:
    """Completes messages to a session, and remembers their attachments.

    Args:
        client: The connection to the host.
        session: The session that the message is for.
        commands: The chat's own commands with their descriptions. They come first.
    """

    def __init__(self, client: Client, session: SessionClient, commands: Mapping[str, str]) -> None:
        self._client = client
        self._session = session
        self._commands = commands
        self._offered: dict[str, MessageAttachment] = {}

    async def suggest(self, text: str, place: int) -> list[Suggestion]:
        """Return completions for a position. Those of the host are left out when it does not answer."""
        begun = text[:place]
        own = [Suggestion(name, 0, about) for name, about in self._commands.items() if name.startswith(begun)]
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
                    found.append(Suggestion(item.insert_text, start, clean(about)))
        return found

    async def has(self, command: str) -> bool:
        """Tell whether the host knows a command of exactly this name."""
        return any(found.text == command for found in await self.suggest(command, len(command)))

    def attachments(self, text: str) -> list[MessageAttachment]:
        """Return the attachments of the completions that a message contains."""
        return [
            attachment
            for name, attachment in self._offered.items()
            if re.search(rf"(?<!\S){re.escape(name)}(?=[.,;:!?)]*(\s|\Z))", text)
        ]
