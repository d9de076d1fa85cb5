"""`serai agents`: lists the known agents, asks one what it can do, installs one and signs in to one."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from serai.acp.capabilities import AgentCapabilities
from serai.acp.options import Choice
from serai.agents.catalogue.agents import KnownAgents, built_in, known_agents
from serai.agents.catalogue.definitions import AgentDefinition
from serai.agents.catalogue.finder import Finder, FoundAgent
from serai.agents.catalogue.introduction import (
    FILE,
    AgentMemory,
    Introduction,
    Remembered,
    introduce,
    signed_in_of,
)
from serai.agents.catalogue.programs import Surroundings
from serai.ahp.extensions import AGENTS, AgentsParams
from serai.ahp.types import ROOT
from serai.cli.console.output import clean, cut, print_json, progress, table
from serai.cli.console.signin import sign_in
from serai.cli.console.target import add_command, add_json_option
from serai.cli.console.terminal import open_terminal
from serai.client import Client, connect
from serai.config.load import load
from serai.config.paths import find_paths, here
from serai.config.trust import Trust
from serai.errors import AgentNotInstalled, AgentUnknown, AuthRequired, SeraiError
from serai.machine.processes.processes import Processes
from serai.redact import Redactor
from serai.redact.managed import managed_from_environment
from serai.relay.sdk import Relay
from serai.store.sqlite.lock import FileLock
from serai.version import __version__

DEMO = "demo"
"""Name of the agent that is a part of Serai and always there."""
_HOST_TIMEOUT = 5.0
"""Seconds that a host has to list its agents."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options and the subcommand of `serai agents`."""
    parser.description = "See which agents there are, which of them are installed, and how to install others."
    parser.epilog = (
        "What an agent can do is known once it has run: 'serai agents probe NAME' starts it and asks. load, "
        "resume, fork, list and close are about its sessions, dirs about further folders, http and sse about "
        "MCP servers, image, audio and context about prompts."
    )
    parser.set_defaults(run=_list)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    probe = add_command(
        commands, "probe", "start an agent in an empty folder, and ask it what it can do", run=_probe
    )
    install = add_command(
        commands, "install", "install an agent on this machine, and say what went wrong", run=_install
    )
    signin = add_command(
        commands,
        "signin",
        "sign in to an agent of the host: in a terminal there, or in the way that it offers",
        client=_sign_in,
        epilog="It ends with 0 unless nobody is signed in.",
    )
    for each in (probe, install, signin):
        each.add_argument("agent", metavar="NAME", help="an agent's name, or another name of it")
    signin.add_argument("--method", metavar="ID", help="one of the ways that there are")
    for each in (parser, probe):
        add_json_option(each)


def managed_secrets(definitions: Iterable[AgentDefinition]) -> dict[str, str]:
    """Return the secrets in the environments of agents, by names such as `agents.mine.API_KEY`."""
    return {
        f"agents.{definition.id}.{name}": value
        for definition in definitions
        for name, value in managed_from_environment(definition.env).items()
    }


def _list(options: argparse.Namespace) -> int:
    (catalogue, registry), finder = asyncio.run(_open(options))
    found = asyncio.run(finder.find_all(catalogue))
    memory = _memory(options)
    agents = [(one, memory.recall(one)) for one in found]
    known = {DEMO, *(one.id for one in found)}
    others = {name: to for name, to in asyncio.run(hosted_agents(options.home)).items() if name not in known}
    if options.json:
        named = ((name, {"id": name, "label": name, "version": None}) for name in others)
        hosted = [{**_DEMO, **own, "usable": not others[name], "handle": others[name]} for name, own in named]
        documents = [_DEMO, *hosted, *(_document(one, remembered) for one, remembered in agents)]
        print_json({"agents": documents, "skipped": list(registry.skipped)})
        return 0
    for line in table_of(agents, others=others):
        print(line)
    if registry.skipped:
        _warn(f"{len(registry.skipped)} agents of the registry cannot be used here")
    return 0


