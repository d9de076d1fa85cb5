"""The sign-in to an agent with a person at a terminal: the choice of a method, and the method itself."""

from __future__ import annotations

from serai.ahp.extensions import SignInKind, SignInMethod
from serai.cli.console.attach import attach
from serai.cli.console.target import session_id
from serai.cli.console.terminal import PlainTerminal, choose, has_person, screen_size
from serai.client import Client, TerminalClient
from serai.errors import SeraiError

_NO = frozenset({"n", "no", "/quit", "/cancel"})
_YES = frozenset({"", "y", "yes"})


async def sign_in(
    client: Client, terminal: PlainTerminal, agent: str, method: str | None = None, *, offer: bool = False
) -> bool:
    """Lead a person through a sign-in. Returns `False` if nobody is signed in, as far as is known.

    After a cancel, a terminal continues to run.

    Args:
        client: The connection to the host.
        terminal: The terminal of the person.
        agent: The kind of agent.
        method: The id of a method; by default the person chooses, if there are several.
        offer: True to ask the person first.
    """
    try:
        methods = (await client.sign_in_methods(agent)).methods
        if not methods:
            terminal.note(f"It is not known how one signs in to {agent}.")
            return False
        if method is None and (offer or len(methods) > 1) and terminal.is_interactive:
            question = f"Sign in to {agent} now?" if offer else "Which way?"
            if (method := await _choose(terminal, agent, methods, question)) is None:
                return False
        terminal.note(f"(signing in to {agent})")
        begun = await client.sign_in(agent, method or methods[0].id, size=screen_size())
        if begun.message:
            terminal.note(begun.message)
            return False
        signed_in = begun.signed_in
        if begun.terminal is not None:
            if not await _visit(client, terminal, begun.terminal, begun.method):
                return False
            terminal.note(f"(asking {agent})")
            signed_in = (await client.sign_in_methods(agent)).signed_in
    except SeraiError as error:
        terminal.note(str(error))
        return False
    terminal.note(_OUTCOMES[signed_in].format(agent))
    return signed_in is not False


async def _choose(
    terminal: PlainTerminal, agent: str, methods: list[SignInMethod], question: str
) -> str | None:
    numbered = {str(number): method for number, method in enumerate(methods, 1)}
    if len(methods) > 1:
        terminal.note(f"There are {len(methods)} ways to sign in to {agent}:")
        for number, method in numbered.items():
            terminal.note(f"  {number}  {_description(method)}")
        question += f" [1-{len(methods)}, n] "
    else:
        terminal.note(_description(methods[0]))
        question += " [Y/n] "
    ids = {number: method.id for number, method in numbered.items()}
    choices = {**dict.fromkeys(_NO), **dict.fromkeys(_YES, methods[0].id), **ids}
    return await choose(terminal, question, choices)


async def _visit(
    client: Client, terminal: PlainTerminal, there: TerminalClient, method: SignInMethod
) -> bool:
    """Attach to the terminal of a sign-in. Returns true if its program has ended."""
    if not has_person():
        terminal.note(f"Go on with: serai terminals attach {session_id(there.uri)}")
        return False
    words = method.command or [there.state.title]
    terminal.note(f"[{' '.join(words)}. Ctrl-] leaves it.]")
    async with terminal.handed_over():
        left = await attach(client, there)
    terminal.note(f"[{left}]")
    has_ended = there.state.exit_code is not None
    there.leave()
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
