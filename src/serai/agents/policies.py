"""Who answers when an agent asks for permission.

A policy that rejects never allows: where an agent offers no way to say no, the request is cancelled. In the
same way a policy that allows never picks something that is no permission. An agent may give one id to two
options: where that leaves open what an answer means, the request is cancelled as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Literal, TypeAlias

from serai.acp import PermissionOption
from serai.acp.handlers import is_unclear
from serai.agents.asked import PermissionAsked, option_of
from serai.errors import Mismatch

__all__ = ["Choice", "PermissionPolicy", "Policy", "automatic", "chosen", "read_policy"]


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
