"""The beginning of a session: from the request, the session that it is forked from, and the defaults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from serai.ahp import types as t
from serai.ahp.channels import RUN, is_run
from serai.ahp.commands import AhpErrorCode, CreateSessionParams, SessionForkSource
from serai.ahp.rules.config import problem_with_value
from serai.errors import InvalidParams, ProtocolError
from serai.host.agents import HostedHarness, LimitedHarness, TranscriptHarness
from serai.host.surroundings.files import directory_of, problem_with_folder, project_of
from serai.journal.sessions import KeptSession


async def first_state(
    params: CreateSessionParams,
    given: CreateSessionParams,
    client_id: str,
    meta: t.FreeForm | None,
    source: t.SessionState | None,
    *,
    default_directory: str | None,
    default_provider: Callable[[str | None], Awaitable[str]],
    harness_of: Callable[[str], Awaitable[HostedHarness]],
    now: int,
) -> t.SessionState:
    """Make the state of a new session.

    `given` is the request before anything in it was masked.

    Raises:
        ProtocolError: The provider does not exist.
        InvalidParams: The active client is another one, the folder is not there, or a setting cannot be.
    """
    if params.active_client is not None and params.active_client.client_id != client_id:
        raise InvalidParams(
            "the active client must be the one that creates the session", field="params.activeClient.clientId"
        )
    if given.working_directory is not None:
        await asyncio.to_thread(_check_folder, given.working_directory)
    origin = source.summary if source else None
    directory = params.working_directory or (origin.working_directory if origin else default_directory)
    provider = params.provider or (origin.provider if origin else await default_provider(directory))
    harness = await harness_of(provider)
    if is_run(params.channel) != getattr(harness, "makes_runs", False):
        raise InvalidParams(
            f"runs of workflows, and they alone, have URIs that begin with {RUN}:/", field="params.channel"
        )
    if isinstance(harness, TranscriptHarness):
        await harness.examine(given, directory)
    project = await asyncio.to_thread(project_of, directory)
    inherited = source.config.values if source and source.config else {}
    # Nobody has asked for what is inherited: what cannot be is left out.
    fitting = {name: value for name, value in inherited.items() if not _problem_with(harness, name, value)}
    return t.SessionState(
        summary=t.SessionSummary(
            resource=params.channel,
            provider=provider,
            title=origin.title if origin else "",
            status=int(t.SessionStatus.IDLE),
            created_at=now,
            modified_at=now,
            model=params.model or (origin.model if origin else None),
            agent=params.agent or (origin.agent if origin else None),
            working_directory=directory,
            project=project,
        ),
        lifecycle=t.SessionLifecycle.CREATING.value,
        turns=source.turns if source else [],
        config=resolved_config(harness, {**fitting, **(params.config or {})}),
        active_client=params.active_client,
        server_tools=harness.tools or None,
        meta=meta,
    )


def _check_folder(uri: str) -> None:
    """Check that the folder of a new session is there. Existing sessions may outlive theirs."""
    if problem := problem_with_folder(uri):
        there = f"there is no folder {str(directory_of(uri) or uri)[:200]}"
        raise InvalidParams(f"{there} ({problem}): make it, or name another", field="params.workingDirectory")


def fork_source(fork: SessionForkSource, source: KeptSession | None) -> t.SessionState:
    """Return the state that a session is forked from, up to the turn that it continues from.

    Raises:
        ProtocolError: There is no such session, or no such turn in it.
    """
    place = source.turn_at(fork.turn_id) if source else None
    if source is None or place is None:
        raise ProtocolError(
            f"there is no turn {fork.turn_id!r} in {fork.session}", number=AhpErrorCode.SESSION_NOT_FOUND
        )
    state = source.live.snapshot()
    return replace(state, turns=state.turns[: place + 1])


def resolved_config(harness: HostedHarness, chosen: t.FreeForm) -> t.SessionConfigState | None:
    """Return the settings of a new session: the chosen ones, over the defaults.

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
    return t.SessionConfigState(schema=schema, values={**defaults, **chosen})


def _problem_with(harness: HostedHarness, name: str, value: Any) -> str | None:
    known = harness.schema.properties.get(name)
    if known is None:
        return "there is no such setting"
    if problem := problem_with_value(known, value):
        return problem
    return harness.problem_with(name, value) if isinstance(harness, LimitedHarness) else None