def _memory(options: argparse.Namespace) -> AgentMemory:
    return AgentMemory(find_paths(options.home, os.environ).home / FILE)


async def _open(options: argparse.Namespace, name: str | None = None) -> tuple[KnownAgents, Finder]:
    if name == DEMO:
        raise AgentUnknown("demo is a part of Serai: there is no program to start or to install")
    return await find_agents(options.home, here(), _warn, name)


async def find_agents(
    home: str | None, folder: Path, warn: Callable[[str], None], name: str | None = None
) -> tuple[KnownAgents, Finder]:
    """Return the agents that are known in a folder, or the one of a name, with a finder for this machine."""
    paths = find_paths(home, os.environ)
    configuration = load(paths, os.environ, project=folder)
    for ignored in configuration.ignored:
        warn(str(ignored))
    known = await known_agents(configuration, warn, name=name)
    project = folder if Trust(paths.trust).is_trusted(folder) else None
    return known, Finder(Surroundings.here(project=project))


async def hosted_agents(home: str | None) -> dict[str, str | None]:
    """Return the agents of a running host by name, with the handles of those that only take messages."""
    is_elsewhere = home is None and os.environ.get("SERAI_URL")
    if is_elsewhere or FileLock(find_paths(home, os.environ).database).holder() is not None:
        with contextlib.suppress(SeraiError, TimeoutError):  # the host is just stopping or starting
            async with asyncio.timeout(_HOST_TIMEOUT), connect(home=home) as client:
                listed = (await client.request(AGENTS, AgentsParams(channel=ROOT))).agents
                connected = await participants(home=home)
                return {**connected, **{one.provider: None for one in listed if one.installed}}
    return {}


async def participants(
    url: str | None = None, token: str | None = None, *, home: str | None = None
) -> dict[str, str]:
    """Return the handles of the programs that are connected to the relay of a host, by name."""
    async with await Relay.connect(url, token, home=home) as relay:
        listed = (await relay.call("agents.list")).agents
    connected = [one for one in listed if not one.session and one.status not in (None, "offline")]
    return {one.identity.handle.removeprefix("@"): one.identity.handle for one in connected}


def _warn(warning: str) -> None:
    print(f"serai: {warning}", file=sys.stderr)


def _probe(options: argparse.Namespace) -> int:
    with progress(f"Asking {clean(options.agent)}"):
        found, introduction = asyncio.run(_ask(options))
    remembered = _remember(options, found, introduction)
    if options.json:
        print_json(_introduction(found, introduction, remembered))
    else:
        for line in _lines(found, introduction):
            print(cut(clean(line).replace("\n", " "), _LONGEST_LINE))
    return 0


async def _ask(options: argparse.Namespace) -> tuple[FoundAgent, Introduction]:
    (catalogue, _), finder = await _open(options, options.agent)
    found = await finder.find(catalogue.definition_for(options.agent))
    launch = found.launching()
    redactor = Redactor(managed_from_environment(os.environ) | managed_secrets(catalogue))
    processes = Processes()
    try:
        return found, await introduce(launch, processes, mask=redactor.redact)
    finally:
        await processes.close()


def _install(options: argparse.Namespace) -> int:
    (catalogue, _), finder = asyncio.run(_open(options, options.agent))
    definition = catalogue.definition_for(options.agent)
    if not definition.install:
        raise AgentNotInstalled(f"nobody knows how to install {definition.label}", agent=definition.id)
    print(f"Running: {clean(definition.install)}", flush=True)
    command = ["/bin/sh", "-c", definition.install]
    with progress(f"Installing {definition.label}"):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - a command of the catalogue's
    found = asyncio.run(finder.find(definition))
    if done.returncode or found.launch is None:
        print(clean((done.stdout + done.stderr).decode(errors="replace")), file=sys.stderr)
        why = f"the command ended with {done.returncode}" if done.returncode else found.reason
        raise AgentNotInstalled(f"{definition.label} is not installed: {why}", agent=definition.id)
    asyncio.run(hosted_agents(options.home))  # asked for its agents, a host looks for them
    print(f"{definition.label} is installed.")
    return 0


