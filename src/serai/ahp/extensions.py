"""What Serai's port has beside AHP 0.2: commands under names of their own, `serai/…`.

AHP 0.2 leaves signing in to an agent open: its `authenticate` hands over tokens for protected resources, and
an agent that keeps its own credentials has none. So a client asks how one signs in, and has the host begin
it. Of this, channels show only what AHP has a place for: the terminal, and a session's `_meta`.
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
"""In a session's `_meta`: its agent wants a person to sign in. It is there from the refusal to a success."""

QUEUE_HELD = "serai.queueHeld"
"""In a session's `_meta`: why its queue waits until someone goes on: `cancelled`, `error` or `restart`."""

PAUSED = "serai.paused"
"""In a session's `_meta`: why someone paused it. Until it is resumed nothing enters by itself."""

SESSION_COST = "serai.sessionCost"
"""In a turn's usage: the `amount` and `currency` that the session has cost since it began."""


class SignInKind(StrEnum):
    """What signing in takes."""

    TERMINAL = "terminal"
    """The host runs a command in a terminal, and the person answers it there."""
    AGENT = "agent"
    """The agent does it itself, mostly with a browser on the host's machine."""
    ENVIRONMENT = "environment"
    """The person sets variables, and starts the host again."""


class SignInMethod(Value):
    """A way to sign in that works on this host."""

    id: str
    kind: Annotated[str, SignInKind]
    name: str
    """For people."""
    description: str | None = None
    command: list[str] | None = None
    """What runs in the terminal."""
    variables: list[str] | None = None
    """The names of the variables to set."""


class SignInMethodsParams(RootParams):
    """How does one sign in to an agent?"""

    provider: str


class SignInMethodsResult(Value):
    """The ways to sign in, the best first, and whether someone is, as far as that is known."""

    methods: list[SignInMethod]
    signed_in: bool | None = None
    """Absent when nobody knows."""


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
    """What was begun or done."""

    method: SignInMethod
    terminal: URI | None = None
    """The terminal, held by the client. Signing in is over when it has ended."""
    signed_in: bool | None = None
    """Whether someone is signed in now, where the method is over already; absent when nobody knows."""
    message: str | None = None
    """What the person has to do now."""


class KnownAgent(Value):
    """An agent that sessions can be made with, or that could be installed for it."""

    provider: str
    display_name: str
    installed: bool
    """Whether sessions can be made with it now: then the root channel lists it, too."""
    description: str | None = None
    signed_in: bool | None = None
    """Absent when nobody knows, or nobody has to."""
    install: str | None = None
    """The command that installs it: `serai/installAgent` runs it in a terminal."""
    homepage: str | None = None
    reason: str | None = None
    """Why it cannot be used, for people."""


class AgentsParams(RootParams):
    """Which agents are known, installed or not?"""


class AgentsResult(Value):
    """All agents that are known, those that are installed first."""

    agents: list[KnownAgent]


class InstallAgentResult(Value):
    """What was begun."""

    terminal: URI
    """The terminal, held by the client. When it has ended, the host looks for the agent again."""
    command: str
