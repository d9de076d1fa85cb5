"""Sessions: how they begin and end, what they are forked from, and how they are listed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, Refused, connecting, timeless
from conformance.conftest import ONE, ROOT, Connect, new_session, say
from hosts import House, housing
from requirements import proves
from serai.contract import AgentSession
from serai.harness.callback import CallbackHarness
from serai.host.turn import Turn

TWO = "ahp-session:/two"


class Broken(CallbackHarness):
    """An agent that cannot be started."""

    def __init__(self) -> None:
        super().__init__("broken", _never)

    async def create(self, settings: Any, context: Any) -> Any:
        del settings, context
        raise OSError("no such program")


class Slow(CallbackHarness):
    """An agent that takes its time to start, and tells when it is let go."""

    def __init__(self) -> None:
        super().__init__("slow", _never)
        self.may_start = asyncio.Event()
        self.released = asyncio.Event()

    async def create(self, settings: Any, context: Any) -> Any:
        await self.may_start.wait()
        agent: AgentSession = await super().create(settings, context)
        released = self.released

        async def release(reason: str | None = None) -> None:
            del reason
            released.set()

        agent.release = release
        return agent


async def _never(turn: Turn) -> None:
    await asyncio.get_running_loop().create_future()
    await turn.say("never")


@proves("ahp:createSession/result-null", "ahp:session/ready/sent-when-backend-is-up")
async def test_a_session_is_creating_until_its_agent_is_there() -> None:
    slow = Slow()
    async with housing(harnesses=[slow]) as house, connecting(house.url) as client:
        await client.initialize(ROOT)
        assert await client.request("createSession", ONE, provider="slow") is None
        snapshot = await client.subscribe(ONE)
        assert snapshot["state"]["lifecycle"] == "creating"
        await client.dispatch(ONE, "turnStarted", turnId="t", userMessage={"text": "too early"})
        assert (await client.hear("turnStarted"))["rejectionReason"].startswith("not_ready")
        slow.may_start.set()
        await client.hear("ready")
        assert client.session(ONE).lifecycle == "ready"


@proves("ahp:session/creationFailed/sent-when-backend-fails")
async def test_a_session_whose_agent_does_not_start_says_why() -> None:
    async with housing(harnesses=[Broken()]) as house, connecting(house.url) as client:
        await client.initialize(ROOT)
        await new_session(client, ONE, provider="broken")
        state = client.session(ONE)
        assert state.lifecycle == "creationFailed"
        assert state.creation_error is not None
        assert "no such program" in state.creation_error.message
        await client.dispatch(ONE, "turnStarted", turnId="t", userMessage={"text": "x"})
        assert (await client.hear("turnStarted"))["rejectionReason"].startswith("not_ready")


async def test_a_uri_is_not_given_again_however_fast_one_asks(client: Client) -> None:
    answers = [
        await client.ask(method, ONE) for method in ("createSession", "disposeSession", "createSession")
    ]
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert results[:2] == [None, None]
    assert isinstance(results[2], Refused)
    assert results[2].code == -32003


@pytest.mark.parametrize(
    ("uri", "params", "code"),
    [
        (ONE, {"provider": "nobody"}, -32002),
        ("ahp-terminal:/1", {}, -32602),
        ("nonsense", {}, -32602),
        ("", {}, -32602),
        (ONE, {"config": {"imagined": 1}}, -32602),
        (ONE, {"config": {"pace": "lightning"}}, -32602),
        (ONE, {"config": {"pace": 7}}, -32602),
        (ONE, {"activeClient": {"clientId": "somebody else", "tools": []}}, -32602),
        (ONE, {"activeClient": {"tools": []}}, -32602),
        (ONE, {"fork": {"session": "ahp-session:/nowhere", "turnId": "t"}}, -32001),
        (ONE, {"model": "gpt"}, -32602),
    ],
)
@proves("ahp:createSession/active-client-must-be-caller", "ahp:createSession/config-keys-from-schema")
async def test_what_cannot_be_created_is_refused_and_leaves_nothing(
    client: Client, uri: str, params: dict[str, Any], code: int
) -> None:
    with pytest.raises(Refused) as refused:
        await client.request("createSession", uri, **params)
    assert refused.value.code == code
    assert (await client.request("listSessions"))["items"] == []
    assert client.notes == []


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("https://example.com/", "no folder of this machine"),
        ("file://elsewhere/tmp", "no folder of this machine"),
        ("file:///tmp/%00x", "no folder of this machine"),
        ("file:///dev/null", "is no folder"),
        ("file:///dev/null/below", "not a directory"),
        ("{}/loop", "symbolic links"),
        ("{}/" + "n" * 300, "name too long"),
        ("file:///" + "a/" * 3000, "name too long"),
    ],
)
async def test_a_folder_that_cannot_be_is_refused_by_all_who_take_one(
    client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture, folder: str, why: str
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "pool")
    (tmp_path / "pool").symlink_to(tmp_path / "loop")
    where = {"workingDirectory": folder.replace("{}", tmp_path.as_uri())}
    for method, channel, more in (
        ("createSession", ONE, {}),
        ("resolveSessionConfig", ROOT, {}),
        ("sessionConfigCompletions", ROOT, {"property": "pace"}),
    ):
        with pytest.raises(Refused) as refused:
            await client.request(method, channel, **where, **more)
        assert refused.value.code == -32602
        assert refused.value.data["field"] == "params.workingDirectory"
        assert why in refused.value.message.lower()
    assert (await client.request("listSessions"))["items"] == []
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("http://x", "no folder of this machine"),
        ("file://elsewhere/x", "no folder of this machine"),
        ("more", "no folder of this machine"),
        ("", "no folder of this machine"),
        ("/nul\0", "no folder of this machine"),
        ("{}/file", "it is no folder"),
        ("file://{}/file", "it is no folder"),
        ("/" + "a/" * 3000, "name too long"),
    ],
)
async def test_an_additional_folder_that_cannot_be_is_refused_as_well(
    client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture, folder: str, why: str
) -> None:
    (tmp_path / "file").touch()
    config = {"additionalDirectories": [str(tmp_path), folder.replace("{}", str(tmp_path))]}
    for method, channel, more in (
        ("createSession", ONE, {}),
        ("resolveSessionConfig", ROOT, {}),
        ("sessionConfigCompletions", ROOT, {"property": "pace"}),
    ):
        with pytest.raises(Refused) as refused:
            await client.request(method, channel, config=config, **more)
        assert refused.value.code == -32602
        assert refused.value.data["field"] == "params.config.additionalDirectories"
        assert why in refused.value.message.lower()
    assert (await client.request("listSessions"))["items"] == []
    assert "Traceback" not in caplog.text


async def test_a_session_is_not_made_in_a_folder_that_is_not_there(client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "later"
    with pytest.raises(Refused) as refused:
        await client.request("createSession", ONE, workingDirectory=folder.as_uri())
    assert (refused.value.code, refused.value.data["field"]) == (-32602, "params.workingDirectory")
    assert f"there is no folder {folder}" in refused.value.message
    assert "name another" in refused.value.message
    assert (await client.request("listSessions"))["items"] == []
    folder.mkdir()
    await new_session(client, workingDirectory=folder.as_uri())
    assert client.session(ONE).summary.working_directory == folder.as_uri()


async def test_what_was_chosen_at_the_beginning_stands_in_the_state(client: Client, tmp_path: Path) -> None:
    uri = await new_session(
        client,
        model={"id": "demo-large"},
        agent={"uri": "agent:/reviewer"},
        workingDirectory=tmp_path.as_uri(),
        config={"approve": "always"},
    )
    state = client.session(uri)
    assert state.summary.model is not None
    assert state.summary.model.id == "demo-large"
    assert state.summary.agent is not None
    assert state.summary.agent.uri == "agent:/reviewer"
    assert state.summary.working_directory == tmp_path.as_uri()
    assert state.config is not None
    assert state.config.values == {"approve": "always", "pace": "instant"}


@proves("ahp:ProjectInfo/server-owned")
async def test_the_project_is_what_the_host_finds_around_the_working_directory(
    house: House, client: Client, tmp_path: Path
) -> None:
    folder = tmp_path / "inn" / "kitchen"
    folder.mkdir(parents=True)
    (tmp_path / "inn" / ".git").mkdir()
    await new_session(client, workingDirectory=folder.as_uri(), project={"uri": "x:", "displayName": "mine"})
    for kind, fields in (("projectChanged", {"project": {}}), ("metaChanged", {"_meta": {}})):
        await client.dispatch(ONE, kind, **fields)
        assert "rejectionReason" in await client.hear(kind)
    await house.restart()
    async with connecting(house.url, "again") as again:
        await again.initialize(ONE)
        for state in (client.session(ONE), again.session(ONE)):
            project = state.summary.project
            assert project is not None
            assert (project.uri, project.display_name) == ((tmp_path / "inn").as_uri(), "inn")


@proves("ahp:createSession/eager-active-client")
async def test_a_session_may_begin_with_its_creator_as_the_active_client(client: Client) -> None:
    tool = {"name": "lookup", "description": "Looks it up"}
    await new_session(client, activeClient={"clientId": "one", "displayName": "Editor", "tools": [tool]})
    active = client.session(ONE).active_client
    assert active is not None
    assert (active.client_id, active.display_name) == ("one", "Editor")
    assert [t.name for t in active.tools] == ["lookup"]


# -- forks -------------------------------------------------------------------------------------------------


@proves("ahp:createSession/fork-copies-turns")
async def test_a_fork_begins_with_the_turns_up_to_the_named_one(client: Client, session: str) -> None:
    for number in range(1, 4):
        await say(client, session, f"word {number}", f"t{number}")
    await new_session(client, TWO, fork={"session": session, "turnId": "t2"})
    assert client.session(TWO).turns == client.session(session).turns[:2]
    await say(client, TWO, "on its own", "t9")
    assert [t.id for t in client.session(TWO).turns] == ["t1", "t2", "t9"]
    assert [t.id for t in client.session(session).turns] == ["t1", "t2", "t3"]


async def test_a_fork_is_whole_after_a_restart(house: House, client: Client, session: str) -> None:
    for number in range(1, 4):
        await say(client, session, f"word {number}", f"t{number}")
    await new_session(client, TWO, fork={"session": session, "turnId": "t2"}, config={"approve": "always"})
    await say(client, TWO, "on its own", "t9")
    expected = client.session(TWO)
    await house.restart()
    async with connecting(house.url, "again") as again:
        await again.initialize(TWO)
        assert timeless(again.session(TWO)) == timeless(expected)


async def test_a_fork_needs_a_turn_that_has_ended(client: Client, session: str) -> None:
    await say(client, session, "ask text")
    for turn in ("t1", "nothing"):
        with pytest.raises(Refused) as refused:
            await client.request("createSession", TWO, fork={"session": session, "turnId": turn})
        assert refused.value.code == -32001


# -- the end -----------------------------------------------------------------------------------------------


@proves("ahp:disposeSession/result-null", "ahp:disposeSession/session-removed-broadcast")
async def test_a_session_that_is_disposed_of_is_gone_for_all(
    client: Client, session: str, connect: Connect
) -> None:
    other = await connect("other", ROOT, session)
    assert await client.request("disposeSession", session) is None
    for one in (client, other):
        assert (await one.note("root/sessionRemoved"))["session"] == session
        assert (await one.request("listSessions"))["items"] == []
        for method in ("subscribe", "disposeSession", "fetchTurns"):
            with pytest.raises(Refused) as refused:
                await one.request(method, session)
            assert refused.value.code == -32001
    await client.dispatch(session, "titleChanged", title="ghost")
    await client.ping()
    assert client.heard("titleChanged") == []


async def test_the_uri_of_a_session_that_was_disposed_of_is_not_given_again(
    house: House, client: Client, session: str
) -> None:
    await client.request("disposeSession", session)
    for restart in (False, True):
        if restart:
            await house.restart()
        async with connecting(house.url, "other") as other:
            await other.initialize()
            with pytest.raises(Refused) as refused:
                await other.request("createSession", session)
            assert refused.value.code == -32003


@proves("ahp:disposeSession/cleans-up")
async def test_disposing_stops_the_turn_and_lets_the_agent_go() -> None:
    slow = Slow()
    slow.may_start.set()
    async with housing(harnesses=[slow]) as house, connecting(house.url) as client:
        await client.initialize(ROOT)
        await new_session(client, provider="slow")
        await client.dispatch(ONE, "turnStarted", turnId="t1", userMessage={"text": "work"})
        await client.until(lambda: client.root.active_sessions == 1)
        await client.request("disposeSession", ONE)
        assert slow.released.is_set()
        await client.until(lambda: client.root.active_sessions == 0)
