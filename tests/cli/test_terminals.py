"""`serai terminals`, on real terminals, against a real host."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from cli.programs import Program, run, running, seated

SHELL = {"SHELL": "/bin/sh", "PS1": "$ "}


@asynccontextmanager
async def a_host(home: Path) -> AsyncGenerator[Program]:
    async with running("serve", "--port", "0", "--log-level", "error", home=home, **SHELL) as host:
        await host.says("Press Ctrl-C")
        yield host


async def test_a_shell_on_the_host_is_used_left_and_found_again(tmp_path: Path) -> None:
    async with a_host(tmp_path):
        none = await run("terminals", home=tmp_path)
        assert (none.code, none.out) == (0, "")
        assert "There are no terminals" in none.err
        async with seated("terminals", "open", "--name", "mine", home=tmp_path) as seat:
            await seat.shows(r"\[mine \(\S+\)\. Ctrl-\] leaves it\.\]")
            await seat.shows(r"\$ ")
            assert not seat.is_as_before
            seat.type("echo gru''ezi äö; stty size\r")
            await seat.shows("gruezi äö\r\n30 90\r\n")
            seat.resize(101, 33)
            seat.type("while [ \"$(stty size)\" != '33 101' ]; do :; done; echo si''zed\r")
            await seat.shows("sized\r\n")
            # What comes before the program is there would be the shell's.
            seat.type("sh -c 'echo by''e; exec sleep 60'\r")
            await seat.shows("bye\r\n")
            seat.type("\x03")  # Ctrl-C is the program's, not ours
            await seat.shows(r"\^C", after="bye")
            seat.type("echo la''st\r")
            await seat.shows("last\r\n")
            seat.type("\x1d")
            name = (await seat.shows(r"It runs on\. Come back with: serai terminals attach (\S+)\]"))[1]
            assert await seat.ended() == 0
            assert seat.is_as_before
        listed = await run("terminals", home=tmp_path)
        head, row = listed.out.splitlines()
        assert head.split() == ["ID", "TITLE", "HELD", "BY", "STATUS"]
        assert row.split()[:3] == [name[:8], "mine", "client"]
        assert row.endswith("runs")
        async with seated("terminals", "attach", name[:6], home=tmp_path) as seat:
            await seat.shows("gruezi äö\r\n")
            await seat.shows("last\r\n")
            seat.type("exit 3\r")
            await seat.shows(r"\[It has ended with 3\.\]")
            assert await seat.ended() == 0
            assert seat.is_as_before
        [info] = json.loads((await run("terminals", "list", "--json", home=tmp_path)).out)
        assert (info["title"], info["exitCode"]) == ("mine", 3)
        async with seated("terminals", "attach", info["resource"], home=tmp_path) as seat:
            await seat.shows(r"last\r+\n")
            await seat.shows(r"\[It has ended with 3\.\]")
            assert await seat.ended() == 0
        # Without a person a terminal is opened, and not gone into.
        opened = await run("terminals", "open", home=tmp_path)
        assert opened.out.startswith("ahp-terminal:/")
        attached = await run("terminals", "attach", opened.out.strip(), home=tmp_path)
        assert attached.code == 2
        assert "it needs a terminal" in attached.err


async def test_a_host_that_is_lost_can_be_left_and_a_signal_restores_the_terminal(tmp_path: Path) -> None:
    async with a_host(tmp_path) as host:
        async with seated("terminals", "open", home=tmp_path) as seat:
            await seat.shows(r"\$ ")
            seat.process.terminate()
            assert await seat.ended() == 0
            assert seat.is_as_before
        async with seated("terminals", "open", home=tmp_path) as seat:
            await seat.shows(r"\$ ")
            host.process.terminate()
            await seat.shows(r"\[serai: connection lost: ")
            seat.type("\x1d")
            assert await seat.ended() == 0
            assert seat.is_as_before
