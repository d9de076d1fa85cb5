"""Asking an agent about itself: it is started, says what it can do, and is ended again."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from serai.acp import Agent, BasicClient, ClientCapabilities, ConfigOption, Handshake, Launch, Modes
from serai.agents.models import Models, models_of
from serai.errors import AgentError
from serai.machine.processes.processes import Processes

__all__ = ["Introduction", "introduce"]

_START = 30.0
_SESSION = 30.0
_COMMANDS = 1.0
"""How long an agent may take, after it has made a session, to tell its commands."""


@dataclass(frozen=True, slots=True)
class Introduction:
    """What an agent says of itself."""

    handshake: Handshake
    modes: Modes | None = None
    options: tuple[ConfigOption, ...] = ()
    models: Models = field(default_factory=Models)
    commands: tuple[Mapping[str, Any], ...] = ()
    problem: AgentError | None = None
    """Why it made no session, so that only its handshake is known: mostly, nobody is signed in."""


class _Curious(BasicClient):
    """Has nothing and allows nothing, but wants to hear of all options."""

    @property
    def capabilities(self) -> ClientCapabilities:
        """Options that are yes or no are understood, and a person can sign in elsewhere."""
        return ClientCapabilities(boolean_options=True, terminal_auth=True)


async def introduce(
    launch: Launch,
    processes: Processes,
    *,
    mask: Callable[[str], str],
    seconds: float = _START,
    commands_within: float = _COMMANDS,
) -> Introduction:
    """Start an agent in an empty folder, ask it, and end it. Nothing of it is left, also when cancelled.

    Args:
        launch: How it is started: `Found.launching()`.
        processes: Where it is started and written down.
        mask: Takes secrets out of what it says.
        seconds: How long it may take to start.
        commands_within: How long it may take, after it has made a session, to tell its commands.

    Raises:
        AgentError: It does not start, or says nothing. Where it only makes no session, that is in `problem`.
    """
    with tempfile.TemporaryDirectory(prefix="serai-") as name:
        # No project: an agent may run what it finds in one.
        folder = Path(name)
        agent = await Agent.start(
            replace(launch, cwd=folder),
            processes,
            client=_Curious(),
            mask=mask,
            warn=lambda _: None,
            initialize_timeout=seconds,
            inactivity_timeout=_SESSION,
        )
        try:
            return await _ask(agent, folder, commands_within)
        finally:
            await agent.close()


async def _ask(agent: Agent, folder: Path, commands_within: float) -> Introduction:
    told = asyncio.Event()
    try:
        session = await agent.new_session(folder, on_update=lambda _: told.set())
    except AgentError as problem:
        return Introduction(agent.handshake, problem=problem)
    try:
        async with asyncio.timeout(commands_within):
            while not session.commands and agent.is_running:
                await told.wait()
                told.clear()
    except TimeoutError:
        pass  # it has none, or is slow to say so
    return Introduction(
        agent.handshake,
        modes=session.modes,
        options=session.config_options,
        models=models_of(session.config_options),
        commands=session.commands,
    )
