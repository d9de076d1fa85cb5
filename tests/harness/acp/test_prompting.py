"""What a person said, and attached, as an agent gets it."""

from __future__ import annotations

import base64
import json
from typing import Any

from conformance.client import Client
from harness.acp.conftest import Inn, notices, said, say
from serai.ahp import wire
from serai.ahp.types import UserMessage
from serai.harness.acp.content import blocks_of

PICTURE = base64.b64encode(b"png").decode()
NOTES = base64.b64encode(b"some notes").decode()

ATTACHMENTS: list[dict[str, Any]] = [
    {"type": "simple", "label": "selection", "modelRepresentation": "the words"},
    {"type": "embeddedResource", "label": "p.png", "data": PICTURE, "contentType": "image/png"},
    {"type": "embeddedResource", "label": "s.wav", "data": PICTURE, "contentType": "audio/wav"},
    {"type": "embeddedResource", "label": "n.md", "data": NOTES, "contentType": "text/markdown"},
    {
        "type": "resource",
        "label": "main.py",
        "uri": "file:///w/main.py",
        "contentType": "text/x-python",
        "sizeHint": 12,
        "selection": {"range": {"start": {"line": 2, "character": 0}, "end": {"line": 4, "character": 1}}},
    },
]
TEXT = {"type": "text", "text": "selection:\nthe words"}
LINK = {
    "type": "resource_link",
    "uri": "file:///w/main.py",
    "name": "main.py",
    "mimeType": "text/x-python",
    "size": 12,
    "description": "Lines 3 to 5 are selected",
}


async def test_attachments_of_all_kinds_are_content_blocks(inn: Inn, client: Client) -> None:
    can = {"promptCapabilities": {"image": True, "audio": True, "embeddedContext": True}}
    turn = await say(client, await inn.begun(client, capabilities=can), "blocks", attachments=ATTACHMENTS)
    assert notices(turn) == []
    assert json.loads(said(turn)) == [
        TEXT,
        {"type": "image", "data": PICTURE, "mimeType": "image/png"},
        {"type": "audio", "data": PICTURE, "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {
                "uri": "attachment:///n.md",
                "mimeType": "text/markdown",
                "text": "some notes",
            },
        },
        LINK,
    ]


async def test_what_the_agent_cannot_take_is_left_out_and_named(inn: Inn, client: Client) -> None:
    turn = await say(client, await inn.begun(client), "blocks", attachments=ATTACHMENTS)
    assert json.loads(said(turn)) == [TEXT, LINK]
    assert notices(turn) == [
        'Agent "quick" does not take these parts of a prompt — dropped: image, audio, resource.'
    ]


async def test_a_message_of_which_nothing_is_left_fails(inn: Inn, client: Client) -> None:
    turn = await say(client, await inn.begun(client), "", attachments=ATTACHMENTS[1:2])
    assert (turn.state, turn.error.error_type) == ("error", "invalid_prompt_content")


def message(**fields: Any) -> UserMessage:
    return wire.convert({"text": "hi", **fields}, UserMessage)


def test_a_command_of_the_agents_own_is_told_once() -> None:
    command = {"type": "simple", "label": "review", "_meta": {"serai.kind": "command"}}
    assert blocks_of(message(text="/review", attachments=[command])) == (
        [{"type": "text", "text": "/review"}],
        [],
    )
