"""What the tests of the agents share."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.home.mkdir()
    machine.bin.mkdir()
    return machine
