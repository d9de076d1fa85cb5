"""The secrets among the variables that agents are started with."""

from __future__ import annotations

from collections.abc import Iterable

from serai.agents.definitions import AgentDefinition
from serai.journal.secrets import managed_from_environment

__all__ = ["managed_secrets"]


def managed_secrets(definitions: Iterable[AgentDefinition]) -> dict[str, str]:
    """What a redactor shall mask, by a name such as `agents.mine.MINE_API_KEY`."""
    return {
        f"agents.{definition.id}.{name}": value
        for definition in definitions
        for name, value in managed_from_environment(definition.env).items()
    }
