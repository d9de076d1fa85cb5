"""`serai workflow` and `serai export`: check, format, draw, run and export workflow files."""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from contextlib import ExitStack
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
from serai.cli.console.output import progress
from serai.cli.console.target import (
    add_client_command,
    add_command,
    add_json_option,
    match,
    run_connected,
)
from serai.cli.console.terminal import open_terminal
from serai.cli.sessions import find_session, print_sessions
from serai.client import Client, SessionClient, TurnStream
from serai.config.load import load
from serai.config.paths import find_paths, here
from serai.config.trust import Trust
from serai.errors import DocumentInvalid, FileUnreadable, SessionGone
from serai.harness.model.agent_choice import known_here, read_document
from serai.machine.draft import Draft, write_all
from serai.session import yaml
from serai.session.agent_file import Known
from serai.session.diagram import as_svg, as_text
from serai.session.workflow import chain, read_workflow
from serai.session.yaml import Document


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai workflow`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_command(
        commands,
        "check",
        "say whether a workflow can run, and if not, where it is wrong",
        "file",
        run=_check,
        epilog=(
            "Agents are those in the file, in .serai/agents/ of this directory if it is trusted, and in "
            "agents/ beside your serai.toml; models are those of [models] there."
        ),
    )
    add_command(
        commands,
        "fmt",
        "write a workflow in its one form: keys sorted, each text in the same quotes",
        "file",
        run=_format,
        epilog="A file with comments is left as it is: they have no place in that form.",
    )
    show = add_command(commands, "show", "draw a workflow: as text, or as an SVG file", "file", run=_show)
    show.add_argument("-o", dest="output", metavar="FILE.svg", help="write a picture there instead")
    run = add_command(
        commands,
        "run",
        "run a workflow on this machine's host, and follow it",
        client=_run,
        epilog=(
            "The run is shown as in a chat, with its questions. Where standard output is no "
            "terminal, it gets the output alone. The exit code is 0 when the run was completed."
        ),
    )
    run.add_argument("file", metavar="FILE", nargs="?", help="the workflow")
    run.add_argument("--input", metavar="TEXT", help="what the workflow is given: {{input}}")
    run.add_argument(
        "--resume", metavar="ID", help="follow a run that there is: its id, or the beginning of it"
    )
    run.set_defaults(run=partial(_checked_run, run))
    runs = add_command(commands, "runs", "list the runs of workflows, the last one first", client=_list_runs)
    add_json_option(runs)


def _check(options: argparse.Namespace) -> int:
    workflow = read_workflow(_read(Path(options.file)), _known(options))
    count = len(chain(workflow)) - 2
    print(f"{options.file}: {workflow.workflow.id} can run: {count} {'step' if count == 1 else 'steps'}")
    return 0


def _format(options: argparse.Namespace) -> int:
    path = Path(options.file)
    document = _read(path)
    read_workflow(document)
    if document.comment is not None:
        raise DocumentInvalid(
            "this comment would be lost: put it into a description, or take it out",
            file=document.name,
            line=document.comment,
        )
    text = yaml.dump(document.value)
    if text.encode() != path.read_bytes():
        put_file(path, text)
    return 0


def _show(options: argparse.Namespace) -> int:
    workflow = read_workflow(_read(Path(options.file)))
    if options.output:
        put_file(Path(options.output), as_svg(workflow))
    else:
        print(as_text(workflow), end="")
    return 0


def _read(path: Path) -> Document:
    return read_document(path, str(path))


def put_file(path: Path, text: str) -> None:
    """Write a file completely, or leave the old one unchanged."""
    path = path.resolve()  # follow links
    try:
        with ExitStack() as stack:
            directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, directory)
            like = stack.enter_context(path.open("rb")).fileno() if path.exists() else None
            with Draft(directory, path.name) as draft:
                write_all(draft.file(like=like), text.encode())
                draft.commit()
    except OSError as error:
        raise FileUnreadable(f"{path} cannot be written: {error.strerror}") from None


def _known(options: argparse.Namespace) -> Known:
    """Return the agents and models that a host in this folder would know."""
    paths, folder = find_paths(options.home, os.environ), here()
    servers = load(paths, os.environ).models
    trusted = Trust(paths.trust).is_trusted(folder)
    return known_here(servers, folder, paths.user_config.parent, trusted=trusted)


def configure_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai export`."""
    parser.epilog = "It is a scaffold: look it through, then 'serai workflow run' runs it."
    parser.add_argument("session", metavar="SESSION", help="its id, the beginning of its id, or its URI")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write it there instead of printing it")
    add_client_command(parser, _export)


async def _export(client: Client, options: argparse.Namespace) -> int:
    with progress("Writing the workflow"):
        session = await client.open_session(await find_session(client, options.session))
        text = await session.export()
    if options.output:
        put_file(Path(options.output), text)
    else:
        print(text, end="")
    return 0


# -- runs --------------------------------------------------------------------------------------------------


def _checked_run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
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
    """Begin a run with its input."""
    run = await client.create_session(
        "workflow",
        uri=f"{RUN}:/{uuid.uuid4()}",
        working_directory=here(),
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
    """Return the run with this URI, id or beginning of an id.

    Raises:
        SessionGone: There is no such run, or more than one.
    """
    if is_run(name):
        return name
    uris = [summary.resource for summary in await client.list_runs()]
    return match("run", name, uris, "`serai workflow runs` lists them")


def _output(turn: Turn) -> str:
    """Return the answer of the last node. Each node begins with a notice, and each answer is its own part."""
    answer: list[str] = []
    for part in turn.response_parts:
        if isinstance(part, SystemNotificationResponsePart | ToolCallResponsePart):
            answer.clear()
        elif isinstance(part, MarkdownResponsePart):
            answer.append(part.content)
    return "".join(answer)


async def _list_runs(client: Client, options: argparse.Namespace) -> int:
    none = "There are no runs. `serai workflow run FILE` begins one."
    return print_sessions(await client.list_runs(), options, none=none)
