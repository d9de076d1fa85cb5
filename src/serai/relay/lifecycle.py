"""What may be done to a session as a whole: release, pause, resume, fork, snapshot; here and elsewhere.

The owner may do all of it. An agent may do it to itself, and to the agents that it made.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from serai.contract import (
    AgentInfo,
    AgentStatus,
    LifecycleOperation,
    OperationParams,
    OperationResult,
    Role,
    require,
)
from serai.errors import Forbidden, SessionGone
from serai.host.host import Host
from serai.host.identities import Participant
from serai.host.session.delegation import PARENT
from serai.host.session.session import Session
from serai.relay.adapters import AdapterBox
from serai.relay.inbox import Caller
from serai.relay.runner import Box

__all__ = ["Lifecycle"]

_OF_AGENT = frozenset({LifecycleOperation.FORK, LifecycleOperation.SNAPSHOT})
"""What only an agent that is there can do, and say whether it can."""


class Lifecycle:
    """Does what is asked of whole sessions.

    Args:
        host: The host.
        box_of: Where a participant gets its messages.
        info: What is known of a participant.
        unregister: Has a session elsewhere take part no longer.
    """

    def __init__(
        self,
        host: Host,
        box_of: Callable[[Participant], Box],
        info: Callable[[Participant], AgentInfo],
        unregister: Callable[[AdapterBox], Awaitable[None]],
    ) -> None:
        self._host = host
        self._box_of = box_of
        self._info = info
        self._unregister = unregister

    async def do(
        self, operation: LifecycleOperation, caller: Caller, params: OperationParams
    ) -> OperationResult:
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
        box = self._box_of(agent)
        session = None
        if agent.gone or (agent.session and not (session := await self._host.sessions.bring(agent.session))):
            raise SessionGone(f"the session of {agent.handle} is gone")
        self._check(caller, agent, session)
        if session is None:
            require(box.capabilities, operation, agent=agent.handle)
            assert isinstance(box, AdapterBox)  # noqa: S101 - an inbox declares no operation
            return await self._elsewhere(box, operation, params)
        if operation in _OF_AGENT:
            await session.agent()
        require(box.capabilities, operation, agent=agent.handle)
        return await self._here(session, operation, params.reason)

    def _check(self, caller: Caller, agent: Participant, session: Session | None) -> None:
        own = caller.participant
        is_own = own is not None and own.number == agent.number
        parent = (session.live.head.meta or {}).get(PARENT) if session else None
        is_parent = own is not None and own.session is not None and own.session == parent
        if caller.role != Role.OWNER and not is_own and not is_parent:
            raise Forbidden(f"{agent.handle} is neither you nor an agent that you made")

    async def _here(
        self, session: Session, operation: LifecycleOperation, reason: str | None
    ) -> OperationResult:
        agent = snapshot = None
        match operation:
            case LifecycleOperation.RELEASE:
                await self._host.dispose(session.uri)
                return OperationResult(status=AgentStatus.RELEASED)
            case LifecycleOperation.PAUSE:
                session.pause(reason)
            case LifecycleOperation.RESUME:
                session.resume()
            case LifecycleOperation.FORK:
                forked = await (await session.agent()).fork()
                agent = self._info(self._host.identities.get(forked.identity.id))
            case LifecycleOperation.SNAPSHOT:
                taken = await (await session.agent()).snapshot()
                snapshot = self._host.redactor.redact_value(taken, observed=True)
        return OperationResult(status=session.status, agent=agent, snapshot=snapshot)

    async def _elsewhere(
        self, box: AdapterBox, operation: LifecycleOperation, params: OperationParams
    ) -> OperationResult:
        told = await box.operate(operation, params.reason)
        agent = snapshot = None
        match operation:
            case LifecycleOperation.RELEASE:
                await self._unregister(box)
                return OperationResult(status=AgentStatus.RELEASED)
            case LifecycleOperation.FORK:
                agent = self._info(self._host.identities.get(str(told.get("agent"))))
            case LifecycleOperation.SNAPSHOT:
                snapshot = self._host.redactor.redact_value(told, observed=True)
            case _:
                pass
        return OperationResult(status=box.status, agent=agent, snapshot=snapshot)
