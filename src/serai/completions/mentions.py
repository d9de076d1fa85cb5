"""Mention completions: the agents, people and rooms of the workspace, after `@`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from serai.ahp.rules.session import COMPLETION
from serai.ahp.types import SimpleMessageAttachment
from serai.completions.completion import KIND, Candidate, folded

_MOST = 10
"""Most offers, so that files have a place behind them."""
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Mention:
    """Someone or something that a message can be sent to."""

    address: str
    """`@handle` or `#room`."""
    kind: str
    """`agent`, `human`, `service` or `room`."""
    description: str = ""


class MentionSource:
    """Agents, people and rooms, after `@`. They stand before the files, since there are few.

    Args:
        mentions: Gives those that there are now; it is asked each time.
    """

    trigger = "@"

    def __init__(self, mentions: Callable[[], Iterable[Mention]]) -> None:
        self._mentions = mentions

    async def candidates(self, query: str) -> Sequence[Candidate]:
        """Those whose name begins with the query, then those of which a word does; agents before rooms."""
        small = folded(query).removeprefix("#")
        placed = [
            (place, one.kind == "room", one.address, one)
            for one in self._mentions()
            if (place := _place(one.address, small)) is not None
            and (one.kind == "room" or not query.startswith("#"))
        ]
        return [_offered(one) for *_, one in sorted(placed, key=lambda each: each[:3])[:_MOST]]


def _place(address: str, query: str) -> int | None:
    name = folded(address[1:])
    if name.startswith(query):
        return 0
    return 1 if any(name.startswith(query, word.start()) for word in _WORD.finditer(name)) else None


def _offered(mention: Mention) -> Candidate:
    what = f"{mention.address} is a {mention.kind} of this workspace"
    if mention.kind != "room":
        what = f"{mention.address} takes part in this workspace ({mention.kind})"
    about = f": {mention.description}" if mention.description else ""
    said = f"{what}{about}. Messages reach it by the tool send_message, where you have it."
    attachment = SimpleMessageAttachment(
        label=mention.address,
        meta={KIND: mention.kind, "serai.description": mention.description, COMPLETION: True},
        model_representation=said,
    )
    return Candidate(mention.address, attachment, text=mention.address)
