"""The sign-in to an agent with a person at a terminal: the choice of a method, and the method itself."""

from __future__ import annotations

from serai.ahp.extensions import SignInKind, SignInMethod
from serai.cli.console.attach import attach
from serai.cli.console.target import session_id
from serai.cli.console.terminal import PlainTerminal, choose, has_person, screen_size
from serai.client import Client, SignIn
from serai.errors import SeraiError

_NO = frozenset({"n", "no", "/quit", "/cancel"})
_YES = frozenset({"", "y", "yes"})


class SignInDialog:
    """Leads a person through a sign-in."""

    def __init__(self, client: Client, terminal: PlainTerminal) -> None:
        self._client = client
        self._terminal = terminal

    async def run(self, agent: str, method: str | None = None, *, offer: bool = False) -> bool:
        """Sign in. Returns `False` if nobody is signed in, as far as is known.

        After a cancel, a terminal continues to run.

        Args:
            agent: The kind of agent.
            method: The id of a method; by default the person chooses, if there are several.
            offer: True to ask the person first.
        """
        try:
            methods = (await self._client.sign_in_methods(agent)).methods
        except SeraiError as error:
            self._terminal.note(str(error))
            return False
        if not methods:
            self._terminal.note(f"It is not known how one signs in to {agent}.")
            return False
        if method is None and (offer or len(methods) > 1) and self._terminal.is_interactive:
            method = await self._choose(agent, methods, f"Sign in to {agent} now?" if offer else "Which way?")
            return method is not None and await self._go(agent, method)
        return await self._go(agent, method or methods[0].id)

    async def _choose(self, agent: str, methods: list[SignInMethod], question: str) -> str | None:
        if len(methods) > 1:
            self._terminal.note(f"There are {len(methods)} ways to sign in to {agent}:")
            for number, method in enumerate(methods, 1):
                self._terminal.note(f"  {number}  {_description(method)}")
            question += f" [1-{len(methods)}, n] "
        else:
            self._terminal.note(_description(methods[0]))
            question += " [Y/n] "
        choices = {
            **dict.fromkeys(_NO),
            **dict.fromkeys(_YES, methods[0].id),
            **{str(number): method.id for number, method in enumerate(methods, 1)},
        }
        return await choose(self._terminal, question, choices)

    async def _go(self, agent: str, method: str) -> bool:
        try:
            self._terminal.note(f"(signing in to {agent})")
            begun = await self._client.sign_in(agent, method, size=screen_size())
            if begun.message:
                self._terminal.note(begun.message)
                return False
            signed_in = begun.signed_in
            if begun.terminal is not None:
                if not await self._visit(begun):
                    return False
                self._terminal.note(f"(asking {agent})")
                signed_in = (await self._client.sign_in_methods(agent)).signed_in
        except SeraiError as error:
            self._terminal.note(str(error))
            return False
        self._terminal.note(_OUTCOMES[signed_in].format(agent))
        return signed_in is not False

    async def _visit(self, begun: SignIn) -> bool:
        """Attach to the terminal. Returns true if its program has ended."""
        terminal = begun.terminal
        if terminal is None:
            return False
        if not has_person():
            self._terminal.note(f"Go on with: serai terminals attach {session_id(terminal.uri)}")
            return False
        words = begun.method.command or [terminal.state.title]
        self._terminal.note(f"[{' '.join(words)}. Ctrl-] leaves it.]")
        async with self._terminal.handed_over():
            left = await attach(self._client, terminal)
        self._terminal.note(f"[{left}]")
        has_ended = terminal.state.exit_code is not None
        terminal.leave()
        return has_ended


_OUTCOMES = {
    True: "You are signed in to {}.",
    False: "Nobody is signed in to {} yet.",
    None: "Whether you are signed in to {}, the next message will show.",
}


def _description(method: SignInMethod) -> str:
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
