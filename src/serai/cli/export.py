"""`serai export`: a session as a workflow file."""

from __future__ import annotations

import argparse
from pathlib import Path

from serai.cli.console.progress import progress
from serai.cli.console.target import add_client_command
from serai.cli.sessions import find_session
from serai.cli.workflow import put_file
from serai.client import Client


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai export`."""
    parser.epilog = "It is a scaffold: look it through, then 'serai workflow run' runs it."
    parser.add_argument("session", metavar="SESSION", help="its id, the beginning of its id, or its URI")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write it there instead of printing it")
    add_client_command(parser, _export, again=False)


async def _export(client: Client, options: argparse.Namespace) -> int:
    with progress("Writing the workflow"):
        session = await client.open_session(await find_session(client, options.session))
        text = await session.export()
    if options.output:
        put_file(Path(options.output), text)
    else:
        print(text, end="")
    return 0
