"""The transcript of a model session, in memory and on its way to the tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec

from serai.contract.record import encode
from serai.session.messages import DurableContentPart, SessionMessage, SessionMessageRole, TextPart
from serai.session.projection import SavedTurn
from serai.session.steps import Step
from serai.store.contract import RelayWrite

Kind: TypeAlias = Literal["session", "run"]
"""Whose tables something is kept in: those of sessions, or those of workflow runs. They never mix."""

_read_content = msgspec.json.Decoder(tuple[DurableContentPart, ...]).decode
_write_content = msgspec.json.Encoder().encode


def step_write(kind: Kind, uri: str, turn_id: str, step: Step) -> RelayWrite:
    """What writes a step down: of a session's turn, or of a run's node."""
    return RelayWrite(f"add_{kind}_step", (uri, turn_id, encode(step)))


def message_write(
    kind: Kind,
    session: str,
    turn_id: str,
    message_id: str,
    role: SessionMessageRole,
    content: Sequence[DurableContentPart],
    at: int,
    *,
    model_id: str | None = None,
) -> RelayWrite:
    """What adds a message to a transcript. The table numbers it."""
    values = (session, turn_id, message_id, role.value, model_id, at, _write_content(content))
    return RelayWrite(f"add_{kind}_message", values)


def messages_of(session: str, rows: Iterable[Sequence[Any]]) -> list[tuple[str, SessionMessage]]:
    """The messages that rows of the table hold, each with its turn."""
    return [
        (
            turn,
            SessionMessage(
                id=message_id,
                session_id=session,
                sequence_number=number,
                role=SessionMessageRole(role),
                content=_read_content(content),
                model_id=model_id,
                timestamp=datetime.fromtimestamp(at / 1000, UTC),
            ),
        )
        for number, turn, message_id, role, model_id, at, content in rows
    ]


class Transcript:
    """All that was said in one session, by turn; or in one run, by node."""

    def __init__(self, session: str, rows: Iterable[Sequence[Any]] = (), kind: Kind = "session") -> None:
        self.kind: Kind = kind
        self._session = session
        self._turns: dict[str, list[SessionMessage]] = {}
        self._last = 0
        for turn, message in messages_of(session, rows):
            self._turns.setdefault(turn, []).append(message)
            self._last = message.sequence_number

    @property
    def turn_count(self) -> int:
        """How many turns there were, truncated ones included."""
        return len(self._turns)

    def knows(self, turn_id: str) -> bool:
        """Whether something was said in a turn."""
        return turn_id in self._turns

    def answer(self, turn_id: str) -> str:
        """The text of the last thing that the agent said in a turn."""
        said = [one for one in self._turns.get(turn_id, ()) if one.role is SessionMessageRole.ASSISTANT]
        return "".join(part.text for part in said[-1].content if isinstance(part, TextPart)) if said else ""

    def add(
        self,
        turn_id: str,
        message_id: str,
        role: SessionMessageRole,
        content: Sequence[DurableContentPart],
        at: int,
        *,
        model_id: str | None = None,
    ) -> RelayWrite:
        """Add a message. Returns what writes it."""
        self._last += 1
        message = SessionMessage(
            id=message_id,
            session_id=self._session,
            sequence_number=self._last,
            role=role,
            content=tuple(content),
            model_id=model_id,
            timestamp=datetime.fromtimestamp(at / 1000, UTC),
        )
        self._turns.setdefault(turn_id, []).append(message)
        return message_write(
            self.kind, self._session, turn_id, message_id, role, content, at, model_id=model_id
        )

    def turns(self, counting: Collection[str] | None = None) -> list[SavedTurn]:
        """The turns that count: truncated ones do not. `None`: all of them."""
        return [
            SavedTurn(turn, messages)
            for turn, messages in self._turns.items()
            if counting is None or turn in counting
        ]
