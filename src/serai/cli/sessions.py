"""`serai sessions`: which sessions there are, and what can be done with them without talking to them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from serai.ahp.types import URI, Number, SessionLifecycle, SessionState, SessionStatus, SessionSummary
from serai.cli.chat.view import turn_told, why_held
from serai.cli.console.output import clean, print_json, short_ids, table
from serai.cli.console.target import (
    ClientCommand,
    add_client_command,
    add_command,
    add_json_option,
    match,
    run_connected,
    session_id,
)
from serai.cli.database import configure_purge, find_disposed
from serai.client import Client


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai sessions`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = add_command(commands, "list", "list all sessions (the same as no command)")
    parser.set_defaults(disposed=False)
    for each in (parser, listing):
        _options(each, _list)
        each.add_argument(
            "--disposed",
            action="store_true",
            default=argparse.SUPPRESS,
            help="those that have ended and are kept in this machine's database, until they are purged",
        )
        each.set_defaults(run=_start_list)
    for name, run, summary in (
        ("show", _show, "show one with its turns"),
        ("dispose", _dispose, "end one: it is no longer listed, and what it was stays in the database"),
        ("rename", _rename, "give one another title"),
        ("archive", _archive, "put one away"),
    ):
        command = add_command(commands, name, summary)
        command.add_argument("session", metavar="SESSION", help="its id, the beginning of its id, or its URI")
        if name == "rename":
            command.add_argument("title", metavar="TITLE")
        if name == "archive":
            command.add_argument("--undo", action="store_true", help="take it out again")
        _options(command, run)
    configure_purge(add_command(commands, "purge", "erase sessions for good"))


def _options(parser: argparse.ArgumentParser, command: ClientCommand) -> None:
    add_json_option(parser)
    add_client_command(parser, command)


def _start_list(options: argparse.Namespace) -> int:
    if not options.disposed:
        return run_connected(options)
    rows = find_disposed(options)
    return print_sessions(rows, options, none="No session is disposed of and kept.", is_over=True)


async def find_session(client: Client, name: str) -> URI:
    """The session that a person means: by its URI, its id, or the beginning of its id.

    Raises:
        SessionGone: There is none, or more than one.
    """
    return match("session", name, [summary.resource for summary in await client.list_sessions()])


async def _list(client: Client, options: argparse.Namespace) -> int:
    summaries = await client.list_sessions()
    return print_sessions(summaries, options, none="There are no sessions. `serai chat` begins one.")


def print_sessions(
    summaries: list[SessionSummary], options: argparse.Namespace, *, none: str, is_over: bool = False
) -> int:
    """Print sessions as JSON, or as a table; where there is none, say so."""
    if options.json:
        print_json(summaries)
    elif summaries:
        print("\n".join(session_table(summaries, time.time() * 1000, is_over=is_over)))
    else:
        print(none, file=sys.stderr)
    return 0


async def _show(client: Client, options: argparse.Namespace) -> int:
    session = await client.open_session(await find_session(client, options.session))
    if options.json:
        print_json(session.state)
    else:
        print("\n".join(_told(session.state)))
    return 0


async def _dispose(client: Client, options: argparse.Namespace) -> int:
    uri = await find_session(client, options.session)
    await client.dispose_session(uri)
    if options.json:
        print_json({"disposed": uri})
    else:
        print(
            f"{session_id(uri)} has ended. Its history stays in the host's database until it is purged"
            " (`serai sessions --disposed` lists it)."
        )
    return 0


async def _rename(client: Client, options: argparse.Namespace) -> int:
    session = await client.open_session(await find_session(client, options.session))
    await session.set_title(options.title)
    return _changed(session.state, options)


async def _archive(client: Client, options: argparse.Namespace) -> int:
    session = await client.open_session(await find_session(client, options.session))
    await session.archive(archived=not options.undo)
    return _changed(session.state, options)


def _changed(state: SessionState, options: argparse.Namespace) -> int:
    if options.json:
        print_json(state.summary)
    else:
        print(f"{session_id(state.summary.resource)}  {_title(state.summary)}  {status_words(state.summary)}")
    return 0


def status_words(summary: SessionSummary) -> str:
    """What a session is doing, for people."""
    status = summary.status
    if status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED:
        words = "waits for you"
    elif status & SessionStatus.IN_PROGRESS:
        words = "working"
    elif status & SessionStatus.ERROR:
        words = "failed"
    else:
        words = "idle"
    return f"{words}, archived" if status & SessionStatus.IS_ARCHIVED else words


def ago(then: Number, now: Number) -> str:
    """How long ago something was. Both are milliseconds."""
    seconds = max(0, int((now - then) / 1000))
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "now"


def session_table(
    summaries: Sequence[SessionSummary], now: Number, width: int | None = None, *, is_over: bool = False
) -> list[str]:
    """The sessions as lines that fit a terminal. An id is shown as far as it has to be to be unique."""
    shown = short_ids([session_id(summary.resource) for summary in summaries])
    rows = [["ID", "AGENT", "TITLE", "STATUS", "CHANGED"]]
    for name, summary in zip(shown, summaries, strict=True):
        status = "disposed" if is_over else status_words(summary)
        rows.append([name, summary.provider, _title(summary), status, ago(summary.modified_at, now)])
    return table(rows, gives_way=2, width=width)


def _title(summary: SessionSummary) -> str:
    return " ".join(summary.title.split()) or "(no title)"


def _told(state: SessionState) -> list[str]:
    """A session as text: what it is, and what was said."""
    summary = state.summary
    now = time.time() * 1000
    lines = [
        f"{_title(summary)}",
        f"  {summary.resource}",
        f"  agent {summary.provider}, {status_words(summary)}, changed {ago(summary.modified_at, now)}",
    ]
    if state.creation_error is not None and state.lifecycle == SessionLifecycle.CREATION_FAILED:
        lines.append(f"  could not be created: {state.creation_error.message}")
    for turn in state.turns:
        lines += ["", *turn_told(turn)]
    if state.active_turn is not None:
        lines += ["", f"> {state.active_turn.user_message.text}", "(running)"]
    if (why := why_held(state)) is not None:
        lines += ["", f"(held, since {why}: the next message sends what is queued, or /go in a chat)"]
    lines += [f"(queued) {message.user_message.text}" for message in state.queued_messages or ()]
    return [clean(line) for line in lines]
