"""`serai serve`: what it prints works, and what it writes down is true."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import stat
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from cli.programs import Program, address_of, make_database, run, running
from serai.ahp import commands as c
from serai.ahp.types import ROOT
from serai.cli.console.target import called_by
from serai.cli.serve import _folder_agent
from serai.client import Client, connect
from serai.config.paths import find_paths
from serai.store.sqlite.connection import connect as open_database
from serai.store.sqlite.file import PAGE_SIZE
from store.kinds import damage


async def test_the_lock_names_the_port_that_was_free(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        address, _ = await address_of(host, tmp_path)
        holder = json.loads((tmp_path / "history.db.lock").read_bytes())
        assert holder["address"] == address
        assert holder["pid"] == host.process.pid
        listed = await run("--home", str(tmp_path), "sessions", "--json", home=tmp_path / "other")
        assert (listed.code, listed.out, listed.err) == (0, "[]\n", "")
        in_use = f"is in use by the process {host.process.pid} at {address}, since"
        for words in (("restore", "copy.db"), ("sessions", "purge", "x")):
            done = await run(*words, home=tmp_path)
            assert (done.code, in_use in done.err) == (1, True)
        async with running("serve", "--port", "0", home=tmp_path) as second:
            assert await second.ended() == 1
            assert in_use in second.printed
            assert "Stop that host, or name another --home" in second.printed
            assert "Traceback" not in second.printed


async def test_a_host_on_all_addresses_prints_those_that_work(tmp_path: Path) -> None:
    async with running("serve", "--host", "0.0.0.0", "--port", "0", home=tmp_path) as host:
        await host.says("Press Ctrl-C")
        _, token = await address_of(host, tmp_path)
        urls = re.findall(r"http://\S+/(?=\s)", host.printed)
        assert urls[0].startswith("http://127.0.0.1:")
        assert not any("0.0.0.0" in url for url in urls)
        assert len(urls) == len(called_by("0.0.0.0"))
        for url in urls:
            async with asyncio.timeout(30), connect(url, token) as client:
                await client.ping()
        listed = await run("sessions", "--json", home=tmp_path)
        assert listed.out == "[]\n"


async def test_a_port_that_is_taken_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        async with running("serve", "--port", str(port), home=tmp_path) as host:
            assert await host.ended() == 1
    lines = [line for line in host.printed.splitlines() if line.startswith("serai: ")]
    assert len(lines) == 1
    assert f"port {port} of 127.0.0.1 is taken by another program" in lines[0]
    # What was not reached is not told to clients.
    assert json.loads((tmp_path / "history.db.lock").read_bytes())["address"] is None


async def test_a_damage_that_is_found_later_is_logged_with_the_name_of_the_file(tmp_path: Path) -> None:
    path, key = await make_database(tmp_path)
    database = open_database(path, key)
    page = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'blob_uses'").get
    database.close()
    damage(path, PAGE_SIZE * (page - 1) + 100)
    async with running("serve", "--port", "0", home=tmp_path) as host:
        await host.says(rf"the database is damaged: {path}: .*; 'serai doctor' tells more")


@pytest.fixture
def open_to_all(tmp_path: Path) -> Iterator[Path]:
    """A home that everyone may write, as all that is made without a word about it."""
    before = os.umask(0)
    try:
        (tmp_path / "home").mkdir()
        yield tmp_path / "home"
    finally:
        os.umask(before)


async def test_all_in_the_home_is_private_and_a_persons_files_are_as_they_want_them(
    tmp_path: Path, open_to_all: Path
) -> None:
    folder = tmp_path / "work"
    make_repository(folder)
    async with (
        running("serve", "--port", "0", home=open_to_all) as host,
        client_of(host, open_to_all) as client,
    ):
        session = await client.create_session(working_directory=folder.as_uri())
        await session.prompt("edit notes.txt")
        await session.until(lambda state: bool(state.turns) and not state.active_turn)
        made = folder.as_uri() + "/a"
        await client.request("resourceMkdir", c.ResourceMkdirParams(channel=ROOT, uri=made))
        await client.request(
            "resourceWrite",
            c.ResourceWriteParams(channel=ROOT, uri=f"{made}/b", data="", encoding="utf-8"),
        )
        terminal = await client.create_terminal(directory=folder.as_uri())
        await terminal.write("umask; exit\r")
        shown = "".join([output.text async for output in terminal.output()])
        modes = modes_in(open_to_all)
    assert "0000\r\n" in shown
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in (folder / "a", folder / "a/b")} == {
        "0o777",
        "0o666",
    }
    assert len(modes) > 5
    assert {path: oct(mode) for path, mode in modes.items() if mode & 0o077} == {}


def modes_in(folder: Path) -> dict[str, int]:
    """The permissions of a folder and of all that is in it, but for what git is just writing."""
    found: dict[str, int] = {}
    for path in (folder, *folder.rglob("*")):
        with suppress(FileNotFoundError):
            if path.name.startswith("tmp_obj_"):
                continue
            found[str(path)] = stat.S_IMODE(path.lstat().st_mode)
    return found


def make_repository(folder: Path) -> None:
    make_folder(folder)
    fill(folder / "notes.txt", "one\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words]
        subprocess.run(git, cwd=folder, check=True)


@asynccontextmanager
async def client_of(host: Program, home: Path) -> AsyncGenerator[Client]:
    address, token = await address_of(host, home)
    async with asyncio.timeout(30), connect(f"http://{address}", token) as client:
        yield client


STRANGE = {
    "long-number": f"port = {'9' * 5000}",
    "deep": "port." + '"!".' * 3_000 + '"!" = 1',
    "long-key": f"{'x' * 200_000} = 1",
    "no-text": "\0\x1b[2J",
    "numbers": "mailbox_size = 9223372036854775807\nclient_grace_seconds = nan",
}


def make_folder(folder: Path) -> None:
    folder.mkdir()


def fill(file: Path, text: str) -> None:
    file.write_text(text)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]"])
def test_a_machine_is_called_by_its_own_names(host: str) -> None:
    here, *others = called_by(host)
    assert here == ("127.0.0.1" if host == "0.0.0.0" else "::1")
    assert not {"0.0.0.0", "::", here} & set(others)


@pytest.mark.parametrize("name", STRANGE)
def test_no_file_of_a_stranger_keeps_anyone_from_the_sessions_of_its_folder(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(tmp_path / "serai.toml", STRANGE[name])
    assert _folder_agent(find_paths(tmp_path / "home", {}), tmp_path.as_uri()) is None
    [warned] = caplog.messages
    assert str(tmp_path / "serai.toml") in warned
    assert len(warned) < 1_500
