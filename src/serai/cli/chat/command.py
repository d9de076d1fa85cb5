"""`serai chat`: a conversation with a session in the terminal."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import time
import uuid
from functools import partial
from pathlib import Path

from serai.ahp.commands import AhpErrorCode
from serai.ahp.types import SessionStatus
from serai.cli.chat.conversation import Chat
from serai.cli.console.signin import sign_in
from serai.cli.console.target import add_connection_options, is_on_this_machine, run_connected
from serai.cli.console.terminal import PlainTerminal, choose, open_terminal
from serai.cli.sessions import find_session, session_table
from serai.client import Client, SessionClient
from serai.client.agent_session import is_agent_file, named_agent
from serai.config.paths import find_paths, here, is_folder, real
from serai.errors import AgentUnknown, AuthRequired, ProtocolError, SeraiError, SessionFailed

_NEW = "new"
_RECENT = 7 * 86_400_000
"""Age of the oldest sessions that are offered, in milliseconds."""
_MOST = 9
"""Largest number of sessions that are offered."""
_PATIENCE = 2.0
"""Seconds that disposing of an unused session may take."""


def configure_chat(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai chat`."""
    parser.add_argument(
        "session",
        metavar="SESSION",
        nargs="?",
        help=f"its id, the beginning of its id, or its URI; '{_NEW}' begins one",
    )
    parser.add_argument(
        "--agent",
        metavar="NAME",
        help="begin a session with this agent: one of the host's, or an .agent.yaml",
    )
    parser.add_argument(
        "--directory",
        metavar="DIR",
        type=Path,
        help="where a new session works (default: here; on another machine, where its host does)",
    )
    parser.add_argument(
        "--once", metavar="TEXT", help="send one message, print the answer, and end: 0 if it was completed"
    )
    parser.add_argument("--json", action="store_true", help="print events, one JSON object per line")
    add_connection_options(parser)
    parser.epilog = (
        "Without SESSION a person at a terminal goes on with the last one of this folder, or chooses; where "
        "there is none, and for a pipe, a new one is begun. In a chat, /help tells more."
    )
    parser.set_defaults(run=partial(_checked, parser), command=_main, goes_on=False)


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.session not in {None, _NEW} and (options.agent or options.directory):
        parser.error("--agent and --directory are for a new session: leave out SESSION")
    options.goes_on = not (options.session or options.agent or options.directory)
    options.session = None if options.session == _NEW else options.session
    if options.once is not None and not options.once.strip():
        parser.error("--once: there is no message to send")
    if options.directory is not None:
        options.directory = real(options.directory)
    # Folders of another machine are checked by its host.
    if is_on_this_machine(options):
        if options.directory and not is_folder(options.directory):
            parser.error(f"--directory: there is no folder {options.directory}")
        if not options.session and options.directory is None:
            options.directory = here()
    return run_connected(options)


async def _main(client: Client, options: argparse.Namespace) -> int:
    is_short = options.once is not None or options.json
    with open_terminal(apart=is_short) as terminal:
        if is_short or not terminal.is_interactive or os.environ.get("TERM") == "dumb":
            return await converse(client, terminal, options)
    from serai.cli.console.editor import open_editor  # noqa: PLC0415 - it takes long to import

    home = find_paths(options.home, os.environ).make_home()
    async with open_editor(home / "chat-history", has_colour=terminal.has_colour) as editor:
        return await converse(client, editor, options)


async def converse(client: Client, terminal: PlainTerminal, options: argparse.Namespace) -> int:
    """Run the conversation to its end. Returns the exit code."""
    known: SessionClient | None = None
    if options.session:
        known = await client.open_session(await find_session(client, options.session))
        await known.ready()
    elif options.goes_on and terminal.is_interactive and options.once is None and not options.json:
        known = await _earlier(client, terminal, options.directory)
    session = known or await _begin(client, terminal, options)
    chat = Chat(client, session, terminal, once=options.once, as_json=options.json)
    try:
        return await chat.run()
    finally:
        if known is None:
            await _forget_if_empty(session)


async def _earlier(client: Client, terminal: PlainTerminal, folder: Path | None) -> SessionClient | None:
    """Return the session of a folder that the person continues; `None` to begin a new one."""
    now = time.time() * 1000
    place = folder.as_uri() if folder else None
    found = [
        one
        for one in await client.list_sessions()
        if place and one.working_directory == place and not one.status & SessionStatus.IS_ARCHIVED
    ]
    found.sort(key=lambda one: one.modified_at, reverse=True)
    recent = [one for one in found if now - one.modified_at < _RECENT][:_MOST]
    if len(recent) > 1:
        head, *rows = session_table(recent, now, shutil.get_terminal_size().columns - 4)
        terminal.note("\n".join([f"    {head}", *(f"{place:2}  {row}" for place, row in enumerate(rows, 1))]))
        places = {str(place): one.resource for place, one in enumerate(recent, 1)}
        question = f"Go on with which one (1-{len(recent)}, Enter: 1, {_NEW}: another)? "
        uri = await choose(terminal, question, {**places, "": recent[0].resource, _NEW: None})
    else:
        uri = next((one.resource for one in found), None)
    try:
        session = await client.open_session(uri) if uri else None
        if session is not None:
            await session.ready()
    except SessionFailed:
        return None  # it could not be created
    return session


async def _create(
    client: Client, agent: str | None, own: str | None, uri: str, directory: Path | None
) -> SessionClient:
    """Create a session with an agent of the host, or with one that a file describes, by its URI or slug."""
    try:
        kind = "model" if own else agent
        return await client.create_session(kind, uri=uri, custom_agent=own, working_directory=directory)
    except ProtocolError as error:
        if own or agent is None or error.number != AhpErrorCode.PROVIDER_NOT_FOUND:
            raise
        try:
            return await _create(client, agent, agent, uri, directory)
        except ProtocolError:
            raise error from None


async def _begin(client: Client, terminal: PlainTerminal, options: argparse.Namespace) -> SessionClient:
    """Begin a session. If its agent needs a sign-in, offer that first."""
    uri = f"ahp-session:/{uuid.uuid4()}"
    own = named_agent(options.agent) if options.agent and is_agent_file(options.agent) else None
    try:
        return await _create(client, options.agent, own, uri, options.directory)
    except ProtocolError as error:
        from serai.cli.agents import participants  # noqa: PLC0415 - needed only to explain the error

        name = (options.agent or "").removeprefix("@")
        there = await participants(options.url, options.token, home=options.home)
        if error.number != AhpErrorCode.PROVIDER_NOT_FOUND or name not in there:
            raise
        remedy = f"Write to it: serai send {there[name]} TEXT --wait answered"
        raise AgentUnknown(f"{name} takes messages, and has no sessions", remedy=remedy) from None
    except SessionFailed as error:
        has_person = terminal.is_interactive and options.once is None and not options.json
        if error.error_type != AuthRequired.code or not has_person:
            raise
        session = await client.open_session(uri)
        agent = session.state.summary.provider
        terminal.note(f"({agent} begins no session: nobody is signed in)")
        if not await sign_in(client, terminal, agent, offer=True):
            raise
    await session.ready()  # the host has tried again
    return session


async def _forget_if_empty(session: SessionClient) -> None:
    """Dispose of a session that was begun here and never used."""
    with contextlib.suppress(SeraiError, TimeoutError):
        state = session.state  # with what the host has not answered yet
        if state.active_turn is None and not state.turns and not state.queued_messages:
            async with asyncio.timeout(_PATIENCE):
                await session.dispose()
