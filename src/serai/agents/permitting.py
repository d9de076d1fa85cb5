"""Who decides what an agent of a program may do: its tool filter first, then the policy."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable

from serai.acp import PermissionOption
from serai.agents.asked import PermissionAsked
from serai.agents.filters import ToolFilter
from serai.agents.options import SessionOptions
from serai.agents.policies import Policy, automatic, chosen, read_policy
from serai.agents.running import RunningTurn
from serai.errors import PermissionTimedOut

__all__ = ["Permitting"]

_log = logging.getLogger(__name__)


class Permitting:
    """The decisions of one session.

    Args:
        options: What was said when it was opened.
        agent: The agent's name.
        warn: Is told what was denied, and what could not be decided.
    """

    def __init__(self, options: SessionOptions, *, agent: str, warn: Callable[[str], None]) -> None:
        self.tools: ToolFilter | None = options.get("tools")
        self._policy = read_policy(options.get("permissions", Policy.AUTO_ALLOW))
        self._limit = options.get("permission_timeout") or None
        self._agent = agent
        self._warn = warn

    @property
    def is_by_stream(self) -> bool:
        """Whether whoever follows the stream answers."""
        return self._policy is Policy.STREAM

    async def decide(self, asked: PermissionAsked, running: RunningTurn | None) -> PermissionOption | None:
        """The option to choose; `None` to cancel. Cancelling it stops the filter, and whoever was asked."""
        try:
            async with asyncio.timeout(self._limit):
                asked.judge(await self._judge(asked))
                return await self._choose(asked, running)
        except TimeoutError:
            error = PermissionTimedOut(
                f"nobody answered in {self._limit:g} s what the agent {self._agent!r} asked: "
                f"{asked.call.title}",
                agent=self._agent,
            )
            if running is not None:
                running.stop(error)
            return None

    def tell_refusal(self, asked: PermissionAsked) -> None:
        """Warn of what the filter has refused, if it has."""
        if asked.refusal is not None:
            call = asked.call
            self._warn(f"A tool was denied: {call.title or call.id} ({call.kind}) — {asked.refusal}.")

    async def _judge(self, asked: PermissionAsked) -> str | None:
        """Why the filter does not let it pass; `None` when it does."""
        if self.tools is None:
            return None
        try:
            return await self.tools.judge(asked.call)
        except (Exception, asyncio.CancelledError) as problem:  # whatever it was, it is no permission
            if _is_stopped(problem):
                raise
            _log.exception("a tool filter has failed")
            return f"the tool filter failed with {problem!r}"

    async def _choose(self, asked: PermissionAsked, running: RunningTurn | None) -> PermissionOption | None:
        if asked.refusal is not None:
            return automatic(Policy.AUTO_REJECT, asked.options)
        if isinstance(self._policy, Policy) and self._policy is not Policy.STREAM:
            # What is allowed for good is not asked for again, and the filter would not see it.
            is_once = self.tools is not None and self._policy is Policy.AUTO_ALLOW
            return automatic(Policy.AUTO_ALLOW_ONCE if is_once else self._policy, asked.options)
        if self.is_by_stream and (running is None or not running.is_asking):
            self._warn(
                f'Agent "{self._agent}" asks for permission, and nobody follows its stream — cancelled.'
            )
            return None
        return await self._ask_someone(asked)

    async def _ask_someone(self, asked: PermissionAsked) -> PermissionOption | None:
        if isinstance(self._policy, Policy):
            return await asked.answered()
        try:
            choice = self._policy(asked)
            if inspect.isawaitable(choice):
                choice = await choice
        except (Exception, asyncio.CancelledError) as problem:  # whatever it was, it is no permission
            if _is_stopped(problem):
                raise
            _log.exception("a permission policy has failed")
            self._warn(f"The permission policy failed with {problem!r} — the request is cancelled.")
            return None
        return chosen(choice, asked.options)


def _is_stopped(problem: BaseException) -> bool:
    """Whether nobody wants the decision any more, and not only what it waited for was cancelled."""
    task = asyncio.current_task()
    return isinstance(problem, asyncio.CancelledError) and (task is None or task.cancelling() > 0)
