"""A turn, as the one who follows it sees it: its events, and its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.types import ErrorInfo, MarkdownResponsePart, ResponsePart, TurnState, UsageInfo
from serai.client.events import ReasoningAdded, TextAdded, TurnEnded, TurnEvent
from serai.client.inbox import Inbox
from serai.client.telling import Teller, find_turn
from serai.errors import SeraiError, SessionGone

__all__ = ["TurnResult", "TurnStream"]


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended, and all that it brought."""

    id: str
    state: str
    """`complete`, `cancelled`, `error` or `removed`."""
    error: ErrorInfo | None = None
    parts: tuple[ResponsePart, ...] = ()
    usage: UsageInfo | None = None

    @property
    def ok(self) -> bool:
        """Whether the agent came to its end."""
        return self.state == TurnState.COMPLETE

    @property
    def text(self) -> str:
        """The answer: all its Markdown, with an empty line where something else stood between."""
        texts = (part.content for part in self.parts if isinstance(part, MarkdownResponsePart))
        return "\n\n".join(text for text in texts if text)


@dataclass(slots=True)
class _Pieces:
    """Text that waits to be read. More of the same part joins it, so that a slow reader costs no more."""

    event: type[TextAdded | ReasoningAdded]
    part_id: str
    pieces: list[str] = field(default_factory=list[str])


class TurnStream:
    """The events of one turn, for one reader: `async for event in turn`.

    It goes on over lost connections: what happened meanwhile is told when the host is back, and nothing is
    told twice. It ends after `TurnEnded`. Leaving the loop, or cancelling it, loses nothing: a later loop
    goes on where it was left.
    """

    def __init__(self, turn_id: str, closed: Callable[[TurnStream], None]) -> None:
        self.id = turn_id
        self._closed = closed
        self._teller = Teller(turn_id)
        self._inbox: Inbox[TurnEvent | _Pieces] = Inbox()
        self._result: asyncio.Future[TurnResult] = asyncio.get_running_loop().create_future()

    def __aiter__(self) -> TurnStream:
        return self

    async def __anext__(self) -> TurnEvent:
        """The next event.

        Raises:
            StopAsyncIteration: The turn is over.
            SessionGone: The session is.
            ConnectionLost: The client was closed, or gave up.
        """
        item = await self._inbox.get()
        return item.event(item.part_id, "".join(item.pieces)) if isinstance(item, _Pieces) else item

    async def result(self) -> TurnResult:
        """Wait for the turn's end. It needs no loop over the events, and cancelling it is harmless.

        Raises:
            SessionGone: The session was disposed of, or is not followed any more.
            ConnectionLost: The client was closed, or gave up.
        """
        return await asyncio.shield(self._result)

    def close(self) -> None:
        """Follow the turn no more. It goes on on the host: `SessionClient.cancel` is what stops it."""
        self.fail(SessionGone("the turn is not followed any more"))

    # -- for the session -----------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether all has been told."""
        return self._result.done()

    def heard(self, action: a.StateAction, session: LiveSession) -> None:
        """An action happened on the session."""
        self._tell(self._teller.heard(action, session), session)

    def caught_up(self, session: LiveSession) -> None:
        """The session is known again after a gap."""
        self._tell(self._teller.caught_up(session), session)

    def fail(self, error: SeraiError) -> None:
        """No more can be known of the turn."""
        if not self._result.done():
            self._inbox.end(error)
            self._result.set_exception(error)
            self._result.exception()  # perhaps nobody wants to know
            self._closed(self)

    def _tell(self, events: Iterable[TurnEvent], session: LiveSession) -> None:
        for event in events:
            match event:
                case TextAdded() | ReasoningAdded():
                    self._add_text(event)
                case TurnEnded():
                    self._inbox.put(event)
                    self._end(event, session)
                case _:
                    self._inbox.put(event)

    def _add_text(self, event: TextAdded | ReasoningAdded) -> None:
        last = self._inbox.last
        if not isinstance(last, _Pieces) or last.part_id != event.part_id or last.event is not type(event):
            last = _Pieces(type(event), event.part_id)
            self._inbox.put(last)
        last.pieces.append(event.text)

    def _end(self, ended: TurnEnded, session: LiveSession) -> None:
        turn = find_turn(session, self.id)
        parts = tuple(turn.response_parts) if turn else ()
        usage = turn.usage if turn else None
        self._inbox.end()
        if not self._result.done():
            self._result.set_result(TurnResult(self.id, ended.state, ended.error, parts, usage))
        self._closed(self)
