"""What a new session begins with: what was asked for, what it is forked from, and the defaults."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from serai.ahp.commands import CreateSessionParams
from serai.ahp.errors import AhpErrorCode
from serai.ahp.rules.config import problem_with_value
from serai.ahp.types import (
    FreeForm,
    SessionConfigState,
    SessionLifecycle,
    SessionState,
    SessionStatus,
    SessionSummary,
)
from serai.errors import InvalidParams, ProtocolError
from serai.host.agents import Exacting, HostedHarness
from serai.host.project import project_of

if TYPE_CHECKING:
    from serai.host.host import Host

__all__ = ["first_state", "resolved_config"]


async def first_state(
    host: Host, params: CreateSessionParams, client_id: str, meta: FreeForm | None
) -> SessionState:
    """The state of a new session.

    Raises:
        ProtocolError: The provider, or what it is forked from, does not exist.
        InvalidParams: The active client is another one, or a setting cannot be.
    """
    if params.active_client is not None and params.active_client.client_id != client_id:
        raise InvalidParams(
            "the active client must be the one that creates the session", field="params.activeClient.clientId"
        )
    source = await _fork_source(host, params)
    directory = params.working_directory or (
        source.summary.working_directory if source else host.settings.default_directory
    )
    provider = params.provider or (
        source.summary.provider if source else await host.sessions.provider_for(directory)
    )
    harness = await host.sought(provider)
    project = await asyncio.to_thread(project_of, directory)
    now = host.now()
    inherited = _fitting(harness, source.config.values) if source and source.config else {}
    return SessionState(
        summary=SessionSummary(
            resource=params.channel,
            provider=provider,
            title=source.summary.title if source else "",
            status=int(SessionStatus.IDLE),
            created_at=now,
            modified_at=now,
            model=params.model or (source.summary.model if source else None),
            agent=params.agent or (source.summary.agent if source else None),
            working_directory=directory,
            project=project,
        ),
        lifecycle=SessionLifecycle.CREATING.value,
        turns=source.turns if source else [],
        config=resolved_config(harness, {**inherited, **(params.config or {})}),
        active_client=params.active_client,
        server_tools=harness.tools or None,
        meta=meta,
    )


async def _fork_source(host: Host, params: CreateSessionParams) -> SessionState | None:
    if params.fork is None:
        return None
    source = await host.sessions.bring(params.fork.session)
    place = source.kept.turn_at(params.fork.turn_id) if source else None
    if source is None or place is None:
        raise ProtocolError(
            f"there is no turn {params.fork.turn_id!r} in {params.fork.session}",
            number=AhpErrorCode.SESSION_NOT_FOUND,
        )
    state = source.live.snapshot()
    return replace(state, turns=state.turns[: place + 1])


def resolved_config(harness: HostedHarness, chosen: FreeForm) -> SessionConfigState | None:
    """The settings of a new session: what was chosen, over the defaults.

    Raises:
        InvalidParams: A setting does not exist, or cannot have that value.
    """
    schema = harness.schema
    if not schema.properties and not chosen:
        return None
    for name, value in chosen.items():
        if problem := _problem_with(harness, name, value):
            raise InvalidParams(f"config.{name}: {problem}", field=f"params.config.{name}")
    defaults = {name: p.default for name, p in schema.properties.items() if p.default is not None}
    return SessionConfigState(schema=schema, values={**defaults, **chosen})


def _fitting(harness: HostedHarness, inherited: FreeForm) -> FreeForm:
    """What can be inherited: nobody has asked for it, so what cannot be is left out."""
    return {name: value for name, value in inherited.items() if not _problem_with(harness, name, value)}


def _problem_with(harness: HostedHarness, name: str, value: Any) -> str | None:
    known = harness.schema.properties.get(name)
    if known is None:
        return "there is no such setting"
    if problem := problem_with_value(known, value):
        return problem
    return harness.problem_with(name, value) if isinstance(harness, Exacting) else None