def _remember(
    options: argparse.Namespace, found: FoundAgent, introduction: Introduction
) -> Remembered | None:
    """Keep an agent's answers. If it no longer asks for a sign-in, someone has signed in."""
    find_paths(options.home, os.environ).make_home()
    memory = _memory(options)
    memory.remember(found, introduction.handshake.capabilities)
    before = memory.recall(found)
    if isinstance(introduction.problem, AuthRequired):
        memory.remember(found, signed_in=False)
    elif introduction.problem is None and before is not None and before.signed_in is False:
        # Some agents make sessions for anyone and refuse later, so it is not known for sure.
        memory.remember(found, signed_in=None)
    return memory.recall(found)


async def _sign_in(client: Client, options: argparse.Namespace) -> int:
    agent = built_in().resolve(options.agent) or options.agent
    with open_terminal(apart=False) as terminal:
        return 0 if await sign_in(client, terminal, agent, options.method) else 1


# -- the table ---------------------------------------------------------------------------------------------

_DEMO = {"id": DEMO, "label": "Demo", "installed": True, "usable": True, "version": __version__}
_HEAD = ("AGENT", "INSTALLED", "VERSION", "SIGNED IN", "CAN")
_LONGEST_VERSION, _LONGEST_LINE = 16, 240


def table_of(
    agents: Sequence[tuple[FoundAgent, Remembered | None]],
    width: int | None = None,
    others: Mapping[str, str | None] | None = None,
) -> Iterator[str]:
    """Return the table of agents as lines, followed by how to install them or to sign in.

    Args:
        agents: Agents of this machine, with what each said about itself when it last ran.
        width: The width of the terminal; by default it is asked.
        others: Agents that only a running host has, with the handles of those that only take messages.
    """
    demo = (DEMO, "yes", __version__, "not needed", "pretend")
    hosted = [
        (name, "yes", "-", "not needed", f"serai send {handle}" if handle else "on the host")
        for name, handle in (others or {}).items()
    ]
    rows = [_HEAD, demo, *hosted, *(_row(found, remembered) for found, remembered in agents)]
    yield from table(rows, gives_way=len(_HEAD) - 1, wraps=True, width=width)
    advice = {found.id: text for found, remembered in agents if (text := _advice(found, remembered))}
    if advice:
        longest = max(map(len, advice))
        yield ""
        yield "To install them, or to sign in:"
        for name, text in advice.items():
            yield f"  {name.ljust(longest)}  {clean(text)}"


def _row(found: FoundAgent, remembered: Remembered | None) -> tuple[str, ...]:
    version = cut(clean(found.version or "-"), _LONGEST_VERSION)
    signed_in = {True: "yes", False: "no", None: "unknown"}[signed_in_of(found, remembered)]
    can = "-"
    if found.launch is not None:
        known = remembered.capabilities if remembered else None
        can = _abilities(known) if known else "unknown"
    return found.id, "yes" if found.installed else "no", version, signed_in, can


def _abilities(can: AgentCapabilities) -> str:
    """Return an agent's capabilities in short words. Capabilities of every agent are left out."""
    sessions = {
        "load": can.load_session,
        "resume": can.resume_session,
        "fork": can.fork_session,
        "list": can.list_sessions,
        "close": can.close_session,
        "dirs": can.additional_directories,
    }
    servers = {"http": can.mcp.http, "sse": can.mcp.sse}
    prompts = {"image": can.prompt.image, "audio": can.prompt.audio, "context": can.prompt.embedded_context}
    groups = [" ".join(word for word, has in one.items() if has) for one in (sessions, servers, prompts)]
    return " · ".join(filter(None, groups)) or "the least"


