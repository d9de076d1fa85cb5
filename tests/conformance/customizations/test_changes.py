"""Over the port: what changes, by switches and on the disk."""

from __future__ import annotations

import asyncio
import shutil

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


# -- changes -----------------------------------------------------------------------------------------------


async def test_a_change_is_told_as_a_change_of_one_container(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep", "Sweeps")
    write(inn.work / "AGENTS.md", "Be kind.\n")
    await begin(client, inn)
    sent = len(client.envelopes)
    write_skill(inn.work, "sweep", "Sweeps and mops")
    await client.until(lambda: by_child(client, "sweep").children[0].description == "Sweeps and mops")
    actions = [envelope["action"]["type"] for envelope in client.envelopes[sent:]]
    # Twice where it was looked while the file was being written.
    assert {kind for kind in actions if "customization" in kind} == {"session/customizationUpdated"}


@proves("ahp:session/customizationUpdated/host-keeps-children")
async def test_a_change_tells_also_what_stays(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep", "Sweeps")
    write_skill(inn.work, "mop", "Mops")
    await begin(client, inn)
    write_skill(inn.work, "sweep", "Sweeps and dusts")
    whole = {"mop": "Mops", "sweep": "Sweeps and dusts"}
    await client.until(
        lambda: {one.name: one.description for one in by_child(client, "sweep").children} == whole
    )
    told = (await client.hear("customizationUpdated"))["action"]["customization"]
    assert {child["name"] for child in told["children"]} == whole.keys()
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
