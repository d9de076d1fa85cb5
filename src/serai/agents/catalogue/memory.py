"""What agents said of themselves when they last ran: a small file in the home.

It is written by whoever starts an agent, the host or `serai agents probe`, and read to show what is known of
agents that do not run now. What another version said does not count. It holds no text of an agent.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from serai.acp.capabilities import AgentCapabilities
from serai.agents.catalogue.finder import FoundAgent
from serai.config.private import replace_private
from serai.errors import ConfigInvalid

FILE = "agents.json"
"""The name of the file, in the home."""


class Remembered(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one agent said, and when."""

    version: str | None = None
    """Which version was installed then."""
    capabilities: AgentCapabilities | None = None
    """`None` when it has not told."""
    signed_in: bool | None = None
    """`False`: it wanted a person to sign in. `True`: it had wanted that before, and did no longer. `None`:
    it has not said."""
    at: str = ""
    """When, in ISO 8601."""


class AgentMemory:
    """The file. It never raises: what cannot be read is unknown, and what cannot be written is asked again.

    Its methods read and write the disk: call them in a thread where something must not wait. Several threads
    may call it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def recall(self, found: FoundAgent) -> Remembered | None:
        """What an agent said; `None` when it never did, or has another version by now."""
        kept = self._read().get(found.id)
        return kept if kept is not None and kept.version == found.version else None

    def remember(
        self,
        found: FoundAgent,
        capabilities: AgentCapabilities | None = None,
        *,
        signed_in: bool | UnsetType | None = UNSET,
    ) -> None:
        """Keeps what an agent has said: what it can do, and whether someone is signed in.

        What is not given stays as it was.
        """
        said: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds")}
        if capabilities is not None:
            said["capabilities"] = capabilities
        if signed_in is not UNSET:
            said["signed_in"] = signed_in
        with self._lock:
            before = self.recall(found) or Remembered(version=found.version)
            kept = msgspec.structs.replace(before, **said)
            data = msgspec.json.encode({**self._read(), found.id: kept}, order="sorted")
            with suppress(ConfigInvalid):
                replace_private(self._path, msgspec.json.format(data, indent=2) + b"\n", "file")

    def _read(self) -> dict[str, Remembered]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Remembered])
        except (OSError, ValueError):  # a file that is not there, or not ours
            return {}


def signed_in_of(found: FoundAgent, remembered: Remembered | None) -> bool | None:
    """Whether someone is signed in, by what is on the disk and by what the agent said last.

    Where the two disagree, nobody knows: credentials may have expired, or be newer than what it said. Only
    credentials that are certainly gone outweigh what it said.
    """
    said = remembered.signed_in if remembered is not None else None
    if said is None or found.signed_in is False:
        return found.signed_in
    if found.signed_in is None or found.signed_in == said:
        return said
    return None
