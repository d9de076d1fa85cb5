"""Futures that are done when they are made, for what needs no waiting."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

__all__ = ["failed", "settled"]

T = TypeVar("T")


def settled(result: T) -> asyncio.Future[T]:
    """A future that has its result."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    future.set_result(result)
    return future


def failed(error: Exception) -> asyncio.Future[Any]:
    """A future that raises."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_exception(error)
    return future
