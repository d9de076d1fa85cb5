"""A permission that an agent asks for, and the answer to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from serai.acp import PermissionOption, PermissionRequest, PromptTurn
from serai.acp.handlers import is_unclear
from serai.agents.tool_uses import ToolUse
from serai.errors import Mismatch

__all__ = ["PermissionAsked", "option_of"]


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
