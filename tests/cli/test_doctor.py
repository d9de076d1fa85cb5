"""`serai doctor`: what it finds, and what it says to do."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from pathlib import Path

import apsw
import pytest

from agents.machine import Machine
from cli.programs import run, running
from conformance.client import connecting
from crash.disks import house_on, new_disk, ready_session
from hosts import TOKEN, WITHIN
from serai.cli import main
from serai.cli.doctor import _watches
from serai.config.trust import Trust
from serai.store.sqlite.lock import write_address


def doctor(home: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    """The findings by their subjects."""
    main(["doctor", "--json", "--home", str(home)])
    return {finding["subject"]: finding for finding in json.loads(capsys.readouterr().out)}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


async def test_the_host_of_this_home_is_told_with_its_address(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path / "one") as host:
        address = (await host.says(r"http://(127\.0\.0\.1:\d+)/"))[1]
        port = address.rpartition(":")[2]
        done = await run("doctor", home=tmp_path / "one")
        assert done.code == 0, done.out
        line = next(line for line in done.out.splitlines() if line.startswith("ok   host"))
        assert f"the process {host.process.pid} at {address}, since " in line
        assert line.endswith(" holds this home, and answers")
        other = await run("doctor", home=tmp_path / "two", SERAI_PORT=port)
        assert other.code == 1
        assert f"BAD  host       none runs on this home, and {address} is taken" in other.out


async def test_a_host_that_cannot_write_is_not_called_well(tmp_path: Path) -> None:
    disk, database, token = new_disk(), tmp_path / "history.db", tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    async with house_on(disk, database) as house, connecting(house.url) as client:
        write_address(database, f"127.0.0.1:{house.port}")
        await client.initialize()
        session = await ready_session(client)
        with disk.failing("write", "-wal", apsw.SQLITE_FULL):
            await client.dispatch(session, "titleChanged", title="waits")
            async with asyncio.timeout(WITHIN):
                while house.host.journal.unavailable is None:  # noqa: ASYNC110 - a disk has no events
                    await asyncio.sleep(0.001)
            done = await run("doctor", home=tmp_path)
        assert done.code == 1
        line, remedy = next(
            pair
            for pair in zip(done.out.splitlines(), done.out.splitlines()[1:], strict=False)
            if "BAD  host" in pair[0]
        )
        assert " holds this home and answers, but the database cannot be written now (" in line
        assert remedy.strip() == "Make room on its disk, or check its permissions"
        await client.hear("titleChanged", title="waits")
        assert "holds this home, and answers" in (await run("doctor", home=tmp_path)).out


def test_a_disk_that_is_almost_full_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert doctor(tmp_path, capsys)["home"]["well"]
    usage = shutil.disk_usage(tmp_path)._replace(free=4096)

    def almost_full(path: Path) -> object:
        assert path == tmp_path
        return usage

    monkeypatch.setattr("shutil.disk_usage", almost_full)
    found = doctor(tmp_path / "not there yet", capsys)["home"]
    assert not found["well"]
    assert found["says"].endswith(": 4.1 kB are free on its disk")
    assert found["remedy"] == "Make room there"


def test_agents_that_are_installed_are_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path)
    monkeypatch.setattr("os.environ", {"HOME": str(machine.home), "PATH": str(machine.bin)})
    monkeypatch.setattr("serai.agents.catalogue.programs.SYSTEM", ())
    found = doctor(tmp_path / "serai", capsys)["agents"]
    assert found["says"] == "Demo (demo): always there; no other is installed"
    assert found["remedy"] == "'serai agents' tells how to install one"
    machine.program("auggie", "auggie 0.36.0")
    machine.program("goose", "goose 1.50.1")
    found = doctor(tmp_path / "serai", capsys)["agents"]
    assert found["well"]
    told = found["says"].split("; ")
    assert told[0] == "Demo (demo): always there"
    assert [one for one in told if "0.36.0 (auggie): not signed in" in one]
    assert [one for one in told if one.endswith("1.50.1 (goose)")]
    assert len(told) == 3
    (tmp_path / "serai").mkdir()
    (tmp_path / "serai" / "serai.toml").write_text('agent_registry = "/nowhere/registry.json"\n')
    assert not doctor(tmp_path / "serai", capsys)["agents"]["well"]


def test_without_a_host_it_says_whether_one_could_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setenv("SERAI_PORT", str(port))
    found = doctor(tmp_path, capsys)["host"]
    assert found["says"] == f"none runs on this home; 127.0.0.1:{port} is free for it"
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        found = doctor(tmp_path, capsys)["host"]
    assert not found["well"]
    assert "is taken by another program" in found["says"]


def test_it_tells_of_git_of_watching_and_of_terminals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = doctor(tmp_path, capsys)
    assert found["terminals"]["well"]
    assert "fs.inotify.max_user_watches" in found["watching"]["says"]
    monkeypatch.setenv("PATH", str(tmp_path))
    found = doctor(tmp_path, capsys)
    assert not found["git"]["well"]
    assert found["git"]["says"].startswith("git is not installed")
    assert not list(tmp_path.iterdir())  # to look changes nothing


def test_a_limit_that_is_low_is_told_with_how_to_raise_it(tmp_path: Path) -> None:
    (tmp_path / "max_user_watches").write_text("1024\n")
    found = _watches(tmp_path)
    assert not found.well
    assert "1,024 folders" in found.says
    assert "sysctl -w fs.inotify.max_user_watches" in found.remedy
    assert not _watches(tmp_path / "nothing").well


def test_files_that_were_left_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "history.db.partial").write_bytes(b"x" * 2_000)
    (tmp_path / "history.db.replaced-1").write_bytes(b"")
    assert main(["doctor", "--home", str(tmp_path)]) in {0, 1}
    out = capsys.readouterr().out
    assert "history.db.partial (2.0 kB)\n                Left by a run that was cut short." in out
    assert "An earlier database" in out


def test_trusted_folders_are_counted_and_a_damaged_list_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Trust(tmp_path / "trust.json").trust(tmp_path)
    assert doctor(tmp_path, capsys)["trust"]["says"] == "1 folders are trusted, with all that is in them"
    (tmp_path / "trust.json").write_text("{broken")
    found = doctor(tmp_path, capsys)["trust"]
    assert not found["well"]
    assert "is damaged" in found["says"]
    assert "'serai config trust DIR'" in found["remedy"]
