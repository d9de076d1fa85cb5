"""How a host behaves."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HostSettings"]


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
