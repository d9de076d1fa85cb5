"""Signing in to an agent from a real terminal: in `serai chat`, and with `serai agents signin`."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from cli.programs import Program, run, running, seated

AGENTS = Path(__file__).parents[1] / "harness" / "acp" / "agents"
QUICK = [sys.executable, "-I", "-S", "-u", str(AGENTS / "guarded.py")]


@asynccontextmanager
async def a_host(home: Path, *words: str) -> AsyncGenerator[Program]:
    """A host with one agent that wants a sign-in, in a home of its own."""
    (home / "serai.toml").write_text(
        f'default_agent = "guarded"\n[agents.guarded]\ncommand = "{QUICK[0]}"\n'
        f"args = {json.dumps([*QUICK[1:], *words])}\n"
        f"login = {json.dumps([*QUICK, 'login'])}\n"
    )
    async with running(
        "serve", "--port", "0", "--log-level", "error", home=home, HOME=str(home), PATH="/usr/bin:/bin"
    ) as host:
        await host.says("Press Ctrl-C")
        yield host


async def test_a_chat_offers_to_sign_in_and_sends_the_message_again(tmp_path: Path) -> None:
    async with a_host(tmp_path, "late"), seated("chat", home=tmp_path, size=(200, 40)) as seat:
        await seat.sees(r"/help tells more")
        seat.type("hello\r")
        await seat.sees(r"\[auth_required\]")
        await seat.sees(r"guarded\.py\s+login\s+on\s+the\s+host\s+Sign in to guarded now\? \[Y/n\]$")
        seat.type("\r")
        await seat.sees(r"login\.\s+Ctrl-\]\s+leaves\s+it\.\]")
        await seat.sees(r"Your code:")
        assert not seat.is_as_before
        seat.type("sesame\r")
        await seat.sees(r"Welcome\.$")
        await seat.sees(r"\[It has ended with 0\.\]")
        await seat.sees(r"It has ended(.|\n)*\n> hello$")
        await seat.sees(r"you said hello")
        await seat.sees(r"^>$")
        seat.type("and on\r")  # the lines are the chat's again
        await seat.sees(r"you said and on")
        await seat.sees(r"you said and on(.|\n)*\n>$")
        seat.type("/quit\r")
        assert await seat.ended() == 0
        assert seat.is_as_before


async def test_a_chat_whose_session_is_refused_offers_it_before_it_begins(tmp_path: Path) -> None:
    async with a_host(tmp_path):
        async with seated("chat", home=tmp_path, size=(200, 40)) as seat:
            await seat.sees(r"nobody is signed in\)")
            await seat.sees(r"Sign in to guarded now\? \[Y/n\]$")
            seat.type("what\r")
            await seat.sees(r"what\n(.*\n)*Sign in to guarded now\? \[Y/n\]$")
            seat.type("n\r")
            await seat.shows(r"serai: .*wants you to sign in.* \[session_failed\]")
            assert await seat.ended() == 1
        async with seated("chat", home=tmp_path, size=(200, 40)) as seat:
            await seat.sees(r"Sign in to guarded now\? ")
            seat.type("y\r")
            await seat.sees(r"Your code:")
            seat.type("sesame\r")
            await seat.sees(r"You are signed in to guarded")
            await seat.sees(r"/help tells more")
            seat.type("hello\r")
            await seat.sees(r"you said hello")
            assert seat.process.returncode is None


async def test_who_leaves_the_terminal_or_does_not_want_to_is_back_in_the_chat(tmp_path: Path) -> None:
    async with a_host(tmp_path, "late"), seated("chat", home=tmp_path, size=(200, 40)) as seat:
        await seat.sees(r"/help tells more")
        seat.type("hello\r")
        await seat.sees(r"Sign in to guarded now\? ")
        seat.type("\x03")  # Ctrl-C takes back the question
        await seat.sees(r"on the host\n>$")
        seat.type("/signin\r")
        await seat.sees(r"Your code:")
        seat.type("\x1d")
        await seat.sees(r"It runs on\. Come back with: serai terminals attach")
        await seat.sees(r"It runs on(.|\n)*\n>$")
        seat.type("/signin\r")
        await seat.sees(r"It runs on(.|\n)*Your code:$")
        seat.type("mellon\r")
        await seat.sees(r"It has ended with 3")
        await seat.sees(r"ended with 3(.|\n)*(the next message will show|Nobody is signed in)")
        await seat.sees(r"ended with 3(.|\n)*\n>$")
        seat.type("/help\r")
        await seat.sees("/signin        sign in to the agent")


async def test_a_pipe_is_not_asked_and_told_how(tmp_path: Path) -> None:
    async with a_host(tmp_path, "late"):
        done = await run("chat", "--once", "hello", home=tmp_path)
        assert done.code == 1
        assert "login' in a terminal [auth_required]" in done.err
        done = await run("chat", home=tmp_path, typed="hello\n/signin\n")
        assert done.code == 0
        assert "now?" not in done.out
        assert "Go on with: serai terminals attach" in done.out


async def test_signin_leads_into_the_terminal_and_says_what_came_of_it(tmp_path: Path) -> None:
    async with a_host(tmp_path, "plain", "variables"):
        async with seated("agents", "signin", "guarded", home=tmp_path) as seat:
            await seat.shows(r"There are 3 ways to sign in to guarded:")
            await seat.shows(r"2  Browser: the agent does it, mostly with a browser.* \(opens a window\)")
            await seat.shows(r"3  A key: set GUARDED_KEY, GUARDED_ORG")
            await seat.shows(r"Which way\? \[1-3, n\] ")
            seat.type("1\r")
            await seat.shows(r"Your code: ")
            seat.type("mellon\r")
            await seat.shows(r"Nobody is signed in to guarded yet\.")
            assert await seat.ended() == 1
            assert seat.is_as_before
        by_key = await run("agents", "signin", "guarded", "--method", "key", home=tmp_path)
        assert by_key.code == 1
        assert "Set GUARDED_KEY and GUARDED_ORG in the environment" in by_key.out
        by_agent = await run("agents", "signin", "guarded", "--method", "browser", home=tmp_path)
        assert (by_agent.code, "You are signed in to guarded." in by_agent.out) == (0, True)
