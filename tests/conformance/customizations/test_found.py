"""Over the port: what a folder and a home have, as a session shows it, and what is trusted of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cli.programs import address_of, run, running
from conformance.client import Client, connecting
from conformance.conftest import ONE, new_session, say
from conformance.customizations.conftest import (
    HOOKS,
    Inn,
    begin,
    by_child,
    children,
    containers,
    hooks_of,
    state_of,
    toggle,
    write,
    write_skill,
)
from hosts import House
from requirements import proves

# -- what is found -----------------------------------------------------------------------------------------


async def test_a_session_has_what_its_folder_and_the_home_have(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep", "Sweeps the floor")
    write(inn.work / "AGENTS.md", "Be kind.\n")
    write(inn.home / ".claude/commands/review.md", "Review this.\n")
    await begin(client, inn)
    assert {"sweep", "review", "AGENTS.md"} <= set(children(client))
    [skill] = by_child(client, "sweep").children
    assert skill.description == "Sweeps the floor"
    assert state_of(by_child(client, "sweep")) == "loaded"


async def test_a_skill_that_is_not_for_people_is_shown_and_not_offered(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep")
    write(inn.work / ".claude/skills/hidden/SKILL.md", "---\nname: hidden\nuser-invocable: false\n---\n")
    write(inn.work / ".claude/commands/tidy.md", "Tidy up.\n")
    session = await begin(client, inn)
    assert {"sweep", "hidden", "tidy"} <= set(children(client))
    asked = {"kind": "userMessage", "text": "/", "offset": 1}
    offered = (await client.request("completions", session, **asked))["items"]
    assert {item["insertText"] for item in offered} == {"/sweep", "/tidy"}


async def test_a_broken_file_is_told_of_and_the_rest_is_there(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep")
    write(inn.work / ".agents/skills/broken/SKILL.md", "---\nname: [\n---\n")
    await begin(client, inn)
    assert state_of(by_child(client, "sweep")) == "degraded"
    assert "broken/SKILL.md" in by_child(client, "sweep").load.message


async def test_no_folder_can_make_its_session_too_long_for_an_ordinary_client(
    client: Client, house: House, inn: Inn
) -> None:
    for number in range(30):
        write(inn.work / f".claude/agents/a{number}.md", f"---\nname: {'n' * 900_000}{number}\n---\n")
    servers = {f"{'s' * 200}{number}": {"command": "x"} for number in range(4_000)}
    write(inn.work / ".mcp.json", json.dumps({"mcpServers": servers}))
    write(inn.work / ".claude/agents/good.md", "---\nname: good\n---\n")
    session = await begin(client, inn)
    assert "good" in children(client)
    async with connecting(house.url, "two") as other:
        await other.initialize(session)
        assert children(other) == children(client)
        assert max(len(frame) for frame in other.frames) < 2**20


async def test_only_the_working_directory_is_for_clients_to_write_to(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep")
    write_skill(inn.home, "cook")
    await begin(client, inn)
    assert by_child(client, "sweep").writable
    assert not by_child(client, "cook").writable


@proves("ahp:AgentSelection/uri-names-a-customization")
async def test_a_custom_agent_is_chosen_by_its_uri_in_the_tree(
    client: Client, inn: Inn, house: House
) -> None:
    write(inn.work / ".agents/agents/critic.md", "---\nname: Critic\n---\nYou find what is wrong.\n")
    session = await begin(client, inn)
    [critic] = by_child(client, "Critic").children
    await client.dispatch(session, "agentChanged", agent={"uri": critic.uri})
    await client.until(lambda: client.session(session).summary.agent)
    chosen = client.session(session).summary.agent
    assert chosen is not None
    tree = {child.uri: child.name for one in containers(client).values() for child in one.children or ()}
    assert tree[chosen.uri] == "Critic"
    hosted = house.host.sessions.get(session)
    assert hosted is not None
    assert hosted.seat.custom_agent == chosen
    await say(client, session, "look")
    [definition] = [item for item in inn.seen[-1] if item.child.uri == chosen.uri]
    assert definition.body() == "You find what is wrong.\n"


@proves("ahp:SkillCustomization/command-files")
async def test_a_command_of_a_plugin_is_offered_to_who_types_a_slash(client: Client, inn: Inn) -> None:
    plugin = inn.work / ".agents/plugins/tools"
    write(plugin / "commands/tidy.md", "---\ndescription: Tidies up\n---\nTidy up.\n")
    session = await begin(client, inn)
    [command] = by_child(client, "tidy").children
    assert type(command).__struct_config__.tag == "skill"
    found = await client.request("completions", session, kind="userMessage", text="/ti", offset=3)
    [item] = found["items"]
    assert (item["insertText"], item["attachment"]["uri"]) == (
        "/tidy",
        (plugin / "commands/tidy.md").as_uri(),
    )


# -- trust -------------------------------------------------------------------------------------------------


async def test_of_a_folder_that_is_not_trusted_all_is_listed_and_nothing_runs(
    client: Client, inn: Inn
) -> None:
    write(inn.work / ".claude/settings.json", HOOKS)
    session = await begin(client, inn)
    hooks = hooks_of(client)
    assert len(hooks.children) == 1
    assert not hooks.enabled
    reason = await toggle(client, hooks.id, enabled=True)
    assert reason is not None
    assert reason.startswith("not_trusted")
    assert f"serai config trust {inn.work}" in reason
    assert not hooks_of(client).enabled
    await say(client, session, "look")
    [[hook]] = inn.seen
    assert (list(hook.fields), hook.enabled, hook.runnable) == (["PreToolUse"], False, False)


async def test_who_trusts_the_folder_then_can_switch_them_on(client: Client, inn: Inn) -> None:
    write(inn.work / ".claude/settings.json", HOOKS)
    await begin(client, inn)
    locked = hooks_of(client).id
    assert await toggle(client, locked, enabled=True)
    inn.trusted.append(inn.work)
    assert await toggle(client, locked, enabled=True) is None
    assert hooks_of(client).enabled


async def test_the_next_turn_knows_that_the_folder_is_trusted_now(client: Client, inn: Inn) -> None:
    write(inn.work / ".claude/settings.json", HOOKS)
    session = await begin(client, inn)
    inn.trusted.append(inn.work)
    await say(client, session, "look")
    await client.until(lambda: hooks_of(client).enabled)
    assert [hook.runnable for hook in inn.seen[-1]] == [True]
    inn.trusted.clear()
    await say(client, session, "look", "t2")
    await client.until(lambda: not hooks_of(client).enabled)
    assert [hook.runnable for hook in inn.seen[-1]] == [False]


async def test_a_person_trusts_a_folder_with_the_command(inn: Inn, tmp_path: Path) -> None:
    write(inn.work / ".claude/settings.json", HOOKS)
    serai = tmp_path / "serai"
    async with running("serve", "--port", "0", home=serai, HOME=str(inn.home)) as host:
        address, token = await address_of(host, serai)
        async with connecting(f"ws://{address}", token=token) as client:
            await client.initialize()
            await new_session(client, workingDirectory=inn.work.as_uri())
            await client.until(lambda: client.session(ONE).customizations)
            reason = await toggle(client, hooks_of(client).id, enabled=True)
            assert reason is not None
            assert (remedy := re.search(r"serai (config trust \S+)$", reason))
            assert (await run(*remedy[1].split(), home=serai)).code == 0
            assert await toggle(client, hooks_of(client).id, enabled=True) is None
            assert hooks_of(client).enabled
