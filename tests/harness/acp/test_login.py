"""Signing in to an agent through the port: in a terminal of the host, by the agent, by variables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, Refused
from harness.acp.conftest import ONE, Inn, found_agent, notices, said, say
from serai.acp.process.connection import Launch
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import Finder, FoundAgent
from serai.agents.catalogue.introduction import AgentMemory
from serai.agents.catalogue.programs import Surroundings
from serai.ahp.extensions import SIGN_IN, SIGN_IN_METHODS
from serai.ahp.types import ErrorInfo, TerminalClientClaim, TerminalState
from serai.client.terminal import terminal_text
from serai.contract import AgentStatus
from serai.harness.acp.harness import AcpHarness, offer_installed
from serai.harness.acp.login import LOGIN_METHOD, ways_in
from serai.host.session.session import Session

ROOT = "ahp-root://"
AGENTS = Path(__file__).parent / "agents"
GUARDED = (sys.executable, "-I", "-S", "-u", str(AGENTS / "guarded.py"))
LOGIN: dict[str, Any] = {"login": (*GUARDED, "login")}
TERMINAL = "ahp-terminal:/sign-in"


def _login_argv(found: FoundAgent, around: Surroundings) -> tuple[str, ...]:
    """How the catalogue's command is started here."""
    return next((way.argv for way in ways_in(found, None, around) if way.method.id == LOGIN_METHOD), ())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of a person in which nobody has signed in yet."""
    home = tmp_path / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def offer(inn: Inn, *words: str, **definition: Any) -> AcpHarness:
    """An agent that behaves so; without any definition, all that is known of it is what it says."""
    host = inn.house.host
    found = found_agent((*GUARDED, *words), "guarded", **definition)
    harness = AcpHarness(found, host)
    host.agent_list.add([harness])
    return harness


async def methods(client: Client) -> dict[str, Any]:
    return await client.request(SIGN_IN_METHODS, ROOT, provider="guarded")


async def sign_in(client: Client, **params: Any) -> dict[str, Any]:
    return await client.request(SIGN_IN, ROOT, provider="guarded", **params)


def terminal(client: Client) -> TerminalState:
    state = client.state.confirmed(TERMINAL)
    assert isinstance(state, TerminalState)
    return state


def shown(client: Client) -> str:
    return terminal_text(terminal(client))


async def enter(client: Client, code: str = "sesame", **params: Any) -> Any:
    """Sign in in a terminal, as a person does. Returns how the command ended."""
    begun = await sign_in(client, terminal=TERMINAL, **params)
    assert begun["terminal"] == TERMINAL
    await client.subscribe(TERMINAL)
    await client.until(lambda: "Your code: " in shown(client))
    await client.dispatch(TERMINAL, "terminal/input", data=f"{code}\r")
    await client.until(lambda: terminal(client).exit_code is not None)
    return terminal(client).exit_code


def hosted(inn: Inn, session: str) -> Session:
    """The session, as the host has it."""
    found = inn.house.host.sessions.get(session)
    assert found is not None
    return found


def creation_error(client: Client) -> ErrorInfo:
    error = client.session(ONE).creation_error
    assert error is not None
    return error


def meta(client: Client) -> dict[str, Any]:
    return client.session(ONE).meta or {}


# -- in a terminal -----------------------------------------------------------------------------------------


async def test_a_session_that_was_refused_begins_after_a_sign_in_in_a_terminal(
    inn: Inn, client: Client, home: Path
) -> None:
    offer(inn, **LOGIN)
    session = await inn.session(client, provider="guarded")
    state = client.session(session)
    assert (state.lifecycle, creation_error(client).error_type) == ("creationFailed", "auth_required")
    assert "login' in a terminal" in creation_error(client).message
    assert (meta(client)["serai.login"]["command"], state.summary.activity) == (
        list(LOGIN["login"]),
        "A sign-in is needed",
    )
    assert hosted(inn, session).status is AgentStatus.BLOCKED

    told = await methods(client)
    assert told["signedIn"] is False
    (method,) = told["methods"]
    assert (method["id"], method["kind"], method["command"]) == (
        LOGIN_METHOD,
        "terminal",
        list(LOGIN["login"]),
    )
    assert await enter(client, cols=100, rows=30) == 0
    state = terminal(client)
    assert (state.title, state.cols) == ("Sign in to guarded", 100)
    assert state.claim == TerminalClientClaim(client_id=client.id)
    assert f"in {home} as nobody" in shown(client), "not where the host works: that may be anyone's folder"
    (listed,) = client.root.terminals or []
    assert (listed.resource, listed.exit_code) == (TERMINAL, 0)

    assert (await methods(client))["signedIn"] is True
    state = client.session(session)
    assert (state.lifecycle, state.summary.activity) == ("ready", None)
    assert "serai.login" not in meta(client)
    assert hosted(inn, session).status is AgentStatus.IDLE
    assert said(await say(client, session, "hello")) == "you said hello"


async def test_who_fails_to_sign_in_is_told_so_and_may_try_again(inn: Inn, client: Client) -> None:
    offer(inn, **LOGIN)
    session = await inn.session(client, provider="guarded")
    assert await enter(client, "mellon") == 3
    assert (await methods(client))["signedIn"] is False
    assert client.session(session).lifecycle == "creationFailed"
    await client.request("disposeTerminal", TERMINAL)
    assert await enter(client) == 0
    assert (await methods(client))["signedIn"] is True
    assert client.session(session).lifecycle == "ready"


async def test_a_turn_that_was_refused_is_tried_again_with_another_process(inn: Inn, client: Client) -> None:
    offer(inn, "late", **LOGIN)
    session = await inn.session(client, provider="guarded")
    turn = await say(client, session, "one")
    assert (turn.state, turn.error.error_type) == ("error", "auth_required")
    kept = hosted(inn, session)
    assert (kept.status, client.session(session).summary.activity) == (
        AgentStatus.BLOCKED,
        "A sign-in is needed",
    )
    assert client.session(session).summary.status & 31 == 2
    assert await enter(client) == 0
    # It makes sessions for anyone: so the session it made says nothing.
    assert "signedIn" not in await methods(client)
    assert (kept.status, client.session(session).summary.activity) == (AgentStatus.IDLE, None)
    again = await say(client, session, "two")
    assert (said(again), again.state) == ("you said two", "complete")
    assert "has loaded its session" in notices(again)[0]


async def test_a_need_to_sign_in_is_known_after_a_restart(inn: Inn, client: Client) -> None:
    offer(inn, "late", **LOGIN)
    session = await inn.session(client, provider="guarded")
    await say(client, session, "one")
    await inn.restart()
    client = await inn.connect("two", ROOT, session)
    assert hosted(inn, session).status is AgentStatus.BLOCKED
    assert client.session(session).summary.activity == "A sign-in is needed"


async def test_what_is_typed_is_not_in_the_store(inn: Inn, client: Client) -> None:
    offer(inn, **LOGIN)
    await enter(client, "a-wrong-secret-code")
    await inn.house.host.journal.committed()
    store = inn.house.store
    rows = [row for channel in (ROOT, TERMINAL, "serai-terminals") for row in await store.rows(channel, 0)]
    assert rows
    assert not any(b"a-wrong-secret-code" in row.action for row in rows)


async def test_a_secret_in_the_command_is_used_and_not_told(inn: Inn, client: Client) -> None:
    secret = "sk-" + "ant-api03-q7Zt1Lw9RkX4vB2nM8sD5fG0hJ3pA6yC"
    offer(inn, "terminal", secret, login=(*GUARDED, "login", secret))
    assert [method["id"] for method in (await methods(client))["methods"]] == [LOGIN_METHOD, "tty"]
    assert await enter(client) == 0
    assert not any(secret in frame for frame in client.frames)


# -- by the agent ------------------------------------------------------------------------------------------


async def test_the_agent_signs_someone_in_and_a_refused_session_begins(inn: Inn, client: Client) -> None:
    offer(inn, "plain", "forgetful")
    session = await inn.session(client, provider="guarded")
    assert client.session(session).lifecycle == "creationFailed"
    assert "Sign in with: Browser" in creation_error(client).message
    done = await sign_in(client, methodId="browser")
    assert (done["signedIn"], done["method"]["kind"]) == (True, "agent")
    assert "terminal" not in done
    assert client.session(session).lifecycle == "ready"
    assert said(await say(client, session, "hello")) == "you said hello"
    # And so does a new one, in a process that knows nothing of it.
    other = await inn.session(client, "ahp-session:/other", provider="guarded")
    assert client.session(other).lifecycle == "ready"
    assert (await methods(client))["signedIn"] is True


async def test_the_way_that_was_chosen_outlives_the_host(inn: Inn, client: Client, tmp_path: Path) -> None:
    way = Way(program=GUARDED[0], args=(*GUARDED[1:], "plain", "forgetful"))
    definition = AgentDefinition(id="guarded", label="Guarded", ways=(way,))

    async def offer() -> None:
        await offer_installed(inn.house.host, [definition], Finder(Surroundings(environ={}, home=tmp_path)))

    await offer()
    session = await inn.session(client, provider="guarded")
    assert (await sign_in(client, methodId="browser"))["signedIn"] is True
    assert said(await say(client, session, "hello")) == "you said hello"
    await inn.restart()
    await offer()
    client = await inn.connect("again", ONE)
    assert said(await say(client, session, "again")) == "you said again"


# -- by variables, and otherwise ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"provider": "nobody"}, "there is no agent 'nobody'"),
        ({"methodId": "magic"}, "there are: serai.login"),
        ({"terminal": "ahp-session:/one"}, "begins with ahp-terminal:/"),
    ],
)
async def test_what_cannot_be_is_refused(
    inn: Inn, client: Client, params: dict[str, Any], words: str
) -> None:
    offer(inn, **LOGIN)
    with pytest.raises(Refused, match=words):
        await client.request(SIGN_IN, ROOT, **{"provider": "guarded", **params})
    assert not client.root.terminals


async def test_a_client_cannot_say_what_is_run_nor_take_a_terminal_that_is_there(
    inn: Inn, client: Client
) -> None:
    offer(inn, **LOGIN)
    begun = await sign_in(client, terminal=TERMINAL, command=["touch", "/tmp/x"], argv=["sh"])  # noqa: S108 - never made
    assert begun["method"]["command"] == list(LOGIN["login"])
    with pytest.raises(Refused, match="exists already"):
        await sign_in(client, terminal=TERMINAL)


# -- what is remembered ------------------------------------------------------------------------------------


async def test_what_the_agent_says_is_kept_for_who_asks_later(inn: Inn, client: Client) -> None:
    file = inn.house.host.home / "agents.json"
    memory = AgentMemory(file)
    harness = offer(inn, **LOGIN)
    await inn.session(client, provider="guarded")
    kept = memory.recall(harness.found)
    assert kept is not None
    assert kept.capabilities is not None
    assert (kept.capabilities.load_session, kept.signed_in) == (True, False)
    await enter(client)
    await methods(client)
    kept = memory.recall(harness.found)
    assert kept is not None
    assert kept.signed_in is True
    assert "sesame" not in file.read_text()


# -- the ways, without running anything --------------------------------------------------------------------


def program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def surroundings(tmp_path: Path, *folders: Path) -> Surroundings:
    path = ":".join(map(str, folders))
    return Surroundings(home=tmp_path, environ={"PATH": path}, system=())


def an_agent(way: Way, login: tuple[str, ...], argv: tuple[str, ...], *more: Way) -> FoundAgent:
    definition = AgentDefinition(id="a", label="A", ways=(way, *more), login=login)
    path = next((Path(word) for word in argv if Path(word).name == way.program), None)
    return FoundAgent(definition, installed=True, path=path, way=way, launch=Launch(argv))


def test_the_command_of_the_catalogue_is_the_agents_own_program_as_it_was_found(tmp_path: Path) -> None:
    program(tmp_path / "first", "agent")
    found = an_agent(
        Way(program="agent", args=("acp",)), ("agent", "login"), ("/own/node", "/own/agent", "acp")
    )
    around = surroundings(tmp_path, tmp_path / "first")
    assert _login_argv(found, around) == ("/own/node", "/own/agent", "login")
