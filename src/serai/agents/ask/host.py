"""A running agent of a program, with its sessions."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack, cast

from serai.acp.agent import Agent
from serai.acp.options import ConfigOption
from serai.acp.process.connection import AgentOptions, Launch
from serai.acp.session import AcpSession, OpenWay
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
    find,
    folder_of,
)
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.introduction import models_of
from serai.errors import AgentRequestFailed, CapabilityNotSupportedError
from serai.machine.processes.child import Exit, to_its_end
from serai.machine.processes.environment import inheritable
from serai.machine.processes.processes import Processes
from serai.redact import Redactor
from serai.redact.managed import managed_from_environment

__all__ = ["WireHost", "host"]

_log = logging.getLogger(__name__)

_WAYS = {"load": OpenWay.LOADED, "resume": OpenWay.RESUMED, "fork": OpenWay.FORKED}


def host(agent: AgentRef, **options: Unpack[Options]) -> Openable[WireHost]:
    """Start an agent: `async with agents.host("claude") as host`, or `await` it and `close` it later.

    The options hold for all its sessions. When starting fails or is cancelled, nothing of it is left.

    Raises:
        AgentUnknown: There is no agent of that name.
        AgentNotInstalled: It is not installed; the error says how to install it.
        AgentError: It does not start, or starts wrongly.
    """
    checked = checked_options(options)
    return Openable(lambda: WireHost.begin(agent, checked))


class WireHost(Closing, Agent):
    """A running agent. `agents.host` starts it; a session has it as `session.host`.

    A request that the agent does not offer is refused before anything is sent: `CapabilityNotSupportedError`,
    with the name of the capability in its handshake. After `close` nothing of it runs.
    """

    def __init__(
        self,
        ref: AgentRef,
        definition: AgentDefinition,
        launch: Launch,
        options: Options,
        chosen: Mapping[str, str],
    ) -> None:
        self.definition = definition
        self.again = partial(WireHost.begin, ref, options)
        """Starts the same agent once more."""
        self._given_options = options
        self._chosen = chosen  # by arguments: these need not be chosen in the session
        self._processes: Processes | None = None
        launch = replace(
            launch,
            name=definition.id,
            cwd=folder_of(options),
            env={**options.get("env", {}), **launch.env},
            env_filter=options.get("env_filter") or launch.env_filter,
        )
        secrets = managed_from_environment({**inheritable(os.environ), **launch.env})
        mask = options.get("mask") or Redactor(secrets).redact
        path = options.get("record")
        self._recorder = Recorder(Path(path), mask) if path is not None else None
        given: dict[str, Any] = {
            **options,
            "mask": mask,
            "warn": warn_of(options),
            "on_stderr": self._hear_log,
        }
        if self._recorder is not None:
            given["overhear"] = self._recorder.line
        super().__init__(launch, cast("AgentOptions", given))

    @classmethod
    async def begin(cls, ref: AgentRef, options: Options) -> WireHost:
        """As `agents.host`."""
        processes, chosen = options.get("processes"), dict[str, str]()
        if isinstance(ref, Adapter):
            launch = await ref.launch(options)
            way = Way(program=launch.argv[0], args=launch.argv[1:])
            native = ref.native_system_prompt
            definition = AgentDefinition(id=ref.id, label=ref.id, ways=(way,), native_system_prompt=native)
            processes = processes or ref.processes
        else:
            found = await find(ref, options)
            definition = found.definition
            if found.way is not None and found.way.model_args and "model" in options:
                chosen["model"] = options["model"]
            if found.way is not None and found.way.effort_args and "effort" in options:
                chosen["effort"] = options["effort"]
            launch = found.launching(**chosen, with_mcp=bool(options.get("mcp_servers")))
        host = cls(ref, definition, launch, options, chosen)
        try:
            if processes is None:
                processes = host._processes = Processes()
            await host.run(processes)
        except BaseException:
            await to_its_end(host._clear())
            raise
        return host

    def _hear_log(self, line: str) -> None:
        if self._recorder is not None:
            self._recorder.write("log", text=line)
        try:
            if (callback := self._given_options.get("on_stderr")) is not None:
                callback(line)
        except Exception:  # noqa: BLE001 - reading the pipe must go on after any error
            _log.exception("on_stderr has failed")

    # -- its sessions --------------------------------------------------------------------------------------

    async def new_session(self, **options: Unpack[SessionOptions]) -> WireSession:
        """Open a new session.

        Raises:
            CapabilityNotSupportedError: The agent cannot reach an MCP server (`mcpCapabilities.http` or
                `.sse`), or has no such mode.
            AuthRequired: A person has to sign in first.
            SessionCreateFailed: The agent refused.
        """
        return await self._new(cast("Options", options))

    async def load_session(self, session_id: str, **options: Unpack[SessionOptions]) -> WireSession:
        """Open an earlier session; the agent replays its history (`WireSession.acp.replayed`).

        Raises:
            CapabilityNotSupportedError: The agent cannot: `loadSession`.
            SessionLoadFailed: The agent refused, for instance because it no longer has the session.
        """
        return await self._new(cast("Options", {**options, "load": session_id}))

    async def resume_session(self, session_id: str, **options: Unpack[SessionOptions]) -> WireSession:
        """As `load_session`, without its history: `sessionCapabilities.resume`."""
        return await self._new(cast("Options", {**options, "resume": session_id}))

    async def fork_session(self, session_id: str, **options: Unpack[SessionOptions]) -> WireSession:
        """As `load_session`, but open a new session that begins there: `sessionCapabilities.fork`."""
        return await self._new(cast("Options", {**options, "fork": session_id}))

    async def close_session(self, session: WireSession | str) -> None:
        """Have the agent close a session, also one that is not open here.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.close`. `WireSession.close`
                works without.
        """
        session_id = session if isinstance(session, str) else session.id
        self.need("sessionCapabilities.close")
        if (ours := self.open_sessions.get(session_id)) is not None:
            await ours.close()
        else:
            await self.request("session/close", {"sessionId": session_id})

    async def _close(self) -> None:
        await Agent.close(self)
        await self._clear()

    async def _clear(self) -> None:
        if self._recorder is not None:
            self._recorder.close(self.exit or Exit())
        if self._processes is not None:
            await self._processes.close()

    # -- opening -------------------------------------------------------------------------------------------

    async def open(self, options: Options, *, owns_host: bool = False) -> WireSession:
        """Open a new or an earlier session, as the options say."""
        named = ((way, cast("str | None", options.get(name))) for name, way in _WAYS.items())
        way, session_id = next((each for each in named if each[1] is not None), (OpenWay.NEW, None))
        acp = await self.open_acp(options, way, session_id)
        return WireSession(self, acp, options, way, owns_host=owns_host)

    async def open_acp(self, options: Options, way: OpenWay, session_id: str | None) -> AcpSession:
        """Open a session in one way, and apply the options in it."""
        meta = meta_of(options)
        text = options.get("system_prompt")
        if text and self.definition.native_system_prompt:
            meta = {"systemPrompt": {"append": text}, **meta}
        acp = await self.open_session(
            folder_of(options),
            way,
            session_id,
            mcp_servers=options.get("mcp_servers", ()),
            additional_directories=options.get("additional_directories", ()),
            meta=meta,
        )
        try:
            await self._configure(acp, options)
        except BaseException:
            acp.forget()
            raise
        return acp

    async def _new(self, options: Options) -> WireSession:
        return await self.open(merged(without_openings(self._given_options), checked_options(options)))

    async def _configure(self, acp: AcpSession, options: Options) -> None:
        """Choose mode, model, effort and other options. A value that the agent refuses gives a warning.

        Raises:
            CapabilityNotSupportedError: There is no such mode (`mode:ID`), or there are none.
            AgentError: The agent is gone.
        """
        if (mode := options.get("mode")) is not None:
            await acp.set_mode(mode)
        # One after the other, and looked up anew: the possible efforts may depend on the model.
        for name in ("model", "effort"):
            value = options.get(name)
            if not isinstance(value, str) or self._chosen.get(name) == value:
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
