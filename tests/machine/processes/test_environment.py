"""What a child may know of the host's environment."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from serai.machine.processes.environment import inheritable
from serai.machine.processes.processes import Processes

SECRETS = {
    "SERAI_DATABASE_KEY": "one",
    "SERAI_TOKEN": "two",
    "SERAI_RELAY_SECRET_2": "three",
    "SERAI_OLD_PASSWORD": "4",
}


def test_the_hosts_secrets_stay_out() -> None:
    rest = {"SERAI_HOME": "/h", "SERAI_URL": "u", "API_KEY": "k", "MINE": "m"}
    assert inheritable({**SECRETS, **rest}) == rest
    assert inheritable({**SECRETS, **rest}, hide=["MINE", "API_KEY"]) == {
        "SERAI_HOME": "/h",
        "SERAI_URL": "u",
    }


async def test_a_child_does_not_inherit_them(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    child = await processes.start(["env"], what="env", stdout=subprocess.PIPE)
    assert child.stdout
    told = (await asyncio.to_thread(child.stdout.read)).decode()
    child.stdout.close()
    await child.gone()
    assert "PATH=" in told
    assert not [name for name in SECRETS if name in told]
