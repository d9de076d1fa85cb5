"""What agents said of themselves when they last ran: a small file in the home.

It is written by whoever starts an agent, the host or `serai agents probe`, and read to show what is known of
agents that do not run now. What another version said, or another command, does not count.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from serai.acp import AgentCapabilities, Handshake
from serai.agents.catalogue.finder import FoundAgent
from serai.config.private import replace_private
from serai.errors import ConfigInvalid
from serai.redact import Redactor
from serai.redact.managed import managed_from_environment

__all__ = ["FILE", "AgentMemory", "Remembered", "signed_in_of", "version_of"]

FILE = "agents.json"
"""The name of the file, in the home."""


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

    What agents say is redacted before it is written, since the file is not encrypted. Its methods read and
    write the disk: call them in a thread where something must not wait. Several threads may call it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def recall(self, found: FoundAgent) -> Remembered | None:
        """What an agent said; `None` when it never did, or has another version or command by now."""
        kept, now = self._read().get(found.id), _begun(found)
        is_same = kept is not None and (kept.version, kept.command) == (now.version, now.command)
        return kept if is_same else None

    def remember(
        self,
        found: FoundAgent,
        handshake: Handshake | None = None,
        *,
        signed_in: bool | UnsetType | None = UNSET,
        now: datetime | None = None,
    ) -> None:
        """Keeps what an agent has said: its handshake, and whether someone is signed in.

        What is not given stays as it was.
        """
        said: dict[str, Any] = {"at": (now or datetime.now(UTC)).isoformat(timespec="seconds")}
        if handshake is not None:
            said["told_version"] = _masked(handshake.agent_info.version, found)
            for name in ("capabilities", "delete_session", "logout"):
                said[name] = getattr(handshake, name)
        if signed_in is not UNSET:
            said["signed_in"] = signed_in
        with self._lock:
            kept = msgspec.structs.replace(self.recall(found) or _begun(found), **said)
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


def version_of(found: FoundAgent, remembered: Remembered | None) -> str | None:
    """The version that is installed; where that does not show, the one that the agent told last."""
    return found.version or (remembered.told_version if remembered is not None else None)


def _begun(found: FoundAgent) -> Remembered:
    """An agent of which nothing is known but what is installed."""
    words = found.launch.argv if found.launch is not None else ()
    digest = hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]
    return Remembered(command=digest, version=_masked(found.version, found))


def _masked(text: str | None, found: FoundAgent) -> str | None:
    """A text without the secrets of this program and of the agent, and without what looks like one."""
    secrets = {**os.environ, **(found.launch.env if found.launch is not None else {})}
    return text and Redactor(managed_from_environment(secrets)).redact(text)
