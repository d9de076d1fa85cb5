"""Completions over the port: what is proposed can be sent, and no answer is late."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client
from conformance.conftest import Connect, over, say
from hosts import House
from requirements import proves
from serai.completions.names import Prompt
from serai.host.surroundings import completions

ONE = "ahp-session:/one"


async def proposed(client: Client, text: str) -> list[dict[str, Any]]:
    """What is proposed at the end of a text."""
    asked = {"kind": "userMessage", "text": text, "offset": len(text)}
    return (await client.request("completions", ONE, **asked))["items"]


@proves("ahp:MessageResourceAttachment/fetched-on-demand", "ahp:completions/for-what-is-being-typed")
async def test_a_proposed_file_is_attached_by_its_uri_and_read_by_who_wants_it(
    client: Client, connect: Connect, folder: Path
) -> None:
    (folder / "notes.md").write_text("the content\n")
    [item] = await proposed(client, "look at @note")
    await say(client, ONE, "look at @notes.md", attachments=[item["attachment"]])
    await over(client, ONE)
    assert not any("the content" in frame for frame in client.frames), "the content is not sent along"
    other = await connect("other", ONE)
    [attachment] = other.session(ONE).turns[0].user_message.attachments or []
    content = await other.request("resourceRead", uri=getattr(attachment, "uri", ""))
    assert content["data"] == "the content\n"


@proves("ahp:SimpleMessageAttachment/completion-may-omit")
async def test_what_the_host_proposed_itself_needs_no_words_for_the_model(
    house: House, client: Client, session: str
) -> None:
    hosted = house.host.sessions.get(session)
    assert hosted is not None
    hosted.seat.commands = [Prompt("review", "Looks at changes", kind="command")]  # as a harness does
    [item] = await proposed(client, "/rev")
    attachment = dict(item["attachment"])
    assert attachment["type"] == "simple"
    attachment.pop("modelRepresentation", None)
    await client.dispatch(
        session, "turnStarted", turnId="t1", userMessage={"text": "/review", "attachments": [attachment]}
    )
    assert "rejectionReason" not in await client.hear("turnStarted")
    turn = await over(client, session)
    assert turn.state == "complete"
    assert turn.user_message.attachments[0].model_representation is None


SLOW = """#!/bin/sh
touch {folder}/asked
while [ ! -e {folder}/go ]; do sleep 0.01; done
exit 1
"""


@proves("ahp:completions/best-effort")
async def test_where_looking_takes_long_nothing_is_offered_now_and_more_the_next_time(
    client: Client, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "notes.md").write_text("")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "git").write_text(SLOW.format(folder=tools))
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    monkeypatch.setattr(completions, "_PATIENCE", 0.05)
    try:
        assert await proposed(client, "@note") == []
        async with asyncio.timeout(client.within):  # so it was looked for
            while not (tools / "asked").exists():
                await client.ping()
        assert await proposed(client, "no trigger") == []
    finally:
        (tools / "go").touch()
    async with asyncio.timeout(client.within):
        while not (items := await proposed(client, "@note")):
            await client.ping()
    assert items[0]["insertText"] == "@notes.md"
