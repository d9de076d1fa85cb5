"""The rules for messages, pure: who may interrupt, how often one may send, when a delivery is tried again.

Modes, from the one that disturbs most to the one that disturbs least:

    immediate → next-tool-call → next-message → on-idle → manual

A mode that cannot be granted becomes one that disturbs less, never one that disturbs more.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from datetime import datetime, timedelta

from serai import contract as c
from serai.config.settings import RelayPolicy

_MINUTE = timedelta(minutes=1)
_NOW, _MESSAGE, _TOOL_CALL, _IDLE, _MANUAL = c.DeliveryMode
_CALMER: dict[c.DeliveryMode, tuple[c.DeliveryMode, ...]] = {
    # Modes that reach an agent by themselves come before those that wait for a person.
    _NOW: (_TOOL_CALL, _IDLE, _MESSAGE, _MANUAL),
    _TOOL_CALL: (_IDLE, _MESSAGE, _MANUAL),
    _MESSAGE: (_IDLE, _MANUAL),
    _IDLE: (_MANUAL,),
    _MANUAL: (),
}


def choose_mode(
    policy: RelayPolicy,
    requested: c.DeliveryMode | None,
    capabilities: c.AgentSessionCapabilities,
    sender: c.IdentityKind | None,
    *,
    is_busy: bool,
    agent: str,
) -> c.DeliveryMode | None:
    """Return the mode in which a message surfaces; `None` if it would interrupt, and there is no calmer mode.

    Args:
        policy: The settings of the workspace.
        requested: The mode that the sender asked for.
        capabilities: The recipient's capabilities. The first of its modes is its default.
        sender: The kind of the sender.
        is_busy: True while a turn runs: only then does `immediate` interrupt.
        agent: The recipient's handle, for the error.

    Raises:
        CapabilityUnsupported: The session has no such mode, and none calmer, or the policy says to fail.
    """
    declared, by_default = capabilities.delivery.modes, policy.default_mode
    wanted = requested or (by_default if by_default and by_default in declared else declared[0])
    may_interrupt = not is_busy or sender in policy.interrupt
    if wanted in declared and (wanted != c.DeliveryMode.IMMEDIATE or may_interrupt):
        return wanted
    if wanted in declared or policy.unsupported != "fail":
        for mode in _CALMER[wanted]:
            if mode in declared:
                return mode
    c.require(capabilities, wanted, agent=agent)
    return None


def retry_at(policy: RelayPolicy, record: c.DeliveryRecord, now: datetime) -> datetime | None:
    """Return when a delivery that failed is tried again; `None` when it was tried often enough."""
    if record.attempts >= policy.attempts:
        return None
    wait = min(2 ** max(0, record.attempts - 1), 300)
    return now + timedelta(seconds=wait * (0.75 + random.random() / 2))  # noqa: S311 - jitter, no secret


class Rates:
    """Counts of the messages from one participant to another in the last minute."""

    def __init__(self) -> None:
        self._sent: defaultdict[tuple[int, int], deque[datetime]] = defaultdict(deque)

    def allow(self, sender: int, recipient: int, now: datetime, most: int) -> bool:
        """Tell whether one more message may be sent now, and count it if so."""
        sent = self._sent[sender, recipient]
        while sent and now - sent[0] >= _MINUTE:
            sent.popleft()
        if len(sent) >= most:
            return False
        sent.append(now)
        return True
