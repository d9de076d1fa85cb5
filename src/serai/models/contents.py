"""What people put into prompts of pydantic-ai, as parts of a prompt for an agent."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    FileUrl,
    ModelMessage,
    ModelRequest,
    TextContent,
    UploadedFile,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import download_item

from serai.agents.ask.prompt import Part, audio, image, link

__all__ = ["UPLOADED", "downloaded", "parts_of"]

UPLOADED = "uploaded_file"
"""The type of a block that stands for a file which another provider keeps. No agent can have it."""

_TEXTS = frozenset({"application/json", "application/xml", "application/yaml", "application/toml"})


async def downloaded(messages: Sequence[ModelMessage]) -> dict[str, BinaryContent]:
    """The files that are to be downloaded (`force_download`), by their addresses.

    Raises:
        ValueError: An address must not be asked.
    """
    found: dict[str, BinaryContent] = {}
    for message in messages:
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
                continue
            for item in part.content:
                if isinstance(item, FileUrl) and item.force_download and item.url not in found:
                    loaded = await download_item(item, "bytes")
                    found[item.url] = BinaryContent(loaded["data"], media_type=loaded["data_type"])
    return found


def parts_of(content: str | Sequence[UserContent], files: dict[str, BinaryContent]) -> list[Part]:
    """The parts of a prompt. Marks for caches are left out.

    Args:
        content: What was said.
        files: Those that were downloaded, by their addresses.
    """
    if isinstance(content, str):
        return [content]
    return [part for item in content if (part := _part(item, files)) is not None]


def _part(item: UserContent, files: dict[str, BinaryContent]) -> Part | None:
    match item:
        case str():
            return item
        case TextContent():
            return item.content
        case BinaryContent():
            return _file(item)
        case FileUrl():
            if (loaded := files.get(item.url)) is not None:
                return _file(loaded)
            if item.url.startswith("data:"):
                return _file(BinaryContent.from_data_uri(item.url))
            return link(item.url)
        case UploadedFile():
            return {"type": UPLOADED}
        case CachePoint():
            return None


def _file(file: BinaryContent) -> Part:
    """A picture, a sound, or any other file with what is in it."""
    if file.is_image:
        return image(file.data, file.media_type)
    if file.is_audio:
        return audio(file.data, file.media_type)
    resource = {"uri": f"attachment:///{file.identifier}", "mimeType": file.media_type}
    if file.media_type.startswith("text/") or file.media_type in _TEXTS:
        resource["text"] = file.data.decode("utf-8", errors="replace")
    else:
        resource["blob"] = file.base64
    return {"type": "resource", "resource": resource}
