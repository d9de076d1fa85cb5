"""`serai config`: shows and changes settings, and trusts folders."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from serai.cli.console.output import json_text, print_json
from serai.cli.console.target import add_command
from serai.config.edit import set_setting
from serai.config.load import Configuration, load
from serai.config.paths import find_paths, here, is_folder, real
from serai.config.trust import Trust
from serai.errors import ConfigInvalid

_VALUE_WIDTH = 24
"""Width of the column of values. A longer value moves the rest of its own line only."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai config`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    show = add_command(
        commands,
        "show",
        "print every setting and where it comes from",
        run=_show,
        epilog=(
            "Flags win over the environment (SERAI_PORT for port), the environment over serai.toml of the "
            "working directory, and that over your own serai.toml. What concerns the host as a whole is not "
            "taken from the file of a working directory; a note says so."
        ),
    )
    show.add_argument(
        "--project", metavar="DIR", help="whose serai.toml counts; by default, this directory's"
    )
    show.add_argument("--json", action="store_true", help="print JSON")
    add_command(commands, "path", "print where your own serai.toml is", run=_path)
    add_command(
        commands,
        "set",
        "change a setting in your own serai.toml; comments stay",
        *("key", "value"),
        run=_set,
        epilog="serai config set port 7780; serai config set allowed_hosts inn.example,other.example; "
        "serai config set chat.default_model main:gpt-5. The host reads it at its next start.",
    )
    for name, run, summary in (
        ("trust", _trust, "trust a folder and all that is in it, its serai.toml too"),
        ("distrust", _distrust, "trust a folder no longer, nor any folder in it"),
    ):
        add_command(commands, name, summary, run=run).add_argument("folder", metavar="DIR")


def _show(options: argparse.Namespace) -> int:
    project = Path(options.project) if options.project else here()
    if options.project and not is_folder(real(project)):
        raise ConfigInvalid(f"--project: there is no folder {options.project}")
    paths = find_paths(options.home, os.environ)
    Trust(paths.trust).folders()  # damage is reported even where no file of a project asks for trust
    configuration = load(paths, os.environ, project=project)
    if options.json:
        print_json(_document(configuration))
        return 0
    rows = [("home", str(paths.home), paths.source)]
    for key, provenance in configuration.provenance.items():
        value = getattr(configuration.settings, key)
        parts = asdict(value) if isinstance(value, Struct) else {"": value}
        rows += [(f"{key}.{name}".strip("."), json_text(one), str(provenance)) for name, one in parts.items()]
    width = max(len(key) for key, _, _ in rows)
    for key, value, source in rows:
        print(f"{key:<{width}}  {value:<{_VALUE_WIDTH}}  {source}")
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
