"""The parts of a prompt: text, commands, pictures, sounds, files and links."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from serai.acp.capabilities import AgentCapabilities
from serai.acp.prompt import fit_prompt, text_block
from serai.acp.updates import Block
from serai.errors import PromptInvalid

__all__ = ["Command", "Part", "Prompt", "audio", "embedded", "image", "link"]


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One of the agent's own commands, such as `/review`, and its input."""

    name: str
    """Without the slash."""
    input: str = ""

    def __str__(self) -> str:
        return f"/{self.name} {self.input}".rstrip()


Command = SlashCommand
"""The public name, in `serai.agents`."""


class Aside(str):
    """Text that accompanies a person's message, and is no prompt by itself."""

    __slots__ = ()


Part: TypeAlias = str | SlashCommand | Mapping[str, Any]
"""Text, a command, or a content block of ACP."""
Prompt: TypeAlias = str | SlashCommand | Sequence[Part]
"""A prompt: one part, or several."""


def image(data: bytes | Path, mime_type: str | None = None) -> Block:
    """Return a picture. Without `capabilities.prompt.image` it is left out with a warning."""
    return _media("image", data, mime_type, "image/png")


def audio(data: bytes | Path, mime_type: str | None = None) -> Block:
    """Return a sound. Without `capabilities.prompt.audio` it is left out with a warning."""
    return _media("audio", data, mime_type, "audio/wav")


def embedded(uri: str | Path, text: str | None = None) -> Block:
    """Return a text, by default that of the file, for agents with `capabilities.prompt.embedded_context`."""
    if text is None:
        text = Path(uri).read_text("utf-8")
    return {"type": "resource", "resource": {"uri": _uri(uri), "text": text}}


def link(uri: str | Path, name: str | None = None) -> Block:
    """Return a link to something that the agent may read by itself. Every agent takes it."""
    address = _uri(uri)
    return {"type": "resource_link", "uri": address, "name": name or address.rpartition("/")[2] or address}


def blocks_of(
    prompt: Prompt,
    *,
    agent: str,
    commands: Iterable[str] = (),
    system_prompt: str | None = None,
    capabilities: AgentCapabilities | None = None,
) -> list[Block]:
    """Return a prompt as content blocks, with the system prompt before the first text.

    If the agent can take no part of the person's message, nothing else is added.

    Raises:
        PromptInvalid: It is empty, or has a command that the agent does not have.
    """
    known = frozenset(commands)
    parts = [prompt] if isinstance(prompt, str | SlashCommand) else list(prompt)
    for part in parts:
        if isinstance(part, SlashCommand) and known and part.name not in known:
            raise PromptInvalid(
                f"the agent {agent!r} has no command /{part.name}",
                agent=agent,
                remedy=f"It has: {', '.join(sorted(known))}",
            )
    message = _blocks(part for part in parts if not isinstance(part, Aside))
    if not message:
        raise PromptInvalid("the prompt is empty", agent=agent)
    if capabilities is not None and not fit_prompt(message, capabilities)[0]:
        return message
    blocks = _blocks(parts)
    if system_prompt:
        first = next((block for block in blocks if block.get("type") == "text"), None)
        if first is not None and not str(first["text"]).startswith("/"):
            first["text"] = f"{system_prompt}\n\n{first['text']}"
        else:  # a command must stay where it is: at the very beginning of its text
            blocks.append(text_block(system_prompt))
    return blocks


def _blocks(parts: Iterable[Part]) -> list[Block]:
    blocks = [dict(part) if isinstance(part, Mapping) else text_block(str(part)) for part in parts]
    return [block for block in blocks if block.get("type") != "text" or block.get("text")]


def _media(kind: str, data: bytes | Path, mime_type: str | None, usual: str) -> Block:
    if isinstance(data, Path):
        mime_type = mime_type or mimetypes.guess_type(data.name)[0]
        data = data.read_bytes()
    return {"type": kind, "data": base64.b64encode(data).decode(), "mimeType": mime_type or usual}


def _uri(place: str | Path) -> str:
    return place if isinstance(place, str) else place.absolute().as_uri()
