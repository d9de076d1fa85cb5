"""A turn that can be followed while it runs."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar, cast

from serai.agents.ask.events import AskResult, Event, TurnFinished
from serai.machine.processes.uninterrupted import to_its_end

__all__ = ["AgentStream", "Cancelling", "Closing", "Events", "Opening"]


class Closing(ABC):
    """Something open. A block of `async with` closes it, and is left when that is done."""

    @abstractmethod
    async def close(self) -> None:
        """Close it. Again does no harm."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await to_its_end(self.close())


T = TypeVar("T", bound=Closing)


class Opening(Generic[T]):
    """What will be opened. Nothing happens before it is awaited or entered."""

    def __init__(self, open_it: Callable[[], Awaitable[T]]) -> None:
        self._open = open_it
        self._opened: T | None = None

    def __await__(self) -> Generator[Any, None, T]:
        return self._open().__await__()

    async def __aenter__(self) -> T:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, *what: object) -> None:
        if self._opened is not None:
            await to_its_end(self._opened.close())


Events: TypeAlias = AsyncGenerator[Event, None]


class Cancelling:
    """The wish that a turn be stopped, also before it has begun."""

    def __init__(self) -> None:
        self.is_wanted = False
        self._stop: Callable[[], None] | None = None

    def want(self) -> None:
        """Stop it, now or as soon as it begins."""
        self.is_wanted = True
        if self._stop is not None:
            self._stop()

    def began(self, stop: Callable[[], None]) -> None:
        """It has begun; this is how it is stopped."""
        self._stop = stop
        if self.is_wanted:
            stop()


class AgentStream(Closing):
    """The events of one turn, the last of which is `TurnFinished`. Iterate it, or `await stream.result()`.

    Nothing is sent before someone does. Use `async with` where you may stop early: leaving the block cancels
    the turn. When too much waits to be taken, the agent has to wait.
    """

    def __init__(self, begin: Callable[[Cancelling], Events], session_id: Callable[[], str | None]) -> None:
        self._cancelling = Cancelling()
        self._events = begin(self._cancelling)
        self._session_id = session_id
        self._result: AskResult | None = None
        self._error: Exception | None = None
        self._taker: asyncio.Task[Any] | None = None
        self._interrupted: asyncio.Future[None] | None = None
        self._is_closed = False
        self._closing = asyncio.Lock()

    @property
    def session_id(self) -> str | None:
        """The agent's name for the session; `None` as long as it is not open."""
        return self._session_id()

    def cancel(self) -> None:
        """Tell the agent to stop, once. The stream goes on until it has: then it was `cancelled`."""
        self._cancelling.want()

    async def result(self) -> AskResult:
        """What came of the turn, after taking all events that nobody has taken. Asking again gives the same.

        Cancelling it cancels the turn.

        Raises:
            SeraiError: What the turn has failed with.
        """
        try:
            async for _ in self:
                pass
        finally:
            await self.close()
        if self._result is None:
            raise self._error or RuntimeError("the stream was closed before its end")
        return self._result

    async def close(self) -> None:
        """Be done with it. A turn that runs is cancelled. Again does no harm.

        Another task that waits for the next event meets the end of the stream, and this waits for it.
        """
        self._is_closed = True
        if self._taker is not None:
            if self._interrupted is None:
                self._interrupted = asyncio.get_running_loop().create_future()
                self._taker.cancel()
            await asyncio.shield(self._interrupted)
        async with self._closing:  # the events cannot be closed by two at once
            await self._events.aclose()

    async def aclose(self) -> None:
        """The same, by the name that `contextlib.aclosing` looks for."""
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._is_closed:
            raise StopAsyncIteration
        if self._taker is not None:
            raise RuntimeError("another task waits for the next event already")
        taker = self._taker = cast("asyncio.Task[Any]", asyncio.current_task())
        cancelled = taker.cancelling()
        try:
            event = await anext(self._events)
        except StopAsyncIteration:
            raise
        except asyncio.CancelledError:
            # As `asyncio.timeout` does it: it was `close`, unless someone else wants to cancel the task, too.
            if self._interrupted is not None and taker.cancelling() - 1 <= cancelled:
                raise StopAsyncIteration from None
            raise
        except Exception as error:
            self._error = error
            raise
        finally:
            self._taker = None
            if self._interrupted is not None:
                taker.uncancel()
                self._interrupted.set_result(None)
        if isinstance(event, TurnFinished):
            self._result = event.result
        return event
