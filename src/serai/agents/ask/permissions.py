"""Permissions of an agent: first the tool filter, then the policy.

A policy that rejects never allows: when an agent offers no way to say no, the request is cancelled.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, cast

from serai.acp.client_side import PermissionOption, PermissionRequest
from serai.acp.tool_calls import AgentToolCall
from serai.errors import Mismatch, PermissionTimedOut

if TYPE_CHECKING:
    from serai.agents.ask.options import SessionOptions
    from serai.agents.ask.turn import RunningTurn

__all__ = ["TOOL_KINDS", "OnToolUse", "PermissionAsked", "PermissionPolicy", "Policy", "ToolFilter"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

TOOL_KINDS = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
)
"""The kinds of ACP. An agent may send newer ones."""

OnToolUse: TypeAlias = Callable[[AgentToolCall], bool | str | Awaitable[bool | str]]
"""Checks a call: returns `True` to allow it; `False`, or the reason in a few words, to refuse it."""


class ToolFilter:
    """Filters the tools that may be used at all. Calls that pass are still subject to the permission policy.

    All agents use the same words for the *kind* of a tool (`execute`, `edit`, ...), so filter by kind if you
    can. A name is the tool's own if the agent sends it, else the title, which is free text; blocked names are
    looked up in both. Case does not matter, and `*` stands for anything.

    Two filters can be joined by `&`: then a call has to pass both. A filter works when the agent asks. An
    agent that uses a tool without asking cannot be stopped by it: that gives a warning.

    Args:
        allow_kinds: The only allowed kinds.
        block_kinds: Blocked kinds.
        allow_names: The only allowed names.
        block_names: Blocked names.
        on_tool_use: Checks calls that have passed the lists. When it raises, the call is refused. It cannot
            change a tool's input, because ACP has no way to do that.

    Raises:
        Mismatch: A kind does not exist.
    """

    def __init__(
        self,
        *,
        allow_kinds: Iterable[str] | None = None,
        block_kinds: Iterable[str] = (),
        allow_names: Iterable[str] | None = None,
        block_names: Iterable[str] = (),
        on_tool_use: OnToolUse | None = None,
    ) -> None:
        self._allow_kinds = None if allow_kinds is None else _kinds(allow_kinds, "allow_kinds")
        self._block_kinds = _kinds(block_kinds, "block_kinds")
        self._allow_names = None if allow_names is None else _folded(allow_names)
        self._block_names = _folded(block_names)
        self._on_tool_use = on_tool_use
        self._others: tuple[ToolFilter, ...] = ()

    def __and__(self, other: ToolFilter) -> ToolFilter:
        both = ToolFilter()
        both._others = (self, other)
        return both

    async def judge(self, call: AgentToolCall) -> str | None:
        """Return why a call is refused, also by `on_tool_use`; `None` if it is not."""
        if reason := self.refuses(call):
            return reason
        for other in self._others:
            if reason := await other.judge(call):
                return reason
        try:
            verdict = True if self._on_tool_use is None else await _awaited(self._on_tool_use(call))
        except Exception as problem:  # noqa: BLE001 - it is no permission
            _log.exception("a tool filter has failed")
            return f"the tool filter failed with {problem!r}"
        if verdict is True:
            return None
        return verdict if isinstance(verdict, str) and verdict else "on_tool_use has not allowed it"

    def refuses(self, call: AgentToolCall) -> str | None:
        """Return why the lists refuse a call, in a few words; `None` if they do not."""
        for other in self._others:
            if reason := other.refuses(call):
                return reason
        kind = call.kind.casefold()
        names = [name.casefold() for name in (call.name, call.title) if name]  # the own name first
        if kind in self._block_kinds:
            return f"tools of the kind {call.kind} are blocked"
        if self._allow_kinds is not None and kind not in self._allow_kinds:
            return f"tools of the kind {call.kind} are not among those allowed"
        if _any_matches(names, self._block_names):
            return "tools of this name are blocked"
        if self._allow_names is not None and not _any_matches(names[:1], self._allow_names):
            return "tools of this name are not among those allowed"
        return None


class PermissionAsked:
    """The agent asks whether a tool may be used.

    With the policy `stream` it waits for an answer: `allow`, `reject`, `choose` or `cancel`. Each returns
    whether the answer counted: it does not when the turn is over, or when someone else has answered.
    """

    def __init__(self, request: PermissionRequest) -> None:
        self.request = request
        self.options = request.options
        self.call = AgentToolCall(request.tool_call.tool_call_id).asked(request.tool_call)
        """The tool call as the question shows it."""
        self.is_open = False
        """True while it waits for an answer."""
        self.chosen: PermissionOption | None = None
        """The chosen option; `None` before the answer, and when the request was cancelled."""
        self.refusal: str | None = None
        """The reason why the tool filter has refused it, if it has."""
        self.reached = asyncio.Event()
        """Set once all updates before the request have been taken."""
        self.judged = asyncio.Event()
        """Set once the tool filter has checked it, or the request is over."""
        self.answer: asyncio.Future[PermissionOption | None] = asyncio.get_running_loop().create_future()
        """The answer of the stream's consumer."""

    def allow(self, *, always: bool = False) -> bool:
        """Allow it once, or for good. Raises `Mismatch` if the agent does not offer that."""
        kind = "allow_always" if always else "allow_once"
        option = _option_of(self.options, kind)
        if option is None:
            raise Mismatch(f"the agent does not offer {kind}", field="options")
        return self._settle(option)

    def reject(self, *, always: bool = False) -> bool:
        """Refuse it, once or for good. If the agent offers neither, the request is cancelled."""
        kinds = ("reject_always", "reject_once") if always else ("reject_once", "reject_always")
        return self._settle(_option_of(self.options, *kinds))

    def choose(self, option_id: str) -> bool:
        """Answer with one of the options. Raises `Mismatch` if there is no such option."""
        option = chosen(option_id, self.options)
        if option is None:
            raise Mismatch(f"there is no option {option_id!r}", field="options")
        return self._settle(option)

    def cancel(self) -> bool:
        """Cancel the request: neither yes nor no."""
        return self._settle(None)

    def _settle(self, option: PermissionOption | None) -> bool:
        if not self.is_open or self.answer.done():
            return False
        self.is_open = False
        self.answer.set_result(option)
        return True


