"""`serai agents`: which agents there are, what is installed, and what one of them says of itself."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from serai.acp import Handshake
from serai.acp.shapes import object_of
from serai.agents.catalogue import Catalogue, make_catalogue
from serai.agents.definitions import AgentDefinition
from serai.agents.finding import Finder, Found
from serai.agents.introducing import Introduction, introduce
from serai.agents.places import Surroundings
from serai.agents.registry import Registry, load_registry
from serai.cli.terminal import clean
from serai.config.load import load
from serai.config.paths import find_paths
from serai.config.trust import Trust
from serai.errors import AgentError, AuthRequired
from serai.processes.processes import Processes
from serai.redact import Redactor
from serai.redact.environment import managed_from_environment

__all__ = ["configure", "managed_secrets"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options and the subcommand of `serai agents`."""
    parser.description = "See which agents there are, which of them are installed, and how to install others."
    parser.epilog = "'serai agents probe NAME' starts an agent and asks it what it can do."
    parser.set_defaults(run=_list, json=False, registry=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    probe = commands.add_parser(
        "probe",
        help="start an agent and ask it what it can do",
        description="Start an agent in an empty folder, ask it what it can do, and end it again.",
    )
    probe.add_argument("agent", metavar="NAME", help="an agent's name, or another name of it")
    probe.set_defaults(run=_probe)
    for each in (parser, probe):
        _add_common(each)


def managed_secrets(definitions: Iterable[AgentDefinition]) -> dict[str, str]:
    """The secrets that agents are started with, for a redactor: by names such as `agents.mine.API_KEY`."""
    return {
        f"agents.{definition.id}.{name}": value
        for definition in definitions
        for name, value in managed_from_environment(definition.env).items()
    }


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Without defaults: that of a subcommand would take the place of what stood before it."""
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    parser.add_argument(
        "--registry",
        metavar="PLACE",
        default=argparse.SUPPRESS,
        help="a registry of ACP agents besides: a file, or its http(s) address",
    )


def _list(options: argparse.Namespace) -> int:
    return asyncio.run(_show_all(options))


async def _show_all(options: argparse.Namespace) -> int:
    catalogue, registry, finder = await _open(options)
    found = await finder.find_all(catalogue)
    if options.json:
        _print_json({"agents": [_document(one) for one in found], "skipped": list(registry.skipped)})
        return 0
    _print_table([("AGENT", "INSTALLED", "VERSION", "SIGNED IN", ""), *map(_row, found)])
    if registry.skipped:
        print(f"serai: {len(registry.skipped)} agents of the registry cannot be used here", file=sys.stderr)
    return 0


async def _open(options: argparse.Namespace) -> tuple[Catalogue, Registry, Finder]:
    """The agents that are known here, what came of the registry, and who finds them."""
    paths = find_paths(options.home, os.environ)
    here = Path.cwd()
    configuration = load(paths, os.environ, project=here)
    for ignored in configuration.ignored:
        print(f"serai: {ignored}", file=sys.stderr)
    place = options.registry or configuration.settings.agent_registry
    registry = await load_registry(place) if place else Registry()
    catalogue = make_catalogue(configuration.agents, registry.definitions)
    project = here if Trust(paths.trust).is_trusted(here) else None
    return catalogue, registry, Finder(Surroundings.here(project=project))


def _probe(options: argparse.Namespace) -> int:
    return asyncio.run(_show_one(options))


async def _show_one(options: argparse.Namespace) -> int:
    catalogue, _, finder = await _open(options)
    found = await finder.find(catalogue.definition_for(options.agent))
    launch = found.launching()
    redactor = Redactor(managed_from_environment(os.environ) | managed_secrets(catalogue))
    with tempfile.TemporaryDirectory(prefix="serai-") as records:
        processes = Processes(Path(records))
        try:
            told = await introduce(launch, processes, mask=redactor.redact)
        finally:
            await processes.close()
    if options.json:
        _print_json(_introduction(found, told))
    else:
        for line in _lines(found, told):
            print(clean(line))
    return 0


# -- what is shown -----------------------------------------------------------------------------------------


def _row(found: Found) -> tuple[str, ...]:
    signed_in = {True: "yes", False: "no", None: "unknown"}[found.signed_in]
    return (found.id, "yes" if found.installed else "no", found.version or "-", signed_in, _advice(found))


def _advice(found: Found) -> str:
    """What a person can do next, if anything."""
    install = found.definition.install
    if found.launch is None:
        if not found.installed and install:
            return install
        return f"{found.reason} ({install})" if install else found.reason
    if found.signed_in is False and found.definition.login:
        return f"sign in: {' '.join(found.definition.login)}"
    return ""


def _document(found: Found) -> dict[str, Any]:
    return {
        "id": found.id,
        "label": found.label,
        "aliases": found.definition.aliases,
        "homepage": found.definition.homepage or None,
        "installed": found.installed,
        "usable": found.launch is not None,
        "path": str(found.path) if found.path else None,
        "version": found.version,
        "signedIn": found.signed_in,
        "reason": found.reason or None,
        "install": found.definition.install or None,
        "login": found.definition.login or None,
    }


def _introduction(found: Found, told: Introduction) -> dict[str, Any]:
    handshake = told.handshake
    return {
        **_document(found),
        "agentInfo": asdict(handshake.agent_info),
        "protocolVersion": handshake.protocol_version,
        "capabilities": handshake.capabilities,
        "authMethods": [method.raw for method in handshake.auth_methods],
        "signedIn": False if isinstance(told.problem, AuthRequired) else found.signed_in,
        "modes": asdict(told.modes) if told.modes else None,
        "models": [asdict(model) for model in told.models.models] if told.models.models else None,
        "configOptions": [option.raw for option in told.options],
        "commands": list(told.commands),
        "problem": told.problem.to_wire() if told.problem else None,
    }


def _lines(found: Found, told: Introduction) -> Iterator[str]:
    handshake = told.handshake
    info = handshake.agent_info
    yield f"{info.title or info.name or found.label} {info.version or found.version or ''}".rstrip()
    yield f"  program       {found.path}"
    yield f"  can           {', '.join(_abilities(handshake)) or 'nothing beyond the least'}"
    for method in handshake.auth_methods:
        yield _line("sign in", method.id, method.name, method.description)
    if told.problem is not None:
        yield _cut(f"  no session    {_why(told.problem)}")
        return
    if told.modes is not None:
        for mode in told.modes.available:
            yield _line("mode", mode.id, mode.name, mode.description, is_now=mode.id == told.modes.current)
    model = told.models.model_option
    for choice in told.models.models:
        now = model is not None and choice.value == model.value
        yield _line("model", choice.value, choice.name, choice.description, is_now=now)
    if not told.models.models:
        yield "  model         unknown"
    for option in told.options:
        if option is not model:
            values = ", ".join(choice.value for choice in option.choices) or option.type
            yield _line("option", f"{option.id} = {option.value}", values)
    for command in told.commands:
        yield _line("command", f"/{command.get('name')}", str(command.get("description") or ""))


def _line(what: str, name: str, *words: str | None, is_now: bool = False) -> str:
    more = ", ".join(dict.fromkeys(word for word in words if word and word != name))
    return _cut(f"  {what:<12} {'*' if is_now else ' '}{name}{f': {more}' if more else ''}")


def _why(problem: AgentError) -> str:
    """What happened, with what the agent told about it: its message alone is often no more than a number."""
    details = object_of(problem.data).get("details")
    return f"{problem}: {details}" if isinstance(details, str) else str(problem)


def _cut(line: str) -> str:
    line = line.replace("\n", " ")
    return line if len(line) <= 240 else line[:239] + "…"


def _abilities(handshake: Handshake) -> Iterator[str]:
    """What the agent can do, in the words of its handshake."""
    fields: dict[str, bool | dict[str, bool]] = msgspec.to_builtins(handshake.capabilities)
    for name, value in fields.items():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        yield from (f"{name}.{part}".rstrip(".") for part, has in parts if has)
    if handshake.delete_session:
        yield "deleteSession"
    if handshake.logout:
        yield "logout"


def _print_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _print_json(document: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")
