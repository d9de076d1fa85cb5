"""What it costs to read a terminal: CPU of the reading process, from the pty to the batches."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import Result, against_peer
from serai.ahp.actions import TerminalDataAction
from serai.processes.processes import Processes
from serai.terminals.terminal import Terminal

BYTES = 100_000_000
ROUNDS = 3
TEXT = {
    "plain lines": "the quick brown fox jumps over the lazy dog, again and again and again",
    "colours and emoji": "\033[32mok\033[0m  tests/test_fox.py::test_jumps[once] 🦊 \033[2m0.01 s\033[0m",
}


def benchmarks() -> Iterator[Result]:
    """100 MB of two kinds of text, against a loop that reads a pty and looks at nothing."""
    for (name, line), target in zip(TEXT.items(), (2.0, None), strict=True):
        command = ["sh", "-c", f"yes '{line}' | head -c {BYTES}"]
        ours, bare = _take_turns(lambda: asyncio.run(_terminal(command)), lambda: _bare(command))  # noqa: B023 - called here
        yield against_peer(
            f"read 100 MB from a terminal: {name}",
            ours * 1e3,
            "ms",
            peer="a bare pty read loop",
            peer_figure=bare * 1e3,
            target=target,
        )


def _take_turns(*subjects: Callable[[], int]) -> list[float]:
    """The least CPU of several rounds for each subject, in seconds; the programs that write do not count."""
    best = [float("inf")] * len(subjects)
    for _ in range(ROUNDS):
        for number, subject in enumerate(subjects):
            start = time.process_time()
            read = subject()
            best[number] = min(best[number], time.process_time() - start)
            if read < BYTES // 2:  # bytes here, characters there
                raise RuntimeError(f"only {read} bytes were read")
    return best


def _bare(command: list[str]) -> int:
    master, slave = os.openpty()
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    read = 0
    while True:
        try:
            read += len(os.read(master, 65536))
        except OSError:  # everyone has closed the other end
            break
    process.wait()
    os.close(master)
    return read


async def _terminal(command: list[str]) -> int:
    with tempfile.TemporaryDirectory() as directory:
        processes = Processes(Path(directory))
        terminal = await Terminal.start(processes, argv=command)
        read = 0
        while actions := await terminal.batch():
            for action in actions:
                if isinstance(action, TerminalDataAction):
                    read += len(action.data)
        await processes.close()
    return read
