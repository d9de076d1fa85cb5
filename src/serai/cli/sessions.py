"""`serai sessions`: lists, shows and manages sessions. `serai watch`: what all of them are doing, live."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from serai.ahp.types import URI, Number, SessionLifecycle, SessionState, SessionStatus, SessionSummary
from serai.cli.chat.view import turn_lines, why_held
from serai.cli.console.output import clean, print_json, short_ids, table
from serai.cli.console.target import (
    add_client_command,
    add_command,
    add_json_option,
    match,
    run_connected,
    session_id,
)
from serai.cli.console.terminal import signals
from serai.cli.database import configure_purge, find_disposed
from serai.client import Client, ClientEvent, Connected, Disconnected
from serai.contract import AgentsResult
from serai.errors import ConnectionLost
from serai.relay.sdk import Relay


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai sessions`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = add_command(commands, "list", "list all sessions (the same as no command)")
    parser.set_defaults(disposed=False)
    for each in (parser, listing):
        add_json_option(each)
        add_client_command(each, _list)
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
        ("rename", _change, "give one another title"),
        ("archive", _change, "put one away"),
    ):
        command = add_command(commands, name, summary, client=run)
        add_json_option(command)
        command.add_argument("session", metavar="SESSION", help="its id, the beginning of its id, or its URI")
        if name == "rename":
            command.add_argument("title", metavar="TITLE")
        if name == "archive":
            command.add_argument("--undo", action="store_true", help="take it out again")
    configure_purge(add_command(commands, "purge", "erase sessions for good"))


def _start_list(options: argparse.Namespace) -> int:
    if not options.disposed:
        return run_connected(options)
    none = "No session is disposed of and kept."
    return print_sessions(find_disposed(options), options, none=none, is_over=True)


async def find_session(client: Client, name: str) -> URI:
    """Return the session with this URI, id or beginning of an id.

    Raises:
        SessionGone: There is no such session, or more than one.
    """
    return match("session", name, [summary.resource for summary in await client.list_sessions()])


async def _list(client: Client, options: argparse.Namespace) -> int:
    summaries = await client.list_sessions()
    return print_sessions(summaries, options, none="There are no sessions. `serai chat` begins one.")


def print_sessions(
    summaries: list[SessionSummary], options: argparse.Namespace, *, none: str, is_over: bool = False
) -> int:
    """Print sessions as JSON or as a table; without any, print `none`."""
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
        print("\n".join(_lines(session.state)))
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


async def _change(client: Client, options: argparse.Namespace) -> int:
    session = await client.open_session(await find_session(client, options.session))
    if "title" in options:
        await session.set_title(options.title)
    else:
        await session.archive(archived=not options.undo)
    summary = session.state.summary
    if options.json:
        print_json(summary)
    else:
        print(f"{session.id}  {_title(summary)}  {status_words(summary)}")
    return 0


def status_words(summary: SessionSummary) -> str:
    """Return what a session is doing, for people."""
    archived = ", archived" if summary.status & SessionStatus.IS_ARCHIVED else ""
    return f"{_state(summary.status)}{archived}"


def _state(status: int) -> str:
    if status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED:
        return "waits for you"
    if status & SessionStatus.IN_PROGRESS:
        return "working"
    return "failed" if status & SessionStatus.ERROR else "idle"


def ago(then: Number, now: Number) -> str:
    """Return how long ago a moment was. Both arguments are in milliseconds."""
    seconds = max(0, int((now - then) / 1000))
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "now"


def session_table(
    summaries: Sequence[SessionSummary], now: Number, width: int | None = None, *, is_over: bool = False
) -> list[str]:
    """Return the sessions as lines that fit a terminal, with ids shortened as far as they stay unique."""
    shown = short_ids([session_id(summary.resource) for summary in summaries])
    rows = [["ID", "AGENT", "TITLE", "STATUS", "CHANGED"]]
    for name, summary in zip(shown, summaries, strict=True):
        status = "disposed" if is_over else status_words(summary)
        rows.append([name, summary.provider, _title(summary), status, ago(summary.modified_at, now)])
    return table(rows, gives_way=2, width=width)


def _title(summary: SessionSummary) -> str:
    return " ".join(summary.title.split()) or "(no title)"


def _lines(state: SessionState) -> list[str]:
    """Return a session and its turns as lines."""
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
        lines += ["", *turn_lines(turn)]
    if state.active_turn is not None:
        lines += ["", f"> {state.active_turn.user_message.text}", "(running)"]
    if (why := why_held(state)) is not None:
        lines += ["", f"(held, since {why}: the next message sends what is queued, or /go in a chat)"]
    lines += [f"(queued) {message.user_message.text}" for message in state.queued_messages or ()]
    return [clean(line) for line in lines]


# -- serai watch -----------------------------------------------------------------------------------------

_GROUPS = ("Needs you", "Running", "Waiting", "Done")
_HEAD = ("ID", "STATE", "TITLE", "AGENT", "FOLDER", "DOING", "SINCE", "LINES")
_WIDEST = 24
"""Largest width of the activity and of the folder, in columns."""
_PAUSE = 0.25
"""Least time between two drawings, in seconds."""
_REFRESH = 20.0
"""Most time between two drawings, in seconds: the column SINCE is never older."""


def configure_watch(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai watch`."""
    parser.epilog = "Ctrl-C ends it. Where the output is no terminal, the table is printed once."
    parser.add_argument("--json", action="store_true", help="print the sessions once, as JSON by group")
    add_client_command(parser, _watch)


