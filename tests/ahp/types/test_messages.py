"""What a person attaches to a message, and what a client lends, come through untouched."""

from __future__ import annotations

import pytest

from ahp.strategies import Json, action as read_action
from requirements import proves
from serai.ahp.reducers import fold
from serai.ahp.types import (
    SessionActiveClient,
    SessionState,
    SimpleMessageAttachment,
    UserMessage,
)
from serai.ahp.wire import convert, decode, encode, to_json
from serai.errors import Mismatch

SESSION: Json = {
    "summary": {
        "resource": "ahp-session:/s",
        "provider": "p",
        "title": "t",
        "status": 1,
        "createdAt": 1,
        "modifiedAt": 1,
    },
    "lifecycle": "ready",
    "turns": [],
}
META: Json = {"source": "completions", "deep": {"null": None, "list": [1, 1.0, None]}, "": False}


def span(start: int, end: int) -> Json:
    return {"start": {"line": 0, "character": start}, "end": {"line": 0, "character": end}}


ATTACHMENTS: list[Json] = [
    {"type": "simple", "label": "a.txt", "modelRepresentation": "the file a.txt"},
    {"type": "embeddedResource", "label": "a.png", "data": "AAAA", "contentType": "image/png"},
    {
        "type": "resource",
        "label": "a.txt",
        "uri": "file:///a.txt",
        "sizeHint": 9,
        "selection": {"range": span(1, 2)},
    },
    {"type": "hologram", "label": "later"},
]
every_attachment = pytest.mark.parametrize("attachment", ATTACHMENTS, ids=lambda each: each["type"])


@proves("ahp:UserMessage/attachment-may-point-into-text", "ahp:MessageAttachmentBase/range-counts-text")
def test_a_range_marks_the_span_of_the_text_that_stands_for_the_attachment() -> None:
    text = "größer 🙂 @a.txt bitte"  # more bytes than characters
    begin = text.index("@a.txt")
    plain = {"text": text, "attachments": [{**ATTACHMENTS[0], "range": span(begin, begin + 6)}]}
    message = decode(encode(convert(plain, UserMessage)), UserMessage)
    assert message.attachments is not None
    attachment = message.attachments[0]
    assert isinstance(attachment, SimpleMessageAttachment)
    assert attachment.range is not None
    assert message.text[attachment.range.start.character : attachment.range.end.character] == "@a.txt"


@proves("ahp:UserMessage/attachment-without-range")
@every_attachment
def test_an_attachment_without_a_range_belongs_to_the_message(attachment: Json) -> None:
    plain = {"text": "look", "attachments": [attachment]}
    message = convert(plain, UserMessage)
    assert message.attachments is not None
    assert len(message.attachments) == 1
    assert to_json(message) == plain


@proves("ahp:MessageAttachmentBase/unknown-display-kind-kept")
@pytest.mark.parametrize("kind", ["image", "hologram", ""])
@every_attachment
def test_a_display_kind_is_kept_whatever_it_is(attachment: Json, kind: str) -> None:
    plain = {"text": "look", "attachments": [{**attachment, "displayKind": kind}]}
    assert to_json(decode(encode(convert(plain, UserMessage)), UserMessage)) == plain


@proves("ahp:MessageAttachmentBase/meta-round-trips")
@every_attachment
def test_meta_of_an_attachment_survives_reading_reducing_and_writing(attachment: Json) -> None:
    message = {"text": "look", "attachments": [{**attachment, "_meta": META}]}
    steps: list[Json] = [
        {"type": "session/pendingMessageSet", "kind": "queued", "id": "q", "userMessage": message},
        {"type": "session/pendingMessageSet", "kind": "steering", "id": "s", "userMessage": message},
        {"type": "session/turnStarted", "turnId": "t1", "userMessage": message},
        {"type": "session/turnComplete", "turnId": "t1"},
        {"type": "session/turnStarted", "turnId": "t2", "userMessage": message},
    ]
    state = fold(convert(SESSION, SessionState), [read_action(step) for step in steps], 5)
    written = to_json(decode(encode(state), SessionState))
    assert written["queuedMessages"][0]["userMessage"] == message
    assert written["steeringMessage"]["userMessage"] == message
    assert written["turns"][0]["userMessage"] == message
    assert written["activeTurn"]["userMessage"] == message


PLUGIN: Json = {"type": "plugin", "id": "p", "uri": "virtual://p", "name": "p", "enabled": True, "nonce": "1"}


@proves("ahp:SessionActiveClient/client-plugins-are-containers")
def test_a_client_publishes_plugins_and_never_a_lone_child() -> None:
    client = {"clientId": "c", "tools": [], "customizations": [PLUGIN]}
    assert to_json(convert(client, SessionActiveClient)) == client
    for kind in ("agent", "skill", "prompt", "rule", "hook", "mcpServer", "directory"):
        with pytest.raises(Mismatch) as caught:
            convert({**client, "customizations": [{**PLUGIN, "type": kind}]}, SessionActiveClient)
        assert caught.value.field.endswith(".type")
