"""How an agent of a program is started: where it is, and what is taken out of its log."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from serai.acp import Launch
from serai.agents.adapters import Adapter, AgentRef
from serai.agents.definitions import AgentDefinition, Way
from serai.agents.finding import Finder, Found
from serai.agents.options import Options, log_warning
from serai.agents.workplace import default_catalogue, default_finder
from serai.errors import ConfigInvalid
from serai.machine.processes.environment import inheritable
from serai.redact import Redactor
from serai.redact.environment import managed_from_environment

__all__ = ["definition_of", "find", "folder_of", "list_models", "mask_of"]


async def find(agent: str | AgentDefinition, options: Options) -> Found:
    """Where an agent is, and how it is started.

    Raises:
        AgentUnknown: There is none of that name.
        ConfigInvalid: A configuration file is wrong.
    """
    if isinstance(agent, str):
        catalogue = options.get("catalogue")
        if catalogue is None:
            warn = options.get("on_warning") or log_warning
            catalogue = await default_catalogue(folder_of(options), warn, name=agent)
        agent = catalogue.definition_for(agent)
    if (program := options.get("program")) is not None:
        agent = agent.started_by(_program(program))
    return await _finder(options).find(agent, is_wanted=True)


async def list_models(agent: AgentRef, options: Options) -> list[str]:
    """The models that an agent's program lists without being started as an agent; mostly none."""
    if isinstance(agent, Adapter):
        return []
    return await _finder(options).list_models(await find(agent, options))


def definition_of(adapter: Adapter, launch: Launch) -> AgentDefinition:
    """What there is to know of an agent whose start an adapter has worked out."""
    return AgentDefinition(
        id=adapter.id,
        label=adapter.id,
        ways=(Way(program=launch.argv[0], args=launch.argv[1:]),),
        native_system_prompt=adapter.native_system_prompt,
    )


def folder_of(options: Options) -> Path:
    """Where the agent works.

    Raises:
        ConfigInvalid: It begins in the working directory of this program, and that is gone.
    """
    try:
        return Path(options.get("cwd") or "").absolute()
    except FileNotFoundError:
        raise ConfigInvalid(
            "the working directory of this program is gone", remedy="Name another with cwd="
        ) from None


def mask_of(launch: Launch) -> Callable[[str], str]:
    """Takes secrets out of what the agent logs: those of its own environment, and what looks like one."""
    return Redactor(managed_from_environment({**inheritable(os.environ), **launch.env})).redact


def _program(program: Path | str) -> str:
    is_path = isinstance(program, Path) or os.sep in program
    return str(Path(program).absolute()) if is_path else str(program)


def _finder(options: Options) -> Finder:
    return options.get("finder") or default_finder(folder_of(options))
