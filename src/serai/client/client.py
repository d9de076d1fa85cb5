"""The client of a host: its requests, sessions and terminals."""

from __future__ import annotations

import base64
import os
import re
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from serai.ahp import commands as c
from serai.ahp.commands import AhpErrorCode
from serai.ahp.extensions import (
    SIGN_IN,
    SIGN_IN_METHODS,
    SignInMethod,
    SignInMethodsParams,
    SignInMethodsResult,
    SignInParams,
    SignInResult,
)
from serai.ahp.types import (
    ROOT,
    URI,
    AgentSelection,
    FreeForm,
    ModelSelection,
    RootState,
    SessionSummary,
    TerminalClientClaim,
)
from serai.client.address import find_address
from serai.client.channels import ChannelClient
from serai.client.connection import Delays, backoff, websocket_opener
from serai.client.session import SessionClient
from serai.client.terminal import TerminalClient
from serai.errors import ProtocolError, SeraiError, SessionGone

__all__ = ["Client", "SignIn", "connect"]

F = TypeVar("F", SessionClient, TerminalClient)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def connect(
    url: str | None = None,
    token: str | None = None,
    *,
    home: str | os.PathLike[str] | None = None,
    client_id: str | None = None,
    subscriptions: Iterable[URI] = (ROOT,),
    delays: Delays = backoff,
) -> Client:
    """Return a client of a host: `async with serai.connect(url, token) as client`.

    Args:
        url: The host's address, as `serai serve` prints it; by default `SERAI_URL`, else this machine's host.
        token: Its token; by default `SERAI_TOKEN`, else the token of this machine's host.
        home: The folder of a host on this machine; by default `SERAI_HOME`, else the usual place.
        client_id: This client's id on the host; by default a new one. With the id of an earlier process, this
            one continues as the same client.
        subscriptions: The channels to follow from the beginning.
        delays: Seconds to wait before each try to connect again; by default ever longer, without end.

    Raises:
        ConfigInvalid: The URL is not the address of a host.
    """
    address = find_address(url, token, home=home)
    return Client(
        websocket_opener(address),
        client_id=client_id,
        subscriptions=subscriptions,
        delays=delays,
        address=address,
    )


class SignIn(Struct, frozen=True):
    """A sign-in that has begun, or is over."""

    method: SignInMethod
    terminal: TerminalClient | None = None
    """Terminal in which the person continues. After its end, `sign_in_methods` tells whether it worked."""
    signed_in: bool | None = None
    """True if someone is signed in, where it is over already; `None` if that is not known."""
    message: str | None = None
    """Instruction for the person."""


