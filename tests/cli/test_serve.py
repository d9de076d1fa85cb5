"""`serai serve`: what it prints works, and what it writes down is true."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from pathlib import Path

import pytest

from cli.programs import run, running
from serai.cli.addresses import called_by, is_everywhere, url_of
from serai.client import connect
from serai.config.keys import find_database_key
from serai.config.paths import find_paths
from serai.store.connection import connect as open_database
from serai.store.opening import PAGE_SIZE
from serai.store.sqlite import SqliteStore
from store.kinds import damage


async def test_the_lock_names_the_port_that_was_free(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        address = (await host.says(r"address  http://(\S+?)/\?tkn="))[1]
        holder = json.loads((tmp_path / "history.db.lock").read_bytes())
        assert holder["address"] == address
        assert holder["pid"] == host.process.pid
        listed = await run("--home", str(tmp_path), "sessions", "--json", home=tmp_path / "other")
        assert (listed.code, listed.out, listed.err) == (0, "[]\n", "")
        second = await run("serve", "--port", "0", home=tmp_path)
        assert second.code == 1
        assert f"is in use by the process {host.process.pid} at {address}, since" in second.err
        assert "Traceback" not in second.err


async def test_a_host_on_all_addresses_prints_those_that_work(tmp_path: Path) -> None:
    async with running("serve", "--host", "0.0.0.0", "--port", "0", home=tmp_path) as host:
        await host.says("Press Ctrl-C")
        urls = re.findall(r"http://\S+", host.printed)
        assert urls[0].startswith("http://127.0.0.1:")
        assert not any("0.0.0.0" in url for url in urls)
        assert len(urls) == len(called_by("0.0.0.0"))
        for url in urls:
            async with asyncio.timeout(30), connect(url) as client:
                await client.ping()
        listed = await run("sessions", "--json", home=tmp_path)
        assert listed.out == "[]\n"


async def test_a_port_that_is_taken_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = await run("serve", "--port", str(port), home=tmp_path)
    assert done.code == 1
    lines = [line for line in done.err.splitlines() if line.startswith("serai: ")]
    assert len(lines) == 1
    assert f"port {port} of 127.0.0.1 is taken by another program" in lines[0]
    # What was not reached is not told to clients.
    assert json.loads((tmp_path / "history.db.lock").read_bytes())["address"] is None


async def test_a_first_start_that_got_no_further_than_its_key_is_followed_by_another(tmp_path: Path) -> None:
    find_database_key(find_paths(tmp_path, {}), {}, use_keyring=False)
    (tmp_path / "history.db.lock").touch()
    (tmp_path / "history.db.new").write_bytes(b"half")
    async with running("serve", "--port", "0", home=tmp_path) as host:
        await host.says("is ready")


async def test_a_damage_that_is_found_later_is_logged_with_the_name_of_the_file(tmp_path: Path) -> None:
    paths = find_paths(tmp_path, {})
    key = find_database_key(paths, {}, use_keyring=False).value
    assert isinstance(key, bytes)
    store = SqliteStore(paths.database, key)
    await store.open()
    await store.close()
    database = open_database(paths.database, key)
    page = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'blob_uses'").get
    database.close()
    damage(paths.database, PAGE_SIZE * (page - 1) + 100)
    async with running("serve", "--port", "0", home=tmp_path) as host:
        await host.says(rf"the database is damaged: {paths.database}: .*; 'serai doctor' tells more")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]"])
def test_a_machine_is_called_by_its_own_names(host: str) -> None:
    assert is_everywhere(host)
    here, *others = called_by(host)
    assert here == ("127.0.0.1" if host == "0.0.0.0" else "::1")
    assert not {"0.0.0.0", "::", here} & set(others)


def test_a_host_on_one_address_is_called_by_it() -> None:
    assert not is_everywhere("127.0.0.1")
    assert called_by("127.0.0.1") == ["127.0.0.1"]
    assert called_by("[::1]") == ["::1"]
    assert url_of("::1", 80, "t") == "http://[::1]:80/?tkn=t"
    assert url_of("localhost", 80, None) == "http://localhost:80/"
