"""`serai sessions purge`: nothing is left, neither in the database nor beside it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cli.programs import seated
from serai.ahp.commands import CreateSessionParams
from serai.cli import main
from serai.config.keys import find_database_key
from serai.config.paths import find_paths
from serai.harness.demo import DemoHarness
from serai.host.changes.changesets import changes_folder
from serai.host.host import Host
from serai.store.sqlite.store import SqliteStore

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
        await session.changing.bases.opened()
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


@pytest.mark.parametrize(("keys", "code"), [("\x03", 130), ("\x04", 1), ("n\r", 1), ("y\r", 0)])
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
