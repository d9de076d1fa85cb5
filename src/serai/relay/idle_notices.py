"""A message to someone, once, when someone else has nothing to do any more."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from serai.contract import AgentStatus, DeliveryReason, Role, SubscribeParams
from serai.host.identities import Participant
from serai.relay.boundaries import SessionBox
from serai.relay.inbox import Caller
from serai.relay.workspace import Workspace

__all__ = ["IdleNotices"]


class IdleNotices:
    """Tells participants when others are idle. What was asked for is gone with the host.

    Args:
        workspace: The relay; it is open.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._identities = workspace.identities
        self._waiting: dict[tuple[str, str], asyncio.Task[None]] = {}

    def watch(self, asker_id: str, agent_id: str) -> bool:
        """Tell `asker_id` once when `agent_id` becomes idle, or is gone.

        Returns whether something will be told: whoever is idle now does not become so.
        """
        asker, agent = self._identities.get(asker_id), self._identities.get(agent_id)
        box = self._workspace.box_of(agent)
        if agent.gone or not isinstance(box, SessionBox) or self._is_idle(box):
            return False
        if (asker_id, agent_id) not in self._waiting:
            # The notice continues the chain of messages that led to the wish for it.
            hops = self._workspace.runner.hops_of(asker, None)
            task = asyncio.create_task(self._tell(asker, agent, box, hops))
            self._waiting[asker_id, agent_id] = task
            task.add_done_callback(lambda _: self._waiting.pop((asker_id, agent_id), None))
        return True

    async def close(self) -> None:
        """Tell nobody any more."""
        tasks = list(self._waiting.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_idle(self, box: SessionBox) -> bool:
        return self._workspace.host.status_of(box.uri) == AgentStatus.IDLE and not box.waiting["idle"]

    async def _tell(self, asker: Participant, agent: Participant, box: SessionBox, hops: int) -> None:
        params = SubscribeParams(types=("agent.status.idle", "session.released"), agent=agent.handle)
        _, events = await self._workspace.subscribe(Caller(Role.OWNER), params)
        async with aclosing(events):
            while not (is_gone := self._identities[agent.number].gone) and not self._is_idle(box):
                await anext(events)
        text = f"{agent.handle} is gone." if is_gone else f"{agent.handle} is idle now."
        if not self._identities[asker.number].gone:
            sender, reason = self._workspace.system, DeliveryReason.NOTIFICATION
            self._workspace.post.notify(sender, asker, text, reason, metadata={}, hops=hops)
