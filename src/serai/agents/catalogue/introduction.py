"""What an agent says about itself: its capabilities, modes, models and commands."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from serai.acp.agent import Agent
from serai.acp.capabilities import Handshake
from serai.acp.client_side import BasicClient, ClientCapabilities
from serai.acp.options import Choice, ConfigOption, Modes
from serai.acp.process.connection import Launch
from serai.errors import AgentError
from serai.machine.processes.processes import Processes


class ModelsFrom(StrEnum):
    """Who has told the models."""

    SESSION = "session"
    LISTING = "listing"
    UNKNOWN = "unknown"


class EffortKind(StrEnum):
    """What kind of thing an agent's effort is."""

    NONE = "none"
    ENUM = "enum"
    """Words such as low and high."""
    BUDGET = "budget"
    """Numbers of tokens."""
    VARIANT = "variant"
    """Variants of the model."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models of an agent and the efforts that can be chosen."""

    source: ModelsFrom = ModelsFrom.UNKNOWN
    models: tuple[Choice, ...] = ()
    model_option: ConfigOption | None = None
    """The option that chooses the model, where a session has one."""
    effort_option: ConfigOption | None = None
    effort_kind: EffortKind = EffortKind.NONE


def models_of(options: Iterable[ConfigOption], listed: Sequence[str] = ()) -> Models:
    """The models of an agent, from the best source that there is."""
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
    source, models = ModelsFrom.UNKNOWN, ()
    if model is not None and model.choices:
        source, models = ModelsFrom.SESSION, model.choices
    elif listed:
        source, models = ModelsFrom.LISTING, tuple(Choice(name, name) for name in listed)
    return Models(source, models, model, effort, _kind(effort))


def _first(options: list[ConfigOption], *rules: Callable[[ConfigOption], bool]) -> ConfigOption | None:
    """The first option that fits the first rule that any fits."""
    return next((option for rule in rules for option in options if rule(option)), None)


def _kind(effort: ConfigOption | None) -> EffortKind:
    if effort is None:
        return EffortKind.NONE
    if "variant" in _words(effort.id):
        return EffortKind.VARIANT
    if effort.choices and all(choice.value.isdecimal() for choice in effort.choices):
        return EffortKind.BUDGET
    return EffortKind.ENUM


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


_SECONDS = 30.0
"""How long an agent may take to start, or to make a session."""


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
    commands_within: float = 1.0,
    before: Callable[[Agent], Awaitable[None]] | None = None,
) -> Introduction:
    """Start an agent in an empty folder, ask it, and end it. Nothing of it is left, also when cancelled.

    `before` is done with it first, such as to sign in.

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
            start_timeout=_SECONDS,
            inactivity_timeout=_SECONDS,
        )
        try:
            if before is not None:
                await before(agent)
            return await _ask(agent, folder, commands_within)
        finally:
            await agent.close()


async def _ask(agent: Agent, folder: Path, commands_within: float) -> Introduction:
    try:
        session = await agent.open_session(folder)
    except AgentError as problem:
        return Introduction(agent.handshake, problem=problem)
    with suppress(TimeoutError):  # it has no commands, or is slow to say so
        async with asyncio.timeout(commands_within):
            async for _ in session.updates():
                if session.commands:
                    break
    return Introduction(
        agent.handshake,
        modes=session.modes,
        options=session.config_options,
        models=models_of(session.config_options),
        commands=session.commands,
    )
