from __future__ import annotations

import json
from typing import Any

import pytest

from contract.shapes import MESSAGE, NOON, Shape, shape_tests
from serai import contract as c
from serai.contract import decode, encode
from serai.errors import Mismatch

TARGETS: list[dict[str, Any]] = [
    {"kind": "agent", "agentName": "reviewer", "agentId": "a-1"},
    {"kind": "channel", "channelName": "reviews", "channelId": "r-1"},
    {"kind": "dm", "conversationId": "c-1"},
    {"kind": "group_dm", "conversationId": "c-2"},
]
ATTACHMENTS: list[dict[str, Any]] = [
    {"type": "text", "label": "notes", "text": "..."},
    {"type": "image", "mimeType": "image/png", "url": "https://example.org/a.png"},
    {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
    {"type": "link", "url": "https://example.org"},
    {"type": "file", "path": "src/a.py", "line": 12},
    {"type": "json", "value": {"severity": ["high", 1, None]}},
    {"type": "diff", "diff": "--- a\n+++ b\n", "path": "src/a.py"},
    {"type": "artifact", "id": "x-1", "url": "https://example.org/x", "mimeType": "text/html"},
]
SHAPES = [
    Shape(
        "",
        c.RelayMessage,
        MESSAGE,
        {
            "channel": {"id": "r-1", "name": "reviews"},
            "conversationId": "c-1",
            "threadId": "t-1",
            "parentId": "m-0",
            "mentions": ["@reviewer"],
            "attachments": ATTACHMENTS,
            "reactions": [{"emoji": "eyes", "count": 2, "agents": ["lead", "reviewer"]}],
            "mode": "next-tool-call",
            "metadata": {"ticket": 7},
            "updatedAt": NOON,
            "replyCount": 0,
            "readByCount": 1,
        },
    )
]


test_it_is_written_exactly_as_it_was_read, test_each_field_is_needed_or_may_be_left_out = shape_tests(SHAPES)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target["kind"])
def test_a_target_is_told_by_its_kind(target: dict[str, Any]) -> None:
    assert json.loads(encode(decode(json.dumps(target), c.MessageTarget))) == target


@pytest.mark.parametrize("attachment", ATTACHMENTS, ids=lambda attachment: attachment["type"])
def test_an_attachment_is_told_by_its_type(attachment: dict[str, Any]) -> None:
    found = decode(json.dumps(attachment), c.Attachment)
    assert json.loads(encode(found)) == attachment


def test_an_image_has_either_a_url_or_data() -> None:
    with pytest.raises(ValueError, match="either"):
        c.ImageAttachment(mime_type="image/png")
    with pytest.raises(Mismatch):
        decode('{"type":"image","mimeType":"image/png","url":"u","data":"d"}', c.Attachment)
