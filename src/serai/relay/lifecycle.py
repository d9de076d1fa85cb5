"""What may be done to a session as a whole: release, pause, resume, fork, snapshot; here and elsewhere.

The owner may do all of it. An agent may do it to itself, and to the agents that it made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from serai import contract as c
from serai.errors import Forbidden, SessionGone
from serai.host.identities import Participant
from serai.host.session.delegation import PARENT
from serai.host.session.session import Session
from serai.relay.adapters import AdapterBox
from serai.relay.inbox import Caller

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

__all__ = ["Lifecycle"]

_OF_AGENT = frozenset({c.LifecycleOperation.FORK, c.LifecycleOperation.SNAPSHOT})
"""What only an agent that is there can do, and say whether it can."""


class Lifecycle:
    """Does what is asked of whole sessions.

    Args:
        workspace: The relay.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._host = workspace.host

    async def do(
        self, operation: c.LifecycleOperation, caller: Caller, params: c.OperationParams
    ) -> c.OperationResult:
        """Do something to the session of an agent.

        Cancelling leaves open whether it is done.

        Raises:
            UnknownTarget: Nobody has that name.
            SessionGone: The session was released before, or there is no turn yet to fork from.
            Forbidden: The caller may not.
            CapabilityUnsupported: The session does not declare it.
            Offline: A session elsewhere is not connected, so that nobody can be asked.
        """
        agent = self._host.identities.get(params.agent)
        box = self._workspace.box_of(agent)
        session = None
        if agent.gone or (agent.session and not (session := await self._host.sessions.bring(agent.session))):
            raise SessionGone(f"the session of {agent.handle} is gone")
        self._check(caller, agent, session)
        if session is None:
            c.require(box.capabilities, operation, agent=agent.handle)
            assert isinstance(box, AdapterBox)  # noqa: S101 - an inbox declares no operation
            return await self._elsewhere(box, operation, params)
        if operation in _OF_AGENT:
            await session.agent()
        c.require(box.capabilities, operation, agent=agent.handle)
        return await self._here(session, operation, params.reason)

    def _check(self, caller: Caller, agent: Participant, session: Session | None) -> None:
        own = caller.participant
        is_own = own is not None and own.number == agent.number
        parent = (session.live.head.meta or {}).get(PARENT) if session else None
        is_parent = own is not None and own.session is not None and own.session == parent
        if caller.role != c.Role.OWNER and not is_own and not is_parent:
            raise Forbidden(f"{agent.handle} is neither you nor an agent that you made")

    async def _here(
        self, session: Session, operation: c.LifecycleOperation, reason: str | None
    ) -> c.OperationResult:
        agent = snapshot = None
        match operation:
            case c.LifecycleOperation.RELEASE:
                await self._host.dispose(session.uri)
                return c.OperationResult(status=c.AgentStatus.RELEASED)
            case c.LifecycleOperation.PAUSE:
                session.pause(reason)
            case c.LifecycleOperation.RESUME:
                session.resume()
            case c.LifecycleOperation.FORK:
                forked = await (await session.agent()).fork()
                agent = self._workspace.info(self._host.identities.get(forked.identity.id))
            case c.LifecycleOperation.SNAPSHOT:
                taken = await (await session.agent()).snapshot()
                snapshot = self._host.redactor.redact_value(taken, observed=True)
        return c.OperationResult(status=session.status, agent=agent, snapshot=snapshot)

    async def _elsewhere(
        self, box: AdapterBox, operation: c.LifecycleOperation, params: c.OperationParams
    ) -> c.OperationResult:
        told = await box.operate(operation, params.reason)
        agent = snapshot = None
        if operation == c.LifecycleOperation.RELEASE:
            await self._workspace.unregister(box)
            return c.OperationResult(status=c.AgentStatus.RELEASED)
        if operation == c.LifecycleOperation.FORK:
            agent = self._workspace.info(self._host.identities.get(str(told.get("agent"))))
        elif operation == c.LifecycleOperation.SNAPSHOT:
            snapshot = self._host.redactor.redact_value(told, observed=True)
        return c.OperationResult(status=box.status, agent=agent, snapshot=snapshot)
