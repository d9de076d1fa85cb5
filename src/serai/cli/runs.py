"""`serai workflow run` and `serai workflow runs`: workflows at work on the host."""

from __future__ import annotations

import argparse
import sys
import time
import uuid
from functools import partial
from pathlib import Path

from serai.ahp.channels import RUN, is_run
from serai.ahp.types import (
    URI,
    MarkdownResponsePart,
    SystemNotificationResponsePart,
    ToolCallResponsePart,
    Turn,
)
from serai.cli.chat.conversation import Chat
from serai.cli.console.output import print_json
from serai.cli.console.target import (
    add_client_command,
    add_connection_options,
    add_json_option,
    match,
    run_connected,
)
from serai.cli.console.terminal import open_terminal
from serai.cli.sessions import session_table
from serai.client import Client, SessionClient, TurnStream
from serai.config.paths import here
from serai.errors import SessionGone


def configure_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai workflow run`."""
    parser.epilog = (
        "What happens is told as in a chat, and so is asked what has to be. Where standard output is no "
        "terminal, it gets the output alone. The exit code is 0 when the run was completed."
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="the workflow")
    parser.add_argument("--input", metavar="TEXT", help="what the workflow is given: {{input}}")
    parser.add_argument(
        "--resume", metavar="ID", help="follow a run that there is: its id, or the beginning of it"
    )
    add_connection_options(parser)
    parser.set_defaults(run=partial(_checked, parser), command=_run)


def configure_runs(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai workflow runs`."""
    add_json_option(parser)
    add_client_command(parser, _list)


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if bool(options.file) is bool(options.resume):
        parser.error("name a FILE, or with --resume a run")
    if options.resume and options.input is not None:
        parser.error("--input is for a new run: leave out --resume")
    if options.file:
        options.file = str(Path(options.file).absolute())
    return run_connected(options)


async def _run(client: Client, options: argparse.Namespace) -> int:
    run, turn = await (_found(client, options.resume) if options.resume else _begun(client, options))
    has_screen = sys.stdout.isatty()
    with open_terminal(apart=True, out=sys.stdout if has_screen else sys.stderr) as terminal:
        code = await Chat(client, run, terminal, once=turn).run()
    if code == 0 and not has_screen:
        print(_output(run.state.turns[0]))
    return code


async def _begun(client: Client, options: argparse.Namespace) -> tuple[SessionClient, TurnStream]:
    """Begin a run, and give it its input."""
    place = here()
    run = await client.create_session(
        "workflow",
        uri=f"{RUN}:/{uuid.uuid4()}",
        working_directory=None if place is None else place.as_uri(),
        config={"file": options.file},
    )
    print(f"Run {run.id}", file=sys.stderr)
    return run, await run.prompt(options.input or "")


async def _found(client: Client, name: str) -> tuple[SessionClient, TurnStream]:
    run = await client.open_session(await find_run(client, name))
    state = await run.ready()
    turns = [*state.turns, *([state.active_turn] if state.active_turn else [])]
    if not turns:
        raise SessionGone(f"{run.id} was never given its input", remedy="Begin another run")
    return run, run.follow_turn(turns[0].id)


async def find_run(client: Client, name: str) -> URI:
    """The run that a person means: by its URI, its id, or the beginning of its id.

    Raises:
        SessionGone: There is none, or more than one.
    """
    if is_run(name):
        return name
    uris = [summary.resource for summary in await client.list_runs()]
    return match("run", name, uris, "`serai workflow runs` lists them")


def _output(turn: Turn) -> str:
    """What the last node answered: each node begins with a notice, and each answer is a part of its own."""
    said: list[str] = []
    for part in turn.response_parts:
        if isinstance(part, SystemNotificationResponsePart | ToolCallResponsePart):
            said.clear()
        elif isinstance(part, MarkdownResponsePart):
            said.append(part.content)
    return "".join(said)


async def _list(client: Client, options: argparse.Namespace) -> int:
    runs = await client.list_runs()
    if options.json:
        print_json(runs)
    elif runs:
        print("\n".join(session_table(runs, time.time() * 1000)))
    else:
        print("There are no runs. `serai workflow run FILE` begins one.", file=sys.stderr)
    return 0
