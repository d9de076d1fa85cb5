"""Over the port: the plugins that clients publish."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from conformance.client import Client, Refused, connecting, serve_nothing
from conformance.conftest import ONE, Connect, new_session, say
from conformance.customizations.conftest import (
    GRACE,
    HOOKS,
    SKILL,
    Inn,
    by_child,
    children,
    containers,
    state_of,
    toggle,
    write_skill,
)
from hosts import House
from requirements import proves

PLUGIN = "virtual://editor/tools"
FILES = {
    ".plugin/plugin.json": '{"name": "tools"}',
    "skills/polish/SKILL.md": SKILL.format(name="polish", about="Polishes"),
    "skills/polish/picture.png": "not for reading",
    "hooks/hooks.json": HOOKS,
}


class Shelf:
    """The files of a plugin, as a client serves them."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def __call__(self, method: str, params: dict[str, Any]) -> Any:
        assert params["uri"].startswith(PLUGIN)
        path = params["uri"].removeprefix(PLUGIN).strip("/")
        if method == "resourceRead":
            if path not in self.files:
                raise Refused({"code": -32008, "message": "there is no such file"})
            return {"data": self.files[path], "encoding": "utf-8"}
        below = f"{path}/" if path else ""
        names = {name.removeprefix(below).split("/")[0] for name in self.files if name.startswith(below)}
        if not names:
            raise Refused({"code": -32008, "message": "there is no such folder"})
        return {
            "entries": [
                {"name": name, "type": "file" if f"{below}{name}" in self.files else "directory"}
                for name in sorted(names)
            ]
        }


def plugin(**fields: Any) -> dict[str, Any]:
    whole = {"type": "plugin", "id": "tools", "uri": PLUGIN, "name": "Tools", "enabled": True, "nonce": "1"}
    return {name: value for name, value in {**whole, **fields}.items() if value is not None}


async def publish(client: Client, *plugins: dict[str, Any]) -> None:
    active = {"clientId": client.id, "tools": [], "customizations": list(plugins)}
    await client.dispatch(ONE, "activeClientChanged", activeClient=active)


def tools(client: Client) -> Any:
    return containers(client).get("Tools")


def load_of(client: Client) -> str | None:
    shown = tools(client)
    return state_of(shown) if shown else None


@pytest.fixture
async def publisher(client: Client, house: House) -> Client:
    """A client that follows a session and serves a plugin."""
    client.answers = Shelf(dict(FILES))
    hosted = house.host.sessions.get(await new_session(client, provider="looks"))
    assert hosted is not None
    await hosted.customizations.definitions()
    return client


@proves(
    "ahp:SessionState/client-plugins-appear",
    "ahp:SessionActiveClient/virtual-plugins-expanded",
    "ahp:ClientPluginCustomization/host-fills-in",
)
async def test_a_published_plugin_is_fetched_and_shown(publisher: Client, inn: Inn) -> None:
    await publish(publisher, plugin())
    await publisher.until(lambda: load_of(publisher) in {"loaded", "degraded"})
    first, *_, last = publisher.heard("customizationsChanged") + publisher.heard("customizationUpdated")
    [loading] = first["customizations"]
    assert (loading["load"], loading["clientId"]) == ({"kind": "loading"}, "one")
    assert last["customization"]["id"] == "tools"
    shown = tools(publisher)
    assert (shown.client_id, shown.enabled, state_of(shown)) == ("one", True, "degraded")
    assert "do not run here" in shown.load.message
    assert "polish" in [child.name for child in shown.children]
    read = [params["uri"] for method, params in publisher.asked if method == "resourceRead"]
    assert f"{PLUGIN}/skills/polish/SKILL.md" in read
    assert not any("picture.png" in uri for uri in read)
    await say(publisher, ONE, "look")
    usable = {item.name: (item.enabled, item.runnable) for item in inn.seen[-1]}
    assert usable["polish"] == (True, False)


@proves("ahp:ClientPluginCustomization/unchanged-nonce-not-parsed")
async def test_the_same_nonce_is_not_fetched_again_and_another_one_is(publisher: Client) -> None:
    await publish(publisher, plugin())
    await publisher.until(lambda: load_of(publisher) == "degraded")
    asked = len(publisher.asked)
    await publish(publisher, plugin(enabled=False))
    await publisher.until(lambda: not tools(publisher).enabled)
    assert len(publisher.asked) == asked
    publisher.answers = Shelf({"skills/wax/SKILL.md": SKILL.format(name="wax", about="Waxes")})
    await publish(publisher, plugin(nonce="2"))
    await publisher.until(lambda: load_of(publisher) == "loaded")
    assert children(publisher) == ["wax"]
    assert len(publisher.asked) > asked


