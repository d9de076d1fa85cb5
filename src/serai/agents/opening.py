"""Things that have to be opened and closed: `await` them, or use them with `async with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from serai.machine.processes.uninterrupted import to_its_end

__all__ = ["Closing", "Opening"]


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
    """What will be opened. Nothing happens before it is awaited or entered.

    Args:
        open_it: Opens it.
    """

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
