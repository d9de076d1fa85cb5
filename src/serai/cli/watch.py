"""`serai watch`: what all sessions are doing, as one live table."""

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

from serai.ahp.types import URI, Number, SessionStatus, SessionSummary
from serai.cli.console.output import print_json, short_ids, table
from serai.cli.console.target import add_client_command, session_id
from serai.cli.console.terminal import signals
from serai.cli.sessions import ago, status_words
from serai.client import Client, ClientEvent, Connected, Disconnected
from serai.contract import AgentsResult
from serai.errors import ConnectionLost
from serai.relay.sdk import Relay

_GROUPS = ("Needs you", "Running", "Waiting", "Done")
_HEAD = ("ID", "STATE", "TITLE", "AGENT", "FOLDER", "DOING", "SINCE", "LINES")
_WIDEST = 24
"""Most columns of what a session is doing, and of its folder."""
_PAUSE = 0.25
"""Least seconds between two drawings."""
_AT_LEAST = 20.0
"""Most seconds between two drawings: "since when" is never older."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai watch`."""
    parser.epilog = "Ctrl-C ends it. Where the output is no terminal, the table is printed once."
    parser.add_argument("--json", action="store_true", help="print the sessions once, as JSON by group")
    add_client_command(parser, _watch)


async def _watch(client: Client, options: argparse.Namespace) -> int:
    async with await Relay.connect(options.url, options.token, home=options.home) as relay:
        if options.json:
            print_json(grouped(*await _asked(client, relay)))
        elif not sys.stdout.isatty():
            print("\n".join(fleet(*await _asked(client, relay), time.time() * 1000)))
        else:
            drawing = asyncio.create_task(_draw(client, relay))
            with signals({signal.SIGINT: drawing.cancel}), contextlib.suppress(asyncio.CancelledError):
                await drawing
    return 0


async def _asked(client: Client, relay: Relay) -> tuple[Sequence[SessionSummary], Collection[URI]]:
    """The sessions, and those of them for which messages wait."""
    agents: AgentsResult = await relay.call("agents.list")
    waiting = {agent.session for agent in agents.agents if agent.session is not None and agent.waiting}
    return await client.list_sessions(), waiting


def grouped(
    summaries: Sequence[SessionSummary], waiting: Collection[URI] = ()
) -> dict[str, list[SessionSummary]]:
    """The sessions by who waits for whom, as the page has them; in each group what changed last first."""
    groups: dict[str, list[SessionSummary]] = {name: [] for name in _GROUPS}
    for one in sorted(summaries, key=lambda one: one.modified_at, reverse=True):
        if not one.status & SessionStatus.IS_ARCHIVED:
            groups[_group(one.status, has_mail=one.resource in waiting)].append(one)
    return groups


def _group(status: int, *, has_mail: bool) -> str:
    if status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED:
        return "Needs you"
    if status & SessionStatus.IN_PROGRESS:
        return "Running"
    # One that failed needs someone until it was looked at.
    if status & SessionStatus.ERROR and not status & SessionStatus.IS_READ:
        return "Needs you"
    return "Waiting" if has_mail else "Done"


def fleet(
    summaries: Sequence[SessionSummary], waiting: Collection[URI], now: Number, width: int | None = None
) -> list[str]:
    """All sessions as lines that fit a terminal, under the names of their groups."""
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
    # As on the page: what has changed in its folder since it began.
    since_then = [change for change in one.changesets or () if change.uri_template.endswith("/session")]
    added, removed = next(((change.additions or 0, change.deletions or 0) for change in since_then), (0, 0))
    lines = f"+{added:g} -{removed:g}" if added or removed else ""
    folder = PurePosixPath(unquote(urlsplit(one.working_directory or "").path)).name
    doing = " ".join((one.activity or "").split())
    since = ago(one.modified_at, now).removesuffix(" ago")
    title = one.title or "(no title)"
    state = status_words(one)
    return (name, state, title, one.provider, folder[:_WIDEST], doing[:_WIDEST], since, lines)


async def _draw(client: Client, relay: Relay) -> None:
    """Draw at each change, until this is cancelled. The screen is as before then."""
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
                with contextlib.suppress(TimeoutError, ConnectionLost):  # the host goes away in this moment
                    known = await asyncio.wait_for(_asked(client, relay), _PAUSE * 4)
            cols, rows = os.get_terminal_size(sys.stdout.fileno())
            lines = [*([lost[:cols]] if lost else []), *fleet(*known, time.time() * 1000, cols)]
            if len(lines) > rows:
                lines[rows - 1 :] = [f"… ({len(lines) - rows + 1} more lines)"]
            _write("\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), _AT_LEAST)
            await asyncio.sleep(_PAUSE)
    finally:
        stop()
        loop.remove_signal_handler(signal.SIGWINCH)
        _write("\x1b[?25h\x1b[?1049l")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