def _advice(found: FoundAgent, remembered: Remembered | None) -> str:
    """Return how a person installs an agent or signs in, if that is needed."""
    install = found.definition.install
    if found.launch is None:
        if not found.installed and install:
            return install
        return f"{found.reason} ({install})" if install else found.reason
    if signed_in_of(found, remembered) is False:
        login = " ".join(found.definition.login)
        return f"sign in: {login}" if login else f"sign in: serai agents signin {found.id}"
    return ""


# -- one agent ---------------------------------------------------------------------------------------------


def _document(found: FoundAgent, remembered: Remembered | None) -> dict[str, Any]:
    return {
        "id": found.id,
        "label": found.label,
        "aliases": found.definition.aliases,
        "homepage": found.definition.homepage or None,
        "installed": found.installed,
        "usable": found.launch is not None,
        "path": str(found.path) if found.path else None,
        "version": found.version,
        "signedIn": signed_in_of(found, remembered),
        "capabilities": remembered.capabilities if remembered else None,
        "toldAt": remembered.at if remembered else None,
        "reason": found.reason or None,
        "install": found.definition.install or None,
        "login": found.definition.login or None,
    }


def _introduction(
    found: FoundAgent, introduction: Introduction, remembered: Remembered | None
) -> dict[str, Any]:
    handshake, models, modes = introduction.handshake, introduction.models.models, introduction.modes
    is_refused = isinstance(introduction.problem, AuthRequired)
    return {
        **_document(found, remembered),
        "agentInfo": handshake.agent_info,
        "protocolVersion": handshake.protocol_version,
        "capabilities": handshake.capabilities,
        "authMethods": [method.raw for method in handshake.auth_methods],
        "signedIn": False if is_refused else signed_in_of(found, remembered),
        "modes": {"current": modes.value, "available": list(map(_mode, modes.choices))} if modes else None,
        "models": [asdict(model) for model in models] if models else None,
        "configOptions": [option.raw for option in introduction.options],
        "commands": list(introduction.commands),
        "problem": introduction.problem.to_wire() if introduction.problem else None,
    }


def _mode(mode: Choice) -> dict[str, Any]:
    return {"id": mode.value, "name": mode.name, "description": mode.description}


def _lines(found: FoundAgent, introduction: Introduction) -> Iterator[str]:
    handshake = introduction.handshake
    info = handshake.agent_info
    yield f"{info['title'] or info['name'] or found.label} {info['version'] or found.version or ''}".rstrip()
    yield f"  program       {found.path}"
    yield f"  can           {_abilities(handshake.capabilities)}"
    for method in handshake.auth_methods:
        yield _line("sign in", method.id, method.name, method.description)
    if introduction.problem is not None:
        yield f"  no session    {introduction.problem}"
        return
    if (modes := introduction.modes) is not None:
        for mode in modes.choices:
            yield _line("mode", mode.value, mode.name, mode.description, is_now=mode.value == modes.value)
    model = introduction.models.model_option
    for choice in introduction.models.models:
        now = model is not None and choice.value == model.value
        yield _line("model", choice.value, choice.name, choice.description, is_now=now)
    if not introduction.models.models:
        yield "  model         unknown"
    for option in introduction.options:
        if option is not model and option is not modes:
            values = ", ".join(choice.value for choice in option.choices) or option.type
            yield _line("option", f"{option.id} = {option.value}", values)
    for command in introduction.commands:
        yield _line("command", f"/{command.get('name')}", str(command.get("description") or ""))


def _line(what: str, name: str, *words: str | None, is_now: bool = False) -> str:
    more = ", ".join(dict.fromkeys(word for word in words if word and word != name))
    return f"  {what:<12} {'*' if is_now else ' '}{name}{f': {more}' if more else ''}"