class Client(ChannelClient):
    """A connection to a host that outlives lost connections.

    Use it in `async with`, or `await` it and `close` it. When the connection is lost, the client connects
    again, catches up, and repeats what was not answered; calls take longer meanwhile. All coroutines may be
    cancelled: the client stays usable, and what was sent may still happen.
    """

    # -- the host ------------------------------------------------------------------------------------------

    @property
    def root(self) -> RootState | None:
        """State of the root channel: the agents and more. `None` when it is not followed."""
        state = self.state(ROOT)
        return state if isinstance(state, RootState) else None

    async def ping(self) -> None:
        """Check that the host answers."""
        await self.request("ping", c.PingParams(channel=ROOT))

    async def authenticate(self, resource: str, token: str) -> None:
        """Give the host a token for a protected resource (`SignInNeeded`).

        Raises:
            ProtocolError: No agent has that resource, or the token is wrong.
        """
        await self.request("authenticate", c.AuthenticateParams(channel=ROOT, resource=resource, token=token))

    async def sign_in_methods(self, agent: str) -> SignInMethodsResult:
        """Return the ways to sign in to an agent, the best first, and whether someone is signed in.

        After the end of a sign-in in a terminal, this waits until the host knows its outcome, and has tried
        again to start the sessions that needed it.

        Args:
            agent: The kind of agent (`root.agents` lists them).

        Raises:
            ProtocolError: There is no such agent; or (-32601) the host is not a Serai host.
        """
        return await self.request(SIGN_IN_METHODS, SignInMethodsParams(channel=ROOT, provider=agent))

    async def sign_in(
        self, agent: str, method: str | None = None, *, size: tuple[int, int] | None = None
    ) -> SignIn:
        """Begin to sign in to an agent. The host chooses the command.

        If the agent itself does the sign-in, this returns at its end, which may take minutes. Cancelling
        stops the waiting only.

        Args:
            agent: The kind of agent.
            method: The id of one of `sign_in_methods`; by default the best.
            size: Columns and rows of the terminal, if there is one.

        Raises:
            ProtocolError: There is no such agent or method, or the sign-in failed.
        """
        cols, rows = size or (None, None)
        params = SignInParams(
            channel=ROOT,
            provider=agent,
            method_id=method,
            terminal=f"ahp-terminal:/{uuid.uuid4()}",
            cols=cols,
            rows=rows,
        )
        result: SignInResult = await self.request(SIGN_IN, params)
        terminal = await self.open_terminal(result.terminal) if result.terminal else None
        return SignIn(result.method, terminal, result.signed_in, result.message)

    async def read(self, uri: URI) -> bytes:
        """Return the content of a `ContentRef`.

        Raises:
            ProtocolError: The content does not exist, or may not be read.
        """
        result: c.ResourceReadResult = await self.request(
            "resourceRead", c.ResourceReadParams(channel=ROOT, uri=uri)
        )
        is_binary = result.encoding == c.ContentEncoding.BASE64
        return base64.b64decode(result.data) if is_binary else result.data.encode()

    # -- sessions ------------------------------------------------------------------------------------------

    async def list_sessions(self) -> list[SessionSummary]:
        """Return all sessions of the host."""
        return await self._listed(None)

    async def list_runs(self) -> list[SessionSummary]:
        """Return all workflow runs. Each can be followed by its URI, like a session."""
        return await self._listed({"kind": "run"})

    async def _listed(self, wanted: FreeForm | None) -> list[SessionSummary]:
        params = c.ListSessionsParams(channel=ROOT, filter=wanted)
        result: c.ListSessionsResult = await self.request("listSessions", params)
        return result.items

    async def create_session(
        self,
        agent: str | None = None,
        *,
        uri: URI | None = None,
        model: ModelSelection | None = None,
        custom_agent: URI | None = None,
        working_directory: str | Path | None = None,
        config: FreeForm | None = None,
        fork: tuple[URI, str] | None = None,
    ) -> SessionClient:
        """Create a session, and wait until its agent is ready. After a cancel it may exist all the same.

        Args:
            agent: The kind of agent (`root.agents` lists them); by default the host's own choice.
            uri: The session's URI; by default a new one.
            model: The model.
            custom_agent: A custom agent of that kind.
            working_directory: Its folder, as a path on this machine or as a URI.
            config: Settings, as `resolveSessionConfig` offers them.
            fork: A session and the turn after which the new one begins.

        Raises:
            ProtocolError: There is no such agent, a setting is wrong, and so on.
            SessionFailed: The agent did not start. The session exists, with the reason.
        """
        uri = uri or f"ahp-session:/{uuid.uuid4()}"
        params = c.CreateSessionParams(
            channel=uri,
            provider=agent,
            model=model,
            agent=AgentSelection(uri=custom_agent) if custom_agent else None,
            working_directory=_uri_of(working_directory),
            config=config,
            fork=c.SessionForkSource(session=fork[0], turn_id=fork[1]) if fork else None,
        )
        await self.request("createSession", params)
        session = await self.open_session(uri)
        await session.ready()
        return session

    async def open_session(self, uri: URI) -> SessionClient:
        """Follow a session. The same session gives the same object.

        Raises:
            SessionGone: There is no such session, or it was left again in the meantime.
        """
        try:
            return await self._follow(uri, SessionClient)
        except ProtocolError as error:
            if error.number not in {AhpErrorCode.SESSION_NOT_FOUND, AhpErrorCode.NOT_FOUND}:
                raise
            raise SessionGone(f"there is no session {uri}") from error

    async def dispose_session(self, uri: URI) -> None:
        """Dispose of a session, for all clients.

        Raises:
            ProtocolError: There is no such session.
        """
        await self.request("disposeSession", c.DisposeSessionParams(channel=uri))
        if uri in self._state.subscriptions:
            self._state.unsubscribe(uri)
        self._forget(uri, SessionGone(f"{uri} was disposed of"))

    # -- terminals -----------------------------------------------------------------------------------------

    async def create_terminal(
        self,
        *,
        uri: URI | None = None,
        name: str | None = None,
        directory: str | Path | None = None,
        size: tuple[int, int] | None = None,
    ) -> TerminalClient:
        """Start a shell in a terminal of the host, held by this client: others may only look.

        Args:
            uri: The terminal's URI; by default a new one.
            name: Its name for people.
            directory: Its folder, as a path on this machine or as a URI; by default the host's folder.
            size: Its columns and rows; by default 80 and 24.

        Raises:
            ProtocolError: The folder or the size is invalid, or the shell cannot be started.
        """
        uri = uri or f"ahp-terminal:/{uuid.uuid4()}"
        cols, rows = size or (None, None)
        params = c.CreateTerminalParams(
            channel=uri,
            claim=TerminalClientClaim(client_id=self.client_id),
            name=name,
            cwd=_uri_of(directory),
            cols=cols,
            rows=rows,
        )
        await self.request("createTerminal", params)
        return await self.open_terminal(uri)

    async def open_terminal(self, uri: URI) -> TerminalClient:
        """Follow a terminal (`root.terminals`). The same terminal gives the same object.

        Raises:
            ProtocolError: There is no such terminal.
            SessionGone: It was left again in the meantime.
        """
        return await self._follow(uri, TerminalClient)

    async def _follow(self, uri: URI, kind: type[F]) -> F:
        follower = self._followers.get(uri)
        if not isinstance(follower, kind):
            follower = self._followers[uri] = kind(self, uri)
        try:
            await self.subscribe(uri)
        except SeraiError:
            if self._followers.get(uri) is follower:  # it may have been opened again in the meantime
                del self._followers[uri]
            raise
        return follower


def _uri_of(folder: str | Path | None) -> URI | None:
    """Return a folder's URI, given its path or the URI itself."""
    if folder is None or (isinstance(folder, str) and _SCHEME.match(folder)):
        return folder
    return Path(folder).absolute().as_uri()
