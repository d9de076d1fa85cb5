"""Serai's extensions of AHP 0.2: commands with the prefix `serai/`, and keys of `_meta`.

AHP 0.2 does not define how a person signs in to an agent: `authenticate` passes tokens for protected
resources, and an agent that keeps its own credentials has none. So a client asks for the ways to sign in, and
the host starts one. Channels show only what AHP has a place for: the terminal, and a session's `_meta`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from serai.ahp.commands import RootParams
from serai.ahp.types import URI, Count
from serai.ahp.wire import Value

SIGN_IN_METHODS = "serai/signInMethods"
SIGN_IN = "serai/signIn"
AGENTS = "serai/agents"
INSTALL_AGENT = "serai/installAgent"

LOGIN = "serai.login"
"""Key in a session's `_meta`: its agent needs a person to sign in. It stays until a success."""

QUEUE_HELD = "serai.queueHeld"
"""Key in a session's `_meta`: the reason why its queue is held: `cancelled`, `error` or `restart`."""

PAUSED = "serai.paused"
"""Key in a session's `_meta`: the reason for its pause. Until it is resumed nothing enters by itself."""

SESSION_COST = "serai.sessionCost"
"""Key in a turn's usage: `amount` and `currency` of the session's cost since it began."""


class SignInKind(StrEnum):
    """The kind of a way to sign in."""

    TERMINAL = "terminal"
    """The host runs a command in a terminal, and the person answers it there."""
    AGENT = "agent"
    """The agent signs in by itself, mostly with a browser on the host's machine."""
    ENVIRONMENT = "environment"
    """The person sets variables, and restarts the host."""


class SignInMethod(Value):
    """A way to sign in that works on this host."""

    id: str
    kind: Annotated[str, SignInKind]
    name: str
    """Name for people."""
    description: str | None = None
    command: list[str] | None = None
    """The command that runs in the terminal."""
    variables: list[str] | None = None
    """The names of the variables to set."""


class SignInMethodsParams(RootParams):
    """Asks for the ways to sign in to an agent."""

    provider: str


class SignInMethodsResult(Value):
    """The ways to sign in, the best first, and whether someone is signed in, if that is known."""

    methods: list[SignInMethod]
    signed_in: bool | None = None
    """Absent when it is not known."""


class InstallAgentParams(RootParams):
    """Asks to install an agent. The command comes from the host's catalogue or its configuration."""

    provider: str
    terminal: URI | None = None
    """URI of the terminal that is opened, if one is needed; by default the host chooses one."""
    cols: Count | None = None
    rows: Count | None = None


class SignInParams(InstallAgentParams):
    """Asks to sign in to an agent. The command comes from the host: a client chooses among its methods."""

    method_id: str | None = None
    """Id of one of the methods; by default the first."""


class SignInResult(Value):
    """The outcome of signing in, or its start."""

    method: SignInMethod
    terminal: URI | None = None
    """The terminal, held by the client. Signing in has finished when the terminal has exited."""
    signed_in: bool | None = None
    """True when someone is signed in now. Absent when it is not known, or the method still runs."""
    message: str | None = None
    """The next step for the person."""


class KnownAgent(Value):
    """An agent that sessions can be created with, or that could be installed."""

    provider: str
    display_name: str
    installed: bool
    """True when sessions can be created with it now. Then the root channel lists it, too."""
    description: str | None = None
    signed_in: bool | None = None
    """Absent when it is not known, or no sign-in is needed."""
    install: str | None = None
    """The command that installs it: `serai/installAgent` runs it in a terminal."""
    homepage: str | None = None
    reason: str | None = None
    """The reason why it cannot be used, for people."""


class AgentsParams(RootParams):
    """Asks for all known agents, installed or not."""


class AgentsResult(Value):
    """All known agents, those that are installed first."""

    agents: list[KnownAgent]


class InstallAgentResult(Value):
    """The installation that was started."""

    terminal: URI
    """The terminal, held by the client. When it has exited, the host looks for the agent again."""
    command: str
