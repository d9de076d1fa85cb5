"""The agents that are installed here, as agents of the host: looked for in the background."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from serai.acp.shapes import text_of
from serai.agents.catalogue.definitions import AgentDefinition
from serai.agents.catalogue.finder import Finder
from serai.agents.catalogue.memory import FILE, AgentMemory
from serai.harness.acp.choices import Choices
from serai.harness.acp.harness import AcpHarness
from serai.host.host import Host

__all__ = ["offer_installed"]

_RECORDS = "serai-agents"
"""Where it is written what was learned of agents."""


async def offer_installed(
    host: Host,
    definitions: Iterable[AgentDefinition],
    finder: Finder,
    *,
    timeouts: Mapping[str, float | None] | None = None,
) -> None:
    """Look for agents, and offer on the host those that can be started. Cancelling it adds none.

    Args:
        host: The host, which is open.
        definitions: The agents to look for.
        finder: Finds them.
        timeouts: Those of `Agent.start`.
    """
    known = await _learned(host)
    found = await finder.find_all(definitions)
    memory = AgentMemory(host.home / FILE)
    harnesses = [
        AcpHarness(
            one,
            host.processes,
            mask=host.redactor.redact,
            known=known.get(one.id, _NOTHING).choices,
            sign_in_method=known.get(one.id, _NOTHING).sign_in_method,
            news=lambda harness: _tell(host, harness),
            memory=memory,
            timeouts=timeouts,
        )
        for one in found
        if one.launch is not None
    ]
    if harnesses:
        host.add(harnesses)


class _Learned(NamedTuple):
    """What is known of an agent from before."""

    choices: Choices | None = None
    sign_in_method: str | None = None


_NOTHING = _Learned()


async def _learned(host: Host) -> dict[str, _Learned]:
    records: list[dict[str, Any]] = [
        msgspec.json.decode(row.action) for row in await host.journal.store.rows(_RECORDS, 0)
    ]
    return {
        record["agent"]: _Learned(
            Choices.read(record["choices"]) if record["choices"] is not None else None,
            text_of(record.get("signInMethod")),
        )
        for record in records
    }


def _tell(host: Host, harness: AcpHarness) -> None:
    record = {
        "agent": harness.name,
        "choices": harness.known.to_json() if harness.known is not None else None,
        "signInMethod": harness.signing_in.method,
    }
    host.journal.record(_RECORDS, msgspec.json.encode(record))
    if host.harnesses.get(harness.name) is harness:
        host.agents_changed()
