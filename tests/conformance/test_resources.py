"""Files and other resources over the port."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from websockets.asyncio.client import connect as connect_socket

from conformance.client import Client, Refused
from conformance.conftest import Connect, new_session
from hosts import TOKEN, WITHIN, House
from serai.ahp.types import ROOT, ChangesetFile, ChangesetState
from serai.machine.files import FileRoot, Roots, find
from serai.machine.files.threads import locked_places

ASK = "session/inputRequested"


async def refused(client: Client, method: str, **params: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        await client.request(method, **params)
    return caught.value


def commit_all(folder: Path) -> None:
    """Make a repository of a folder, with all that is in it."""
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words]
        subprocess.run(git, cwd=folder, check=True)


async def test_a_file_of_a_session_is_written_read_listed_copied_moved_and_deleted(
    client: Client, folder: Path
) -> None:
    uri = f"{folder.as_uri()}/notes/one.txt"
    await client.request("resourceMkdir", uri=f"{folder.as_uri()}/notes")
    await client.request("resourceWrite", uri=uri, data="grüße", encoding="utf-8")
    read = await client.request("resourceRead", uri=uri)
    assert read == {"data": "grüße", "encoding": "utf-8", "contentType": "text/plain"}
    told = await client.request("resourceResolve", uri=uri)
    assert (told["type"], told["size"]) == ("file", 7)
    await client.request(
        "resourceWrite", uri=uri, data="!", encoding="utf-8", mode="append", ifMatch=told["etag"]
    )
    stale = await refused(client, "resourceWrite", uri=uri, data="?", encoding="utf-8", ifMatch=told["etag"])
    assert stale.code == -32011
    await client.request("resourceCopy", source=uri, destination=f"{folder.as_uri()}/two.txt")
    await client.request(
        "resourceMove", source=f"{folder.as_uri()}/two.txt", destination=f"{folder.as_uri()}/three.txt"
    )
    listed = await client.request("resourceList", uri=folder.as_uri())
    assert sorted((e["name"], e["type"]) for e in listed["entries"]) == [
        ("notes", "directory"),
        ("three.txt", "file"),
    ]
    assert (folder / "three.txt").read_text() == "grüße!"
    await client.request("resourceDelete", uri=f"{folder.as_uri()}/notes", recursive=True)
    assert not (folder / "notes").exists()


async def test_nothing_outside_is_read_or_written_and_the_error_says_what_to_ask_for(
    client: Client, folder: Path
) -> None:
    secret = folder.parent / "secret.txt"
    secret.write_text("hidden")
    (folder / "link").symlink_to(secret)
    for uri in (
        secret.as_uri(),
        f"{folder.as_uri()}/link",
        f"{folder.as_uri()}/..%2fsecret.txt",
        "file:///proc/self/environ",
    ):
        error = await refused(client, "resourceRead", uri=uri)
        assert error.code == -32009
        assert "hidden" not in json.dumps(error.data)
    error = await refused(client, "resourceWrite", uri=secret.as_uri(), data="x", encoding="utf-8")
    assert error.code == -32009
    assert error.data["request"]["uri"] == secret.as_uri()
    assert error.data["request"]["write"] is True
    assert secret.read_text() == "hidden"


async def test_content_that_was_replaced_says_what_kind_it_is_however_it_is_asked_for(
    client: Client, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    kinds = {
        "Makefile": "text/plain",
        "a b.py": "text/x-python",
        "v1.2/nameless": "text/plain",
        "binary": "application/octet-stream",
    }
    for name, kind in kinds.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"\0\1" if kind == "application/octet-stream" else b"1\n")
    commit_all(folder)
    for name in kinds:
        (folder / name).write_bytes(b"something else\n")
    await new_session(client, workingDirectory=folder.as_uri())
    changeset = "ahp-changeset:/one/uncommitted"
    await client.subscribe(changeset)

    def shown() -> list[ChangesetFile]:
        state = client.state.confirmed(changeset)
        return state.files if isinstance(state, ChangesetState) else []

    await client.until(lambda: len(shown()) == len(kinds))
    before = {unquote(file.id): file.edit.before for file in shown()}
    for asked in ({}, {"encoding": "utf-8"}, {"encoding": "base64"}):
        for name, kind in kinds.items():
            content = before[name]
            assert content is not None
            assert content.content.uri.startswith("serai-change:")
            read = await client.request("resourceRead", uri=content.content.uri, **asked)
            assert read["contentType"] == kind


async def test_additional_folders_of_a_session_are_for_reading(client: Client, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.txt").write_text("more")
    more = {"additionalDirectories": [(tmp_path / "more").as_uri()]}
    (tmp_path / "work").mkdir()
    await new_session(client, workingDirectory=(tmp_path / "work").as_uri(), config=more)
    uri = f"{(tmp_path / 'more').as_uri()}/a.txt"
    assert (await client.request("resourceRead", uri=uri))["data"] == "more"
    write = {"uri": uri, "data": "x", "encoding": "utf-8"}
    assert (await refused(client, "resourceWrite", **write)).code == -32009


async def test_folders_are_no_longer_served_when_their_last_session_is_gone(
    client: Client, folder: Path
) -> None:
    (folder / "one.txt").write_text("1")
    await client.request("resourceRead", uri=f"{folder.as_uri()}/one.txt")
    await client.request("disposeSession", "ahp-session:/one")
    assert (await refused(client, "resourceRead", uri=f"{folder.as_uri()}/one.txt")).code == -32009


async def test_a_long_file_comes_whole_while_other_requests_are_answered(
    house: House, client: Client, folder: Path
) -> None:
    data = bytes(range(256)) * 40_000
    (folder / "long.bin").write_bytes(data)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        connect_socket(house.url, additional_headers=headers, max_size=None) as socket,
        asyncio.timeout(WITHIN),
    ):
        hello = {"channel": ROOT, "protocolVersions": ["0.2.0"], "clientId": "reader"}
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}))
        await socket.recv()
        read = {"channel": ROOT, "uri": f"{folder.as_uri()}/long.bin"}
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "resourceRead", "params": read}))
        await socket.send(
            json.dumps({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"channel": ROOT}})
        )
        answers = [json.loads(await socket.recv()) for _ in range(2)]
        await client.ping()
    by_id = {answer["id"]: answer["result"] for answer in answers}
    assert set(by_id) == {2, 3}
    assert by_id[2]["encoding"] == "base64"
    assert base64.b64decode(by_id[2]["data"]) == data


async def test_operations_that_take_long_keep_nobody_else_waiting(
    client: Client, connect: Connect, folder: Path
) -> None:
    (folder / "tree").mkdir()
    (folder / "tree" / "a.txt").write_text("a")
    (folder / "short.txt").write_text("short")
    other = await connect("other", ROOT)
    roots = Roots.of(FileRoot.of(folder, writable=True))
    uris = [f"{folder.as_uri()}/copy-{number}" for number in range(40)]
    with ExitStack() as held:
        for uri in uris:  # none of the copies can be finished
            held.enter_context(locked_places(held.enter_context(find(uri, roots, write=True))))
        source = f"{folder.as_uri()}/tree"
        copies = [await client.ask("resourceCopy", source=source, destination=uri) for uri in uris]
        read = await other.request("resourceRead", uri=f"{folder.as_uri()}/short.txt")
        assert read["data"] == "short"
        brief = {"source": f"{folder.as_uri()}/short.txt", "destination": f"{folder.as_uri()}/brief.txt"}
        assert await other.request("resourceCopy", **brief) == {}
        await new_session(other, "ahp-session:/two", workingDirectory=folder.as_uri())
        found = await other.request(
            "completions", "ahp-session:/two", kind="userMessage", text="@short", offset=6
        )
        assert found["items"]
        assert not any(copy.done() for copy in copies)
    async with asyncio.timeout(WITHIN):
        assert await asyncio.gather(*copies) == [{}] * len(uris)
    assert all((folder / f"copy-{number}" / "a.txt").exists() for number in range(40))


async def test_a_person_is_asked_and_what_they_allow_can_be_had(
    client: Client, connect: Connect, folder: Path
) -> None:
    other = folder.parent / "other"
    other.mkdir()
    (other / "plan.txt").write_text("the plan")
    guest = await connect("guest", ROOT)
    asking = asyncio.create_task(guest.request("resourceRequest", uri=other.as_uri()))
    envelope = await client.hear(ASK)
    request = envelope["action"]["request"]
    assert str(other) in request["questions"][0]["message"]
    answers = {"access": {"state": "submitted", "value": {"kind": "selected", "value": "quarter"}}}
    await client.dispatch(
        "ahp-session:/one", "inputCompleted", requestId=request["id"], response="accept", answers=answers
    )
    assert await asking == {}
    read = await guest.request("resourceRead", uri=f"{other.as_uri()}/plan.txt")
    assert read["data"] == "the plan"
    assert (
        await refused(guest, "resourceWrite", uri=f"{other.as_uri()}/x", data="", encoding="utf-8")
    ).code == -32009
    assert (await refused(client, "resourceRead", uri=f"{other.as_uri()}/plan.txt")).code == -32009


async def test_a_client_cannot_answer_its_own_question(
    client: Client, connect: Connect, folder: Path
) -> None:
    guest = await connect("guest", ROOT, "ahp-session:/one")
    asking = asyncio.create_task(guest.request("resourceRequest", uri=folder.parent.as_uri()))
    request = (await guest.hear(ASK))["action"]["request"]
    answers = {"access": {"state": "submitted", "value": {"kind": "selected", "value": "day"}}}
    answer = {"requestId": request["id"], "response": "accept", "answers": answers}
    seq = await guest.dispatch("ahp-session:/one", "inputCompleted", **answer)
    rejection = await guest.hear("inputCompleted")
    assert (rejection["origin"]["clientSeq"], rejection["rejectionReason"][:12]) == (seq, "own_question")
    assert not asking.done()
    await client.dispatch("ahp-session:/one", "inputCompleted", **answer)
    assert await asking == {}


@pytest.mark.parametrize("response", ["decline", "cancel"])
async def test_a_person_who_says_no_is_obeyed(client: Client, folder: Path, response: str) -> None:
    asking = asyncio.create_task(refused(client, "resourceRequest", uri=folder.parent.as_uri(), write=True))
    request = (await client.hear(ASK))["action"]["request"]
    await client.dispatch("ahp-session:/one", "inputCompleted", requestId=request["id"], response=response)
    assert (await asking).code == -32009


async def test_a_question_ends_with_who_asked(client: Client, connect: Connect, folder: Path) -> None:
    guest = await connect("guest", ROOT)
    asking = asyncio.create_task(guest.request("resourceRequest", uri=folder.parent.as_uri()))
    await client.hear(ASK)
    asking.cancel()
    guest.drop()
    await client.hear("inputCompleted", response="cancel")


@pytest.mark.parametrize("uri", ["virtual://x", "http://example.com/", "", "relative"])
async def test_what_is_no_file_cannot_be_asked_for(client: Client, folder: Path, uri: str) -> None:
    del folder
    assert (await refused(client, "resourceRequest", uri=uri)).code == -32009


@pytest.mark.parametrize("uri", ["file:///proc/self/environ", "file:///proc", "file:///dev/zero"])
async def test_what_no_grant_would_help_with_is_not_asked_for(client: Client, folder: Path, uri: str) -> None:
    (folder / "link").symlink_to(uri.removeprefix("file://"))
    for named in (uri, f"{folder.as_uri()}/link"):
        error = await refused(client, "resourceRequest", uri=named)
        assert (error.code, error.data) == (-32009, None), "there is nothing to ask for"
    assert not client.session("ahp-session:/one").input_requests


@pytest.mark.parametrize("uri", ["FILE:///etc/passwd", "/etc/passwd", "etc/passwd"])
async def test_other_spellings_of_a_file_are_refused_as_such(client: Client, uri: str) -> None:
    assert (await refused(client, "resourceRead", uri=uri)).code == -32009


async def test_the_host_keeps_its_own_files_to_itself(house: House, client: Client) -> None:
    home = house.host.home
    home.mkdir(parents=True, exist_ok=True)
    (home / "token").write_text("a secret of the host")
    above = home.parent
    await new_session(client, workingDirectory=above.as_uri())
    inside = {"uri": f"{home.as_uri()}/token"}
    assert (await refused(client, "resourceRead", **inside)).code == -32009
    assert (await refused(client, "resourceList", uri=home.as_uri())).code == -32009
    write = {**inside, "data": "x", "encoding": "utf-8"}
    assert (await refused(client, "resourceWrite", **write)).code == -32009
    copy = {"source": above.as_uri(), "destination": f"{above.as_uri()}-copy"}
    assert (await refused(client, "resourceCopy", **copy)).code == -32009
    assert (await refused(client, "resourceDelete", uri=home.as_uri(), recursive=True)).code == -32009
    assert (home / "token").read_text() == "a secret of the host"
    for uri in (home.as_uri(), f"{home.as_uri()}/token"):
        error = await refused(client, "resourceRequest", uri=uri)
        assert error.code == -32009
        assert "it belongs to the host itself" in error.message


async def test_with_nobody_there_to_ask_the_answer_is_no(client: Client, tmp_path: Path) -> None:
    assert (await refused(client, "resourceRequest", uri=tmp_path.as_uri())).code == -32009


async def test_what_may_be_had_already_needs_no_question(client: Client, folder: Path) -> None:
    assert await client.request("resourceRequest", uri=f"{folder.as_uri()}/sub", read=True, write=True) == {}
