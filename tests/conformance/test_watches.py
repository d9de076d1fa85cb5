"""Watches and completions over the port."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, Refused, connecting
from conformance.conftest import Connect, new_session
from hosts import WITHIN, House, housing
from requirements import proves
from serai.config.settings import Settings
from serai.machine.files import FileRoot


async def watch(client: Client, folder: Path, **params: Any) -> str:
    made = await client.request("createResourceWatch", uri=folder.as_uri(), **params)
    snapshot = await client.subscribe(made["channel"])
    assert snapshot["state"]["root"] == folder.as_uri()
    return made["channel"]


def changes(client: Client, channel: str) -> list[tuple[str, str]]:
    return [
        (change["uri"].rpartition("/")[2], change["type"])
        for envelope in client.envelopes
        if envelope["channel"] == channel
        for change in envelope["action"]["changes"]["items"]
    ]


async def test_what_changes_in_a_folder_is_told(client: Client, folder: Path) -> None:
    channel = await watch(client, folder, recursive=True, excludes={"items": ["**/*.tmp"]})
    (folder / "a.txt").write_text("1")
    (folder / "b.tmp").write_text("1")
    await client.until(lambda: ("a.txt", "added") in changes(client, channel))
    (folder / "a.txt").unlink()
    await client.until(lambda: ("a.txt", "deleted") in changes(client, channel))
    assert not any(name == "b.tmp" for name, _ in changes(client, channel))


async def test_a_watch_ends_with_its_last_follower(
    house: House, client: Client, connect: Connect, folder: Path
) -> None:
    channel = await watch(client, folder)
    other = await connect("other", channel)
    await client.notify("unsubscribe", channel=channel)
    (folder / "a.txt").write_text("1")
    await other.until(lambda: changes(other, channel))
    await other.notify("unsubscribe", channel=channel)
    async with asyncio.timeout(WITHIN):
        while house.host.channels.get(channel) is not None:
            await other.ping()
    with pytest.raises(Refused) as refused:
        await client.request("subscribe", channel)
    assert refused.value.code == -32008


async def test_who_loses_the_connection_comes_back_to_its_watch_and_to_what_has_changed(
    house: House, client: Client, folder: Path
) -> None:
    channel = await watch(client, folder)
    (folder / "a.txt").write_text("1")
    await client.until(lambda: ("a.txt", "added") in changes(client, channel))
    client.drop()
    await client.closed()
    async with asyncio.timeout(WITHIN):
        while house.host.clients.count():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
    (folder / "b.txt").write_text("1")
    async with connecting(house.url, client.state) as again:
        result = await again.reconnect()
        assert (result["type"], result["missing"]) == ("replay", [])
        await again.until(lambda: ("b.txt", "added") in changes(again, channel))
        (folder / "c.txt").write_text("1")
        await again.until(lambda: ("c.txt", "added") in changes(again, channel))


async def test_a_watch_ends_when_who_lost_the_connection_does_not_come_back(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    async with housing(settings=Settings(client_grace_seconds=0.05)) as house:
        async with connecting(house.url, "one") as client:
            await client.initialize()
            await new_session(client, workingDirectory=(tmp_path / "work").as_uri())
            channel = await watch(client, tmp_path / "work")
            client.drop()
        async with asyncio.timeout(WITHIN):
            while house.host.channels.get(channel) or len(house.host.watches):  # noqa: ASYNC110 - the same
                await asyncio.sleep(0)


@pytest.mark.parametrize(("name", "code"), [("nowhere", -32008), ("../outside", -32009)])
async def test_what_is_not_there_or_not_allowed_is_not_watched(
    client: Client, folder: Path, name: str, code: int
) -> None:
    (folder.parent / "outside").mkdir()
    with pytest.raises(Refused) as refused:
        await client.request("createResourceWatch", uri=f"{folder.as_uri()}/{name}")
    assert refused.value.code == code


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


async def learned(client: Client, channel: str, folder: Path, last: str) -> set[str]:
    """What a client takes for there, of what was told, once it has heard of the last thing."""
    await client.until(lambda: (last, "added") in changes(client, channel))
    there: set[str] = set()
    for envelope in client.envelopes:
        for change in envelope["action"]["changes"]["items"] if envelope["channel"] == channel else ():
            name = change["uri"].removeprefix(f"{folder.as_uri()}/")
            if change["type"] == "deleted":
                there = {one for one in there if one != name and not one.startswith(f"{name}/")}
            else:
                there.add(name)
    return there


async def test_a_watch_ends_when_its_folder_may_not_be_read_any_more(
    house: House, client: Client, folder: Path
) -> None:
    channel = await watch(client, folder, recursive=True)
    (folder / "seen").touch()
    await client.until(lambda: ("seen", "added") in changes(client, channel))
    await client.request("disposeSession", "ahp-session:/one")
    (folder / "unseen").touch()
    async with asyncio.timeout(WITHIN):
        while house.host.channels.get(channel) is not None or len(house.host.watches):
            await client.ping()
    assert not any(name == "unseen" for name, _ in changes(client, channel))


async def test_a_watch_ends_with_the_grant_that_it_was_made_by(tmp_path: Path) -> None:
    granted = tmp_path / "granted"
    granted.mkdir()
    seconds = 1_700_000_000.0
    async with (
        housing(now=lambda: int(seconds * 1000)) as house,
        connecting(house.url, "one") as client,
    ):
        await client.initialize()
        house.host.files._grants["one", FileRoot.of(granted)] = seconds + 60
        channel = await watch(client, granted)
        (granted / "seen").touch()
        await client.until(lambda: ("seen", "added") in changes(client, channel))
        seconds += 60
        (granted / "unseen").touch()
        async with asyncio.timeout(WITHIN):
            while house.host.channels.get(channel) is not None or len(house.host.watches):
                await client.ping()
        assert changes(client, channel) == [("seen", "added")]


async def test_nothing_is_told_of_the_hosts_own_files(tmp_path: Path) -> None:
    home = tmp_path / "sub" / "home"
    home.mkdir(parents=True)
    async with housing(home=home) as house, connecting(house.url, "one") as client:
        await client.initialize()
        await new_session(client, workingDirectory=tmp_path.as_uri())
        channel = await watch(client, tmp_path, recursive=True)
        (home / "token").touch()
        (home / "more" / "b").mkdir(parents=True)
        (tmp_path / "token-like").touch()
        await client.until(lambda: ("token-like", "added") in changes(client, channel))
        assert not any(home.as_uri() in frame for frame in client.frames)
        asked = {"kind": "userMessage", "text": "@token", "offset": 6}
        found = await client.request("completions", "ahp-session:/one", **asked)
        assert [item["insertText"] for item in found["items"]] == ["@token-like"]


@proves("ahp:completions/for-what-is-being-typed", "ahp:completions/offset-in-utf16")
async def test_files_are_completed_after_an_at_sign(client: Client, folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "parser.py").write_text("")
    (folder / "readme.md").write_text("")
    text = "🙂 see @pars please"
    offset = len("🙂 see @pars".encode("utf-16-le")) // 2
    found = await client.request(
        "completions", "ahp-session:/one", kind="userMessage", text=text, offset=offset
    )
    [item] = found["items"]
    assert item["attachment"]["uri"] == f"{folder.as_uri()}/src/parser.py"
    assert "src/parser.py" in item["insertText"]
    assert (item["rangeStart"], item["rangeEnd"]) == (7, 12)


@proves("ahp:completions/offset-in-range", "ahp:completions/offset-in-utf16")
@pytest.mark.parametrize("offset", [-1, 99, 1])
async def test_a_place_that_is_not_in_the_text_is_refused(client: Client, folder: Path, offset: int) -> None:
    del folder
    with pytest.raises(Refused) as refused:
        await client.request("completions", "ahp-session:/one", kind="userMessage", text="🙂", offset=offset)
    assert refused.value.code == -32602


async def test_the_handshake_tells_what_begins_a_completion(connect: Connect) -> None:
    client = await connect("fresh")
    welcome = next(frame for frame in client.frames if "protocolVersion" in frame)
    assert '"completionTriggerCharacters":["@","/"]' in welcome
