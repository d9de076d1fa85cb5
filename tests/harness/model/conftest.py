"""Fixtures of the tests of model sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from harness.model.workbench import Workbench, workbench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Workbench]:
    """A session in a folder of its own, in which tools are used."""
    async with workbench(tmp_path) as opened:
        yield opened
