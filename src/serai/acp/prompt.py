"""A prompt: the parts that an agent can take, the events until its end, and the tokens it used."""

from __future__ import annotations

import asyncio
import base64
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from serai.acp.capabilities import AgentCapabilities
from serai.acp.shapes import is_amount, object_of, text_of
from serai.acp.updates import Block, Update
from serai.errors import AgentError


def text_block(text: str) -> Block:
    """Return text as a content block."""
    return {"type": "text", "text": text}


def file_block(data: str, mime_type: str, uri: str) -> Block:
    """Return a file, in base64, as a content block: a picture, a sound, a text or mere bytes."""
    family = mime_type.partition("/")[0].lower()
    if family in ("image", "audio"):
        return {"type": family, "data": data, "mimeType": mime_type}
    resource = {"uri": uri, "mimeType": mime_type}
    try:
        resource["text"] = base64.b64decode(data, validate=True).decode()
    except ValueError:
        resource["blob"] = data
    return {"type": "resource", "resource": resource}


def fit_prompt(
    blocks: Sequence[Mapping[str, Any]], capabilities: AgentCapabilities
) -> tuple[list[Block], tuple[str, ...]]:
    """Return the blocks that an agent can take, and the types of those that it cannot, each once.

    Every agent takes text and links. Unknown types are left to the agent.
    """
    prompt = capabilities.prompt
    offered = {"image": prompt.image, "audio": prompt.audio, "resource": prompt.embedded_context}
    kept: list[Block] = []
    dropped: dict[str, None] = {}
    for block in blocks:
        kind = block.get("type")
        if isinstance(kind, str) and not offered.get(kind, True):
            dropped[kind] = None
        else:
            kept.append(dict(block))
    return kept, tuple(dropped)


# -- the end of a prompt ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a prompt that the agent has answered."""

    stop_reason: str
    """`end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`, or something newer."""
    usage: dict[str, Any] | None = None
    """The tokens of the turn, from agents that report them: `inputTokens`, `outputTokens`, ... Impossible
    numbers are left out."""
    raw: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def read(cls, result: Any, tokens: SessionTokens | None = None) -> Finished:
        """Read the answer to `session/prompt`. Without a stop reason, the agent has ended its turn.

        Args:
            result: The answer.
            tokens: The session's tokens so far, for an agent that reports those and not the turn's.
        """
        raw = dict(object_of(result))
        usage = _usage_in(raw)
        if tokens is not None:
            usage = tokens.of_turn(usage)
        return cls(text_of(raw.get("stopReason")) or "end_turn", usage or None, raw)


@dataclass(frozen=True, slots=True)
class PromptFailure:
    """The end of a prompt that has failed."""

    error: AgentError


@dataclass(eq=False, slots=True)
class PromptTurn:
    """One prompt. `AcpSession.prompt` makes it."""

    dropped: tuple[str, ...]
    """The types of the parts that were left out because the agent cannot take them."""
    cancel: Callable[[], None]
    """Tells the agent to stop, once. The turn goes on until the agent confirms that it has stopped."""
    cancelled: bool = False
    """True once the agent was told to stop."""
    outcome: Finished | PromptFailure | None = None
    """The end of the prompt; `None` while it runs."""


# -- the items of a session ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mark:
    """An item that this side puts among the updates. No agent can send one."""

    what: Any


Item: TypeAlias = Update | Finished | PromptFailure | Mark
"""An item of a session: an update, the end of a turn, or a mark."""
FULL = 8 * 1024 * 1024
"""Size of the items that may wait, in bytes of lines, before the agent has to wait."""
_OVERHEAD = 256
"""Weight of an item beside its line, in bytes."""


class Stream:
    """The queue of a session's items.

    `filled` is called when too much waits, and again when that is over.
    """

    def __init__(self, filled: Callable[[bool], None]) -> None:
        self._filled = filled
        self._items: deque[tuple[Item, int]] = deque()
        self._weight = 0
        self._full = False
        self._ended = False
        self._news = asyncio.Event()

    def put(self, item: Item, size: int = 0) -> None:
        """Add an item."""
        weight = size + _OVERHEAD
        self._items.append((item, weight))
        self._weight += weight
        if self._weight > FULL and not self._full:
            self._full = True
            self._filled(True)
        self._news.set()

    def end(self) -> None:
        """End the queue. Items that wait can still be taken."""
        self._ended = True
        self._news.set()

    async def take(self) -> AsyncGenerator[Item]:
        """Yield the items until the session ends. One consumer at a time; stopping it loses nothing."""
        while True:
            while self._items:
                item, weight = self._items.popleft()
                self._weight -= weight
                if self._full and self._weight < FULL // 2:
                    self._full = False
                    self._filled(False)
                yield item
            if self._ended:
                return
            self._news.clear()
            await self._news.wait()


# -- tokens --------------------------------------------------------------------------------------------

_NAMES = {
    "inputTokens": ("inputtokens", "prompttokens"),
    "outputTokens": ("outputtokens", "completiontokens"),
    "totalTokens": ("totaltokens",),
    "cachedReadTokens": ("cachedreadtokens", "cachedinputtokens", "cachereadinputtokens", "cachereadtokens"),
    "cachedWriteTokens": ("cachedwritetokens", "cachecreationinputtokens", "cachewritetokens"),
    "thoughtTokens": ("thoughttokens", "thoughtstokens", "reasoningtokens", "reasoningoutputtokens"),
}
"""Names of ACP's counts in agents' `_meta`, in lower case and without `_`."""


def _usage_in(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens in the answer to a prompt: `usage`, else `usage` or `quota` of its `_meta`."""
    meta = object_of(answer.get("_meta"))
    quota = object_of(meta.get("quota"))
    named = (_named(place) for place in (meta.get("usage"), quota.get("token_count"), quota))
    sent = dict(object_of(answer.get("usage"))) or next((each for each in named if each), dict[str, Any]())
    return {
        name: value for name, value in sent.items() if not isinstance(value, int | float) or is_amount(value)
    }


def _named(counts: Any) -> dict[str, Any]:
    """Return counts of tokens under ACP's names."""
    sent = {name.replace("_", "").lower(): value for name, value in object_of(counts).items()}
    found = {
        name: next((sent[each] for each in names if each in sent), None) for name, names in _NAMES.items()
    }
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


class SessionTokens:
    """The tokens that an agent has reported for a session since it was opened."""

    def __init__(self) -> None:
        self._reported: dict[str, int | float] = {}

    def of_turn(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tokens since the last report. When a count went down, all counts have restarted."""
        counts = {
            name: value
            for name, value in sent.items()
            if name.endswith("Tokens") and isinstance(value, int | float)
        }
        if any(value < self._reported.get(name, 0) for name, value in counts.items()):
            self._reported.clear()
        new = {name: value - self._reported.get(name, 0) for name, value in counts.items()}
        self._reported |= counts
        return {**sent, **new}
