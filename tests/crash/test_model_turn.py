"""A turn of a model session, killed after each thing that anyone hears of it, and taken up again.

Nothing is done twice and nothing is lost: what ran is not run again; where nobody knows whether something
ran, a person is asked, looks, and says so.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, connecting
from conformance.conftest import ROOT
from harness.model.model_server import Call, ModelScriptServer, Reply, model_server
from harness.model.servers import pending
from hosts import HostProcess, host_process
from requirements import proves
from serai.ahp import types as t
from serai.ahp.client import ClientState

STRIDE = 2
"""Each test kills after every so-manyth step, and all of them together after each."""
STEPS = {
    f"session/{step}"
    for step in (
        *("turnStarted", "responsePart", "usage", "toolCallReady", "toolCallConfirmed", "toolCallComplete"),
        *("inputRequested", "inputCompleted", "turnComplete"),
    )
}
"""What is a step of its own: other actions are committed together with one of these, or are more of it."""


def appending(log: Path, word: str) -> Call:
    """A call that leaves a line: whether it ran, and how often, can be seen."""
    code = f"open({str(log)!r}, 'a').write({word + chr(10)!r})"
    return Call("run_command", {"words": ["python3", "-c", code]}, id=f"call-{word}")


def answer_to(body: dict[str, Any], log: Path) -> Reply:
    """What the model says next: it goes by what it was told, and so does not mind being asked again."""
    results = [message for message in body["messages"] if message["role"] == "tool"]
    match len(results):
        case 0:
            return Reply(text=["First ", "one."], calls=[appending(log, "one"), appending(log, "two")])
        case 2:
            return Reply(calls=[Call("write_file", {"path": "made.txt", "content": "made\n"}, id="call-w")])
        case 3:
            return Reply(calls=[Call("ask_user", {"question": "Enough?"}, id="call-q")])
        case _:
            return Reply(text=["All ", "done."])


@asynccontextmanager
async def world(tmp_path: Path) -> AsyncGenerator[tuple[HostProcess, ModelScriptServer]]:
    home = tmp_path / "home"
    home.mkdir()
    async with model_server() as server:
        server.answer = lambda body: answer_to(body, tmp_path / "log")
        models = {"base_url": server.base_url, "allowed_commands": ["python3 *"]}
        async with host_process(home, models=models) as host:
            yield host, server


async def begin(client: Client, session: str, work: Path) -> None:
    await client.initialize(ROOT)
    await client.request("createSession", session, provider="model", workingDirectory=work.as_uri())
    await client.subscribe(session)
    await client.until(lambda: client.session(session).lifecycle == "ready")
    await go(client, session)


async def go(client: Client, session: str) -> None:
    await client.dispatch(session, "turnStarted", turnId="t", userMessage={"text": "Go"})


def words_in(log: Path) -> list[str]:
    return log.read_text().split() if log.exists() else []


async def answer(client: Client, session: str, log: Path) -> None:
    """Say yes to what is open. Of what is in doubt a look at the log tells whether it is to run again."""
    state = client.session(session)
    for request in state.input_requests or ():
        value: dict[str, Any] = {"kind": "text", "value": "yes"}
        if "-doubt-" in request.id:
            word = next((one for one in ("one", "two") if f"'{one}" in (request.message or "")), "")
            is_missing = word not in words_in(
                log
            )  # of a file that was written, to write it again does no harm
            value = {"kind": "boolean", "value": is_missing}
        question = (request.questions or [])[0]
        assert not isinstance(question, dict)
        await client.dispatch(
            session,
            "inputCompleted",
            requestId=request.id,
            response="accept",
            answers={question.id: {"state": "submitted", "value": value}},  # pyright: ignore[reportAttributeAccessIssue]
        )
    for call_id in pending(state):
        await client.dispatch(
            session,
            "toolCallConfirmed",
            turnId="t",
            toolCallId=call_id,
            approved=True,
            confirmed="user-action",
        )


async def live(client: Client, session: str, log: Path, *, most: int = 1 << 30) -> bool:
    """Answer what is asked until the turn is over (which it tells), or so many steps were heard."""
    answered: set[str] = set()

    def heard() -> int:
        return sum(
            envelope["channel"] == session and envelope["action"]["type"] in STEPS
            for envelope in client.envelopes
        )

    def is_over() -> bool:
        return bool(client.session(session).turns)

    def open_ones() -> set[str]:
        state = client.session(session)
        return {*pending(state), *(request.id for request in state.input_requests or ())} - answered

    while not is_over():
        try:
            await client.until(lambda: is_over() or heard() >= most or open_ones())
        except TimeoutError:
            raise AssertionError(f"nothing happens: {client.session(session).active_turn}") from None
        if heard() >= most:
            return is_over()
        answered |= open_ones()
        await answer(client, session, log)
    return True


@pytest.mark.parametrize("first", range(STRIDE))
@proves("session:What-a-session-is/resumable", "session:Lifecycle/resume-reloads")
async def test_a_turn_that_is_killed_anywhere_does_everything_once(tmp_path: Path, first: int) -> None:
    log = tmp_path / "log"
    async with world(tmp_path) as (host, server):
        for most in itertools.count(first + 1, STRIDE):
            session, work = f"ahp-session:/killed-after-{most}", tmp_path / f"work-{most}"
            work.mkdir()
            log.unlink(missing_ok=True)
            async with connecting(host.url, ClientState("person")) as client:
                await begin(client, session, work)
                is_over = await live(client, session, log, most=most)
                await host.kill()
                await client.closed()
            await host.start()
            async with connecting(host.url, ClientState("another")) as again:
                await again.initialize(ROOT)
                await again.subscribe(session)
                if not again.session(session).turns and again.session(session).active_turn is None:
                    await go(again, session)  # it was killed before it heard of it
                await live(again, session, log)
                check(again.session(session), work, log, server)
            if is_over:
                return


def check(state: t.SessionState, work: Path, log: Path, server: ModelScriptServer) -> None:
    """Everything was done, and once."""
    turn = state.turns[-1]
    assert turn.state == "complete", turn.error
    assert sorted(words_in(log)) == ["one", "two"]
    results = [message["content"] for message in server.bodies[-1]["messages"] if message["role"] == "tool"]
    assert len(results) == 4
    assert (work / "made.txt").exists(), results
    assert (work / "made.txt").read_text() == "made\n"
    said = [part.content for part in turn.response_parts if isinstance(part, t.MarkdownResponsePart)]
    assert "All done." in "".join(said)
