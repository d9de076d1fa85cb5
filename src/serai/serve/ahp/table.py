"""Which command is served by which function."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from serai import jsonrpc
from serai.ahp.extensions import SIGN_IN, SIGN_IN_METHODS
from serai.serve.ahp import (
    changesets,
    completions,
    following,
    handshake,
    resources,
    sessions,
    signing_in,
    terminals,
)

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer

__all__ = ["COMMANDS", "FIRST", "Command"]


class Command(NamedTuple):
    """How a command is served."""

    serve: Callable[[AhpPeer, jsonrpc.Request], Coroutine[Any, Any, None] | None]
    """Answers the request, by itself or with what it returns. What it raises is the answer, too."""
    alongside: bool = False
    """Whether what comes after it need not wait: it may take long, and nothing depends on it."""
    only_asks: bool = False
    """Whether it changes nothing, so that it may be refused at any time until it is answered."""


FIRST = frozenset({"ping", "initialize", "reconnect"})
"""What may come before the handshake, or is it."""

COMMANDS: dict[str, Command] = {
    "ping": Command(handshake.ping),
    "initialize": Command(handshake.initialize),
    "reconnect": Command(handshake.reconnect),
    "subscribe": Command(following.subscribe, only_asks=True),
    "listSessions": Command(sessions.list_sessions, only_asks=True),
    "createSession": Command(sessions.create),
    "disposeSession": Command(sessions.dispose),
    "fetchTurns": Command(sessions.fetch_turns, only_asks=True),
    "resolveSessionConfig": Command(sessions.resolve_config, alongside=True, only_asks=True),
    "sessionConfigCompletions": Command(sessions.complete_config, only_asks=True),
    "authenticate": Command(sessions.authenticate),
    "completions": Command(completions.complete, alongside=True, only_asks=True),
    "createTerminal": Command(terminals.create),
    "disposeTerminal": Command(terminals.dispose, alongside=True),
    "invokeChangesetOperation": Command(changesets.invoke, alongside=True),
    "resourceRead": Command(resources.read, alongside=True, only_asks=True),
    "resourceWrite": Command(resources.write, alongside=True),
    "resourceList": Command(resources.list_entries, alongside=True, only_asks=True),
    "resourceCopy": Command(resources.copy, alongside=True),
    "resourceMove": Command(resources.move, alongside=True),
    "resourceDelete": Command(resources.delete, alongside=True),
    "resourceResolve": Command(resources.resolve, alongside=True, only_asks=True),
    "resourceMkdir": Command(resources.make_directory, alongside=True),
    "resourceRequest": Command(resources.request, alongside=True),
    "createResourceWatch": Command(resources.watch, alongside=True),
    SIGN_IN_METHODS: Command(signing_in.list_methods, alongside=True, only_asks=True),
    SIGN_IN: Command(signing_in.begin, alongside=True),
}
