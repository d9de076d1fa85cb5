"""The settings of a host that clients see and change while it runs."""

from __future__ import annotations

from collections.abc import Collection

from serai.ahp.types import ConfigPropertySchema, ConfigSchema, FreeForm, RootConfigState

DEFAULT_AGENT = "defaultAgent"
"""The agent of sessions that name none."""


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