async def test_a_client_that_is_active_no_longer_takes_its_plugins_with_it(publisher: Client) -> None:
    await publish(publisher, plugin())
    await publisher.until(lambda: load_of(publisher) == "degraded")
    await publisher.dispatch(ONE, "activeClientChanged", activeClient=None)
    await publisher.hear("customizationRemoved", id="tools")
    assert tools(publisher) is None


async def test_a_client_that_is_gone_has_some_time_to_come_back(
    publisher: Client, connect: Connect, house: House
) -> None:
    watching = await connect("other", ONE)
    hosted = house.host.sessions.get(ONE)
    assert hosted is not None
    hosted.settings = replace(hosted.settings, client_grace_seconds=60.0)
    await publish(publisher, plugin())
    await watching.until(lambda: load_of(watching) == "degraded")
    publisher.drop()
    await watching.hear("activeClientChanged", activeClient=None)
    assert tools(watching) is not None
    async with connecting(house.url, "one") as again:
        await again.initialize(ONE)
        await publish(again, plugin())
        await again.hear("activeClientChanged")
        assert tools(watching) is not None
        assert hosted.customizations._published._leaving is None, "its plugins stay"
        assert again.asked == [], "they are known already"
        hosted.settings = replace(hosted.settings, client_grace_seconds=GRACE)
        again.drop()
        await watching.hear("customizationRemoved", id="tools")
    assert tools(watching) is None


async def test_nothing_of_a_client_is_left_after_the_host_starts_again(
    publisher: Client, house: House
) -> None:
    await publish(publisher, plugin())
    await publisher.until(lambda: load_of(publisher) == "degraded")
    await publisher.close()
    await house.restart()
    async with connecting(house.url, "two") as again:
        await again.initialize(ONE)
        await again.until(lambda: tools(again) is None)


async def test_who_takes_an_id_that_another_one_has_is_not_listed(publisher: Client, inn: Inn) -> None:
    write_skill(inn.home, "cook")
    await publisher.until(lambda: children(publisher) == ["cook"])
    taken = by_child(publisher, "cook").id
    await publish(publisher, plugin(id=taken, name="Thief"), plugin(), plugin(name="Twin", nonce="2"))
    await publisher.until(lambda: load_of(publisher) == "degraded")
    assert not {"Thief", "Twin"} & containers(publisher).keys()
    assert by_child(publisher, "cook").id == taken


async def test_what_a_client_does_not_serve_is_an_error(publisher: Client) -> None:
    publisher.answers = serve_nothing
    await publish(publisher, plugin())
    await publisher.until(lambda: load_of(publisher) == "error")
    assert "does not serve resourceList" in tools(publisher).load.message


async def test_a_file_that_a_client_does_not_give_is_told_of_and_asked_for_again(publisher: Client) -> None:
    shelf = Shelf({**FILES, "skills/wax/SKILL.md": SKILL.format(name="wax", about="Waxes")})

    def all_but_one(method: str, params: dict[str, Any]) -> Any:
        if method == "resourceRead" and "wax" in params["uri"]:
            raise Refused({"code": -32009, "message": "not now"})
        return shelf(method, params)

    publisher.answers = all_but_one
    await publish(publisher, plugin())
    await publisher.until(lambda: load_of(publisher) == "degraded")
    assert "skills/wax/SKILL.md cannot be read (not now)" in tools(publisher).load.message
    assert "polish" in children(publisher)
    publisher.answers = shelf
    await publish(publisher, plugin())
    await publisher.until(lambda: "wax" in children(publisher))


async def test_a_published_plugin_can_be_switched_off(publisher: Client, inn: Inn) -> None:
    await publish(publisher, plugin())
    await publisher.until(lambda: load_of(publisher) == "degraded")
    assert await toggle(publisher, "tools", enabled=False) is None
    await publish(publisher, plugin(nonce="2"))
    await publisher.until(lambda: load_of(publisher) == "degraded")
    assert not tools(publisher).enabled
    await say(publisher, ONE, "look")
    assert not any(item.enabled or item.runnable for item in inn.seen[-1])
