"""Customisations over the port: what a folder, a home and a client have, as a session shows it."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.programs import run, running
from conformance.client import Client, Refused, connecting, serve_nothing
from conformance.conftest import ONE, ROOT, Connect, new_session, say
from hosts import WITHIN, House, housing
from requirements import proves
from serai.customizations import AgentDefinition, Definition, HookDefinition
from serai.harness.callback import CallbackHarness
from serai.host.settings import HostSettings
from serai.host.turn import Turn

SKILL = "---\nname: {name}\ndescription: {about}\n---\nDo it.\n"
HOOKS = '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}'
GRACE = 0.02


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def write_skill(folder: Path, name: str, about: str = "Something") -> None:
    write(folder / ".agents/skills" / name / "SKILL.md", SKILL.format(name=name, about=about))


class Inn:
    """The folders of a test, and what its agent saw."""

    def __init__(self, place: Path) -> None:
        self.home = place / "person"
        self.work = place / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.trusted: list[Path] = []
        self.seen: list[tuple[Definition, ...]] = []

    async def look(self, turn: Turn) -> None:
        """An agent that looks at what it has."""
        self.seen.append(await turn.definitions())

    def is_trusted(self, folder: Path) -> bool:
        return folder in self.trusted


@pytest.fixture
def inn(tmp_path: Path) -> Inn:
    return Inn(tmp_path)


@pytest.fixture
async def house(inn: Inn) -> AsyncIterator[House]:
    settings = HostSettings(summary_delay=0.01, client_grace=GRACE)
    async with housing(
        harnesses=[CallbackHarness("looks", inn.look)],
        settings=settings,
        is_trusted=inn.is_trusted,
        user_home=inn.home,
    ) as house:
        yield house


def containers(client: Client, session: str = ONE) -> dict[str, Any]:
    """The containers that a client knows, by name."""
    found: list[Any] = list(client.session(session).customizations or ())
    return {container.name: container for container in found}


def children(client: Client, session: str = ONE) -> list[str]:
    """The names of all that is in them."""
    found = containers(client, session).values()
    return sorted(child.name for container in found for child in container.children or ())


def state_of(container: Any) -> str:
    """How far the host is with a container."""
    return container.load.__struct_config__.tag


def by_child(client: Client, name: str) -> Any:
    """The container that has a child of that name."""
    found = containers(client).values()
    return next(c for c in found if any(child.name == name for child in c.children or ()))


async def begin(client: Client, inn: Inn, uri: str = ONE, **params: Any) -> str:
    """A session in the folder, as soon as it has its customisations."""
    session = await new_session(client, uri, workingDirectory=inn.work.as_uri(), provider="looks", **params)
    await client.until(lambda: client.session(session).customizations)
    return session


async def toggle(client: Client, container: str, *, enabled: bool) -> str | None:
    """Switch a container; the reason when that is refused."""
    seq = await client.dispatch(ONE, "customizationToggled", id=container, enabled=enabled)

    def told() -> list[dict[str, Any]]:
        return [e for e in client.envelopes if e.get("origin", {}).get("clientSeq") == seq]

    await client.until(told)
    return told()[0].get("rejectionReason")


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


async def test_a_session_without_a_folder_has_what_the_home_has(client: Client, inn: Inn) -> None:
    write_skill(inn.home, "cook")
    await new_session(client)
    await client.until(lambda: children(client) == ["cook"])


async def test_where_there_is_nothing_nothing_is_told(client: Client, house: House) -> None:
    session = await new_session(client)
    await say(client, session, "hello")
    hosted = house.host.loaded(session)
    assert hosted is not None
    assert await hosted.customizations.definitions() == ()
    await client.ping()
    assert client.session(session).customizations is None
    assert client.heard("customizationsChanged") == []


async def test_a_broken_file_is_told_of_and_the_rest_is_there(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep")
    write(inn.work / ".agents/skills/broken/SKILL.md", "---\nname: [\n---\n")
    await begin(client, inn)
    assert state_of(by_child(client, "sweep")) == "degraded"
    assert "broken/SKILL.md" in by_child(client, "sweep").load.message


async def test_only_the_working_directory_is_for_clients_to_write_to(client: Client, inn: Inn) -> None:
    write_skill(inn.work, "sweep")
    write_skill(inn.home, "cook")
    await begin(client, inn)
    assert by_child(client, "sweep").writable
    assert not by_child(client, "cook").writable


async def test_a_folder_that_is_not_there_does_not_matter(client: Client, inn: Inn) -> None:
    inn.work.rmdir()
    write_skill(inn.home, "cook")
    await begin(client, inn)
    assert children(client) == ["cook"]
    assert not any(getattr(container, "writable", False) for container in containers(client).values())


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
    hosted = house.host.loaded(session)
    assert hosted is not None
    assert hosted.seat.custom_agent == chosen
    await say(client, session, "look")
    [definition] = [item for item in inn.seen[-1] if item.uri == chosen.uri]
    assert isinstance(definition, AgentDefinition)
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


def hooks_of(client: Client) -> Any:
    return next(c for c in containers(client).values() if getattr(c, "contents", "") == "hook")


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
    assert isinstance(hook, HookDefinition)
    assert (hook.command, hook.enabled, hook.runnable) == ("touch ran", False, False)


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
        address, token = (await host.says(r"address  http://(\S+?)/\?tkn=(\S+)")).groups()
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
    hosted = house.host.loaded(session)
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
    hosted = house.host.loaded(session)
    assert hosted is not None
    folder = hosted.customizations._folder

    async def until(*, watched: bool) -> None:
        async with asyncio.timeout(WITHIN):
            while bool(folder._ears) is not watched:
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
    hosted = house.host.loaded(session)
    assert hosted is not None
    sent = len(client.envelopes)
    hosted.customizations._show()
    await client.ping()
    assert not any("customization" in envelope["action"]["type"] for envelope in client.envelopes[sent:])


# -- what clients publish ----------------------------------------------------------------------------------

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
    hosted = house.host.loaded(await new_session(client, provider="looks"))
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


async def test_a_plugin_can_be_published_with_the_session(client: Client) -> None:
    client.answers = Shelf({"skills/polish/SKILL.md": SKILL.format(name="polish", about="Polishes")})
    active = {"clientId": "one", "tools": [], "customizations": [plugin()]}
    await new_session(client, activeClient=active)
    await client.until(lambda: load_of(client) == "loaded")


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


async def test_a_plugin_without_a_nonce_is_fetched_each_time(publisher: Client) -> None:
    await publish(publisher, plugin(nonce=None))
    await publisher.until(lambda: load_of(publisher) == "degraded")
    asked = len(publisher.asked)
    await publish(publisher, plugin(nonce=None))
    await publisher.until(lambda: len(publisher.asked) == 2 * asked and load_of(publisher) == "degraded")


async def test_a_client_that_is_active_no_longer_takes_its_plugins_with_it(publisher: Client) -> None:
    await publish(publisher, plugin())
    await publisher.until(lambda: load_of(publisher) == "degraded")
    await publisher.dispatch(ONE, "activeClientChanged", activeClient=None)
    await publisher.hear("customizationRemoved", id="tools")
    assert tools(publisher) is None


async def test_another_client_takes_over_with_plugins_of_its_own(publisher: Client, connect: Connect) -> None:
    await publish(publisher, plugin())
    await publisher.until(lambda: load_of(publisher) == "degraded")
    other = await connect("other", ONE)
    other.answers = Shelf({"skills/wax/SKILL.md": SKILL.format(name="wax", about="Waxes")})
    await publisher.dispatch(ONE, "activeClientChanged", activeClient=None)
    await other.hear("activeClientChanged")
    await publish(other, plugin(id="others", name="Others"))
    await other.until(lambda: children(other) == ["wax"])
    assert list(containers(other)) == ["Others"]


async def test_a_client_that_is_gone_has_some_time_to_come_back(
    publisher: Client, connect: Connect, house: House
) -> None:
    watching = await connect("other", ONE)
    hosted = house.host.loaded(ONE)
    assert hosted is not None
    hosted.settings = replace(hosted.settings, client_grace=60.0)
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
        hosted.settings = replace(hosted.settings, client_grace=GRACE)
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


async def test_an_id_that_another_one_has_is_refused(publisher: Client, inn: Inn) -> None:
    write_skill(inn.home, "cook")
    await publisher.until(lambda: children(publisher) == ["cook"])
    taken = by_child(publisher, "cook").id
    await publish(publisher, plugin(id=taken, name="Thief"), plugin(), plugin(name="Twin", nonce="2"))
    await publisher.until(lambda: load_of(publisher) == "degraded")
    shown = containers(publisher)
    for name in ("Thief", "Twin"):
        assert state_of(shown[name]) == "error"
        assert "is another one's already" in shown[name].load.message
        assert not shown[name].enabled
        assert not shown[name].children
    assert by_child(publisher, "cook").id == taken
    assert len({container.id for container in shown.values()}) == len(shown) == 4


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


async def test_a_client_that_goes_while_it_is_asked_leaves_nothing(
    publisher: Client, connect: Connect
) -> None:
    watching = await connect("other", ROOT, ONE)
    dropped = asyncio.Event()

    def leave(method: str, params: dict[str, Any]) -> Any:
        del method, params
        publisher.drop()
        dropped.set()
        raise Refused({"code": -32009, "message": "too late"})

    publisher.answers = leave
    await publish(publisher, plugin())
    await dropped.wait()
    await watching.hear("activeClientChanged", activeClient=None)
    await watching.until(lambda: tools(watching) is None)


async def test_a_published_plugin_can_be_switched_off(publisher: Client, inn: Inn) -> None:
    await publish(publisher, plugin())
    await publisher.until(lambda: load_of(publisher) == "degraded")
    assert await toggle(publisher, "tools", enabled=False) is None
    await publish(publisher, plugin(nonce="2"))
    await publisher.until(lambda: load_of(publisher) == "degraded")
    assert not tools(publisher).enabled
    await say(publisher, ONE, "look")
    assert not any(item.enabled or item.runnable for item in inn.seen[-1])
