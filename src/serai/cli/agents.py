"""`serai agents`: which agents there are, what is installed, and what one of them says of itself."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from serai.agents.catalogue import Catalogue, make_catalogue
from serai.agents.finding import Finder, Found
from serai.agents.places import Surroundings
from serai.agents.registry import Registry, load_registry
from serai.config.load import load
from serai.config.paths import find_paths
from serai.config.trust import Trust

__all__ = ["configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options and the subcommand of `serai agents`."""
    parser.description = "See which agents there are, which of them are installed, and how to install others."
    parser.epilog = "'serai agents probe NAME' starts an agent and asks it what it can do."
    parser.set_defaults(run=_list, json=False, registry=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_common(parser)


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


def _print_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _print_json(document: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")