class Policy(StrEnum):
    """The ready-made policies."""

    AUTO_ALLOW = "auto-allow"
    """Allow for good, so that the agent need not ask for the same again; else once. With a tool filter, which
    has to see every call, only once each time."""
    AUTO_ALLOW_ONCE = "auto-allow-once"
    """Allow once each time. What can only be allowed for good is cancelled."""
    AUTO_REJECT = "auto-reject"
    """Always refuse."""
    STREAM = "stream"
    """The stream's consumer answers."""


PermissionChoice: TypeAlias = PermissionOption | str | bool | None
"""An option or its id; `True` to allow once, `False` to reject, `None` to cancel."""
PermissionPolicy: TypeAlias = (
    Policy
    | Literal["auto-allow", "auto-allow-once", "auto-reject", "stream"]
    | Callable[[PermissionAsked], PermissionChoice | Awaitable[PermissionChoice]]
)

_ONCE, _REJECTED = ("allow_once",), ("reject_once", "reject_always")
_WANTED: dict[Policy, tuple[str, ...]] = {
    Policy.AUTO_ALLOW: ("allow_always", "allow_once"),
    Policy.AUTO_ALLOW_ONCE: _ONCE,
    Policy.AUTO_REJECT: _REJECTED,
}


def read_policy(
    policy: PermissionPolicy,
) -> Policy | Callable[[PermissionAsked], PermissionChoice | Awaitable[PermissionChoice]]:
    """Return a policy by its name, or the function itself. Raises `Mismatch` for an unknown name."""
    if callable(policy):
        return policy
    try:
        return Policy(policy)
    except ValueError:
        names = ", ".join(Policy)
        raise Mismatch(f"must be a function or one of {names}", field="permissions") from None


