"""A prompt: what an agent can take of it, what happens until its end, and the tokens that it took."""

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
    """Text, as a content block."""
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
    """The blocks that an agent can take, and the types of those that it cannot, each once.

    Text and links are for every agent. What is not known here is left to the agent.
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


# -- its end -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finished:
    """The agent has finished with a prompt."""

    stop_reason: str
    """`end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`, or something newer."""
    usage: dict[str, Any] | None = None
    """The tokens that the turn has used, from agents that tell: `inputTokens`, `outputTokens`, ... A number
    that cannot be is left out."""
    raw: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, result: Any, tokens: SessionTokens | None = None) -> Finished:
        """What the answer to `session/prompt` says. An agent that gives no reason has ended its turn.

        Args:
            result: The answer.
            tokens: Those of the session so far, for an agent that tells them and not those of the turn.
        """
        raw = dict(object_of(result))
        usage = _usage_in(raw)
        if tokens is not None:
            usage = tokens.of_turn(usage)
        return cls(text_of(raw.get("stopReason")) or "end_turn", usage or None, raw)


@dataclass(frozen=True, slots=True)
class PromptFailure:
    """A prompt has failed."""

    error: AgentError


@dataclass(eq=False, slots=True)
class PromptTurn:
    """One prompt. `AcpSession.prompt` makes it."""

    dropped: tuple[str, ...]
    """The types of those parts that the agent cannot take, and that were left out."""
    cancel: Callable[[], None]
    """Tells the agent to stop, once. The turn goes on until the agent says that it has stopped."""
    cancelled: bool = False
    """Whether the agent was told to stop."""
    outcome: Finished | PromptFailure | None = None
    """How it ended; `None` while it runs."""


# -- on its way to whoever follows --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that was put among the updates from here. No agent can tell anything that is taken for it."""

    what: Any


Item: TypeAlias = Update | Finished | PromptFailure | Mark
"""What happens in a session: an update, the end of a turn, or a mark."""
FULL = 8 * 1024 * 1024
"""How much may wait for its taker, in bytes of lines, before the agent has to wait."""
_OVERHEAD = 256
"""What an item weighs beside its line."""


class Stream:
    """The items of a session in their order, which wait to be taken.

    `filled` is told when too much waits, and when that is over.
    """

    def __init__(self, filled: Callable[[bool], None]) -> None:
        self._filled = filled
        self._items: deque[tuple[Item, int]] = deque()
        self._weight = 0
        self._full = False
        self._ended = False
        self._news = asyncio.Event()

    def put(self, item: Item, size: int = 0) -> None:
        """Something has happened."""
        weight = size + _OVERHEAD
        self._items.append((item, weight))
        self._weight += weight
        if self._weight > FULL and not self._full:
            self._full = True
            self._filled(True)
        self._news.set()

    def end(self) -> None:
        """Nothing more will happen. What waits can still be taken."""
        self._ended = True
        self._news.set()

    async def take(self) -> AsyncGenerator[Item]:
        """What happens, until the session ends. One taker at a time; stopping it loses nothing."""
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


# -- its tokens --------------------------------------------------------------------------------------------

_NAMES = {
    "inputTokens": ("inputtokens", "prompttokens"),
    "outputTokens": ("outputtokens", "completiontokens"),
    "totalTokens": ("totaltokens",),
    "cachedReadTokens": ("cachedreadtokens", "cachedinputtokens", "cachereadinputtokens", "cachereadtokens"),
    "cachedWriteTokens": ("cachedwritetokens", "cachecreationinputtokens", "cachewritetokens"),
    "thoughtTokens": ("thoughttokens", "thoughtstokens", "reasoningtokens", "reasoningoutputtokens"),
}
"""What agents call ACP's counts in `_meta`, without case and `_`."""


def _usage_in(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The tokens in the answer to a prompt: its `usage`, else the `usage` or `quota` of its `_meta`."""
    meta = object_of(answer.get("_meta"))
    quota = object_of(meta.get("quota"))
    named = (_named(place) for place in (meta.get("usage"), quota.get("token_count"), quota))
    told = dict(object_of(answer.get("usage"))) or next((each for each in named if each), dict[str, Any]())
    return {
        name: value for name, value in told.items() if not isinstance(value, int | float) or is_amount(value)
    }


def _named(counts: Any) -> dict[str, Any]:
    """Counts of tokens under ACP's names."""
    told = {name.replace("_", "").lower(): value for name, value in object_of(counts).items()}
    found = {
        name: next((told[each] for each in names if each in told), None) for name, names in _NAMES.items()
    }
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


class SessionTokens:
    """What an agent has told of the tokens of a session since it was opened."""

    def __init__(self) -> None:
        self._told: dict[str, int | float] = {}

    def of_turn(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """What is new since the agent told them last. When one of the counts went down, all began anew."""
        counts = {
            name: value
            for name, value in told.items()
            if name.endswith("Tokens") and isinstance(value, int | float)
        }
        if any(value < self._told.get(name, 0) for name, value in counts.items()):
            self._told.clear()
        new = {name: value - self._told.get(name, 0) for name, value in counts.items()}
        self._told |= counts
        return {**told, **new}