async def _watch(client: Client, options: argparse.Namespace) -> int:
    if options.json:
        print_json(grouped(*await _fetch(client, options)))
    elif not sys.stdout.isatty():
        print("\n".join(fleet(*await _fetch(client, options), time.time() * 1000)))
    else:
        drawing = asyncio.create_task(_draw(client, options))
        with signals({signal.SIGINT: drawing.cancel}), contextlib.suppress(asyncio.CancelledError):
            await drawing
    return 0


async def _fetch(
    client: Client, options: argparse.Namespace
) -> tuple[Sequence[SessionSummary], Collection[URI]]:
    """Return all sessions, and the URIs of those for which messages wait."""
    async with await Relay.connect(options.url, options.token, home=options.home) as relay:
        agents: AgentsResult = await relay.call("agents.list")
    waiting = {agent.session for agent in agents.agents if agent.session is not None and agent.waiting}
    return await client.list_sessions(), waiting


def grouped(
    summaries: Sequence[SessionSummary], waiting: Collection[URI] = ()
) -> dict[str, list[SessionSummary]]:
    """Return the sessions in the groups that the page has, in each group the last changed first."""
    groups: dict[str, list[SessionSummary]] = {name: [] for name in _GROUPS}
    for one in sorted(summaries, key=lambda one: one.modified_at, reverse=True):
        if not one.status & SessionStatus.IS_ARCHIVED:
            groups[_group(one, has_mail=one.resource in waiting)].append(one)
    return groups


def _group(summary: SessionSummary, *, has_mail: bool) -> str:
    state = _state(summary.status)
    # A failed session needs someone until it was looked at.
    if state == "waits for you" or (state == "failed" and not summary.status & SessionStatus.IS_READ):
        return "Needs you"
    if state == "working":
        return "Running"
    return "Waiting" if has_mail else "Done"


def fleet(
    summaries: Sequence[SessionSummary], waiting: Collection[URI], now: Number, width: int | None = None
) -> list[str]:
    """Return all sessions as lines that fit a terminal, under the names of their groups."""
    groups = grouped(summaries, waiting)
    ordered = [one for group in groups.values() for one in group]
    if not ordered:
        return ["There are no sessions. `serai chat` begins one."]
    names = short_ids([session_id(one.resource) for one in ordered])
    rows = [_HEAD, *(_row(name, one, now) for name, one in zip(names, ordered, strict=True))]
    width = shutil.get_terminal_size().columns if width is None else width
    head, *lines = (line[:width] for line in table(rows, gives_way=2, width=width))
    shown = [head]
    for group, members in groups.items():
        if members:
            shown += ["", f"{group} ({len(members)})", *lines[: len(members)]]
            lines = lines[len(members) :]
    return shown


def _row(name: str, one: SessionSummary, now: Number) -> Sequence[str]:
    # As on the page: the changes in its folder since it began.
    since_then = [change for change in one.changesets or () if change.uri_template.endswith("/session")]
    added, removed = next(((change.additions or 0, change.deletions or 0) for change in since_then), (0, 0))
    lines = f"+{added:g} -{removed:g}" if added or removed else ""
    folder = PurePosixPath(unquote(urlsplit(one.working_directory or "").path)).name
    doing = " ".join((one.activity or "").split())
    since = ago(one.modified_at, now).removesuffix(" ago")
    title = one.title or "(no title)"
    state = status_words(one)
    return (name, state, title, one.provider, folder[:_WIDEST], doing[:_WIDEST], since, lines)


async def _draw(client: Client, options: argparse.Namespace) -> None:
    """Draw at each change until cancelled, and restore the screen then."""
    news = asyncio.Event()
    lost = ""

    def heard(event: ClientEvent) -> None:
        nonlocal lost
        if isinstance(event, Disconnected):
            lost = f"(connection lost: {event.reason}; trying again)"
        elif isinstance(event, Connected):
            lost = ""
        news.set()

    stop = client.on_event(heard)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, news.set)
    known: tuple[Sequence[SessionSummary], Collection[URI]] = ((), ())
    try:
        _write("\x1b[?1049h\x1b[?25l")
        while True:
            news.clear()
            if not lost:
                with contextlib.suppress(TimeoutError, ConnectionLost):  # the host is just going away
                    known = await asyncio.wait_for(_fetch(client, options), _PAUSE * 4)
            cols, rows = os.get_terminal_size(sys.stdout.fileno())
            lines = [*([lost[:cols]] if lost else []), *fleet(*known, time.time() * 1000, cols)]
            if len(lines) > rows:
                lines[rows - 1 :] = [f"… ({len(lines) - rows + 1} more lines)"]
            _write("\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), _REFRESH)
            await asyncio.sleep(_PAUSE)
    finally:
        stop()
        loop.remove_signal_handler(signal.SIGWINCH)
        _write("\x1b[?25h\x1b[?1049l")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
