"""Over the port: what changes, by switches and on the disk."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from conformance.client import Client, connecting
from conformance.conftest import ONE, say
from conformance.customizations.conftest import (
    Inn,
    begin,
    by_child,
    children,
    containers,
    toggle,
    write,
    write_skill,
)
from hosts import WITHIN, House
from requirements import proves
from serai.host.customizations.session import TOGGLES

# -- switches ----------------------------------------------------------------------------------------------


async def test_a_switch_holds_when_the_folder_changes(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep")
    session = await begin(client, inn)
    assert await toggle(client, by_child(client, "sweep").id, enabled=False) is None
    write_skill(inn.work, "mop")
    await client.until(lambda: "mop" in children(client))
    assert not by_child(client, "mop").enabled
    shutil.rmtree(inn.work / ".agents")
    await client.until(lambda: "mop" not in children(client))
    write_skill(inn.work, "mop")
    await client.until(lambda: "mop" in children(client))
    assert not by_child(client, "mop").enabled
    await say(client, session, "look")
    assert [(item.name, item.enabled, item.runnable) for item in inn.seen[-1]] == [("mop", False, False)]


@proves("ahp:session/customizationToggled/children-follow-container")
async def test_what_is_in_a_container_counts_exactly_while_that_is_on(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep")
    write_skill(inn.work, "mop")
    write(inn.work / "AGENTS.md", "Be kind.\n")
    inn.trusted.append(inn.work)
    session = await begin(client, inn)
    container = by_child(client, "sweep").id
    for number, enabled in enumerate((False, True, False)):
        assert await toggle(client, container, enabled=enabled) is None
        await say(client, session, "look", f"t{number}")
        counts = {item.name: (item.enabled, item.runnable) for item in inn.seen[-1]}
        assert counts["sweep"] == counts["mop"] == (enabled, enabled)
        assert counts["AGENTS.md"] == (True, True)


async def test_a_switch_holds_when_the_host_starts_again(client: Client, inn: Inn, house: House) -> None:
    write_skill(inn.work, "sweep")
    await begin(client, inn)
    assert await toggle(client, by_child(client, "sweep").id, enabled=False) is None
    await client.close()
    await house.restart()
    write_skill(inn.work, "mop")
    async with connecting(house.url, "two") as again:
        await again.initialize(ONE)
        await again.until(lambda: "mop" in children(again))
        assert not by_child(again, "mop").enabled
        assert await toggle(again, by_child(again, "mop").id, enabled=True) is None
        assert by_child(again, "mop").enabled


@pytest.mark.parametrize("last", [True, False])
async def test_of_switches_that_come_at_once_the_last_one_holds(
    client: Client, inn: Inn, house: House, *, last: bool
) -> None:
    """Also where the host has to look at the folder before it lets the first of them happen."""
    write_skill(inn.work, "sweep")
    await begin(client, inn)
    container = by_child(client, "sweep").id
    await client.close()
    await house.restart()
    async with connecting(house.url, "two") as again:
        await again.initialize()
        switches = [True, False, True] if last else [True, True, False]
        for enabled in switches:
            await again.dispatch(ONE, "customizationToggled", id=container, enabled=enabled)
        await again.subscribe(ONE)
        await again.until(lambda: (again.session(ONE).meta or {}).get(TOGGLES) == {container: last})
        # What was switched before counts only from here on: look whether it stays so.
        assert await toggle(again, "nobody", enabled=True) is None
        assert by_child(again, "sweep").enabled is last
        assert (again.session(ONE).meta or {})[TOGGLES] == {container: last}


async def test_a_switch_of_what_is_not_there_changes_nothing(client: Client, inn: Inn) -> None:
    await begin(client, inn)
    before = containers(client)
    assert await toggle(client, "nobody", enabled=True) is None
    await client.ping()
    assert containers(client) == before
    assert client.session(ONE).meta is None


# -- changes -----------------------------------------------------------------------------------------------


async def test_a_change_is_told_as_a_change_of_one_container(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep", "Sweeps")
    write(inn.work / "AGENTS.md", "Be kind.\n")
    await begin(client, inn)
    sent = len(client.envelopes)
    write_skill(inn.work, "sweep", "Sweeps and mops")
    await client.until(lambda: by_child(client, "sweep").children[0].description == "Sweeps and mops")
    actions = [envelope["action"]["type"] for envelope in client.envelopes[sent:]]
    assert [kind for kind in actions if "customization" in kind] == ["session/customizationUpdated"]


@proves("ahp:session/customizationUpdated/host-keeps-children")
async def test_a_change_tells_also_what_stays(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep", "Sweeps")
    write_skill(inn.work, "mop", "Mops")
    await begin(client, inn)
    write_skill(inn.work, "sweep", "Sweeps and dusts")
    told = (await client.hear("customizationUpdated"))["action"]["customization"]
    assert {child["name"]: child["description"] for child in told["children"]} == {
        "mop": "Mops",
        "sweep": "Sweeps and dusts",
    }
    assert children(client) == ["mop", "sweep"]


@proves(
    "ahp:DirectoryCustomization/written-child-surfaces", "ahp:DirectoryCustomization/folder-may-be-missing"
)
async def test_what_a_client_writes_into_a_folder_that_is_not_there_yet_appears(
    client: Client, inn: Inn
) -> None:
    await begin(client, inn)
    [folder] = [
        one for one in containers(client).values() if one.uri == (inn.work / ".agents/rules").as_uri()
    ]
    assert (folder.writable, folder.contents, folder.children) == (True, "rule", [])
    assert not (inn.work / ".agents").exists()
    await client.request("resourceMkdir", uri=folder.uri)
    await client.request("resourceWrite", uri=f"{folder.uri}/brief.md", data="Be brief.\n", encoding="utf-8")
    await client.hear("customizationUpdated")
    assert children(client) == ["brief"]
    assert by_child(client, "brief").id == folder.id


@proves("ahp:DirectoryCustomization/discovers-from-watched-folder")
async def test_what_comes_and_goes_is_noticed_also_at_home(client: Client, inn: Inn) -> None:
    await begin(client, inn)
    assert children(client) == []
    write(inn.home / ".claude/commands/review.md", "Review this.\n")
    await client.until(lambda: children(client) == ["review"])
    write(inn.work / ".github/prompts/plan.prompt.md", "Plan this.\n")
    await client.until(lambda: children(client) == ["plan", "review"])
    shutil.rmtree(inn.home / ".claude")
    await client.until(lambda: children(client) == ["plan"])


async def test_a_change_that_makes_no_difference_is_not_told(client: Client, inn: Inn, house: House) -> None:
    write_skill(inn.work, "sweep")
    session = await begin(client, inn)
    hosted = house.host.sessions.get(session)
    assert hosted is not None
    await hosted.customizations.definitions()
    found = hosted.customizations._folder.found
    write(inn.work / ".agents/skills/sweep/notes.txt", "x")
    async with asyncio.timeout(WITHIN):
        while hosted.customizations._folder.found is found:
            await client.ping()
    assert client.heard("customizationUpdated") == []


async def test_a_folder_is_watched_only_while_someone_follows(client: Client, inn: Inn, house: House) -> None:
    session = await begin(client, inn)
    hosted = house.host.sessions.get(session)
    assert hosted is not None
    folder = hosted.customizations._folder

    async def until(*, watched: bool) -> None:
        async with asyncio.timeout(WITHIN):
            while bool(folder._watches) is not watched:
                await client.ping()

    await until(watched=True)
    await client.notify("unsubscribe", channel=session)
    await until(watched=False)
    await client.subscribe(session)
    await until(watched=True)


async def test_who_follows_later_sees_what_changed_meanwhile(client: Client, inn: Inn) -> None:
    session = await begin(client, inn)
    await client.notify("unsubscribe", channel=session)
    await client.ping()
    write_skill(inn.work, "sweep")
    await client.subscribe(session)
    await client.until(lambda: children(client) == ["sweep"])


async def test_a_turn_that_nobody_follows_has_what_is_there_when_it_begins(client: Client, inn: Inn) -> None:
    await client.request("createSession", ONE, workingDirectory=inn.work.as_uri(), provider="looks")
    await client.note("root/sessionSummaryChanged")
    write_skill(inn.work, "sweep")
    await client.dispatch(ONE, "turnStarted", turnId="t1", userMessage={"text": "look"})
    async with asyncio.timeout(WITHIN):
        while not inn.seen:
            await client.ping()
    assert [(item.name, item.enabled) for item in inn.seen[0]] == [("sweep", True)]
    await client.subscribe(ONE)
    assert children(client) == ["sweep"]


async def test_two_sessions_in_a_folder_each_have_their_switches(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep")
    await begin(client, inn)
    other = await begin(client, inn, "ahp-session:/two")
    assert await toggle(client, by_child(client, "sweep").id, enabled=False) is None
    write_skill(inn.work, "mop")
    await client.until(lambda: "mop" in children(client) and "mop" in children(client, other))
    assert not by_child(client, "mop").enabled
    assert [c.enabled for c in containers(client, other).values() if c.children] == [True]


async def test_secrets_in_a_description_are_masked_and_are_no_change_for_ever(
    client: Client, inn: Inn, house: House
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    write_skill(inn.work, "sweep", f"with {secret}")
    session = await begin(client, inn)
    assert secret not in by_child(client, "sweep").children[0].description
    hosted = house.host.sessions.get(session)
    assert hosted is not None
    sent = len(client.envelopes)
    hosted.customizations._show()
    await client.ping()
    assert not any("customization" in envelope["action"]["type"] for envelope in client.envelopes[sent:])
