"""The host's own settings: clients see them, change them, and find them again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, connecting
from conformance.conftest import ONE, ROOT, Connect, new_session
from hosts import KEY, House, housing
from serai.ahp.types import SessionConfigPropertySchema, SessionConfigSchema
from serai.config.settings import Settings
from serai.harness.callback import CallbackHarness
from serai.host.turn import Turn
from serai.store.sqlite.store import SqliteStore

TWO = "ahp-session:/two"


def agent(name: str) -> CallbackHarness:
    """A kind of agent with a setting that no other has."""

    async def answer(turn: Turn) -> None:
        del turn

    tone = SessionConfigPropertySchema(type="string", title="Tone", default=name, enum=[name])
    schema = SessionConfigSchema(type="object", properties={"tone": tone})
    return CallbackHarness(name, answer, schema=schema)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    store = tmp_path / "history.db"
    async with housing(lambda: SqliteStore(store, KEY), [agent("second")]) as house:
        yield house


def values(client: Client) -> dict[str, Any]:
    """The host's settings, as this client knows them."""
    assert client.root.config is not None
    return client.root.config.values


async def choose(client: Client, **config: Any) -> None:
    await client.dispatch(ROOT, "root/configChanged", config=config)
    await client.until(lambda: values(client) == config)


async def rejection(client: Client, **fields: Any) -> str:
    await client.dispatch(ROOT, "root/configChanged", **fields)
    return (await client.hear("root/configChanged"))["rejectionReason"]


async def provider_of_a_new_session(client: Client, uri: str = ONE) -> str:
    await new_session(client, uri)
    return client.session(uri).summary.provider


async def test_the_host_has_a_default_agent_that_everyone_sees(client: Client) -> None:
    assert client.root.config is not None
    assert client.root.config.schema.properties["defaultAgent"].type == "string"
    assert values(client) == {"defaultAgent": "demo"}
    assert await provider_of_a_new_session(client) == "demo"


async def test_what_a_client_chooses_is_told_to_all_and_holds_for_new_sessions(
    client: Client, connect: Connect
) -> None:
    other = await connect("other", ROOT)
    await choose(client, defaultAgent="second")
    await other.until(lambda: values(other) == {"defaultAgent": "second"})
    assert await provider_of_a_new_session(other) == "second"
    await choose(other, defaultAgent="demo")
    assert await provider_of_a_new_session(other, TWO) == "demo"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"config": {"defaultAgent": "nobody"}}, "bad_config: 'defaultAgent' must be one of: demo, second"),
        ({"config": {"defaultAgent": 7}}, "bad_config: 'defaultAgent' must be of type string"),
        ({"config": {"port": 80}}, "bad_config: there is no setting 'port'"),
        ({"config": {}, "replace": True}, "bad_config: 'defaultAgent' is required"),
    ],
)
async def test_what_cannot_be_chosen_is_rejected_with_the_reason(
    client: Client, fields: dict[str, Any], reason: str
) -> None:
    assert await rejection(client, **fields) == reason
    assert values(client) == {"defaultAgent": "demo"}


async def test_a_choice_holds_after_a_restart_and_for_those_who_come_back(
    house: House, client: Client, connect: Connect
) -> None:
    other = await connect("other", ROOT)
    await other.close()
    await choose(client, defaultAgent="second")
    await house.restart()
    fresh = await connect("fresh", ROOT)
    assert values(fresh) == {"defaultAgent": "second"}
    assert await provider_of_a_new_session(fresh) == "second"
    async with connecting(house.url, other.state) as again:
        assert (await again.reconnect())["type"] == "replay"
        assert again.root == fresh.root


async def test_the_settings_file_decides_until_a_client_has_chosen_otherwise(
    house: House, client: Client, connect: Connect
) -> None:
    await new_session(client)
    house._settings = Settings(default_agent="second")
    await house.restart()
    async with connecting(house.url, client.state) as again:
        await again.reconnect()
        assert values(again) == {"defaultAgent": "second"}
        await choose(again, defaultAgent="demo")
    await house.restart()
    fresh = await connect("fresh", ROOT)
    assert values(fresh) == {"defaultAgent": "demo"}
    await choose(fresh, defaultAgent="second")  # as the file has it: it decides again
    house._settings = Settings(default_agent="demo")
    await house.restart()
    assert values(await connect("another", ROOT)) == {"defaultAgent": "demo"}


@pytest.mark.parametrize("of_folder", ["third", "demo"])
async def test_a_folder_that_has_its_own_default_comes_before_all_others(
    tmp_path: Path, of_folder: str
) -> None:
    settings = Settings(default_agent="demo")

    def folder_agent(directory: str) -> str | None:
        return of_folder if directory == tmp_path.as_uri() else None

    agents = [agent("second"), agent("third")]
    async with (
        housing(harnesses=agents, settings=settings, folder_agent=folder_agent) as house,
        connecting(house.url, "c") as client,
    ):
        await client.initialize(ROOT)
        await choose(client, defaultAgent="second")
        assert await provider_of_a_new_session(client) == "second"
        await new_session(client, TWO, workingDirectory=tmp_path.as_uri())
        assert client.session(TWO).summary.provider == of_folder
        resolved = await client.request("resolveSessionConfig", workingDirectory=tmp_path.as_uri())
        assert resolved["values"].get("tone") == ("third" if of_folder == "third" else None)
