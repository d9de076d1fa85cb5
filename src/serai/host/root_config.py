"""The settings of the host itself that clients see and change while it runs: what they chose outlives it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from serai.ahp.types import ConfigPropertySchema, ConfigSchema, FreeForm, RootConfigState
from serai.journal.journal import Journal

__all__ = ["DEFAULT_AGENT", "Chosen", "first_config", "problem_with_agent"]

DEFAULT_AGENT = "defaultAgent"
"""The agent of sessions that name none."""
_RECORDS = "serai-root-config"
"""Where it is written what was chosen."""


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


class Chosen:
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
