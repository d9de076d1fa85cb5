"""What a host tells about its sessions: lists, history, settings."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conformance.client import Client, Refused, connecting, text_of
from conformance.conftest import new_session, over, say
from hosts import House
from requirements import proves

TWO = "ahp-session:/two"


# -- lists and history -------------------------------------------------------------------------------------


async def test_sessions_are_listed_the_last_changed_one_first(client: Client) -> None:
    for name in ("a", "b", "c"):
        await new_session(client, f"ahp-session:/{name}")
        await asyncio.sleep(0.002)  # their times are in milliseconds
    await client.dispatch("ahp-session:/a", "titleChanged", title="touched")
    items = (await client.request("listSessions"))["items"]
    assert [item["resource"][-1] for item in items] == ["a", "c", "b"]
    assert items == (await client.request("listSessions", filter={"any": "thing"}))["items"]


async def test_a_summary_that_changed_is_told_to_the_root_channel(client: Client, session: str) -> None:
    await client.dispatch(session, "titleChanged", title="A new title")
    changed = await client.note("root/sessionSummaryChanged", session=session)
    await client.until(lambda: any(n.get("changes", {}).get("title") for n in client.notes))
    assert not {"resource", "provider", "createdAt"} & set(changed["changes"])


async def test_lists_hear_that_a_field_was_cleared(client: Client, session: str) -> None:
    def told() -> dict[str, Any]:
        changes = [n["changes"] for n in client.notes if n["method"] == "root/sessionSummaryChanged"]
        return {name: value for change in changes for name, value in change.items()}

    await client.dispatch(session, "agentChanged", agent={"uri": "agent:/reviewer"})
    await client.until(lambda: told().get("agent") == {"uri": "agent:/reviewer"})
    await client.dispatch(session, "agentChanged")
    await client.until(lambda: "agent" in told() and told()["agent"] is None)
    client.notes.clear()
    await client.dispatch(session, "titleChanged", title="Another")
    await client.until(lambda: told().get("title") == "Another")
    assert "agent" not in told()


@proves(
    "ahp:fetchTurns/newest-without-before",
    "ahp:fetchTurns/limit-kept",
    "ahp:fetchTurns/excludes-the-named-turn",
    "ahp:fetchTurns/pages-to-the-beginning",
)
@pytest.mark.parametrize("restart", [False, True])
async def test_turns_are_fetched_page_by_page(
    house: House, client: Client, session: str, *, restart: bool
) -> None:
    names = [f"t{n}" for n in range(7)]
    for name in names:
        await say(client, session, "x", name)
    if restart:
        await house.restart()
    async with connecting(house.url, "reader") as reader:
        await reader.initialize()
        pages: list[list[str]] = []
        before: dict[str, str] = {}
        while True:
            page = await reader.request("fetchTurns", session, limit=3, **before)
            pages.insert(0, [turn["id"] for turn in page["turns"]])
            if not page["hasMore"]:
                break
            before = {"before": pages[0][0]}
        assert pages == [names[:1], names[1:4], names[4:]]
        everything = await reader.request("fetchTurns", session)
        assert [turn["id"] for turn in everything["turns"]] == names


@pytest.mark.parametrize("params", [{"limit": 0}, {"limit": -5}, {"limit": 1.5}, {"before": "nothing"}])
async def test_a_page_that_cannot_be_is_refused(client: Client, session: str, params: Any) -> None:
    with pytest.raises(Refused) as refused:
        await client.request("fetchTurns", session, **params)
    assert refused.value.code == -32602


# -- settings, sign-in -------------------------------------------------------------------------------------


@proves("ahp:SessionConfigState/values-for-resolved-properties")
async def test_settings_are_resolved_with_their_defaults(client: Client) -> None:
    resolved = await client.request("resolveSessionConfig", config={"approve": "always"})
    assert set(resolved["schema"]["properties"]) == {"additionalDirectories", "approve", "pace"}
    assert resolved["values"] == {"pace": "instant", "approve": "always"}
    for params, code in (({"provider": "nobody"}, -32002), ({"config": {"pace": 1}}, -32602)):
        with pytest.raises(Refused) as refused:
            await client.request("resolveSessionConfig", **params)
        assert refused.value.code == code


async def test_values_of_a_setting_can_be_completed(client: Client) -> None:
    found = await client.request("sessionConfigCompletions", property="pace", query="BR")
    assert [item["value"] for item in found["items"]] == ["brisk"]
    assert len((await client.request("sessionConfigCompletions", property="pace"))["items"]) == 3
    with pytest.raises(Refused) as refused:
        await client.request("sessionConfigCompletions", property="imagined")
    assert refused.value.code == -32602


async def test_a_token_for_a_resource_that_nobody_protects_is_refused(house: House, client: Client) -> None:
    with pytest.raises(Refused) as refused:
        await client.request("authenticate", resource="https://x.example", token="hush-hush-hush")
    assert refused.value.code == -32602
    assert "hush-hush-hush" not in "".join(client.frames)
    assert not house.host.journal.ended.done()


@proves("ahp:Turn/display-text")
async def test_the_text_of_an_answer_is_its_markdown_joined(client: Client, session: str) -> None:
    await say(client, session, "write 5; tool live; write 5")
    turn = await over(client, session)
    assert text_of(turn).startswith("# Chapter 1")
    assert text_of(turn).count("# Chapter 1") == 2
