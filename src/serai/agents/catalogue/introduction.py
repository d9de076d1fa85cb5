"""An agent's description of itself: its capabilities, modes, models and commands.

The last capabilities are kept in a small file in the home. The host and `serai agents probe` write it when
they start an agent, and it is read to show agents that do not run. Entries of another version do not count.
It holds no text of an agent.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from serai.acp.agent import Agent
from serai.acp.capabilities import AgentCapabilities, Handshake
from serai.acp.client_side import ClientCapabilities, ClientSide
from serai.acp.options import Choice, ConfigOption
from serai.acp.process.connection import Launch
from serai.agents.catalogue.finder import FoundAgent
from serai.config.private import replace_private
from serai.errors import AgentError, ConfigInvalid
from serai.machine.processes.processes import Processes


@dataclass(frozen=True, slots=True)
class Models:
    """The models of an agent and the efforts that can be chosen."""

    models: tuple[Choice, ...] = ()
    model_option: ConfigOption | None = None
    """The option that chooses the model, where a session has one."""
    effort_option: ConfigOption | None = None
    """The option that chooses the effort: words, numbers of tokens, or variants of the model."""


def models_of(options: Iterable[ConfigOption], listed: Sequence[str] = ()) -> Models:
    """Return the models and efforts of an agent: those of its options, else the listed ones."""
    selects = [option for option in options if option.type == "select"]
    model = _first(
        selects,
        lambda option: option.category == "model",
        lambda option: option.id == "model",
        lambda option: "model" in _words(option.id),
    )
    others = [option for option in selects if option is not model]
    effort = _first(
        others,
        lambda option: option.category == "thought_level",
        lambda option: bool({"effort", "thinking", "thought", "reasoning"} & _words(option.id)),
        lambda option: "variant" in _words(option.id),
    )
    models = model.choices if model is not None else ()
    return Models(models or tuple(Choice(name, name) for name in listed), model, effort)


def _first(options: list[ConfigOption], *rules: Callable[[ConfigOption], bool]) -> ConfigOption | None:
    """Return the first option that fits the first possible rule."""
    return next((option for rule in rules for option in options if rule(option)), None)


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


_SECONDS = 30.0
"""Longest time for an agent to start, or to open a session, in seconds."""


@dataclass(frozen=True, slots=True)
class Introduction:
    """The answers of an agent about itself."""

    handshake: Handshake
    modes: ConfigOption | None = None
    options: tuple[ConfigOption, ...] = ()
    commands: tuple[Mapping[str, Any], ...] = ()
    problem: AgentError | None = None
    """The reason why it opened no session, mostly that nobody is signed in. Only its handshake is known."""

    @property
    def models(self) -> Models:
        """Its models and efforts."""
        return models_of(self.options)


class _Curious(ClientSide):
    """A client that allows nothing."""

    @property
    def capabilities(self) -> ClientCapabilities:
        """A person can sign in elsewhere."""
        return ClientCapabilities(terminal_auth=True)


async def introduce(
    launch: Launch,
    processes: Processes,
    *,
    mask: Callable[[str], str],
    commands_within: float = 1.0,
    before: Callable[[Agent], Awaitable[None]] | None = None,
) -> Introduction:
    """Start an agent in an empty folder, ask it, and end it. Nothing of it is left, also when cancelled.

    `before` is called with it first, for instance to sign in.

    Raises:
        AgentError: It does not start, or does not answer. If it only opens no session, that is in `problem`.
    """
    with tempfile.TemporaryDirectory(prefix="serai-") as name:
        # No project: an agent may run programs that it finds in one.
        folder = Path(name)
        agent = await Agent.start(
            replace(launch, cwd=folder),
            processes,
            client=_Curious(),
            mask=mask,
            warn=lambda _: None,
            start_timeout=_SECONDS,
            inactivity_timeout=_SECONDS,
        )
        try:
            if before is not None:
                await before(agent)
            try:
                session = await agent.open_session(folder)
            except AgentError as problem:
                return Introduction(agent.handshake, problem=problem)
            with suppress(TimeoutError):  # it has no commands, or is slow to send them
                async with asyncio.timeout(commands_within):
                    async for _ in session.updates():
                        if session.commands:
                            break
            return Introduction(agent.handshake, session.modes, session.config_options, session.commands)
        finally:
            await agent.close()


# -- the file of the last answers ----------------------------------------------------------------------------

FILE = "agents.json"
"""The name of the file, in the home."""
_writing = threading.Lock()


class Remembered(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The last answers of one agent."""

    version: str | None = None
    """The version that was installed then."""
    capabilities: AgentCapabilities | None = None
    """`None` when they are unknown."""
    signed_in: bool | None = None
    """`False`: it wanted a person to sign in. `True`: it had wanted that before, and no longer did. `None`:
    unknown."""
    at: str = ""
    """The time of the answers, in ISO 8601."""


class AgentMemory:
    """The file. It never raises: entries that cannot be read or written are unknown.

    Its methods read and write the disk: call them in a thread on an event loop. Several threads may do that.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def recall(self, found: FoundAgent) -> Remembered | None:
        """Return the last answers of an agent; `None` without any, or when it has another version by now."""
        kept = self._read().get(found.id)
        return kept if kept is not None and kept.version == found.version else None

    def remember(
        self,
        found: FoundAgent,
        capabilities: AgentCapabilities | None = None,
        *,
        signed_in: bool | UnsetType | None = UNSET,
    ) -> None:
        """Store an agent's capabilities, and whether someone is signed in.

        Values that are not given stay as they were.
        """
        changes: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds")}
        if capabilities is not None:
            changes["capabilities"] = capabilities
        if signed_in is not UNSET:
            changes["signed_in"] = signed_in
        with _writing:
            before = self.recall(found) or Remembered(version=found.version)
            kept = msgspec.structs.replace(before, **changes)
            data = msgspec.json.encode({**self._read(), found.id: kept}, order="sorted")
            with suppress(ConfigInvalid):
                replace_private(self._path, msgspec.json.format(data, indent=2) + b"\n", "file")

    def _read(self) -> dict[str, Remembered]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Remembered])
        except (OSError, ValueError):  # the file is missing, or is not ours
            return {}


def signed_in_of(found: FoundAgent, remembered: Remembered | None) -> bool | None:
    """Tell whether someone is signed in, by the disk and by the agent's last answer.

    When the two disagree, it is unknown: credentials may have expired, or be newer than the answer. Only
    credentials that are certainly missing outweigh the answer.
    """
    changes = remembered.signed_in if remembered is not None else None
    if changes is None or found.signed_in is False:
        return found.signed_in
    if found.signed_in is None or found.signed_in == changes:
        return changes
    return None
