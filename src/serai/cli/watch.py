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
from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from serai.ahp.types import Number, SessionStatus, SessionSummary
from serai.cli.console.output import print_json, short_ids, table
from serai.cli.console.target import add_client_command, session_id
from serai.cli.console.terminal import interrupts
from serai.cli.sessions import ago, status_words
from serai.client import Client, ClientEvent, Connected, Disconnected

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
    add_client_command(parser, _watch, again=False)


async def _watch(client: Client, options: argparse.Namespace) -> int:
    if options.json:
        print_json(grouped(await client.list_sessions()))
    elif not sys.stdout.isatty():
        print("\n".join(fleet(await client.list_sessions(), time.time() * 1000)))
    else:
        drawing = asyncio.create_task(_draw(client))
        with interrupts(drawing.cancel), contextlib.suppress(asyncio.CancelledError):
            await drawing
    return 0


def grouped(summaries: Sequence[SessionSummary]) -> dict[str, list[SessionSummary]]:
    """The sessions by who waits for whom, each group with what changed last first."""
    groups: dict[str, list[SessionSummary]] = {name: [] for name in _GROUPS}
    for one in sorted(summaries, key=lambda one: one.modified_at, reverse=True):
        groups[_group(one.status)].append(one)
    return groups


def _group(status: int) -> str:
    if status & SessionStatus.IS_ARCHIVED:
        return "Done"
    if status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED:
        return "Needs you"
    if status & SessionStatus.IN_PROGRESS:
        return "Running"
    # What has failed, or said something that nobody has read, waits for someone to look.
    return "Waiting" if status & SessionStatus.ERROR or not status & SessionStatus.IS_READ else "Done"


def fleet(summaries: Sequence[SessionSummary], now: Number, width: int | None = None) -> list[str]:
    """All sessions as lines that fit a terminal, under the names of their groups."""
    if not summaries:
        return ["There are no sessions. `serai chat` begins one."]
    groups = grouped(summaries)
    ordered = [one for group in groups.values() for one in group]
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
    counts = [(change.additions or 0, change.deletions or 0) for change in one.changesets or ()]
    added, removed = max(counts, default=(0, 0))
    lines = f"+{added:g} -{removed:g}" if added or removed else ""
    folder = PurePosixPath(unquote(urlsplit(one.working_directory or "").path)).name
    doing = " ".join((one.activity or "").split())
    since = ago(one.modified_at, now).removesuffix(" ago")
    title = one.title or "(no title)"
    state = status_words(one)
    return (name, state, title, one.provider, folder[:_WIDEST], doing[:_WIDEST], since, lines)


async def _draw(client: Client) -> None:
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
    summaries: list[SessionSummary] = []
    try:
        _write("\x1b[?1049h\x1b[?25l")
        while True:
            news.clear()
            if not lost:
                with contextlib.suppress(TimeoutError):  # the host goes away in this moment
                    summaries = await asyncio.wait_for(client.list_sessions(), _PAUSE * 4)
            cols, rows = os.get_terminal_size(sys.stdout.fileno())
            lines = [*([lost[:cols]] if lost else []), *fleet(summaries, time.time() * 1000, cols)]
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