def chosen(choice: PermissionChoice, options: Sequence[PermissionOption]) -> PermissionOption | None:
    """Return the option that a choice means; `None` to cancel. A choice that was not offered cancels, too."""
    if isinstance(choice, bool):
        return _option_of(options, *(_ONCE if choice else _REJECTED))
    wanted = choice.id if isinstance(choice, PermissionOption) else choice
    return next((option for option in options if option.id == wanted), None)


class Permissions:
    """The permissions of one session."""

    def __init__(self, options: SessionOptions, *, agent: str, warn: Callable[[str], None]) -> None:
        self.tools: ToolFilter | None = options.get("tools")
        self._policy = read_policy(options.get("permissions", Policy.AUTO_ALLOW))
        self._limit = options.get("permission_timeout") or None
        self._agent = agent
        self._warn = warn

    @property
    def is_by_stream(self) -> bool:
        """True if the stream's consumer answers."""
        return self._policy is Policy.STREAM

    async def decide(self, asked: PermissionAsked, running: RunningTurn | None) -> PermissionOption | None:
        """Return the option to choose; `None` to cancel. Cancelling it stops the filter and the policy."""
        try:
            async with asyncio.timeout(self._limit):
                asked.refusal = None if self.tools is None else await self.tools.judge(asked.call)
                if asked.refusal is not None:
                    what = f"{asked.call.title or asked.call.id} ({asked.call.kind})"
                    self._warn(f"A tool was denied: {what} — {asked.refusal}.")
                asked.is_open = asked.refusal is None and running is not None and running.is_asking
                asked.judged.set()
                return await self._choose(asked)
        except TimeoutError:
            question = f"what the agent {self._agent!r} asked: {asked.call.title}"
            error = PermissionTimedOut(f"nobody answered in {self._limit:g} s {question}", agent=self._agent)
            if running is not None:
                running.stop(error)
            return None

    async def _choose(self, asked: PermissionAsked) -> PermissionOption | None:
        if asked.refusal is not None:
            return _option_of(asked.options, *_REJECTED)
        if self.is_by_stream:
            if asked.is_open:
                return await asked.answer
            self._warn(
                f'Agent "{self._agent}" asks for permission, and nobody follows its stream — cancelled.'
            )
            return None
        if isinstance(self._policy, Policy):
            # A tool that is allowed for good is not asked for again, so the filter would not see it.
            is_once = self.tools is not None and self._policy is Policy.AUTO_ALLOW
            return _option_of(asked.options, *(_ONCE if is_once else _WANTED[self._policy]))
        try:
            return chosen(await _awaited(self._policy(asked)), asked.options)
        except Exception as problem:  # noqa: BLE001 - it is no permission
            _log.exception("a permission policy has failed")
            self._warn(f"The permission policy failed with {problem!r} — the request is cancelled.")
            return None


async def _awaited(value: T | Awaitable[T]) -> T:
    return cast("T", await value if inspect.isawaitable(value) else value)


def _option_of(options: Sequence[PermissionOption], *kinds: str) -> PermissionOption | None:
    """Return the first option of the first of these kinds that is offered."""
    return next((option for kind in kinds for option in options if option.kind == kind), None)


def _folded(words: Iterable[str]) -> frozenset[str]:
    if isinstance(words, str):
        raise TypeError(f"a list of names was expected, and not the text {words!r}")
    return frozenset(word.casefold() for word in words)


def _kinds(words: Iterable[str], field: str) -> frozenset[str]:
    kinds = _folded(words)
    if unknown := kinds - TOOL_KINDS:
        names = ", ".join(sorted(unknown))
        raise Mismatch(f"there is no kind {names}: it is one of {', '.join(sorted(TOOL_KINDS))}", field=field)
    return kinds


def _any_matches(names: list[str], patterns: frozenset[str]) -> bool:
    return any(fnmatchcase(name, pattern) or name == pattern for name in names for pattern in patterns)
