"""`serai backup`, `serai restore`, `serai sessions purge` and `--disposed`."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from cli.programs import run, running, seated
from serai.ahp.commands import CreateSessionParams
from serai.cli import main
from serai.client import connect
from serai.config.keys import find_database_key
from serai.config.paths import Paths, find_paths
from serai.errors import ProtocolError
from serai.harness.demo import DemoHarness
from serai.host.changes.changesets import changes_folder
from serai.host.host import Host
from serai.store.sqlite.store import SqliteStore


@pytest.fixture
async def old(tmp_path: Path) -> Paths:
    """The home of a host, with a copy of its database."""
    paths = find_paths(tmp_path / "old", {})
    store = SqliteStore(paths.database, find_database_key(paths, {}, use_keyring=False).value)
    await store.open()
    await store.close()
    assert (await run("backup", str(tmp_path / "copy.db"), home=paths.home)).code == 0
    return paths


async def test_on_a_new_machine_the_key_has_to_be_brought_along(old: Paths, tmp_path: Path) -> None:
    new = find_paths(tmp_path / "new", {})
    done = await run("restore", str(tmp_path / "copy.db"), home=new.home)
    assert done.code == 1
    assert f"Copy database.key to {new.home}" in done.err
    assert "SERAI_DATABASE_KEY" in done.err
    assert not new.home.exists()
    key = old.database_key.read_text().strip()
    assert (await run("restore", str(tmp_path / "copy.db"), home=new.home, SERAI_DATABASE_KEY=key)).code == 0
    assert new.database.exists()
    assert not new.database_key.exists()
    new.database_key.touch(0o600)
    new.database_key.write_text(key)
    assert (await run("doctor", home=new.home)).out.count("every page checked") == 1


async def test_a_database_that_became_empty_is_refused_and_can_be_restored(
    old: Paths, tmp_path: Path
) -> None:
    old.database.write_bytes(b"")
    old.database.with_name("history.db.lock").unlink()
    async with running("serve", "--port", "0", home=old.home) as host:
        assert await host.ended() == 1
    assert f"{old.database} is no database of Serai's, or its beginning is lost" in host.printed
    assert "'serai restore'" in host.printed
    assert old.database.stat().st_size == 0
    assert (await run("restore", str(tmp_path / "copy.db"), home=old.home)).code == 0
    assert "every page checked" in (await run("doctor", home=old.home)).out


async def test_a_copy_is_written_over_nothing_and_through_no_link(old: Paths, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to("nowhere.db")
    done = await run("backup", str(link), home=old.home)
    assert (done.code, done.out) == (1, "")
    assert f"{link} exists. Name a new file; nothing is overwritten" in done.err
    assert is_link_to_nothing(link)


def is_link_to_nothing(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


async def test_a_copy_that_is_none_is_not_to_be_restored_again(old: Paths, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(b"x" * 5_000)
    done = await run("restore", str(other), home=old.home)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "Name another copy, or the key that it was made with; nothing was changed" in done.err
    assert "serai restore" not in done.err


@pytest.mark.parametrize(
    "words", [("backup", "x.db"), ("sessions", "purge", "x"), ("sessions", "--disposed")]
)
async def test_without_a_database_nothing_is_made(words: tuple[str, ...], tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = await run(*words, home=home, cwd=tmp_path)
    assert done.code == 1
    assert f"there is no database {home / 'history.db'}" in done.err
    assert not home.exists()


FIRST, SECOND, THIRD = (f"ahp-session:/{name}-0000" for name in ("aaaa1111", "aaaa2222", "bbbb3333"))


async def test_they_are_listed_while_the_host_runs_and_purged_when_it_does_not(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        await host.says("address")
        async with connect(home=tmp_path) as client:
            for uri in (FIRST, SECOND, THIRD):
                session = await client.create_session("demo", uri=uri)
                await session.set_title(f"Of {uri}")
            done = await run("sessions", "--disposed", home=tmp_path)
            assert (done.code, done.out) == (0, "")
            assert "No session is disposed of" in done.err
            done = await run("sessions", "dispose", "aaaa1", home=tmp_path)
            assert "`serai sessions --disposed` lists it" in done.out
            assert (await run("sessions", "dispose", "bbbb", home=tmp_path)).code == 0
            done = await run("sessions", "--disposed", home=tmp_path, COLUMNS="120")
            head, *rows = done.out.splitlines()
            assert head.split() == ["ID", "AGENT", "TITLE", "STATUS", "CHANGED"]
            assert {row.split()[0] for row in rows} == {"aaaa1111", "bbbb3333"}
            assert all(re.search(r"Of ahp-session:/\S+ +disposed +now$", row) for row in rows)
            done = await run("sessions", "list", "--disposed", "--json", home=tmp_path)
            assert {one["resource"] for one in json.loads(done.out)} == {FIRST, THIRD}
            with pytest.raises(ProtocolError, match=r"was disposed of and is kept.*'serai sessions purge'"):
                await client.create_session("demo", uri=FIRST)
            with pytest.raises(ProtocolError, match="exists already"):
                await client.create_session("demo", uri=SECOND)
    done = await run("sessions", "purge", "aaaa", "--yes", home=tmp_path)
    assert done.code == 1
    assert "2 sessions begin with 'aaaa'" in done.err
    done = await run("sessions", "purge", "cccc", "--yes", home=tmp_path)
    assert "`serai sessions --disposed` list them" in done.err
    done = await run("sessions", "purge", "aaaa1", THIRD, "--yes", home=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{FIRST} is erased.\n{THIRD} is erased.\n"
    assert "No session is disposed of" in (await run("sessions", "--disposed", home=tmp_path)).err


async def test_those_of_a_host_elsewhere_are_not_looked_for_here(tmp_path: Path) -> None:
    done = await run("sessions", "--disposed", "--url", "http://there.example:1", home=tmp_path)
    assert done.code == 1
    assert "Run it on the host's machine" in done.err


SESSIONS = ("ahp-session:/first", "ahp-session:/second")


async def _fill(home: Path, work: Path) -> None:
    """Two sessions that have recorded something of their folder."""
    paths = find_paths(str(home), {})
    paths.make_home()
    store = SqliteStore(paths.database, find_database_key(paths, {}, use_keyring=False).value)
    host = Host(store, [DemoHarness(pace="instant")], lambda message: message, home=home, user_home=work)
    await host.open()
    for uri in SESSIONS:
        session = await host.create(CreateSessionParams(channel=uri, working_directory=work.as_uri()), "c")
        await session.ready()
        await session.changes.bases.current()
    await host.close()


def test_what_was_recorded_of_changes_goes_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERAI_USE_KEYRING", "false")
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    asyncio.run(_fill(home, work))
    first, second = (changes_folder(home, uri) for uri in SESSIONS)
    assert first.is_dir()
    assert second.is_dir()
    assert main(["--home", str(home), "sessions", "purge", "--yes", "first"]) == 0
    assert "ahp-session:/first is erased" in capsys.readouterr().out
    assert not first.exists()
    assert second.is_dir()


@pytest.mark.parametrize(("keys", "code"), [("\x03", 130), ("y\r", 0)])
async def test_it_asks_first_and_can_be_left(tmp_path: Path, keys: str, code: int) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    await _fill(home, work)
    async with seated("sessions", "purge", "first", home=home) as seat:
        await seat.shows(r"ahp-session:/first\r\nErase for good\? This cannot be undone\. \[y/N\] ")
        seat.type(keys)
        assert await seat.ended() == code
        assert changes_folder(home, SESSIONS[0]).exists() == (code != 0)
        assert "Traceback" not in seat.text
