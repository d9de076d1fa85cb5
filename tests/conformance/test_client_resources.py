"""Over the port: resources that are not the host's but a client's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, Refused
from conformance.conftest import ONE, ROOT, Connect, new_session, over, say

SHELF = "virtual://editor/tools"
NOTE = "untitled:/note-1"


def serve(method: str, params: dict[str, Any]) -> Any:
    """Do whatever is asked, as a client that trusts its host."""
    match method:
        case "resourceRead":
            return {"data": f"{params['uri']} of the editor", "encoding": "utf-8"}
        case "resourceList":
            return {"entries": [{"name": "skills", "type": "directory"}]}
        case "resourceResolve":
            return {"uri": params["uri"], "type": "file"}
        case _:
            return {}


@pytest.fixture
async def editor(client: Client) -> Client:
    """The active client of a session. It publishes one plugin."""
    client.answers = serve
    plugin = {"type": "plugin", "id": "tools", "uri": SHELF, "name": "Tools", "enabled": True, "nonce": "1"}
    active = {"clientId": client.id, "tools": [], "customizations": [plugin]}
    await new_session(client, activeClient=active)
    await client.until(lambda: len(client.asked) > 0)
    return client


@pytest.fixture
async def guest(connect: Connect) -> Client:
    return await connect("guest", ROOT)


def asked(editor: Client, uri: str) -> list[str]:
    """What the editor was asked to do with a resource."""
    return [
        method
        for method, params in editor.asked
        if uri in (params.get("uri"), params.get("source"), params.get("destination"))
    ]


async def test_what_a_client_publishes_is_asked_of_that_client(editor: Client, guest: Client) -> None:
    uri = f"{SHELF}/skills/own.png"
    assert (await guest.request("resourceRead", uri=uri))["data"] == f"{uri} of the editor"
    assert (await guest.request("resourceList", uri=SHELF))["entries"] == [
        {"name": "skills", "type": "directory"}
    ]
    assert (await guest.request("resourceResolve", uri=uri))["type"] == "file"
    await guest.request("resourceWrite", uri=uri, data="new", encoding="utf-8")
    await guest.request("resourceMove", source=uri, destination=f"{SHELF}/other.png")
    assert asked(editor, uri) == ["resourceRead", "resourceResolve", "resourceWrite", "resourceMove"]


@pytest.mark.parametrize(
    "uri",
    [
        "virtual://editor/secrets",
        "virtual://editor/tools-and-more",
        f"{SHELF}/../secrets",
        f"{SHELF}/%2E%2e/secrets",
        f"{SHELF}/a%2f..%2f..%2fsecrets",
        f"{SHELF}/..\\secrets",
        "vscode-local:/home/a/.ssh/id_rsa",
        "https://example.org/",
        "ahp-session:/one",
        "serai-change:/one/x/y",
    ],
)
async def test_what_no_client_publishes_is_asked_of_nobody(editor: Client, guest: Client, uri: str) -> None:
    there = f"{SHELF}/there"
    for method, params in (
        ("resourceRead", {"uri": uri}),
        ("resourceList", {"uri": uri}),
        ("resourceWrite", {"uri": uri, "data": "x", "encoding": "utf-8"}),
        ("resourceDelete", {"uri": uri, "recursive": True}),
        ("resourceMkdir", {"uri": uri}),
        ("resourceCopy", {"source": uri, "destination": there}),
        ("resourceMove", {"source": there, "destination": uri}),
    ):
        with pytest.raises(Refused) as refused:
            await guest.request(method, **params)
        assert refused.value.code == -32008, method
    assert asked(editor, uri) == asked(editor, there) == []


async def test_nothing_goes_from_a_client_to_a_file_or_back(
    editor: Client, guest: Client, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    await new_session(guest, "ahp-session:/two", workingDirectory=tmp_path.as_uri())
    inside, theirs = f"{tmp_path.as_uri()}/mine.txt", f"{SHELF}/theirs.txt"
    for method in ("resourceCopy", "resourceMove"):
        for source, destination in (
            (theirs, f"{tmp_path.as_uri()}/new.txt"),
            (theirs, "file:///home/ada/.bashrc"),
            (inside, theirs),
        ):
            with pytest.raises(Refused) as refused:
                await guest.request(method, source=source, destination=destination)
            assert refused.value.code == -32009
    assert asked(editor, theirs) == []
    entries = (await guest.request("resourceList", uri=tmp_path.as_uri()))["entries"]
    assert [entry["name"] for entry in entries if entry["name"].endswith(".txt")] == ["mine.txt"]


async def test_what_is_attached_to_a_message_can_be_read_and_nothing_else(
    editor: Client, guest: Client
) -> None:
    note = {"type": "resource", "uri": NOTE, "label": "A note"}
    secret = {"type": "resource", "uri": "ahp-session:/one", "label": "No note"}
    await say(editor, ONE, "hello", attachments=[note, secret])
    await over(editor, ONE)
    assert (await guest.request("resourceRead", uri=NOTE))["data"] == f"{NOTE} of the editor"
    write = {"uri": NOTE, "data": "x", "encoding": "utf-8"}
    for method, params in (
        ("resourceWrite", write),
        ("resourceDelete", {"uri": NOTE}),
        ("resourceRead", {"uri": f"{NOTE}/more"}),
        ("resourceRead", {"uri": "ahp-session:/one"}),
    ):
        with pytest.raises(Refused) as refused:
            await guest.request(method, **params)
        assert refused.value.code == -32008, method
    assert asked(editor, NOTE) == ["resourceRead"]


async def test_what_someone_else_attaches_is_not_asked_of_the_client(editor: Client, guest: Client) -> None:
    """Else whoever names a file of the client's machine would be given it."""
    await guest.subscribe(ONE)
    key = {"type": "resource", "uri": "vscode-local:/home/a/.ssh/id_rsa", "label": "A key"}
    queued = {"text": "later", "attachments": [key]}
    await guest.dispatch(ONE, "pendingMessageSet", kind="steering", id="s", userMessage=queued)
    await guest.hear("pendingMessageSet", id="s")
    await say(guest, ONE, "hello", attachments=[key])
    await over(guest, ONE)
    with pytest.raises(Refused) as refused:
        await guest.request("resourceRead", uri=key["uri"])
    assert refused.value.code == -32008
    assert asked(editor, key["uri"]) == []


async def test_what_a_client_attaches_to_a_message_that_waits_can_be_read(
    editor: Client, guest: Client
) -> None:
    note = {"text": "later", "attachments": [{"type": "resource", "uri": NOTE, "label": "A note"}]}
    await editor.dispatch(ONE, "pendingMessageSet", kind="queued", id="q", userMessage=note)
    await editor.hear("pendingMessageSet", id="q")
    assert (await guest.request("resourceRead", uri=NOTE))["data"] == f"{NOTE} of the editor"


async def test_a_client_that_is_active_no_longer_is_not_asked(editor: Client, guest: Client) -> None:
    await editor.dispatch(ONE, "activeClientChanged", activeClient=None)
    await editor.hear("activeClientChanged", activeClient=None)
    with pytest.raises(Refused) as refused:
        await guest.request("resourceRead", uri=f"{SHELF}/skills/own.png")
    assert refused.value.code == -32008
