"""`serai workflow`: look at workflow files, check them, write them in their one form."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from serai.config.documents import agent_documents, read_document
from serai.config.paths import Paths, find_paths, here
from serai.config.toml import BrokenToml, read_toml
from serai.errors import ConfigInvalid, DocumentInvalid, FileUnreadable
from serai.machine.draft import Draft, write_all
from serai.session.agent_file import BUILT_IN_TOOLS, Known, read_agent
from serai.session.drawing import as_svg, as_text
from serai.session.workflow import chain, read_workflow
from serai.session.yaml import dump


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai workflow`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    check = commands.add_parser(
        "check",
        help="say whether a workflow can run, and if not, where it is wrong",
        description="Say whether a workflow can run, and if not, where it is wrong.",
        epilog=(
            "Agents are those in the file, in .serai/agents/ of this directory, and in agents/ beside your "
            "serai.toml; models are those of [models] there."
        ),
    )
    check.set_defaults(run=_check)
    fmt = commands.add_parser(
        "fmt",
        help="write a workflow in its one form: keys sorted",
        description="Write a workflow in its one form: keys sorted, each text in the same quotes.",
        epilog="A file with comments is left as it is: they have no place in that form.",
    )
    fmt.set_defaults(run=_format)
    show = commands.add_parser(
        "show",
        help="draw a workflow",
        description="Draw a workflow: as text, or as an SVG file.",
    )
    show.add_argument("-o", dest="output", metavar="FILE.svg", help="write a picture there instead")
    show.set_defaults(run=_show)
    for command in (check, fmt, show):
        command.add_argument("file", metavar="FILE")


def _check(options: argparse.Namespace) -> int:
    workflow = read_workflow(read_document(Path(options.file)), _known(options))
    count = len(chain(workflow)) - 2
    print(f"{options.file}: {workflow.workflow.id} can run: {count} {'step' if count == 1 else 'steps'}")
    return 0


def _format(options: argparse.Namespace) -> int:
    path = Path(options.file)
    document = read_document(path)
    read_workflow(document)
    if document.comment is not None:
        raise DocumentInvalid(
            "this comment would be lost: put it into a description, or take it out",
            file=document.name,
            line=document.comment,
        )
    text = dump(document.value)
    if text.encode() != path.read_bytes():
        put_file(path, text)
    return 0


def _show(options: argparse.Namespace) -> int:
    workflow = read_workflow(read_document(Path(options.file)))
    if options.output:
        put_file(Path(options.output), as_svg(workflow))
    else:
        print(as_text(workflow), end="")
    return 0


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
    paths = find_paths(options.home, os.environ)

    @cache
    def slugs() -> set[str]:
        return {read_agent(document).slug for document in agent_documents(paths, here())}

    def is_agent(slug: str) -> bool:
        return slug in slugs()

    return Known(_is_tool, _models(paths), is_agent)


def _is_tool(name: str) -> bool:
    # What the servers of MCP have is known once they run.
    return name in BUILT_IN_TOOLS or name.startswith("mcp__")


def _models(paths: Paths) -> Callable[[str], bool]:
    """Whether the person's file describes the server of a model, and the server has it."""
    try:
        table: Any = read_toml(paths.user_config.read_text("utf-8")).get("models", {})
    except FileNotFoundError:
        table = {}
    except (BrokenToml, OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"{paths.user_config} cannot be read: {error}") from None

    def is_model(model: str) -> bool:
        name, _, model_id = model.partition(":")
        ids = table[name].get("ids") if name in table else ()
        return name in table and (not ids or model_id in ids)

    return is_model
