"""`serai config`: what is set, by whom, and which folders are trusted."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from serai.cli.console.output import json_text, print_json
from serai.cli.console.target import add_command
from serai.config.edit import set_setting
from serai.config.load import Configuration, load
from serai.config.paths import find_paths, here, is_folder, real
from serai.config.trust import Trust
from serai.errors import ConfigInvalid


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai config`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    show = add_command(
        commands,
        "show",
        "print every setting and where it comes from",
        epilog=(
            "Flags win over the environment (SERAI_PORT for port), the environment over serai.toml of the "
            "working directory, and that over your own serai.toml. What concerns the host as a whole is not "
            "taken from the file of a working directory, which is told."
        ),
    )
    show.add_argument(
        "--project", metavar="DIR", help="whose serai.toml counts; by default, this directory's"
    )
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(run=_show)
    path = add_command(commands, "path", "print where your own serai.toml is")
    path.set_defaults(run=_path)
    change = add_command(
        commands,
        "set",
        "change a setting in your own serai.toml; comments stay",
        epilog="serai config set port 7780; serai config set allowed_hosts inn.example,other.example; "
        "serai config set chat.default_model main:gpt-5. The host reads it at its next start.",
    )
    change.add_argument("key", metavar="KEY")
    change.add_argument("value", metavar="VALUE")
    change.set_defaults(run=_set)
    trust = add_command(commands, "trust", "trust a folder and all that is in it, its serai.toml too")
    trust.add_argument("folder", metavar="DIR")
    trust.set_defaults(run=_trust)
    distrust = add_command(commands, "distrust", "trust a folder no longer, nor any folder in it")
    distrust.add_argument("folder", metavar="DIR")
    distrust.set_defaults(run=_distrust)


def _show(options: argparse.Namespace) -> int:
    project = Path(options.project) if options.project else here()
    if options.project and not is_folder(real(Path(options.project))):
        raise ConfigInvalid(f"--project: there is no folder {options.project}")
    paths = find_paths(options.home, os.environ)
    Trust(paths.trust).folders()  # damage is told, also where no file of a project asks for trust
    configuration = load(paths, os.environ, project=project)
    if options.json:
        print_json(_document(configuration))
        return 0
    rows = [("home", str(configuration.paths.home), configuration.paths.source)]
    for key, provenance in configuration.provenance.items():
        rows.append((key, json_text(getattr(configuration.settings, key)), str(provenance)))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for key, value, source in rows:
        print(f"{key:<{widths[0]}}  {value:<{widths[1]}}  {source}")
    for ignored in configuration.ignored:
        print(f"serai: {ignored}", file=sys.stderr)
    return 0


def _document(configuration: Configuration) -> dict[str, Any]:
    return {
        "home": {"value": str(configuration.paths.home), "source": configuration.paths.source},
        "settings": {
            key: {
                "value": getattr(configuration.settings, key),
                "source": provenance.source,
                "place": provenance.place or None,
            }
            for key, provenance in configuration.provenance.items()
        },
        "ignored": [
            {"key": it.key, "value": it.value, "file": str(it.file), "reason": it.reason}
            for it in configuration.ignored
        ],
    }


def _path(options: argparse.Namespace) -> int:
    print(find_paths(options.home, os.environ).user_config)
    return 0


def _set(options: argparse.Namespace) -> int:
    paths = find_paths(options.home, os.environ)
    print(set_setting(paths, options.key, options.value))
    return 0


def _trust(options: argparse.Namespace) -> int:
    paths = find_paths(options.home, os.environ)
    paths.make_home()
    folder = Trust(paths.trust).trust(Path(options.folder))
    print(f"{folder} is trusted")
    return 0


def _distrust(options: argparse.Namespace) -> int:
    paths = find_paths(options.home, os.environ)
    taken = Trust(paths.trust).distrust(Path(options.folder))
    for folder in taken:
        print(f"{folder} is no longer trusted")
    if not taken:
        print(f"{real(Path(options.folder))} was not trusted")
    return 0
