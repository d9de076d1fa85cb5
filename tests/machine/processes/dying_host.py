"""A host that is going to be killed: it starts children, says so, and waits.

Usage: dying_host.py FILE NOTES, where FILE gets the pids of what runs, one in a line.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from serai.machine.processes.processes import Processes
from serai.machine.terminals.terminal import Terminal

DEAF = "nohup sleep 600 >/dev/null 2>&1 & echo $! >> {file}"
AWAY = "setsid sh -c 'echo $$ >> {file}; exec sleep 600' &"
STRANGER = f"{sys.executable} {Path(__file__).with_name('daemon.py')} {{file}};"


async def main(file: Path, notes: Path) -> None:
    """Start an agent with pipes and a terminal, each with a deaf child, one that left, and a daemon."""
    processes = Processes(notes)
    background = f"{DEAF}; {AWAY} {STRANGER}".format(file=file)
    agent = await processes.start(
        ["/bin/sh", "-c", f"{background} trap '' HUP TERM; while :; do sleep 0.1; done"],
        what="the agent",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    terminal = await Terminal.start(processes, argv=["bash", "--norc"], what="the terminal")
    terminal.write(f"{background}\r")
    reading = asyncio.create_task(read(terminal))
    while lines(file) < 6:  # noqa: ASYNC110 - nobody would set an event
        await asyncio.sleep(0.005)
    keepers = [child.keeper.pid for child in processes._children]
    print(agent.pid, terminal.pid, *keepers, flush=True)  # noqa: T201 - it is for the test
    await reading


async def read(terminal: Terminal) -> None:
    """Take what the terminal says, for as long as there is a host."""
    while await terminal.batch():
        pass


def lines(file: Path) -> int:
    """How many pids are in the file."""
    return file.read_text().count("\n") if file.exists() else 0


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
