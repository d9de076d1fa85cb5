"""A thread that does blocking work in order, and answers on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

_Job = Callable[[], object]
_Asked = tuple[_Job, asyncio.Future[Any] | None]
"""A job, and the future of the caller that waits for its outcome."""


class Worker:
    """One thread with a queue. Start it with `start`; `stop` lets it finish the jobs that wait.

    Args:
        name: The thread's name.
    """

    def __init__(self, name: str) -> None:
        self.chores: Callable[[], float | None] | None = None
        """Called when nothing waits. Returns in how many seconds it wants to be called again, or `None` when
        not before the next job. It does not raise, and is set in the thread itself."""
        self._jobs: SimpleQueue[_Asked | None] = SimpleQueue()
        # A daemon: a host that dies without closing its store must not hang at its end.
        self._thread = Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the jobs that wait now."""
        self._jobs.put(None)

    def join(self) -> None:
        """Wait for the thread's end. It blocks: not for the event loop."""
        self._thread.join()

    def post(self, job: _Job) -> None:
        """Run a job without waiting for its outcome. It must not raise. Any thread may call."""
        self._jobs.put((job, None))

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """Run a job, and get its result, or its exception, on the running event loop.

        Cancelling the future does not stop the job.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((job, future))
        return future

    def _work(self) -> None:
        while asked := self._next():
            _do(*asked)
            # Nothing of the last job is kept alive while the thread waits for the next.
            del asked

    def _next(self) -> _Asked | None:
        while True:
            wait = self.chores() if self.chores and self._jobs.empty() else None
            if wait is None:
                return self._jobs.get()
            try:
                return self._jobs.get(timeout=wait)
            except Empty:
                continue


def _do(job: _Job, future: asyncio.Future[Any] | None) -> None:
    if future is None:
        job()
        return
    settle: Callable[[Any], None] = future.set_result
    try:
        outcome = job()
    except BaseException as error:  # noqa: BLE001 - the caller gets it
        settle, outcome = future.set_exception, error
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        future.get_loop().call_soon_threadsafe(lambda: future.done() or settle(outcome))
