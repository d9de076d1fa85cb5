"""Signing in to an agent, with a person at a terminal: which way, and then the way itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import Generic, TypeVar

from serai.ahp.extensions import SignInKind, SignInMethod
from serai.cli.console.target import session_id
from serai.cli.console.terminal import Terminal
from serai.client import Client, SignIn
from serai.client.events import Inbox
from serai.errors import ProtocolError, SeraiError

__all__ = ["Interlude", "SignInDialog"]

T = TypeVar("T")

_NO = frozenset({"n", "no", "/quit", "/cancel"})
_YES = frozenset({"", "y", "yes"})


class SignInDialog:
    """Leads a person through a sign-in.

    Args:
        client: The connection.
        terminal: Where the person is.
        read: The next line that they type; `None` when there will be no more.
    """

    def __init__(self, client: Client, terminal: Terminal, read: Callable[[], Awaitable[str | None]]) -> None:
        self._client = client
        self._terminal = terminal
        self._read = read

    async def offer(self, agent: str) -> bool:
        """Offer to sign in, and do it if the person wants that. Cancelling it leaves a terminal running.

        Returns whether it makes sense to try again what was refused. A host that does not know how one signs
        in offers nothing.
        """
        try:
            methods = (await self._client.sign_in_methods(agent)).methods
        except ProtocolError:
            return False
        if not methods:
            return False
        chosen = await self._choose(agent, methods, f"Sign in to {agent} now?")
        return chosen is not None and await self._go(agent, chosen)

    async def run(self, agent: str, method: str | None = None) -> bool:
        """Sign in. Returns `False` when nobody is signed in, as far as is known.

        Args:
            agent: The kind of agent.
            method: The id of a way; by default the person chooses, if there are several.
        """
        try:
            methods = (await self._client.sign_in_methods(agent)).methods
        except SeraiError as error:
            self._say(str(error))
            return False
        if not methods:
            self._say(f"It is not known how one signs in to {agent}.")
            return False
        if method is None and len(methods) > 1 and self._terminal.is_interactive:
            chosen = await self._choose(agent, methods, "Which way?")
            return chosen is not None and await self._go(agent, chosen)
        return await self._go(agent, method if method is not None else methods[0].id)

    # -- which way -----------------------------------------------------------------------------------------

    async def _choose(self, agent: str, methods: list[SignInMethod], question: str) -> str | None:
        if len(methods) > 1:
            self._say(f"There are {len(methods)} ways to sign in to {agent}:")
            for number, method in enumerate(methods, 1):
                self._say(f"  {number}  {_told(method)}")
            choices = f"[1-{len(methods)}, n]"
        else:
            self._say(_told(methods[0]))
            choices = "[Y/n]"
        while True:
            self._terminal.note(f"{question} {choices} ", end="")
            answer = await self._read()
            word = (answer or "").strip().lower()
            if answer is None or word in _NO:
                return None
            if word in _YES:
                return methods[0].id
            if word.isdecimal() and 1 <= int(word) <= len(methods):
                return methods[int(word) - 1].id
            self._say("A number of the list, or n.")

    # -- the way -------------------------------------------------------------------------------------------

    async def _go(self, agent: str, method: str) -> bool:
        try:
            self._say(f"(signing in to {agent})")
            begun = await self._client.sign_in(agent, method, size=_size())
            if begun.message:
                self._say(begun.message)
                return False
            signed_in = begun.signed_in
            if begun.terminal is not None:
                if not await self._visit(begun):
                    return False
                self._say(f"(asking {agent})")
                signed_in = (await self._client.sign_in_methods(agent)).signed_in
        except SeraiError as error:
            self._say(str(error))
            return False
        self._say(_OUTCOMES[signed_in].format(agent))
        return signed_in is not False

    async def _visit(self, begun: SignIn) -> bool:
        """Go into the terminal. Returns whether its program has ended."""
        terminal = begun.terminal
        if terminal is None:
            return False
        if not _has_person():
            self._say(f"Go on with: serai terminals attach {session_id(terminal.uri)}")
            return False
        self._say(f"[{' '.join(begun.method.command or [terminal.state.title])}. Ctrl-] leaves it.]")
        from serai.cli.console.attach import attach  # noqa: PLC0415 - it does not exist on Windows

        with self._terminal.handed_over():
            left = await attach(self._client, terminal)
        self._say(f"[{left}]")
        has_ended = terminal.state.exit_code is not None
        terminal.leave()
        return has_ended

    def _say(self, text: str) -> None:
        self._terminal.note(text)


_OUTCOMES = {
    True: "You are signed in to {}.",
    False: "Nobody is signed in to {} yet.",
    None: "Whether you are signed in to {}, the next message will show.",
}


def _told(method: SignInMethod) -> str:
    match method.kind:
        case SignInKind.TERMINAL:
            how = f"runs {' '.join(method.command)} on the host" if method.command else "in a terminal"
        case SignInKind.ENVIRONMENT:
            how = f"set {', '.join(method.variables or ())}"
        case _:
            how = "the agent does it, mostly with a browser on the host's machine"
    # The command of the catalogue is its own name.
    named = "" if method.command and method.name == " ".join(method.command) else f"{method.name}: "
    return f"{named}{how}{f' ({method.description})' if method.description else ''}"


def _has_person() -> bool:
    return os.isatty(0) and os.isatty(1)


def _size() -> tuple[int, int] | None:
    if not _has_person():
        return None
    size = os.get_terminal_size(1)
    return (size.columns, size.lines) if size.columns and size.lines else None


class Interlude(Generic[T]):
    """Something that a chat does in between. What comes meanwhile and is not for it, waits.

    Args:
        inbox: Where all comes in.
        take: Is called with each item, and may call `typed` or `stop`; `False` when the item is to wait.
    """

    def __init__(self, inbox: Inbox[T], take: Callable[[T], bool]) -> None:
        self._inbox = inbox
        self._take = take
        self._lines: Inbox[str] = Inbox()
        self._task: asyncio.Task[bool] | None = None

    async def read(self) -> str | None:
        """The next line that was typed; `None` when there will be no more."""
        try:
            return await self._lines.get()
        except StopAsyncIteration:
            return None

    def typed(self, text: str | None) -> None:
        """A line for it; `None` when there will be no more."""
        if text is None:
            self._lines.end()
        else:
            self._lines.put(text)

    def stop(self) -> None:
        """End it."""
        if self._task is not None:
            self._task.cancel()

    async def run(self, work: Coroutine[None, None, bool]) -> bool:
        """Do it. Returns what it returns; `False` when it was stopped."""
        kept: list[T] = []
        self._task = task = asyncio.create_task(work)
        hearing = asyncio.create_task(self._hear(kept))
        try:
            await asyncio.wait({task})
            return not task.cancelled() and task.result()
        finally:
            task.cancel()
            hearing.cancel()
            await asyncio.gather(task, hearing, return_exceptions=True)
            while len(self._inbox):
                kept.append(await self._inbox.get())
            for item in kept:
                self._inbox.put(item)

    async def _hear(self, kept: list[T]) -> None:
        while True:
            item = await self._inbox.get()
            if not self._take(item):
                kept.append(item)
