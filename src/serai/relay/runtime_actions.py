"""The actions that the host itself does: make agents, look at them, pause, resume and release them.

The owner may do all of it. An agent may make others, in its own folder and only so many below each other. Who
may do what to a session is for `serai.relay.lifecycle`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from serai import contract as c
from serai.ahp.commands import CreateSessionParams
from serai.errors import Forbidden
from serai.host.identities import Participant
from serai.host.session.delegation import PARENT, check_depth
from serai.relay.actions import Actions, MayAsk, RunAction
from serai.relay.inbox import Caller

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

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
        workspace: The relay.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._host = workspace.host

    def add_to(self, actions: Actions) -> None:
        """Register them."""
        status = "What an agent does right now, and what waits for it"
        pause = "Let nothing enter an agent's session by itself"
        table: tuple[tuple[str, str, dict[str, Any], RunAction, MayAsk], ...] = (
            ("agent.create", "Make an agent", _CREATE, self._create, _is_of_host),
            ("agent.status", status, _AGENT, self._status, lambda _caller, _who: True),
            ("agent.pause", pause, _WITH_REASON, self._operate, _has_session),
            ("agent.resume", "Let a paused agent go on", _AGENT, self._operate, _has_session),
            ("agent.release", "End an agent's session for good", _WITH_REASON, self._operate, _has_session),
        )
        for name, description, schema, run, may_ask in table:
            described = c.ActionRegisterParams(name=name, description=description, input_schema=schema)
            actions.build_in(described, run, may_ask)

    async def _create(self, call: c.ActionRunParams, caller: Caller) -> Any:
        wanted: dict[str, str] = call.input
        provider, name, folder = wanted["provider"], wanted.get("name"), wanted.get("workingDirectory")
        uri, meta = caller.participant.session if caller.participant else None, None
        parent = await self._host.sessions.bring(uri) if uri else None
        if parent is not None:
            await check_depth(parent.core, self._host.sessions.bring)
            own = parent.live.head.summary.working_directory
            if folder is not None and _uri(folder) != own:
                raise Forbidden("an agent makes others in its own folder only")
            folder, meta = own, {PARENT: parent.uri}
        await self._host.sought(provider)
        uri = f"ahp-session:/{self._host.new_id()}"
        identities = self._host.identities
        if name is not None:
            identities.enlist(name, c.IdentityKind.AGENT, session=uri)
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
        return c.to_wire(self._workspace.info(identities.of_session(uri)))

    async def _status(self, call: c.ActionRunParams, _caller: Caller) -> Any:
        return c.to_wire(self._workspace.info(self._host.identities.get(call.input["agent"])))

    async def _operate(self, call: c.ActionRunParams, caller: Caller) -> Any:
        operation = c.LifecycleOperation(call.name.removeprefix("agent."))
        params = c.OperationParams(agent=call.input["agent"], reason=call.input.get("reason"))
        return c.to_wire(await self._workspace.lifecycle.do(operation, caller, params))


def _is_of_host(caller: Caller, who: Participant) -> bool:
    """Whether the owner asks, or the agent of a session of this host."""
    return caller.role == c.Role.OWNER or who.session is not None


def _has_session(caller: Caller, who: Participant) -> bool:
    """The same, or a session elsewhere."""
    return _is_of_host(caller, who) or who.capabilities is not None


def _uri(folder: str) -> str:
    return folder if folder.startswith("file:") else Path(folder).absolute().as_uri()
