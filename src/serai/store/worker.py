"""A thread that does blocking work in order, and answers on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

__all__ = ["Worker"]

T = TypeVar("T")

_Job = Callable[[], None]


class Worker:
    """One thread with a queue. Start it with `start`; `stop` lets it finish what waits.

    Args:
        name: The thread's name.
    """

    def __init__(self, name: str) -> None:
        self.chores: Callable[[], float | None] | None = None
        """Called when nothing waits. Returns in how many seconds it wants to be called again, or `None` when
        not before the next job. It does not raise, and is set in the thread itself."""
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        # A daemon: a host that dies without closing its store must not hang at its end.
        self._thread = Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end after what waits now."""
        self._jobs.put(None)

    def join(self) -> None:
        """Wait for the thread's end. It blocks: not for the event loop."""
        self._thread.join()

    def post(self, job: _Job) -> None:
        """Have something done whose outcome nobody waits for. It must not raise. Any thread may call."""
        self._jobs.put(job)

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """Have something done, and get its result, or what it raised, on the running event loop.

        Cancelling the future does not stop the job.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            try:
                outcome = job()
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                _tell(loop, _fail, future, error)
                return
            _tell(loop, _succeed, future, outcome)

        self._jobs.put(work)
        return future

    def _work(self) -> None:
        while True:
            job = self._next()
            if job is None:
                return
            job()
            # Nothing of the last job is kept alive while the thread waits for the next.
            del job

    def _next(self) -> _Job | None:
        while True:
            wait = self.chores() if self.chores and self._jobs.empty() else None
            if wait is None:
                return self._jobs.get()
            try:
                return self._jobs.get(timeout=wait)
            except Empty:
                continue


def _tell(loop: asyncio.AbstractEventLoop, settle: Callable[..., None], *args: object) -> None:
    try:
        loop.call_soon_threadsafe(settle, *args)
    except RuntimeError:
        return  # the loop is closed: nobody waits any more


def _succeed(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
