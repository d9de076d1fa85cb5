"""How long the command takes to start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from harness import Result, against_limit, take_turns


def benchmarks() -> Iterator[Result]:
    """`serai --help` and `serai --version`, beside a Python that does nothing."""
    command = str(Path(sys.executable).with_name("serai"))

    def run(*words: str) -> None:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    bare, help_, version = take_turns(
        lambda: run(sys.executable, "-c", "pass"),
        lambda: run(command, "--help"),
        lambda: run(command, "--version"),
    )
    yield against_limit("serai --help, over python -c pass", help_ - bare, "s", limit=0.15)
    yield against_limit("serai --version, over python -c pass", version - bare, "s", limit=0.15)
