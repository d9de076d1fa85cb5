"""A conversation with an agent as a file: one JSON object on a line, for each line that passed.

    {"at": 0.012, "from": "client", "message": {"jsonrpc": "2.0", "id": 0, "method": "initialize", ...}}
    {"at": 0.094, "from": "agent", "message": {"jsonrpc": "2.0", "id": 0, "result": {...}}}
    {"at": 0.101, "from": "log", "text": "a line of its log"}
    {"at": 1.512, "from": "end", "exitCode": 0}

What an agent writes that is no JSON is kept as `text`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from serai.errors import ConfigInvalid, FileUnreadable

__all__ = ["Entry", "Recorder", "read_transcript"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a transcript."""

    origin: str
    """`client`, `agent`, `log` or `end`."""
    message: Any = None
    text: str | None = None
    exit_code: int | None = None
    signal: int | None = None


class Recorder:
    """Writes a transcript. Raises `ConfigInvalid`: it cannot be written."""

    def __init__(self, path: Path, mask: Callable[[str], str]) -> None:
        try:
            # Nobody else should read what was said.
            number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._file = open(number, "ab", buffering=0)  # noqa: PTH123, SIM115 - it stays open until `close`
        except OSError as error:
            raise ConfigInvalid(f"record: {path} cannot be written: {error.strerror}") from None
        self._mask = mask
        self._began = time.monotonic()

    def line(self, origin: str, line: bytes) -> None:
        """A line of the conversation."""
        text = self._mask(line.decode("utf-8", "replace"))
        try:
            self._write(origin, {"message": msgspec.json.decode(text)})
        except msgspec.DecodeError:
            self._write(origin, {"text": text})

    def log(self, line: str) -> None:
        """A line of the agent's log, redacted."""
        self._write("log", {"text": line})

    def close(self, exit_code: int | None, signal: int | None) -> None:
        """The agent has ended."""
        self._write("end", {"exitCode": exit_code, "signal": signal})
        self._file.close()

    def _write(self, origin: str, what: dict[str, Any]) -> None:
        if not self._file.closed:
            at = round(time.monotonic() - self._began, 3)
            self._file.write(msgspec.json.encode({"at": at, "from": origin, **what}) + b"\n")


def read_transcript(path: Path) -> list[Entry]:
    """The lines of a transcript. Raises `FileUnreadable`: it is not there, or is none."""
    try:
        lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines() if line.strip()]
        return [
            Entry(
                line["from"], line.get("message"), line.get("text"), line.get("exitCode"), line.get("signal")
            )
            for line in lines
        ]
    except (OSError, msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise FileUnreadable(f"{path} cannot be read as a transcript: {error}") from None
