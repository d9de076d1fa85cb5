"""Agents that only a running host has: functions and models of its own, and programs of its relay."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import os
import uuid
from typing import NamedTuple

from serai.agents.ask.demo import DEMO
from serai.agents.catalogue.agents import Catalogue
from serai.ahp.extensions import AGENTS, AgentsParams, AgentsResult
from serai.ahp.types import ROOT
from serai.cli.console.output import print_json
from serai.cli.console.terminal import PlainTerminal, open_terminal
from serai.cli.relay.target import line_of_delivery
from serai.client import connect
from serai.client.address import find_address
from serai.config.paths import find_paths
from serai.contract import AgentsResult as Participants
from serai.contract import AgentStatus, DeliveryState, same_name
from serai.errors import ConfigInvalid, SeraiError
from serai.relay.sdk import Relay
from serai.store.sqlite.lock import FileLock

__all__ = ["HostedAgent", "ask_hosted", "hosted_agent", "hosted_agents", "participants"]

_PATIENCE = 5.0
"""Seconds that a host has to tell of its agents."""
_LONGEST_MS = 10 * 60 * 1000
_ONLY_HERE = (
    *("schema", "model", "effort", "mode", "system_prompt"),
    *("max_cost_usd", "permission", "allow_kind", "block_kind"),
)
"""Options of `serai ask` that hold for agents that it starts itself."""


class HostedAgent(NamedTuple):
    """An agent of a host."""

    name: str
    handle: str | None = None
    """Where one writes to it, if it takes messages and has no sessions."""


async def hosted_agents(home: str | None) -> list[HostedAgent]:
    """The agents of the host that commands talk to by default; none where no host answers."""
    is_elsewhere = home is None and os.environ.get("SERAI_URL")
    if not is_elsewhere and FileLock(find_paths(home, os.environ).database).holder() is None:
        return []
    with contextlib.suppress(SeraiError, TimeoutError):  # it goes, or has only just come
        async with asyncio.timeout(_PATIENCE), connect(home=home) as client:
            told: AgentsResult = await client.request(AGENTS, AgentsParams(channel=ROOT))
            own = [HostedAgent(one.provider) for one in told.agents if one.installed]
            return [*own, *await participants(home=home)]
    return []


async def participants(
    url: str | None = None, token: str | None = None, *, home: str | None = None
) -> list[HostedAgent]:
    """The programs that take part in the relay of a host, and are connected.

    Raises:
        SeraiError: The host cannot be reached, or refuses the token.
    """
    async with await Relay.connect(url, token, home=home) as relay:
        told: Participants = await relay.call("agents.list")
    return [
        HostedAgent(one.identity.handle.removeprefix("@"), one.identity.handle)
        for one in told.agents
        if one.session is None and one.capabilities is not None and one.status != AgentStatus.OFFLINE
    ]


def named(agents: list[HostedAgent], name: str) -> HostedAgent | None:
    """The agent of that name or handle."""
    return next((one for one in agents if same_name(one.name, name.removeprefix("@"))), None)


async def hosted_agent(name: str, catalogue: Catalogue, home: str | None) -> HostedAgent:
    """The agent of the host that has a name which the catalogue does not have.

    Raises:
        AgentUnknown: There is none. The error lists all agents.
    """
    agents = await hosted_agents(home)
    if (found := named(agents, name)) is not None:
        return found
    raise catalogue.unknown(name, also=dict.fromkeys([DEMO, *(one.name for one in agents)]))


async def ask_hosted(agent: HostedAgent, options: argparse.Namespace, terminal: PlainTerminal) -> int:
    """Do what `serai ask` does, on the host. Returns the exit code. Cancelling it ends the session, too.

    Raises:
        ConfigInvalid: An option cannot hold there.
        SeraiError: The agent cannot be asked.
    """
    wrong = [f"--{name.replace('_', '-')}" for name in _ONLY_HERE if getattr(options, name) is not None]
    if wrong:
        raise ConfigInvalid(
            f"{agent.name} answers on the host, where {', '.join(wrong)} cannot be chosen",
            remedy="Leave it out" if agent.handle else f"Use: serai chat --agent {agent.name}",
        )
    said = io.StringIO()
    with open_terminal(apart=True, out=said) if options.json else contextlib.nullcontext(terminal) as place:
        code = await (_write_to if agent.handle else _converse)(agent, options, place)
    if options.json:
        stop = "error" if code else "end_turn"
        print_json({"agent": agent.name, "text": said.getvalue().strip("\n"), "stopReason": stop})
    return code


async def _converse(agent: HostedAgent, options: argparse.Namespace, terminal: PlainTerminal) -> int:
    """One turn in a session that is gone afterwards."""
    from serai.cli.chat.conversation import Chat  # noqa: PLC0415 - who lists agents does not need it

    uri = f"ahp-session:/{uuid.uuid4()}"
    folder = options.cwd.as_uri() if find_address(home=options.home).is_local else None
    async with connect(home=options.home) as client:
        try:
            session = await client.create_session(agent.name, uri=uri, working_directory=folder)
            return await Chat(client, session, terminal, once=options.prompt).run()
        finally:
            with contextlib.suppress(SeraiError):
                await client.dispose_session(uri)


async def _write_to(agent: HostedAgent, options: argparse.Namespace, terminal: PlainTerminal) -> int:
    """One message, and the answer that comes with its receipt."""
    async with await Relay.connect(home=options.home) as relay:
        sent = await relay.send(
            agent.handle or agent.name, options.prompt, wait_for="delivered", timeout_ms=_LONGEST_MS
        )
        record = await relay.delivery(sent.deliveries[0].id)  # the answer is kept after the receipt
    if record.answer is not None:
        terminal.text(f"{record.answer.text}\n")
    else:
        terminal.note(f"serai: no answer yet: {line_of_delivery(record, {record.agent: agent.name})}")
    return 0 if record.state == DeliveryState.DELIVERED else 1
