"""Agents that only a running host has: functions and models of its own, and programs of its relay."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import os
import uuid

from serai.agents.catalogue.agents import Catalogue
from serai.ahp.extensions import AGENTS, AgentsParams
from serai.ahp.types import ROOT
from serai.cli.console.output import print_json
from serai.cli.console.terminal import PlainTerminal, open_terminal
from serai.client import connect
from serai.client.address import find_address
from serai.config.paths import find_paths
from serai.contract import DeliveryState
from serai.errors import ConfigInvalid, SeraiError
from serai.relay.sdk import Relay
from serai.store.sqlite.lock import FileLock

DEMO = "demo"
"""The agent that is a part of Serai: it is always there."""
_PATIENCE = 5.0
"""Seconds that a host has to tell of its agents."""
_CHOICES = (
    *("schema", "model", "effort", "mode", "system_prompt"),
    *("max_cost_usd", "permission", "allow_kind", "block_kind"),
)
"""Options of `serai ask` that hold only for agents that it starts itself."""


async def hosted_agents(home: str | None) -> dict[str, str | None]:
    """The agents of a running host, if any; with each name, its handle if it takes messages alone."""
    is_elsewhere = home is None and os.environ.get("SERAI_URL")
    if is_elsewhere or FileLock(find_paths(home, os.environ).database).holder() is not None:
        with contextlib.suppress(SeraiError, TimeoutError):  # it goes, or has only just come
            async with asyncio.timeout(_PATIENCE), connect(home=home) as client:
                told = (await client.request(AGENTS, AgentsParams(channel=ROOT))).agents
                taking_part = await participants(home=home)
                return {**taking_part, **{one.provider: None for one in told if one.installed}}
    return {}


async def participants(
    url: str | None = None, token: str | None = None, *, home: str | None = None
) -> dict[str, str]:
    """The handles of programs that take part in the relay of a host and are connected, by their names."""
    async with await Relay.connect(url, token, home=home) as relay:
        told = (await relay.call("agents.list")).agents
    there = [one for one in told if not one.session and one.capabilities and one.status != "offline"]
    return {one.identity.handle.removeprefix("@"): one.identity.handle for one in there}


async def ask_hosted(options: argparse.Namespace, catalogue: Catalogue, terminal: PlainTerminal) -> int:
    """Do what `serai ask` does, on the host. Returns the exit code. Cancelling it ends the session, too.

    Raises:
        AgentUnknown: The host does not know the agent, either. The error lists all that there are.
        ConfigInvalid: An option cannot hold there.
    """
    agents, name = await hosted_agents(options.home), options.agent.removeprefix("@")
    if name not in agents:
        raise catalogue.unknown(name, also=(DEMO, *agents))
    if wrong := [f"--{one.replace('_', '-')}" for one in _CHOICES if getattr(options, one) is not None]:
        raise ConfigInvalid(f"{name} answers on the host, where {', '.join(wrong)} cannot be chosen")
    handle, said = agents[name], io.StringIO()
    with open_terminal(apart=True, out=said) if options.json else contextlib.nullcontext(terminal) as shown:
        code = await (_write_to(handle, options, shown) if handle else _converse(name, options, shown))
    if options.json:
        text = said.getvalue().strip("\n")
        print_json({"agent": name, "text": text, "stopReason": "error" if code else "end_turn"})
    return code


async def _converse(name: str, options: argparse.Namespace, terminal: PlainTerminal) -> int:
    """One turn in a session that is gone afterwards."""
    from serai.cli.chat.conversation import Chat  # noqa: PLC0415 - who lists agents does not need it

    uri = f"ahp-session:/{uuid.uuid4()}"
    folder = options.cwd.as_uri() if find_address(home=options.home).is_local else None
    async with connect(home=options.home) as client:
        try:
            session = await client.create_session(name, uri=uri, working_directory=folder)
            return await Chat(client, session, terminal, once=options.prompt).run()
        finally:
            with contextlib.suppress(SeraiError):
                await client.dispose_session(uri)


async def _write_to(handle: str, options: argparse.Namespace, terminal: PlainTerminal) -> int:
    """One message, and the answer that comes with its receipt."""
    async with await Relay.connect(home=options.home) as relay:
        sent = await relay.send(handle, options.prompt, wait_for="delivered", timeout_ms=600_000)
        record = await relay.delivery(sent.deliveries[0].id)  # the answer is kept after the receipt
    if record.answer is not None:
        terminal.text(f"{record.answer.text}\n")
    else:
        terminal.note(f"serai: {handle} has not answered: {record.error or record.state.value}")
    return 0 if record.state == DeliveryState.DELIVERED else 1
