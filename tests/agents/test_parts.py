"""What a prompt is made of."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from serai.agents.ask.prompt import Command, audio, blocks_of, embedded, image, link
from serai.errors import PromptInvalid


def test_files_become_parts(tmp_path: Path) -> None:
    picture = tmp_path / "a b.jpeg"
    picture.write_bytes(b"\xff\xd8")
    assert image(picture) == {
        "type": "image",
        "data": base64.b64encode(b"\xff\xd8").decode(),
        "mimeType": "image/jpeg",
    }
    assert image(b"x")["mimeType"] == "image/png"
    assert audio(b"x", "audio/mpeg")["mimeType"] == "audio/mpeg"
    notes = tmp_path / "notes.txt"
    notes.write_text("héllo")
    assert embedded(notes)["resource"] == {"uri": notes.as_uri(), "text": "héllo"}
    assert link(notes) == {"type": "resource_link", "uri": notes.as_uri(), "name": "notes.txt"}
    assert link("https://example.com/", "Example")["name"] == "Example"


def test_texts_and_commands_become_blocks() -> None:
    assert blocks_of("hi", agent="a") == [{"type": "text", "text": "hi"}]
    blocks = blocks_of(
        [Command("review", "now"), "please", link("file:///x")], agent="a", commands=["review"]
    )
    assert [block.get("text") for block in blocks] == ["/review now", "please", None]


@pytest.mark.parametrize("prompt", ["", [], [""]])
def test_an_empty_prompt_is_refused(prompt: str | list[str]) -> None:
    with pytest.raises(PromptInvalid):
        blocks_of(prompt, agent="a")


def test_a_system_prompt_does_not_hide_a_command() -> None:
    assert blocks_of("hi", agent="a", system_prompt="Be brief.")[0]["text"] == "Be brief.\n\nhi"
    command, told = blocks_of(Command("review"), agent="a", system_prompt="Be brief.")
    assert (command["text"], told["text"]) == ("/review", "Be brief.")
    assert [block["type"] for block in blocks_of([link("file:///x")], agent="a", system_prompt="x")] == [
        "resource_link",
        "text",
    ]
