"""The header of a message in an agent's input: a line of the relay's that names its sender.

    [relay] from @reviewer (agent) in #ops · 2026-11-17 22:03:10Z · msg_0192… · 2 newer from them wait

A line of a message that begins like a header is moved by one character, so that nobody can speak in another's
name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from serai.contract import RelayMessage

MOST_MESSAGES, MOST_BYTES = 20, 32 * 1024
"""Most messages, and most bytes of text, that enter a session as one turn."""

_MARK = "[relay]"
_UNSEEN = r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"
"""Pattern of characters that nobody sees: white space of all kinds, and characters without width."""
_IMITATION = re.compile(
    rf"(^|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])({_UNSEEN})([\[\uff3b]{_UNSEEN}{_UNSEEN.join('relay')}{_UNSEEN}[\]\uff3d])",
    re.IGNORECASE,
)
"""Pattern of what begins like a header, after anything that some reader takes for the end of a line."""


def harmless(text: str) -> str:
    """Return a text in which no line begins like a header of the relay."""
    return _IMITATION.sub(r"\1\2(\3", text) if "[" in text or "\uff3b" in text else text


def header(
    message: RelayMessage, *, handle: str, kind: str | None, is_parent: bool = False, newer: int = 0
) -> str:
    """Return the line that stands before a message.

    Args:
        message: The message.
        handle: The sender's handle.
        kind: The sender's kind.
        is_parent: True if the sender created the agent that receives it.
        newer: Number of newer messages of this sender that wait for the session.
    """
    who = f"{kind or 'agent'}{', your parent' if is_parent else ''}"
    where = f" in {message.channel.name}" if message.channel else ""
    thread = " · reply in a thread" if message.thread_id else ""
    more = f" · {newer} newer from them wait" if newer else ""
    return f"{_MARK} from {handle} ({who}){where}{thread} · {_time(message.created_at)} · {message.id}{more}"


def rendered(parts: Sequence[tuple[str, RelayMessage]]) -> str:
    """Return several messages as one text, each behind its header."""
    return "\n\n".join(f"{head}\n{harmless(message.text)}" for head, message in parts)


def taken_together(waiting: Sequence[RelayMessage]) -> int:
    """Return how many of the waiting messages enter as one turn: at least the first one."""
    size = 0
    for count, message in enumerate(waiting):
        size += len(message.text.encode())
        if count and (count >= MOST_MESSAGES or size > MOST_BYTES):
            return count
    return len(waiting)


def _time(moment: datetime) -> str:
    return f"{moment.isoformat(' ', 'seconds')[:19]}Z"
