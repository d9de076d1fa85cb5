"""How a host behaves: its settings, and those that clients see and change while it runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from serai.ahp.types import ConfigPropertySchema, ConfigSchema, FreeForm, RootConfigState
from serai.journal.journal import Journal

__all__ = ["DEFAULT_AGENT", "ChosenSettings", "HostSettings", "first_config", "problem_with_agent"]

DEFAULT_AGENT = "defaultAgent"
"""The agent of sessions that name none."""
_RECORDS = "serai-root-config"
"""Where it is written what was chosen."""


@dataclass(frozen=True, slots=True)
class HostSettings:
    """How the host behaves."""

    default_provider: str = "demo"
    client_grace: float = 30.0
    """How long a client that is gone may take to come back to the tool calls that it runs, in seconds."""
    client_tool_timeout: float = 600.0
    """How long a client may take to run a tool, in seconds."""
    memory_budget: int = 64 * 1024 * 1024
    """About how many bytes of state may stay in memory that nobody watches and nothing runs in."""
    summary_delay: float = 0.05
    """How long changes of summaries are gathered before the root channel is told, in seconds."""
    requests_per_connection: int = 64
    """How many requests of one connection may wait."""
    queue_limit: int = 100
    """How many messages may wait in one session."""
    retention_days: int | None = None
    """How long actions stay that no state needs any more, in days; `None` for ever."""
    folder_provider: str | None = None
    """Of a session's folder: the agent that it has chosen for sessions that name none."""
    default_directory: str | None = None
    """The working directory of sessions that name none, as a URI."""


def first_config(default_agent: str) -> RootConfigState:
    """The settings, with their values as long as no client has chosen others.

    The schema does not list the agents: more are found while the host runs, and no action of the protocol
    changes a schema. They stand beside it, in the root state.
    """
    known = ConfigPropertySchema(
        type="string",
        title="Default agent",
        description="The agent of new sessions that name none: the provider of one of the host's agents.",
    )
    schema = ConfigSchema(type="object", properties={DEFAULT_AGENT: known}, required=[DEFAULT_AGENT])
    return RootConfigState(schema=schema, values={DEFAULT_AGENT: default_agent})


def problem_with_agent(changes: FreeForm, agents: Collection[str]) -> str | None:
    """Why the default agent cannot be what a client wants it to be, or `None` when it can."""
    wanted = changes.get(DEFAULT_AGENT)
    if wanted is None or wanted in agents:
        return None
    return f"{DEFAULT_AGENT!r} must be one of: {', '.join(sorted(agents))}"


class ChosenSettings:
    """What clients have chosen instead of the first values, in the journal.

    Args:
        journal: Where it is written.
        first: The values that hold without a choice: those of the settings file.
    """

    def __init__(self, journal: Journal, first: FreeForm) -> None:
        self._journal = journal
        self._first = first

    async def read(self) -> FreeForm:
        """The values that hold after a start."""
        rows = await self._journal.store.rows(_RECORDS, 0)
        chosen: dict[str, Any] = msgspec.json.decode(rows[-1].action) if rows else {}
        return {name: chosen.get(name, value) for name, value in self._first.items()}

    def write(self, values: FreeForm) -> None:
        """Keep what was chosen. Who chooses the first value leaves the choice to the settings file again."""
        chosen = {name: value for name, value in values.items() if value != self._first.get(name)}
        self._journal.record(_RECORDS, msgspec.json.encode(chosen))
