"""`serai workflow` and `serai export`: look at workflow files, check, write, run and make them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from serai.cli.console.output import progress
from serai.cli.console.target import add_client_command, add_command
from serai.cli.runs import configure_run, configure_runs
from serai.cli.sessions import find_session
from serai.client import Client
from serai.config.load import load
from serai.config.paths import find_paths, here
from serai.config.trust import Trust
from serai.errors import DocumentInvalid, FileUnreadable
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
    check = add_command(
        commands,
        "check",
        "say whether a workflow can run, and if not, where it is wrong",
        epilog=(
            "Agents are those in the file, in .serai/agents/ of this directory if it is trusted, and in "
            "agents/ beside your serai.toml; models are those of [models] there."
        ),
    )
    check.set_defaults(run=_check)
    fmt = add_command(
        commands,
        "fmt",
        "write a workflow in its one form: keys sorted, each text in the same quotes",
        epilog="A file with comments is left as it is: they have no place in that form.",
    )
    fmt.set_defaults(run=_format)
    show = add_command(commands, "show", "draw a workflow: as text, or as an SVG file")
    show.add_argument("-o", dest="output", metavar="FILE.svg", help="write a picture there instead")
    show.set_defaults(run=_show)
    for command in (check, fmt, show):
        command.add_argument("file", metavar="FILE")
    configure_run(add_command(commands, "run", "run a workflow on this machine's host, and follow it"))
    configure_runs(add_command(commands, "runs", "list the runs of workflows, the last one first"))


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
    """Write a file whole, or leave what was there."""
    path = path.resolve()  # what a link leads to is meant
    try:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            like = os.open(path, os.O_RDONLY) if path.exists() else None
            try:
                with Draft(directory, path.name) as draft:
                    write_all(draft.file(like=like), text.encode())
                    draft.commit()
            finally:
                if like is not None:
                    os.close(like)
        finally:
            os.close(directory)
    except OSError as error:
        raise FileUnreadable(f"{path} cannot be written: {error.strerror}") from None


def _known(options: argparse.Namespace) -> Known:
    """What a host that is started here would know."""
    paths, folder = find_paths(options.home, os.environ), here()
    servers = load(paths, os.environ).models
    trusted = folder is not None and Trust(paths.trust).is_trusted(folder)
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
