"""How a host behaves: its settings, and those that clients see and change while it runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from serai.ahp.types import ConfigPropertySchema, ConfigSchema, FreeForm, RootConfigState

DEFAULT_AGENT = "defaultAgent"
"""The agent of sessions that name none."""


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
