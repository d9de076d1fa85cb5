"""An agent's pipes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from serai.acp.process.pipes import Pipes
from serai.errors import ProcessNotStarted
from serai.machine.processes.processes import Processes


async def test_pipes_of_a_process_that_a_closing_host_has_ended_meanwhile_are_closed(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    pipe = subprocess.PIPE
    child = await processes.start(["cat"], what="a cat", stdin=pipe, stdout=pipe, stderr=pipe)
    await processes.close()
    with pytest.raises(ProcessNotStarted, match="a cat was ended"):
        await Pipes.connect(child, output=lambda _: None, log=lambda _: None)
    ends = (child.stdin, child.stdout, child.stderr)
    assert all(end is not None and end.closed for end in ends)
