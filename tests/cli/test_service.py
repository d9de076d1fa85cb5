"""`serai service`: what it writes for the system, and for whom."""

from __future__ import annotations

import os
import plistlib
from pathlib import Path
from typing import Any

import pytest

from cli.programs import run
from serai.cli.service import launchd_agent, systemd_unit


def test_a_unit_starts_the_host_and_takes_words_as_they_are() -> None:
    unit = systemd_unit(["/opt/my python", "-m", "serai", "50%", "$x"], {"PATH": '/a"b'})
    assert 'ExecStart="/opt/my python" "-m" "serai" "50%%" "$$x"\n' in unit
    assert 'Environment="PATH=/a\\"b"\n' in unit
    assert "WantedBy=default.target\n" in unit


def test_a_launchd_agent_starts_the_host_when_one_logs_in() -> None:
    told = plistlib.loads(launchd_agent(["/bin/python", "-m", "serai"], {"PATH": "/bin"}, Path("/log")))
    assert told["ProgramArguments"] == ["/bin/python", "-m", "serai"]
    assert told["RunAtLoad"] is True


async def test_no_service_is_installed_for_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    done = await run("service", "install", home=tmp_path, XDG_CONFIG_HOME=str(tmp_path))
    assert (done.code, "[config_invalid]" in done.err) == (1, True)
    assert not (tmp_path / "systemd").exists()


async def test_a_service_is_installed_looked_at_and_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("sys.platform", "linux")
    called = tmp_path / "called"
    fake = tmp_path / "systemctl"
    fake.write_text(f'#!/bin/sh\necho "$@" >> {called}\n')
    fake.chmod(0o755)
    environ: dict[str, Any] = {"XDG_CONFIG_HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    unit = tmp_path / "systemd/user/serai.service"
    assert (await run("service", "status", home=tmp_path, **environ)).out == "The service is not installed.\n"
    assert (await run("service", "install", home=tmp_path, **environ)).code == 0
    assert f'"--home" "{tmp_path}"' in unit.read_text()
    assert "The host runs." in (await run("service", "status", home=tmp_path, **environ)).out
    assert (await run("service", "uninstall", home=tmp_path, **environ)).code == 0
    assert not unit.exists()
    assert called.read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable --now serai.service",
        "--user is-active serai.service",
        "--user disable --now serai.service",
    ]


async def test_without_systemd_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("sys.platform", "linux")
    done = await run("service", "install", home=tmp_path, XDG_CONFIG_HOME=str(tmp_path), PATH=str(tmp_path))
    assert (done.code, "start the host with 'serai serve'" in done.err) == (1, True)
