"""Terminals that agents use, and what becomes of terminals when the host stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams, CreateTerminalParams
from serai.ahp.types import (
    TerminalClientClaim,
    TerminalSessionClaim,
    ToolResultTerminalContent,
    UserMessage,
)
from serai.harness.callback import Answer, CallbackHarness
from serai.host.host import Host
from serai.host.session.session import Session
from serai.host.surroundings import terminals
from serai.host.surroundings.terminals import HostTerminal
from serai.host.turn import Turn
from serai.journal.subscriptions import Subscriber
from serai.store.memory import MemoryStore

WITHIN = 30.0
ORIGIN = a.ActionOrigin(client_id="c", client_seq=0)
TERMINAL = "ahp-terminal:/t"


class Nobody(Subscriber):
    def publish(self, frames: bytes) -> None:
        del frames


class Inn:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = MemoryStore()
        self.answer: Answer | None = None
        self.host = self._host()

    def _host(self) -> Host:
        async def answer(turn: Turn) -> None:
            assert self.answer is not None
            await self.answer(turn)

        home = self.folder / "home"
        return Host(self.store, [CallbackHarness("agent", answer)], lambda message: message, home=home)

    async def restart(self) -> None:
        await self.host.close()
        self.host = self._host()
        await self.host.open()

    async def begin(self, answer: Answer) -> Session:
        self.answer = answer
        params = CreateSessionParams(
            channel="ahp-session:/s", provider="agent", working_directory=self.folder.as_uri()
        )
        session = await self.host.create(params, "c")
        await session.ready()
        start = a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="go"))
        session.dispatch(start, ORIGIN, Nobody())
        return session


@pytest.fixture
async def inn(tmp_path: Path) -> AsyncGenerator[Inn]:
    inn = Inn(tmp_path)
    await inn.host.open()
    async with asyncio.timeout(WITHIN):
        yield inn
    await inn.host.close()


async def test_an_agent_runs_a_program_that_can_be_followed(inn: Inn) -> None:
    done: asyncio.Future[HostTerminal] = asyncio.get_running_loop().create_future()

    async def answer(turn: Turn) -> None:
        call = await turn.tool("bash", "Run", message="pwd", confirmed="not-needed")
        terminal = await turn.terminal(["sh", "-c", "pwd; exit 4"], title="pwd", call=call)
        call.show(terminal.content)
        assert await terminal.wait() == 4
        await call.done("Ran it", content=[terminal.content])
        done.set_result(terminal)

    await inn.begin(answer)
    terminal = await done
    assert str(inn.folder) in terminal.text()
    assert terminal.content == ToolResultTerminalContent(resource=terminal.uri, title="pwd")
    claim = terminal.live.head.claim
    assert claim == TerminalSessionClaim(session="ahp-session:/s", turn_id="t", tool_call_id="t-call-1")
    assert inn.host.channels.get(terminal.uri) is terminal


async def test_a_cancelled_turn_takes_its_programs_with_it(inn: Inn) -> None:
    started: asyncio.Future[HostTerminal] = asyncio.get_running_loop().create_future()

    async def answer(turn: Turn) -> None:
        terminal = await turn.terminal(["sleep", "300"])
        started.set_result(terminal)
        await terminal.wait()

    session = await inn.begin(answer)
    terminal = await started
    session.dispatch(a.SessionTurnCancelledAction(turn_id="t"), ORIGIN, Nobody())
    assert await terminal.wait() == 129
    while inn.host.processes._children:
        await inn.host.journal.committed()


@pytest.mark.parametrize(
    ("name", "title"),
    [("n" * 100_000, "n" * 256), ("\x1b]0;x\x07a\nb", "]0;xab"), ("\r\n\x9b", "shell"), (None, "shell")],
)
async def test_a_name_is_bounded_and_has_nothing_but_text(inn: Inn, name: str | None, title: str) -> None:
    claim = TerminalClientClaim(client_id="c")
    await inn.host.terminals.create(CreateTerminalParams(channel=TERMINAL, claim=claim, name=name), "c")
    [listed] = inn.host.root.live.head.terminals or []
    assert listed.title == title


async def test_a_credential_in_what_an_agent_runs_is_masked_in_its_title(inn: Inn) -> None:
    done: asyncio.Future[HostTerminal] = asyncio.get_running_loop().create_future()
    command = f"echo ghp_{'a1B2c3' * 6}"

    async def answer(turn: Turn) -> None:
        terminal = await turn.terminal(["true"], title=command)
        await terminal.wait()
        done.set_result(terminal)

    await inn.begin(answer)
    assert (await done).live.head.title == "echo ghp_[masked:github-token]"


async def test_a_secret_in_a_name_is_masked_also_when_something_divides_it(inn: Inn) -> None:
    inn.host.redactor.register("THE_KEY", "correct-horse-battery")
    claim = TerminalClientClaim(client_id="c")
    name = "x" * 250 + " correct-\x1bhorse-battery"
    await inn.host.terminals.create(CreateTerminalParams(channel=TERMINAL, claim=claim, name=name), "c")
    [listed] = inn.host.root.live.head.terminals or []
    assert listed.title == ("x" * 250 + " [secret:THE_KEY]")[:256]


class Lists:
    """The titles in the lists of terminals that the root channel tells, and in those that are kept."""

    def __init__(self, host: Host) -> None:
        self.told: list[str] = []
        self.kept: list[str] = []
        self._news = asyncio.Event()
        self._act = host.root.act
        host.root.act = self.act

    def act(self, action: a.StateAction, origin: a.ActionOrigin | None = None, *, kept: bool = True) -> None:
        self._act(action, origin, kept=kept)
        if isinstance(action, a.RootTerminalsChangedAction):
            titles = [one.title for one in action.terminals]
            self.told += titles
            self.kept += titles if kept else []
            self._news.set()

    async def until(self, titles: list[str], wanted: str) -> None:
        while wanted not in titles:
            self._news.clear()
            await self._news.wait()


async def test_titles_of_a_program_are_told_at_once_and_then_now_and_then(
    inn: Inn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminals, "_TOLD_EVERY", 0.2)
    lists = Lists(inn.host)
    script = "for n in $(seq 50); do printf '\\033]0;title %d\\007' $n; sleep 0.005; done; exec cat"
    claim = TerminalClientClaim(client_id="c")
    terminal = await inn.host.terminals.start(TERMINAL, claim, argv=["sh", "-c", script])
    begun = asyncio.get_running_loop().time()
    await lists.until(lists.told, "title 50")
    took = asyncio.get_running_loop().time() - begun
    assert terminal.info.title == "title 50"
    assert lists.told[1].startswith("title")
    assert len(lists.told) <= 4 + took / 0.2, "not each of them"
    await inn.host.journal.committed()
    assert len(lists.kept) == 1, "that it was made"
    assert len(await inn.store.rows("serai-terminals", 0)) == 1
    await inn.restart()
    [listed] = inn.host.root.live.head.terminals or []
    assert listed.title == "title 50"


async def test_after_a_restart_terminals_have_ended_and_say_so(inn: Inn) -> None:
    claim = TerminalClientClaim(client_id="c")
    await inn.host.terminals.create(CreateTerminalParams(channel=TERMINAL, claim=claim, name="build"), "c")
    await inn.restart()
    terminal = inn.host.channels.get(TERMINAL)
    assert isinstance(terminal, HostTerminal)
    assert terminal.info.exit_code is not None
    assert (terminal.info.title, terminal.has_ended) == ("build", True)
    assert "not kept" in terminal.text()
    [listed] = inn.host.root.live.head.terminals or []
    assert listed == terminal.info


async def test_a_terminal_whose_keeper_was_killed_has_ended_and_says_so(inn: Inn) -> None:
    terminal = await inn.host.terminals.start(TERMINAL, TerminalClientClaim(client_id="c"), argv=["cat"])
    [child] = inn.host.processes._children
    child.keeper.kill()
    assert await terminal.wait() == 137
    [listed] = inn.host.root.live.head.terminals or []
    assert listed.exit_code == 137
    judgement = terminal.judge(a.TerminalInputAction(data="x"), "c")
    assert judgement.reason is not None
    assert judgement.reason.startswith("terminal_exited")
    await inn.restart()
    [listed] = inn.host.root.live.head.terminals or []
    assert listed.exit_code == 137


async def test_terminals_of_a_session_end_with_it(inn: Inn) -> None:
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer(turn: Turn) -> None:
        started.set_result((await turn.terminal(["sleep", "300"])).uri)

    session = await inn.begin(answer)
    uri = await started
    await inn.host.dispose(session.uri)
    assert inn.host.channels.get(uri) is None
    assert not inn.host.processes._children
    assert not inn.host.root.live.head.terminals
