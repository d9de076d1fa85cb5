"""Who answers when an agent asks for permission: the tool filter first, then the policy."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias

from serai.acp import PermissionOption, PermissionRequest, PromptTurn
from serai.acp.handlers import is_unclear
from serai.agents.ask.tools import ToolFilter, ToolUse
from serai.errors import Mismatch, PermissionTimedOut

if TYPE_CHECKING:
    from serai.agents.ask.options import SessionOptions
    from serai.agents.ask.turn import RunningTurn

__all__ = [
    "Choice",
    "PermissionAsked",
    "PermissionPolicy",
    "Permitting",
    "Policy",
    "automatic",
    "chosen",
    "option_of",
    "read_policy",
]


def option_of(options: Sequence[PermissionOption], *kinds: str) -> PermissionOption | None:
    """The first option of the first of these kinds that there is.

    One whose id is that of an option of any other kind is none: nobody knows what the agent would understand.
    """
    unclear = {option.id for option in options if option.kind not in kinds}
    return next(
        (option for kind in kinds for option in options if option.kind == kind and option.id not in unclear),
        None,
    )


class PermissionAsked:
    """The agent asks whether a tool may be used.

    With the policy `stream` it waits for an answer: `allow`, `reject`, `choose` or `cancel`. They say whether
    the answer counted: it does not when the turn is over, or when someone else answers.

    Args:
        request: What the agent asked.
    """

    def __init__(self, request: PermissionRequest) -> None:
        self.request = request
        self.options = request.options
        self.call = ToolUse(request.tool_call.tool_call_id).after(request.tool_call, asked=True)
        """The tool call, with all that was told of it before."""
        self.is_open = False
        """Whether an answer is waited for."""
        self.chosen: PermissionOption | None = None
        """What was answered; `None` while nothing was, and when the request was cancelled."""
        self.refusal: str | None = None
        """Why the tool filter has said no, if it has."""
        self.turn: PromptTurn | None = None
        """The turn in which it was asked. Once that is cancelled, no answer counts."""
        loop = asyncio.get_running_loop()
        self._is_for_stream = False
        self._reached: asyncio.Future[None] = loop.create_future()
        self._judged: asyncio.Future[None] = loop.create_future()
        self._answer: asyncio.Future[PermissionOption | None] = loop.create_future()

    def __repr__(self) -> str:
        return f"PermissionAsked({self.call.title!r}, {[option.kind for option in self.options]})"

    def allow(self, *, always: bool = False) -> bool:
        """Allow it once, or for good.

        Raises:
            Mismatch: The agent does not offer that.
        """
        kind = "allow_always" if always else "allow_once"
        option = option_of(self.options, kind)
        if option is None:
            raise Mismatch(f"the agent does not offer {kind}", field="options")
        return self.settle(option)

    def reject(self, *, always: bool = False) -> bool:
        """Refuse it, this once or for good. An agent that offers neither is told that it was cancelled."""
        kinds = ("reject_always", "reject_once") if always else ("reject_once", "reject_always")
        return self.settle(option_of(self.options, *kinds))

    def choose(self, option_id: str) -> bool:
        """Answer with one of the options. An id that stands for a yes and a no gives no answer: it cancels.

        Raises:
            Mismatch: There is no such option.
        """
        option = next((option for option in self.options if option.id == option_id), None)
        if option is None:
            raise Mismatch(f"there is no option {option_id!r}", field="options")
        return self.settle(None if is_unclear(self.options, option_id) else option)

    def cancel(self) -> bool:
        """Give no answer: neither yes nor no."""
        return self.settle(None)

    # -- for the session -----------------------------------------------------------------------------------

    def reach(self, *, is_for_stream: bool) -> None:
        """All that was told before the request has been taken, and `call` is as it is known then.

        Args:
            is_for_stream: Whether someone follows who is to answer.
        """
        if not self._reached.done():  # else nobody wants to know any more
            self._is_for_stream = is_for_stream
            self._reached.set_result(None)

    async def reached(self) -> None:
        """Wait until then."""
        await self._reached

    def judge(self, refusal: str | None) -> None:
        """The tool filter has looked at it. What it lets pass can be answered from now on."""
        self.refusal = refusal
        self.is_open = self._is_for_stream and refusal is None
        self._pass()

    async def judged(self) -> None:
        """Wait until then, or until nobody wants to know any more."""
        await self._judged

    def close(self) -> None:
        """It has its answer, or nobody wants one any more."""
        self.is_open = False
        self._pass()

    def _pass(self) -> None:
        if not self._judged.done():
            self._judged.set_result(None)

    def settle(self, option: PermissionOption | None) -> bool:
        """Answer, if an answer is waited for. Returns whether it was."""
        is_cancelled = self.turn is not None and self.turn.cancelled
        if not self.is_open or self._answer.done() or is_cancelled:
            return False
        self.is_open = False
        self._answer.set_result(option)
        return True

    async def answered(self) -> PermissionOption | None:
        """Wait for an answer. When this is cancelled, none counts any more."""
        return await self._answer


class Policy(StrEnum):
    """The ready-made policies."""

    AUTO_ALLOW = "auto-allow"
    """Always, so that the agent need not ask for the like again; else once. With a tool filter, which has to
    see every call, each time only this once."""
    AUTO_ALLOW_ONCE = "auto-allow-once"
    """Each time only this once. What can only be allowed for good is cancelled."""
    AUTO_REJECT = "auto-reject"
    """Never."""
    STREAM = "stream"
    """Whoever follows the stream answers."""


Choice: TypeAlias = PermissionOption | str | bool | None
"""An option or its id; `True` to allow once, `False` to reject, `None` to cancel."""
PermissionPolicy: TypeAlias = (
    Policy
    | Literal["auto-allow", "auto-allow-once", "auto-reject", "stream"]
    | Callable[[PermissionAsked], Choice | Awaitable[Choice]]
)

_WANTED: dict[Policy, tuple[str, ...]] = {
    Policy.AUTO_ALLOW: ("allow_always", "allow_once"),
    Policy.AUTO_ALLOW_ONCE: ("allow_once",),
    Policy.AUTO_REJECT: ("reject_once", "reject_always"),
    Policy.STREAM: (),
}


def read_policy(
    policy: PermissionPolicy,
) -> Policy | Callable[[PermissionAsked], Choice | Awaitable[Choice]]:
    """A policy by its name, or the function that it is.

    Raises:
        Mismatch: There is none of that name.
    """
    if callable(policy):
        return policy
    try:
        return Policy(policy)
    except ValueError:
        names = ", ".join(Policy)
        raise Mismatch(f"must be a function or one of {names}", field="permissions") from None


def automatic(policy: Policy, options: Sequence[PermissionOption]) -> PermissionOption | None:
    """What a ready-made policy chooses; `None` to cancel."""
    return option_of(options, *_WANTED[policy])


def chosen(choice: Choice, options: Sequence[PermissionOption]) -> PermissionOption | None:
    """Which option a function's choice means; `None` to cancel.

    What was not offered cancels, too, and so does an id that stands for a yes and a no.
    """
    if choice is True:
        return automatic(Policy.AUTO_ALLOW_ONCE, options)
    if choice is False:
        return automatic(Policy.AUTO_REJECT, options)
    wanted = choice.id if isinstance(choice, PermissionOption) else choice
    if wanted is None or is_unclear(options, wanted):
        return None
    return next((option for option in options if option.id == wanted), None)


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
