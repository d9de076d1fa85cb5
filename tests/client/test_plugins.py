"""Plugins that a client publishes to a session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from client.hosts import House, ScriptedHost, initialized, soon
from requirements import proves
from serai.ahp.codec import REQUESTS
from serai.ahp.commands import ResourceReadParams, ResourceReadResult
from serai.ahp.types import (
    ROOT,
    ClientPluginCustomization,
    PluginCustomization,
    SessionState,
    SkillCustomization,
    ToolDefinition,
)
from serai.client import Client, ClientPlugin, ClientTool, Rejected, SessionClient
from serai.client.lending import answer_about, placed
from serai.errors import ProtocolError
from serai.host.turn import Turn

SKILL = "---\ndescription: {about}\n---\nDo it.\n"
POLISH = ClientPlugin("Tools", {"skills/polish/SKILL.md": SKILL.format(about="Polishes")})
WAX = ClientPlugin("Tools", {"skills/wax/SKILL.md": SKILL.format(about="Waxes").encode()})


async def silent(turn: Turn) -> None:
    del turn


async def unused(_input: Any) -> str:
    return ""


TOOL = ClientTool(ToolDefinition(name="lookup"), unused)


def skills(state: SessionState) -> dict[str, str | None]:
    """The skills of published plugins that the host has read."""
    shown = [one for one in state.customizations or () if isinstance(one, PluginCustomization)]
    children = [child for plugin in shown for child in plugin.children or ()]
    return {child.name: child.description for child in children if isinstance(child, SkillCustomization)}


def published(session: SessionClient) -> list[ClientPluginCustomization]:
    """What the session has of this client's plugins, as they were published."""
    active = session.state.active_client
    return list(active.customizations or ()) if active else []


@proves("ahp:ClientPluginCustomization/our-client-sends-nonce")
async def test_what_is_published_is_read_by_the_host_and_has_a_nonce() -> None:
    async with House(agent=silent) as house, house.client() as client:
        session = await soon(client.create_session())
        await soon(session.publish(POLISH, ClientPlugin("Empty", {}), display_name="Editor"))
        assert [plugin.name for plugin in published(session)] == ["Tools", "Empty"]
        assert all(plugin.nonce for plugin in published(session))
        state = await soon(session.until(lambda state: bool(skills(state))))
        assert skills(state) == {"polish": "Polishes"}
        assert state.active_client is not None
        assert state.active_client.display_name == "Editor"


async def test_tools_and_plugins_stand_beside_each_other() -> None:
    async with House(agent=silent) as house, house.client() as client:
        session = await soon(client.create_session())
        await soon(session.lend(TOOL, display_name="Editor"))
        await soon(session.publish(POLISH))
        active = session.state.active_client
        assert active is not None
        assert (active.display_name, [tool.name for tool in active.tools]) == ("Editor", ["lookup"])
        await soon(session.lend())
        assert [plugin.name for plugin in published(session)] == ["Tools"]
        await soon(session.until(lambda state: bool(skills(state))))
        await soon(session.publish())
        assert session.state.active_client is None
        await soon(session.until(lambda state: not skills(state)))


async def test_while_another_client_has_its_own_nothing_is_published() -> None:
    async with House(agent=silent) as house, house.client() as client, house.client() as other:
        session = await soon(client.create_session())
        await soon(session.publish(POLISH))
        watching = await soon(other.open_session(session.uri))
        with pytest.raises(Rejected, match="other_client_active"):
            await soon(watching.publish(WAX))
        assert not any(other.published.values())
        await soon(session.publish())
        await soon(watching.publish(WAX))
        await soon(watching.until(lambda state: list(skills(state)) == ["wax"]))
        await soon(watching.leave())
        assert not any(other.published.values())


# -- what the host asks ------------------------------------------------------------------------------------


async def asked(client: Client, host: ScriptedHost, method: str, *uris: str) -> list[Any]:
    """What a client answers when its host asks."""
    opening = asyncio.ensure_future(client.open())
    peer = await host.connection()
    peer.answer(await peer.expect("initialize"), initialized(1))
    await soon(opening)
    answers: list[Any] = []
    try:
        for number, uri in enumerate(uris):
            params = {"channel": ROOT, "uri": uri}
            peer.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            answer = await peer.response()
            answers.append(answer.get("result") or answer["error"]["code"])
    finally:
        await soon(client.close())
    return answers


async def test_what_is_no_plugin_is_left_to_who_handles_it() -> None:
    async def mine(params: ResourceReadParams) -> ResourceReadResult:
        return ResourceReadResult(data=params.uri, encoding="utf-8")

    host = ScriptedHost()
    client = host.client(ROOT)
    plugins = client.published["ahp-session:/1"] = placed([POLISH], "me", "ahp-session:/1")
    client.handle("resourceRead", mine)
    file = f"{next(iter(plugins))}/skills/polish/SKILL.md"
    ours, theirs = await asked(client, host, "resourceRead", file, "file:///a")
    assert ours["data"] == POLISH.files["skills/polish/SKILL.md"]
    assert theirs["data"] == "file:///a"


def test_folders_are_listed_and_odd_names_found_again() -> None:
    files = {"a b/ü#.md": "x", "a b/c/d.md": b"\xff", "e.md": ""}
    plugins = placed([ClientPlugin("50% off/é", files)], "a client", "ahp-session:/1")
    [uri] = plugins

    def answered(method: str, path: str) -> Any:
        return answer_about([plugins], _params(method, uri + path))

    def names(path: str) -> dict[str, str]:
        result = answered("resourceList", path)
        return {entry.name: entry.type for entry in result.entries}

    assert names("") == {"a b": "directory", "e.md": "file"}
    assert names("/a%20b") == {"c": "directory", "ü#.md": "file"}
    odd = answered("resourceRead", "/a%20b/%C3%BC%23.md")
    assert (odd.data, odd.encoding) == ("x", "utf-8")
    binary = answered("resourceRead", "/a%20b/c/d.md")
    assert (binary.data, binary.encoding) == ("/w==", "base64")
    with pytest.raises(ProtocolError, match="has no file 'a b'"):
        answered("resourceRead", "/a%20b")


def _params(method: str, uri: str) -> Any:
    return REQUESTS[method].params(channel=ROOT, uri=uri)
