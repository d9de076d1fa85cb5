"""A running agent of a program, with its sessions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, cast

from serai.acp import (
    AcpSession,
    Agent,
    AgentCapabilities,
    BasicClient,
    ClientCapabilities,
    ClientSide,
    ConfigOption,
    Handshake,
    Launch,
    PermissionRequest,
    SessionInfo,
    SessionOpening,
    SessionPage,
)
from serai.acp.session_start import OpenWay, open_session
from serai.agents.ask.options import (
    Options,
    SessionOptions,
    checked_options,
    merged,
    meta_of,
    warn_of,
    without_openings,
)
from serai.agents.ask.session import WireSession
from serai.agents.ask.start import (
    Adapter,
    AgentRef,
    Closing,
    Openable,
    Recorder,
    Workplace,
    definition_of,
    find,
    folder_of,
    mask_of,
)
from serai.agents.catalogue.definitions import AgentDefinition
from serai.agents.catalogue.introduction import models_of
from serai.errors import AgentRequestFailed, CapabilityNotSupportedError
from serai.machine.processes.child import to_its_end
from serai.machine.processes.processes import Processes

__all__ = ["WireHost", "host"]

_log = logging.getLogger(__name__)

_TIMEOUTS = {
    "start_timeout": "initialize_timeout",
    "inactivity_timeout": "inactivity_timeout",
    "cancel_timeout": "cancel_timeout",
}
_WAYS = {"load": OpenWay.LOADED, "resume": OpenWay.RESUMED, "fork": OpenWay.FORKED}


def host(agent: AgentRef, **options: Unpack[Options]) -> Openable[WireHost]:
    """Start an agent: `async with agents.host("claude") as host`, or `await` it and `close` it.

    What is said here holds for all its sessions. When starting fails or is cancelled, nothing of it is left.

    Raises:
        AgentUnknown: There is no agent of that name.
        AgentNotInstalled: It is not there; the error says how to install it.
        AgentError: It does not start, or not as it should.
    """
    checked = checked_options(options)
    return Openable(lambda: WireHost.start(agent, checked))


class WireHost(Closing):
    """A running agent. `agents.host` starts it; a session has it as `session.host`.

    What the agent does not offer is refused before anything is sent: `CapabilityNotSupportedError`, with the
    name that was looked at in its handshake.
    """

    def __init__(
        self, ref: AgentRef, definition: AgentDefinition, options: Options, launched: dict[str, str]
    ) -> None:
        self.definition = definition
        self.warn = warn_of(options)
        """Is told what was left out, or could not be done."""
        self.sessions: dict[str, WireSession] = {}
        """The sessions that are open, by their ids."""
        self._ref = ref
        self._options = options
        self._launched = launched  # what was chosen by arguments, and need not be chosen again
        self._workplace: Workplace | None = None
        self._recorder: Recorder | None = None
        self._closing: asyncio.Task[None] | None = None
        self._agent: Agent

    @classmethod
    async def start(cls, ref: AgentRef, options: Options) -> WireHost:
        """As `agents.host`."""
        processes, launched = options.get("processes"), dict[str, str]()
        if isinstance(ref, Adapter):
            launch = await ref.launch(options)
            definition = definition_of(ref, launch)
            processes = processes or ref.processes
        else:
            found = await find(ref, options)
            definition = found.definition
            if found.way is not None and found.way.model_args and "model" in options:
                launched["model"] = options["model"]
            if found.way is not None and found.way.effort_args and "effort" in options:
                launched["effort"] = options["effort"]
            launch = found.launching(**launched, with_mcp=bool(options.get("mcp_servers")))
        started = cls(ref, definition, options, launched)
        await started._start(launch, processes)
        return started

    async def again(self) -> WireHost:
        """The same agent once more, started with the same options."""
        return await WireHost.start(self._ref, self._options)

    async def _start(self, launch: Launch, processes: Processes | None) -> None:
        options = self._options
        launch = replace(
            launch,
            cwd=folder_of(options),
            env={**options.get("env", {}), **launch.env},
            env_filter=options.get("env_filter") or launch.env_filter,
        )
        mask = options.get("mask") or mask_of(launch)
        timeouts: dict[str, Any] = {
            theirs: options[ours] for ours, theirs in _TIMEOUTS.items() if ours in options
        }
        try:
            if (path := options.get("record")) is not None:
                self._recorder = Recorder(Path(path), mask)
            if processes is None:
                self._workplace = Workplace()
                processes = self._workplace.processes
            self._agent = await Agent.start(
                launch,
                processes,
                client=cast("ClientSide", _Client(options.get("client") or BasicClient(), self)),
                mask=mask,
                warn=self.warn,
                on_stderr=self._hear_log,
                overhear=self._recorder.line if self._recorder is not None else None,
                **timeouts,
            )
        except BaseException:
            await to_its_end(self._clear())
            raise

    def _hear_log(self, line: str) -> None:
        if self._recorder is not None:
            self._recorder.write("log", text=line)
        try:
            if (told := self._options.get("on_stderr")) is not None:
                told(line)
        except Exception:  # noqa: BLE001 - whoever reads the pipe must go on, whatever went wrong
            _log.exception("on_stderr has failed")

    # -- what it is ----------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The agent's id."""
        return self.definition.id

    @property
    def capabilities(self) -> AgentCapabilities:
        """What it can do."""
        return self._agent.capabilities

    @property
    def handshake(self) -> Handshake:
        """What it answered when it was initialised: who it is, and the ways to sign in (`auth_methods`)."""
        return self._agent.handshake

    @property
    def is_running(self) -> bool:
        """Whether anything can be asked of it."""
        return self._agent.is_running

    @property
    def stderr_tail(self) -> str:
        """The last lines of its log, redacted."""
        return self._agent.stderr_tail

    @property
    def agent(self) -> Agent:
        """The agent underneath, for what is not offered here."""
        return self._agent

    # -- its sessions --------------------------------------------------------------------------------------

    async def new_session(self, **options: Unpack[SessionOptions]) -> WireSession:
        """A new session.

        Raises:
            CapabilityNotSupportedError: The agent cannot reach an MCP server (`mcpCapabilities.http` or
                `.sse`), or has no such mode.
            AuthRequired: A person has to sign in first.
            SessionCreateFailed: The agent refused.
        """
        return await self._new(cast("Options", options))

    async def load_session(self, session_id: str, **options: Unpack[SessionOptions]) -> WireSession:
        """Open an earlier session; the agent tells its history again (`WireSession.history`).

        Raises:
            CapabilityNotSupportedError: The agent cannot: `loadSession`.
            SessionLoadFailed: The agent refused: it does not have the session any more, for instance.
        """
        return await self._new(cast("Options", {**options, "load": session_id}))

    async def resume_session(self, session_id: str, **options: Unpack[SessionOptions]) -> WireSession:
        """As `load_session`, without its history: `sessionCapabilities.resume`."""
        return await self._new(cast("Options", {**options, "resume": session_id}))

    async def fork_session(self, session_id: str, **options: Unpack[SessionOptions]) -> WireSession:
        """As `load_session`, but a new one that begins there: `sessionCapabilities.fork`."""
        return await self._new(cast("Options", {**options, "fork": session_id}))

    async def list_sessions(self, cwd: Path | str | None = None, cursor: str | None = None) -> SessionPage:
        """Some of the sessions that the agent has kept. It needs `sessionCapabilities.list`."""
        return await self._agent.list_sessions(None if cwd is None else Path(cwd), cursor)

    def stream_all_sessions(self, cwd: Path | str | None = None) -> AsyncIterator[SessionInfo]:
        """All sessions that the agent has kept, page after page. As `list_sessions`."""
        return self._agent.stream_all_sessions(None if cwd is None else Path(cwd))

    async def close_session(self, session: WireSession | str) -> None:
        """Have the agent close a session, whether it is open here or not.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.close`. `WireSession.close`
                does without.
        """
        session_id = session if isinstance(session, str) else session.id
        if not self.capabilities.close_session:
            raise CapabilityNotSupportedError("sessionCapabilities.close", agent=self.name)
        if (ours := self.sessions.get(session_id)) is not None:
            await ours.acp.close()
            self.sessions.pop(session_id, None)
        else:
            await self._agent.request("session/close", {"sessionId": session_id})

    async def delete_session(self, session_id: str) -> None:
        """Have the agent delete a session that it has kept. It needs `sessionCapabilities.delete`."""
        await self._agent.delete_session(session_id)

    # -- the agent itself ----------------------------------------------------------------------------------

    async def authenticate(self, method_id: str) -> None:
        """Sign in, in one of the ways in `handshake.auth_methods`. A person may take any time over it."""
        await self._agent.authenticate(method_id)

    async def logout(self) -> None:
        """Sign out. It needs `auth.logout`."""
        await self._agent.logout()

    async def close(self) -> None:
        """End the agent with all its sessions. Again does no harm.

        When it returns, nothing of the agent runs. That is so as well when it is cancelled.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await to_its_end(self._closing)

    async def _close(self) -> None:
        await self._agent.close()
        self.sessions.clear()
        await self._clear()

    async def _clear(self) -> None:
        if self._recorder is not None:
            how = self._agent.exit if hasattr(self, "_agent") else None
            self._recorder.close(how.code if how else None, how.signal if how else None)
        if self._workplace is not None:
            await self._workplace.close()

    # -- opening -------------------------------------------------------------------------------------------

    async def open_session(self, options: Options, *, owns_host: bool = False) -> WireSession:
        """A new session, or an earlier one, as the options say."""
        named = ((way, cast("str | None", options.get(name))) for name, way in _WAYS.items())
        way, session_id = next((each for each in named if each[1] is not None), (OpenWay.NEW, None))
        acp = await self.open_acp(options, way, session_id)
        return WireSession(self, acp, options, way, owns_host=owns_host)

    async def open_acp(self, options: Options, way: OpenWay, session_id: str | None) -> AcpSession:
        """Open a session in one way, and choose in it what the options say."""
        how = SessionOpening(
            mcp_servers=tuple(options.get("mcp_servers", ())),
            additional_directories=[Path(each) for each in options.get("additional_directories", ())],
        )
        meta = meta_of(options)
        text = options.get("system_prompt")
        if text and self.definition.native_system_prompt:
            meta = {"systemPrompt": {"append": text}, **meta}
        if meta:
            how["meta"] = meta
        acp = await open_session(self._agent, way, session_id, folder_of(options), how)
        try:
            await self._configure(acp, options)
        except BaseException:
            acp.forget()
            raise
        return acp

    async def _new(self, options: Options) -> WireSession:
        return await self.open_session(merged(without_openings(self._options), checked_options(options)))

    async def _configure(self, acp: AcpSession, options: Options) -> None:
        """Choose mode, model, effort and the rest. A value that the agent does not take is warned of.

        Raises:
            CapabilityNotSupportedError: There is no such mode (`mode:ID`), or there are none.
            AgentError: The agent is gone.
        """
        if (mode := options.get("mode")) is not None:
            await acp.set_mode(mode)
        # One after the other, and looked at anew: which efforts there are may depend on the model.
        for name in ("model", "effort"):
            value = options.get(name)
            if not isinstance(value, str) or self._launched.get(name) == value:
                continue
            models = models_of(acp.config_options)
            option = models.model_option if name == "model" else models.effort_option
            if option is None:
                self.warn(f'Agent "{self.name}" does not offer to choose the {name} — ignoring {value!r}.')
            else:
                await self._choose(acp, f"the {name}", option, option.id, value)
        for config_id, value in options.get("config", {}).items():
            known = next((option for option in acp.config_options if option.id == config_id), None)
            await self._choose(acp, f"{config_id} =", known, config_id, value)

    async def _choose(
        self, acp: AcpSession, what: str, option: ConfigOption | None, config_id: str, value: str | bool
    ) -> None:
        if option is not None and option.value == value:
            return
        try:
            await acp.set_config_option(config_id, value)
        except (AgentRequestFailed, CapabilityNotSupportedError) as error:
            self.warn(f'Agent "{self.name}" did not take {what} {value!r} — {error.message}.')


class _Client:
    """Has the sessions of an agent answer its questions for permission, and the program all the rest."""

    def __init__(self, client: ClientSide, host: WireHost) -> None:
        self._client = client
        self._host = host

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @property
    def capabilities(self) -> ClientCapabilities:
        """What the program has; options that are yes or no are always understood."""
        return replace(self._client.capabilities, boolean_options=True)

    async def request_permission(self, request: PermissionRequest) -> str | None:
        """Ask the session; for an id that nobody opened, a subagent's, the only one that can be meant."""
        sessions = self._host.sessions
        if (session := sessions.get(request.session_id)) is not None:
            return await session.permit(request)
        likely = [one for one in sessions.values() if one.acp.turn is not None] or list(sessions.values())
        if len(likely) == 1:
            return await likely[0].permit(request)
        if likely:
            self._host.warn(
                f'Agent "{self._host.name}" asks for permission in a session that nobody opened, and '
                f"{len(likely)} sessions could be meant — cancelled."
            )
        return None
