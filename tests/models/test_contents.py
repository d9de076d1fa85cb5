"""What people put into prompts, as parts of a prompt for an agent."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai import BinaryContent, CachePoint, DocumentUrl, ImageUrl, TextContent
from pydantic_ai.messages import ModelRequest, UserPromptPart

from serai.models.history import downloaded, parts_of


def test_texts_are_texts_and_marks_are_nothing() -> None:
    assert parts_of("a", {}) == ["a"]
    assert parts_of(["a", TextContent("b"), CachePoint()], {}) == ["a", "b"]


def test_a_text_that_is_not_quite_one_is_still_readable() -> None:
    [part] = parts_of([BinaryContent(b"caf\xe9", media_type="text/plain", identifier="x")], {})
    assert part == {
        "type": "resource",
        "resource": {"uri": "attachment:///x", "mimeType": "text/plain", "text": "caf\ufffd"},
    }


async def test_a_file_that_is_to_be_downloaded_is() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\npng")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        wanted = ImageUrl(f"http://127.0.0.1:{port}/a.png", force_download="allow-local")
        linked = DocumentUrl("https://a.example/b.pdf")
        content = [wanted, linked]
        files = await downloaded([ModelRequest([UserPromptPart(content), UserPromptPart("a")])])
    assert parts_of(content, files) == [
        {"type": "image", "data": "cG5n", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "https://a.example/b.pdf", "name": "b.pdf"},
    ]


async def test_what_is_near_is_not_downloaded_by_itself() -> None:
    near = ImageUrl("http://127.0.0.1:9/a.png", force_download=True)
    with pytest.raises(ValueError, match="private"):
        await downloaded([ModelRequest([UserPromptPart([near])])])
