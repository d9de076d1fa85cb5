"""What agents said of themselves when they last ran: a small file in the home.

It is written by whoever starts an agent, the host or `serai agents probe`, and read to show what is known of
agents that do not run now. What another version said, or another command, does not count.
"""

from __future__ import annotations

import hashlib
import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct, UnsetType

from serai.acp import AgentCapabilities, Handshake
from serai.agents.catalogue.finder import FoundAgent
from serai.config.private import replace_private
from serai.errors import ConfigInvalid

__all__ = ["FILE", "AgentMemory", "Remembered", "signed_in_of", "version_of"]

FILE = "agents.json"
"""The name of the file, in the home."""

_DAY = 24 * 60 * 60


class Remembered(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one agent said, and when."""

    command: str
    """A digest of how it was started: its words may be private."""
    version: str | None = None
    """Which version was installed then."""
    told_version: str | None = None
    """The version that it told itself."""
    capabilities: AgentCapabilities | None = None
    """`None` when it has not told."""
    delete_session: bool = False
    logout: bool = False
    signed_in: bool | None = None
    """`False`: it wanted a person to sign in. `True`: it had wanted that before, and did no longer. `None`:
    it has not said."""
    at: str = ""
    """When, in ISO 8601."""


class AgentMemory:
    """The file. It never raises: what cannot be read is unknown, and what cannot be written is asked again.

    Its methods read and write the disk: call them in a thread where something must not wait. Several threads
    may call it.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def recall(self, found: FoundAgent) -> Remembered | None:
        """What an agent said; `None` when it never did, or has another version or command by now."""
        return _valid(self._read().get(found.id), found)

    def remember(
        self,
        found: FoundAgent,
        handshake: Handshake | None = None,
        *,
        signed_in: bool | UnsetType | None = UNSET,
        now: datetime | None = None,
    ) -> None:
        """Keep what an agent has said. What is not given stays as it was.

        Args:
            found: The agent.
            handshake: What it answered to `initialize`.
            signed_in: See `Remembered.signed_in`.
            now: The time.
        """
        now = now or datetime.now(UTC)
        with self._lock:
            known = self._read()
            before = _valid(known.get(found.id), found)
            kept = before or Remembered(command=_digest(found), version=found.version)
            if handshake is not None:
                kept = msgspec.structs.replace(
                    kept,
                    told_version=handshake.agent_info.version,
                    capabilities=handshake.capabilities,
                    delete_session=handshake.delete_session,
                    logout=handshake.logout,
                )
            if signed_in is not UNSET:
                kept = msgspec.structs.replace(kept, signed_in=signed_in)
            if kept == before and _is_fresh(kept.at, now):
                return
            kept = msgspec.structs.replace(kept, at=now.isoformat(timespec="seconds"))
            self._write({**known, found.id: kept})

    def _read(self) -> dict[str, Remembered]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Remembered])
        except (OSError, ValueError):  # a file that is not there, or not ours
            return {}

    def _write(self, known: dict[str, Remembered]) -> None:
        data = msgspec.json.format(msgspec.json.encode(known, order="sorted"), indent=2)
        try:
            replace_private(self._path, data + b"\n", "file")
        except ConfigInvalid:
            return


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


def version_of(found: FoundAgent, remembered: Remembered | None) -> str | None:
    """The version that is installed; where that does not show, the one that the agent told last."""
    return found.version or (remembered.told_version if remembered is not None else None)


def _valid(kept: Remembered | None, found: FoundAgent) -> Remembered | None:
    if kept is None or kept.version != found.version or kept.command != _digest(found):
        return None
    return kept


def _digest(found: FoundAgent) -> str:
    words = found.launch.argv if found.launch is not None else ()
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]


def _is_fresh(at: str, now: datetime) -> bool:
    try:
        return (now - datetime.fromisoformat(at)).total_seconds() < _DAY
    except (TypeError, ValueError):
        return False
