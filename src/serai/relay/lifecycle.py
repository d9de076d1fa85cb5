"""Operations on whole sessions: register, release, pause, resume, fork, snapshot; and agents are created.

The owner may do all of it. An agent may do it to itself, and to the agents that it created. It creates agents
in its own folder only, and only a few levels deep.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from serai import contract as c
from serai.ahp.commands import CreateSessionParams
from serai.errors import CapabilityUnsupported, Forbidden, InvalidParams, NameTaken, SessionGone
from serai.host.identities import Participant
from serai.host.session.session import PARENT, Session
from serai.relay import WorkspacePart
from serai.relay.actions import Actions, MayAsk, RunAction
from serai.relay.delivery.adapter_queue import AdapterQueue
from serai.relay.events.webhooks import check_url
from serai.relay.tokens import Caller

_OF_AGENT = frozenset({c.LifecycleOperation.FORK, c.LifecycleOperation.SNAPSHOT})
"""The operations that only a running agent can do, and for which it has to be asked whether it can."""
_LONGEST_LEASE = 3600.0
_QUEUED = frozenset({c.DeliveryMode.NEXT_TOOL_CALL, c.DeliveryMode.NEXT_MESSAGE})
"""Boundaries that only the session itself knows."""


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


class Lifecycle(WorkspacePart):
    """Operations on whole sessions."""

    def register(self, caller: Caller, params: c.RegisterParams) -> c.RegisterResult:
        """Register a session elsewhere, or register it again under its name.

        Raises:
            CapabilityUnsupported: It declares too little.
            NameTaken: Someone else has the name, or, if it is strict, anyone.
            Forbidden: A token of a participant is only for that participant, and names no URL.
            InvalidParams: The name, the lease or the URL cannot be used.
        """
        given = self._host.redactor.redact_value(params.identity, observed=True)
        declared = params.capabilities
        name = given.name.strip().removeprefix("@")
        _check_capabilities(declared, name)
        if not name or c.handle_of(name) == "@":
            raise InvalidParams("a session needs a name", field="params.identity.name")
        _check_ways(params, caller)
        if given.kind not in {c.IdentityKind.AGENT, c.IdentityKind.SERVICE}:
            raise Forbidden(f"a session cannot register as {given.kind.value}", remedy="Register as an agent")
        known = self._identities.find(c.handle_of(name))
        number = caller.participant.number if caller.participant is not None else None
        if caller.role != c.Role.OWNER and (known is None or known.number != number):
            raise Forbidden("a token of a participant is for that participant alone")
        if known is not None and (
            known.session is not None
            or known.is_person
            or (params.strict and known.capabilities is not None and not known.gone)
        ):
            raise NameTaken(f"the name {name!r} is taken", remedy="Choose another name")
        fields: dict[str, Any] = asdict(given) | {"id": "", "name": name, "handle": ""}
        if (
            caller.role != c.Role.OWNER and known is not None
        ):  # others decide by tags and kinds: an agent may not set its own
            tags = {key: value for key, value in known.identity.metadata.items() if key == "tags"}
            own = {key: value for key, value in given.metadata.items() if key != "tags"}
            fields |= {"kind": known.identity.kind, "metadata": own | tags}
        described, shown = c.AgentIdentity(**fields), None
        if known is None:
            known = self._identities.enlist(name, given.kind, described=described)
        secret = known.secret if known.url == params.url else None
        if params.url is not None and secret is None:
            shown = secret = secrets.token_urlsafe(32)
        own = known.identity
        kept = replace(
            known,
            identity=replace(described, id=own.id, name=own.name, handle=own.handle),
            capabilities=declared,
            url=params.url,
            secret=secret,
            lease_seconds=params.lease_seconds,
            gone=False,
        )
        if kept != known:
            self._identities.put(kept, "agent.registered")
        self._workspace.registered(kept, caller.link)
        seconds = params.lease_seconds or self._workspace.policy.lease.total_seconds()
        return c.RegisterResult(identity=kept.identity, lease_seconds=seconds, secret=shown)

    async def operate(
        self, operation: c.LifecycleOperation, caller: Caller, params: c.OperationParams
    ) -> c.OperationResult:
        """Do an operation on the session of an agent.

        Cancelling leaves open whether it is done.

        Raises:
            UnknownTarget: There is no agent of that name.
            SessionGone: The session was released before, or there is no turn yet to fork from.
            Forbidden: The caller may not.
            CapabilityUnsupported: The session does not declare it.
            Offline: A session elsewhere is not connected, so that it cannot be asked.
        """
        agent = self._identities.get(params.agent)
        queue = self._workspace.queue_of(agent)
        session = None
        if agent.gone or (agent.session and not (session := await self._host.sessions.bring(agent.session))):
            raise SessionGone(f"the session of {agent.handle} is gone")
        self._check(caller, agent, session)
        if session is not None and operation in _OF_AGENT:
            await session.agent()
        c.require(queue.capabilities, operation, agent=agent.handle)
        if session is not None:
            told = await self._operate_here(session, operation, params.reason)
        else:
            assert isinstance(queue, AdapterQueue)  # noqa: S101 - an inbox declares no operation
            told = await queue.operate(operation, params.reason)
        if operation == c.LifecycleOperation.RELEASE:
            if isinstance(queue, AdapterQueue):
                await self._workspace.unregister(queue)
            return c.OperationResult(status=c.AgentStatus.RELEASED)
        result = c.OperationResult(status=self._workspace.info(agent).status)
        if operation == c.LifecycleOperation.FORK:
            forked = self._identities.get(str(told.get("agent")))
            result = replace(result, agent=self._workspace.info(forked))
        elif operation == c.LifecycleOperation.SNAPSHOT:
            result = replace(result, snapshot=self._host.redactor.redact_value(told, observed=True))
        return result

    def _check(self, caller: Caller, agent: Participant, session: Session | None) -> None:
        own = caller.participant
        is_own = own is not None and own.number == agent.number
        parent = (session.live.head.meta or {}).get(PARENT) if session else None
        is_parent = own is not None and own.session is not None and own.session == parent
        if caller.role != c.Role.OWNER and not is_own and not is_parent:
            raise Forbidden(f"{agent.handle} is neither you nor an agent that you created")

    async def _operate_here(
        self, session: Session, operation: c.LifecycleOperation, reason: str | None
    ) -> dict[str, Any]:
        """Do an operation on a session of this host. Returns an answer like that of a session elsewhere."""
        match operation:
            case c.LifecycleOperation.RELEASE:
                await self._host.dispose(session.uri)
            case c.LifecycleOperation.PAUSE:
                session.pause(reason)
            case c.LifecycleOperation.RESUME:
                session.resume()
            case c.LifecycleOperation.FORK:
                return {"agent": (await (await session.agent()).fork()).identity.id}
            case c.LifecycleOperation.SNAPSHOT:
                return await (await session.agent()).snapshot()
        return {}

    # -- the operations as actions -------------------------------------------------------------------------

    def add_actions(self, actions: Actions) -> None:
        """Add the operations to the actions."""
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
            actions.add_built_in(described, run, may_ask)

    async def _create(self, call: c.ActionRunParams, caller: Caller) -> Any:
        wanted: dict[str, str] = call.input
        provider, name, folder = wanted["provider"], wanted.get("name"), wanted.get("workingDirectory")
        uri, meta = caller.participant.session if caller.participant else None, None
        parent = await self._host.sessions.bring(uri) if uri else None
        if parent is not None:
            await parent.check_depth()
            own = parent.live.head.summary.working_directory
            if folder is not None and _uri(folder) != own:
                raise Forbidden("an agent creates others in its own folder only")
            folder, meta = own, {PARENT: parent.uri}
        await self._host.agent_list.find(provider)
        uri = f"ahp-session:/{self._host.new_id()}"
        if name is not None:
            self._identities.enlist(name, c.IdentityKind.AGENT, session=uri)
        params = CreateSessionParams(
            channel=uri, provider=provider, working_directory=_uri(folder) if folder else None
        )
        try:
            session = await self._host.create(params, call.caller.name, meta)
        except BaseException:
            if name is not None:
                self._identities.retire(uri)
            raise
        await session.ready()
        return c.to_wire(self._workspace.info(self._identities.of_session(uri)))

    async def _status(self, call: c.ActionRunParams, _caller: Caller) -> Any:
        return c.to_wire(self._workspace.info(self._identities.get(call.input["agent"])))

    async def _operate(self, call: c.ActionRunParams, caller: Caller) -> Any:
        operation = c.LifecycleOperation(call.name.removeprefix("agent."))
        params = c.OperationParams(agent=call.input["agent"], reason=call.input.get("reason"))
        return c.to_wire(await self.operate(operation, caller, params))


def _check_ways(params: c.RegisterParams, caller: Caller) -> None:
    """Check that messages can get to the session in the way that it asks for."""
    if params.url is not None:
        check_url(params.url)
        if caller.role != c.Role.OWNER:  # the host may reach what its participants may not
            raise Forbidden("only the owner of the host may register a URL")
    lease = params.lease_seconds
    if lease is not None and not 0 < lease <= _LONGEST_LEASE:
        raise InvalidParams(f"a lease has up to {_LONGEST_LEASE:.0f} seconds", field="params.leaseSeconds")


def _check_capabilities(declared: c.AgentSessionCapabilities, agent: str) -> None:
    c.check_receives(declared, agent)
    queued = [mode for mode in declared.delivery.modes if mode in _QUEUED]
    if queued and not declared.delivery.queue:
        raise CapabilityUnsupported(
            "delivery.queue",
            queued[0].value,
            tuple(mode.value for mode in declared.delivery.modes if mode not in _QUEUED),
            agent=agent,
            remedy="Only a session that holds messages itself (queue: true) knows this boundary",
        )


def _is_of_host(caller: Caller, who: Participant) -> bool:
    """Tell whether the caller is the owner, or the agent of a session of this host."""
    return caller.role == c.Role.OWNER or who.session is not None


def _has_session(caller: Caller, who: Participant) -> bool:
    """Tell whether the caller is one of those, or a session elsewhere."""
    return _is_of_host(caller, who) or who.capabilities is not None


def _uri(folder: str) -> str:
    return folder if folder.startswith("file:") else Path(folder).absolute().as_uri()
