"""Which of a session's questions have been told, and so what is still to tell. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from serai.ahp.reducers import LiveSession
from serai.ahp.types import SessionInputRequest
from serai.client.events import QuestionAsked, QuestionClosed

__all__ = ["OpenQuestions", "without_drafts"]


def without_drafts(request: SessionInputRequest) -> SessionInputRequest:
    """What is asked, without what someone has begun to answer: a draft makes no other question of it."""
    return replace(request, answers=None)


class OpenQuestions:
    """The questions that someone has been told of and that are still open."""

    def __init__(self) -> None:
        self._told: dict[str, SessionInputRequest] = {}

    def look(self, session: LiveSession) -> Iterator[QuestionAsked | QuestionClosed]:
        """What is new since the last time: first what was closed, then what was asked."""
        requests = {request.id: request for request in session.head.input_requests or ()}
        for request_id in [known for known in self._told if known not in requests]:
            del self._told[request_id]
            yield QuestionClosed(request_id)
        for request_id, request in requests.items():
            question = without_drafts(request)
            if self._told.get(request_id) != question:
                self._told[request_id] = question
                yield QuestionAsked(request)

    def end(self) -> Iterator[QuestionClosed]:
        """None of them is open any more."""
        told, self._told = self._told, {}
        for request_id in told:
            yield QuestionClosed(request_id)
