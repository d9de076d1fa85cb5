"""Terminals over the port."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, Refused, connecting
from conformance.conftest import Connect, new_session
from hosts import WITHIN, House, host_process
from serai.ahp.types import ROOT, TerminalClientClaim, TerminalState

TERMINAL = "ahp-terminal:/one"


async def start(client: Client, uri: str = TERMINAL, **params: Any) -> Any:
    """Start a shell and follow it."""
    claim = {"kind": "client", "clientId": client.id}
    await client.request("createTerminal", uri, **{"claim": claim, **params})
    return await client.subscribe(uri)


def terminal(client: Client, uri: str = TERMINAL) -> TerminalState:
    """What this client knows of a terminal."""
    state = client.state.confirmed(uri)
    assert isinstance(state, TerminalState)
    return state


def shown(client: Client, uri: str = TERMINAL) -> str:
    """All that is on a terminal, as this client knows it."""
    content = terminal(client, uri).content
    return "".join(getattr(part, "value", "") + getattr(part, "output", "") for part in content)


async def rejected(client: Client, kind: str, **fields: Any) -> str:
    """Dispatch an action that goes back; the reason."""
    seq = await client.dispatch(TERMINAL, kind, **fields)

    def reasons() -> list[str]:
        return [e["rejectionReason"] for e in client.envelopes if e.get("origin", {}).get("clientSeq") == seq]

    await client.until(reasons)
    return reasons()[0]


async def type_in(client: Client, text: str, uri: str = TERMINAL) -> None:
    await client.dispatch(uri, "terminal/input", data=text)


async def test_a_command_that_is_typed_is_run_and_told_of(client: Client) -> None:
    await start(client)
    await client.until(lambda: terminal(client).supports_command_detection)
    await type_in(client, "echo $((40 + 2)); (exit 3)\r")

    def failed() -> list[Any]:
        return [part for part in terminal(client).content if getattr(part, "exit_code", None) == 3]

    await client.until(failed)
    [command] = failed()
    assert (command.command_line, command.is_complete) == ("echo $((40 + 2)); (exit 3)", True)
    assert "42" in command.output
    assert command.duration_ms is not None
    assert "\x1b]633" not in shown(client)


async def test_what_is_typed_is_told_to_nobody_else(client: Client, connect: Connect) -> None:
    await start(client)
    other = await connect("other", TERMINAL)
    await client.until(lambda: terminal(client).supports_command_detection)
    await type_in(client, "stty -echo; echo now'' read; read hidden; stty echo; echo has'' read\r")
    await client.until(lambda: "now read" in shown(client))
    await type_in(client, "a quiet word\r")
    await other.until(lambda: "has read" in shown(other))
    assert not any("quiet" in frame for frame in other.frames)


async def test_the_root_channel_lists_terminals_until_they_are_disposed_of(client: Client) -> None:
    await start(client, name="build")
    [listed] = client.root.terminals or []
    assert (listed.resource, listed.title, listed.exit_code) == (TERMINAL, "build", None)
    await type_in(client, "exit 7\r")
    await client.until(lambda: [one.exit_code for one in client.root.terminals or ()] == [7])
    await client.request("disposeTerminal", TERMINAL)
    await client.until(lambda: client.root.terminals == [])
    with pytest.raises(Refused) as refused:
        await client.request("subscribe", TERMINAL)
    assert refused.value.code == -32008


async def test_the_size_can_be_changed_and_must_be_possible(client: Client) -> None:
    await start(client, cols=100, rows=30)
    await client.dispatch(TERMINAL, "terminal/resized", cols=61, rows=17)
    await client.until(lambda: terminal(client).cols == 61)
    await type_in(client, "stty size\r")
    await client.until(lambda: "17 61" in shown(client))
    rejection = await rejected(client, "terminal/resized", cols=0, rows=17)
    assert rejection.startswith("bad_size")


async def test_only_the_holder_hands_a_terminal_over(client: Client, connect: Connect) -> None:
    await start(client)
    other = await connect("other", ROOT, TERMINAL)
    mine = {"kind": "client", "clientId": "other"}
    assert (await rejected(other, "terminal/claimed", claim=mine)).startswith("not_holder")
    await client.dispatch(TERMINAL, "terminal/claimed", claim=mine)
    held = [TerminalClientClaim(client_id="other")]
    await other.until(lambda: [one.claim for one in other.root.terminals or ()] == held)


USES: dict[str, dict[str, Any]] = {
    "terminal/input": {"data": "echo intruder\r"},
    "terminal/resized": {"cols": 61, "rows": 17},
    "terminal/titleChanged": {"title": "theirs"},
    "terminal/cleared": {},
}


async def test_a_claim_protects_a_terminal_and_looking_is_free(client: Client, connect: Connect) -> None:
    await start(client, name="mine")
    other = await connect("other", ROOT, TERMINAL)
    for kind, fields in USES.items():
        assert (await rejected(other, kind, **fields)).startswith("not_holder"), kind
    with pytest.raises(Refused) as refused:
        await other.request("disposeTerminal", TERMINAL)
    assert refused.value.code == -32009
    await type_in(client, "echo $((40 + 2))\r")
    await other.until(lambda: "42" in shown(other))
    assert "intruder" not in shown(other)
    assert (terminal(client).title, terminal(client).cols) == ("mine", 80)
    await client.request("disposeTerminal", TERMINAL)


async def test_a_terminal_of_a_session_is_for_those_who_follow_it(client: Client, connect: Connect) -> None:
    session = await new_session(client)
    await start(client, claim={"kind": "session", "session": session})
    other = await connect("other", ROOT, TERMINAL)
    assert (await rejected(other, "terminal/input", data="x")).startswith("not_holder")
    await other.subscribe(session)
    await type_in(other, "echo $((40 + 2))\r")
    await client.until(lambda: "42" in shown(client))
    await other.request("disposeTerminal", TERMINAL)


@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "client", "clientId": "someone"},
        {"kind": "session", "session": "ahp-session:/nowhere"},
        {"kind": "spirit"},
    ],
)
async def test_a_terminal_is_handed_over_to_who_is_there_only(client: Client, claim: dict[str, str]) -> None:
    await start(client)
    assert (await rejected(client, "terminal/claimed", claim=claim)).startswith("no_such_holder")
    assert terminal(client).claim == TerminalClientClaim(client_id="one")


async def test_a_terminal_whose_holder_is_gone_can_be_claimed(client: Client, connect: Connect) -> None:
    holder = await connect("holder", ROOT)
    await start(holder)
    await client.subscribe(TERMINAL)
    mine = {"kind": "client", "clientId": "one"}
    assert (await rejected(client, "terminal/claimed", claim=mine)).startswith("not_holder")
    await holder.close()
    async with asyncio.timeout(WITHIN):
        while terminal(client).claim != TerminalClientClaim(client_id="one"):
            await client.dispatch(TERMINAL, "terminal/claimed", claim=mine)
            await client.ping()
    await type_in(client, "echo $((40 + 2))\r")
    await client.until(lambda: "42" in shown(client))


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"claim": {"kind": "client", "clientId": "someone"}}, -32602),
        ({"claim": {"kind": "session", "session": "ahp-session:/nowhere"}}, -32001),
        ({"cwd": "https://example.com/"}, -32602),
        ({"cwd": "file:///no/such/folder"}, -32602),
        ({"cwd": "file:///dev/null"}, -32602),
        ({"cwd": "file:///tmp/%00x"}, -32602),
        ({"cwd": "file:///tmp/" + "n" * 300}, -32602),
        ({"cwd": "file:///" + "a/" * 3000}, -32602),
        ({"claim": {"kind": "spirit"}}, -32602),
        ({"cols": 0}, -32602),
        ({"uri": "ahp-terminal:"}, -32602),
        ({"uri": "ahp-terminal:/"}, -32602),
        ({"uri": "ahp-terminal://"}, -32602),
        ({"uri": "ahp-terminal:/" + "x" * 5000}, -32602),
    ],
)
async def test_what_cannot_be_started_is_refused(client: Client, params: dict[str, Any], code: int) -> None:
    with pytest.raises(Refused) as refused:
        await start(client, **params)
    assert refused.value.code == code
    assert client.root.terminals is None


# -- what is shown, and when -------------------------------------------------------------------------------


async def test_a_secret_after_a_silence_is_masked_and_nothing_is_lost_at_the_end(client: Client) -> None:
    await start(client)
    await client.until(lambda: terminal(client).supports_command_detection)
    key = "ujOeHwdFcAefAZhnM6Jy8c1rihtYlKNxHddm"
    command = "printf 'now g'; read a; printf 'hp'; read b; printf \"_$b, e\"; exit"
    await type_in(client, f"stty -echo; {command}\r")
    await client.until(lambda: shown(client).endswith("now g"))
    await type_in(client, "\r")
    await client.until(lambda: shown(client).endswith("now ghp"))
    await type_in(client, f"{key}\r")
    await client.until(lambda: terminal(client).exit_code is not None)
    assert "now ghp_[masked:github-token], e" in shown(client)


async def test_a_title_shows_no_secret(house: House, client: Client) -> None:
    house.host.redactor.register("THE_KEY", "correct-horse-battery")
    await start(client, name="for correct-horse-battery")
    assert terminal(client).title == "for [secret:THE_KEY]"
    await type_in(client, "printf '\\033]2;it is correct-%s\\a' horse-battery\r")
    await client.until(lambda: terminal(client).title == "it is [secret:THE_KEY]")
    await client.dispatch(TERMINAL, "terminal/titleChanged", title="mine: correct-horse-battery")
    await client.until(lambda: terminal(client).title == "mine: [secret:THE_KEY]")


# -- names and restarts ------------------------------------------------------------------------------------


async def test_a_terminal_of_the_same_name_is_refused(client: Client) -> None:
    await start(client)
    with pytest.raises(Refused) as refused:
        await start(client)
    assert refused.value.code == -32010


async def test_nothing_is_left_of_a_terminal_that_is_disposed_of(client: Client, tmp_path: Path) -> None:
    await start(client)
    note = tmp_path / "pid"
    await type_in(client, f"nohup sleep 300 & echo $! > {note}\r")
    async with asyncio.timeout(WITHIN):
        while not (note.exists() and note.read_text().strip()):
            await client.ping()
    pid = int(note.read_text())
    await client.request("disposeTerminal", TERMINAL)
    async with asyncio.timeout(WITHIN):
        while _runs(pid):
            await client.ping()


async def test_after_a_kill_terminals_say_what_they_were_and_what_is_gone(tmp_path: Path) -> None:
    ended, folder = "ahp-terminal:/ended", tmp_path / "folder"
    folder.mkdir()
    async with host_process(tmp_path) as host:
        async with connecting(host.url, "one") as client:
            await client.initialize(ROOT)
            await start(client, ended, cols=100, rows=30)
            await type_in(client, "exit 3\r", ended)
            await client.until(lambda: terminal(client, ended).exit_code == 3)
            await start(client)
            await client.until(lambda: terminal(client).supports_command_detection)
            await client.dispatch(TERMINAL, "terminal/resized", cols=61, rows=17)
            await type_in(client, f"cd {folder}\r")
            await client.until(lambda: terminal(client).cwd == folder.as_uri())
            await client.ping()
        await host.kill()
        await host.start()
        async with connecting(host.url, "two") as client:
            await client.initialize(ROOT, TERMINAL, ended)
            before, killed = terminal(client, ended), terminal(client)
            assert (before.exit_code, before.cols, before.rows) == (3, 100, 30)
            assert "not kept" in shown(client, ended)
            assert (killed.exit_code, killed.cols, killed.rows) == (129, 61, 17)
            assert killed.cwd == folder.as_uri()
            assert "the host was stopped" in shown(client)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
