"""The actions that the host itself does: make agents, look at them, pause, resume and release them.

The owner may do all of it. An agent may make others, in its own folder and only so many below each other; it
may pause, resume and release those, and itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from serai.ahp.commands import CreateSessionParams
from serai.contract import (
    ActionRegisterParams,
    ActionRunParams,
    AgentInfo,
    IdentityKind,
    LifecycleOperation,
    Role,
    require,
    to_wire,
)
from serai.errors import InvalidParams, SessionGone
from serai.host.host import Host
from serai.host.identities import Participant
from serai.host.session.delegation import PARENT, check_depth
from serai.host.session.session import Session
from serai.relay.actions import Actions, Denied
from serai.relay.inbox import Caller

__all__ = ["RuntimeActions"]


def _schema(*required: str, **properties: str) -> dict[str, Any]:
    described = {name: {"type": "string", "description": what} for name, what in properties.items()}
    return {
        "type": "object",
        "properties": described,
        "required": list(required),
        "additionalProperties": False,
    }


_AGENT = _schema("agent", agent="Its handle")
_WITH_REASON = _schema("agent", agent="Its handle", reason="Why")
_CREATE = _schema(
    "provider",
    provider="The kind of agent",
    name="How others call it; by default after its kind",
    workingDirectory="Its folder, as a path or a file URI; by default that of whoever asks",
)


class RuntimeActions:
    """Does what the built-in actions are for.

    Args:
        host: The host.
        info: What is known of a participant.
    """

    def __init__(self, host: Host, info: Callable[[Participant], AgentInfo]) -> None:
        self._host = host
        self._info = info

    def add_to(self, actions: Actions) -> None:
        """Register them."""
        table = (
            ("agent.create", "Make an agent", _CREATE, self._create),
            ("agent.status", "What an agent does right now, and what waits for it", _AGENT, self._status),
            ("agent.pause", "Let nothing enter an agent's session by itself", _WITH_REASON, self._pause),
            ("agent.resume", "Let a paused agent go on", _AGENT, self._resume),
            ("agent.release", "End an agent's session for good", _AGENT, self._release),
        )
        for name, description, schema, run in table:
            actions.build_in(
                ActionRegisterParams(name=name, description=description, input_schema=schema), run
            )

    async def _create(self, call: ActionRunParams, caller: Caller) -> Any:
        wanted: dict[str, str] = call.input
        provider, name, folder = wanted["provider"], wanted.get("name"), wanted.get("workingDirectory")
        parent = await self._own_session(caller)
        meta = None
        if parent is not None:
            await check_depth(parent.core, self._host.sessions.bring)
            own = parent.live.head.summary.working_directory
            if folder is not None and _uri(folder) != own:
                raise Denied("an agent makes others in its own folder only")
            folder, meta = own, {PARENT: parent.uri}
        elif caller.role != Role.OWNER:
            raise Denied("only the owner and agents of this host make agents")
        await self._host.sought(provider)
        uri = f"ahp-session:/{self._host.new_id()}"
        identities = self._host.identities
        if name is not None:
            identities.enlist(name, IdentityKind.AGENT, session=uri)
        params = CreateSessionParams(
            channel=uri, provider=provider, working_directory=_uri(folder) if folder else None
        )
        try:
            session = await self._host.create(params, call.caller.name, meta)
        except BaseException:
            if name is not None:
                identities.retire(uri)
            raise
        await session.ready()
        return to_wire(self._info(identities.of_session(uri)))

    async def _status(self, call: ActionRunParams, _caller: Caller) -> Any:
        return to_wire(self._info(self._host.identities.get(call.input["agent"])))

    async def _pause(self, call: ActionRunParams, caller: Caller) -> Any:
        session = await self._managed(call, caller, LifecycleOperation.PAUSE)
        session.pause(call.input.get("reason"))
        return {"status": session.status.value}

    async def _resume(self, call: ActionRunParams, caller: Caller) -> Any:
        session = await self._managed(call, caller, LifecycleOperation.RESUME)
        session.resume()
        return {"status": session.status.value}

    async def _release(self, call: ActionRunParams, caller: Caller) -> Any:
        session = await self._managed(call, caller, LifecycleOperation.RELEASE)
        await self._host.dispose(session.uri)
        return {"status": "released"}

    # -- who may -------------------------------------------------------------------------------------------

    async def _own_session(self, caller: Caller) -> Session | None:
        uri = caller.participant.session if caller.participant else None
        return await self._host.sessions.bring(uri) if uri else None

    async def _managed(self, call: ActionRunParams, caller: Caller, operation: LifecycleOperation) -> Session:
        """The session of the agent that a call names, if it can do that and the caller may ask for it."""
        agent = self._host.identities.get(call.input["agent"])
        if agent.session is None:
            raise InvalidParams(f"{agent.handle} is no agent of this host", field="input.agent")
        session = None if agent.gone else await self._host.sessions.bring(agent.session)
        if session is None:
            raise SessionGone(f"the session of {agent.handle} is gone")
        require(self._host.capabilities_of(agent.session), operation, agent=agent.handle)
        own = caller.participant.session if caller.participant else None
        parent = (session.live.head.meta or {}).get(PARENT)
        if caller.role != Role.OWNER and (own is None or own not in {agent.session, parent}):
            raise Denied(f"{agent.handle} is neither you nor an agent that you made")
        return session


def _uri(folder: str) -> str:
    return folder if folder.startswith("file:") else Path(folder).absolute().as_uri()
