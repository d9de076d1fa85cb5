"""The messages and the cost of a model session: in memory, and on their way to the tables."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec

from serai.ahp import types as t
from serai.contract.record import encode
from serai.host.blobs import BLOB_SCHEME
from serai.host.seat import Seat
from serai.redact.redactor import decode_base64
from serai.session.messages import DurableContentPart, MediaPart, SessionMessage, SessionMessageRole, TextPart
from serai.session.turn_core import Step
from serai.store.contract import BlobRow, RelayWrite

Kind: TypeAlias = Literal["session", "run"]
"""The tables that something is kept in: those of sessions, or those of workflow runs. They never mix."""

_read_content = msgspec.json.Decoder(tuple[DurableContentPart, ...]).decode
_write_content = msgspec.json.Encoder().encode


def step_write(kind: Kind, uri: str, turn_id: str, step: Step) -> RelayWrite:
    """Return the write of a step: of a session's turn, or of a run's node."""
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
    """Return the write of a message. The table numbers it."""
    values = (session, turn_id, message_id, role.value, model_id, at, _write_content(content))
    return RelayWrite(f"add_{kind}_message", values)


def messages_of(session: str, rows: Iterable[Sequence[Any]]) -> list[tuple[str, SessionMessage]]:
    """Return the messages in rows of the table, each with its turn."""
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
    """All messages and the cost of one session, by turn, or of one run, by node.

    A reservation for a request counts as spent until the answer says what the request did cost. So even after
    a kill, the row never says less than what was spent.
    """

    def __init__(
        self, session: str, rows: Iterable[Sequence[Any]] = (), spent: int = 0, kind: Kind = "session"
    ) -> None:
        self.session = session
        self.kind: Kind = kind
        self.spent = spent
        """Cost and reservations so far, in microcents."""
        self._turns: dict[str, list[SessionMessage]] = {}
        self._last = 0
        for turn, message in messages_of(session, rows):
            self._turns.setdefault(turn, []).append(message)
            self._last = message.sequence_number

    @property
    def turn_count(self) -> int:
        """Number of turns, including truncated ones."""
        return len(self._turns)

    def has(self, turn_id: str) -> bool:
        """Tell whether a turn has messages."""
        return turn_id in self._turns

    def answer(self, turn_id: str) -> str:
        """Return the text of the agent's last message in a turn."""
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
        """Add a message. Returns its write."""
        self._last += 1
        message = SessionMessage(
            id=message_id,
            session_id=self.session,
            sequence_number=self._last,
            role=role,
            content=tuple(content),
            model_id=model_id,
            timestamp=datetime.fromtimestamp(at / 1000, UTC),
        )
        self._turns.setdefault(turn_id, []).append(message)
        return message_write(
            self.kind, self.session, turn_id, message_id, role, content, at, model_id=model_id
        )

    def turns(self, counting: Collection[str] | None = None) -> Mapping[str, Sequence[SessionMessage]]:
        """Return the turns that count: truncated ones do not. `None`: all of them."""
        return {
            turn: messages for turn, messages in self._turns.items() if counting is None or turn in counting
        }

    def reserve(self, microcents: int | None) -> Sequence[RelayWrite]:
        """Reserve the cost of a request; `None` is an unknown price. Returns the write."""
        return self._spend(microcents or 0, 1 if microcents is None else 0)

    def settle(self, reserved: int | None, cost: int | None) -> Sequence[RelayWrite]:
        """Replace a reservation by the cost of the answer, if that is known. Returns the write."""
        return self._spend((cost or 0) - reserved, 0) if reserved is not None and cost is not None else ()

    def _spend(self, microcents: int, unpriced: int) -> Sequence[RelayWrite]:
        self.spent += microcents
        return [RelayWrite(f"add_{self.kind}_spent", (self.session, microcents, unpriced))]


class TurnRecords:
    """The records of a session's turn, or of a run's node, with the messages that belong to them.

    Args:
        seat: Writes records down.
        transcript: All that was said in the session, or in the run.
        place: The id of the turn or of the node: records and messages are kept under it.
        steps: The records so far: some, when the turn is taken up.
    """

    def __init__(self, seat: Seat, transcript: Transcript, place: str, steps: Sequence[Step] = ()) -> None:
        self.seat = seat
        self.transcript = transcript
        self.place = place
        self.steps = list(steps)
        self._messages = len(self.steps)

    def record(self, step: Step, *writes: RelayWrite) -> None:
        """Write a step down, in one transaction with what is done in the same moment."""
        self.steps.append(step)
        # A step that is still to be run keeps its bytes, apart from managed secrets.
        kept = self.seat.masked(step, observed=False)
        write = step_write(self.transcript.kind, self.transcript.session, self.place, kept)
        self.seat.record({"kind": "step"}, [write, *writes])

    def say(
        self, role: SessionMessageRole, content: Sequence[DurableContentPart], model_id: str | None = None
    ) -> RelayWrite:
        """Add a message to the transcript, without secrets. Returns its write."""
        self._messages += 1
        name = f"{self.place}-{self._messages}"
        masked = self.seat.masked(list(content))
        return self.transcript.add(self.place, name, role, masked, self.seat.now(), model_id=model_id)


# -- a person's message and its attachments ----------------------------------------------------------------

_MOST_TEXT = 256 * 1024
"""Most characters of an attached text that are kept."""


def user_content(message: t.UserMessage, session: str) -> tuple[list[DurableContentPart], list[BlobRow]]:
    """Return the parts of a person's message, and its media, which are kept beside the transcript."""
    parts: list[DurableContentPart] = [TextPart(text=message.text)] if message.text else []
    blobs: list[BlobRow] = []
    for attachment in message.attachments or ():
        match attachment:
            case t.MessageEmbeddedResourceAttachment(data=data, content_type=kind, label=label):
                content = decode_base64(data) or b""
                if kind.startswith("image/"):
                    digest = hashlib.sha256(content).hexdigest()
                    blobs.append(BlobRow(digest, kind, content, session))
                    parts.append(MediaPart(handle=f"{BLOB_SCHEME}{digest}", media_type=kind))
                else:
                    parts.append(_attached(label, content.decode("utf-8", "replace")[:_MOST_TEXT]))
            case t.SimpleMessageAttachment(label=label, model_representation=said):
                parts.append(_attached(label, said or ""))
            case t.MessageResourceAttachment(label=label, uri=uri, selection=selection):
                lines = ""
                if selection is not None:
                    lines = f", lines {selection.range.start.line + 1} to {selection.range.end.line + 1}"
                parts.append(TextPart(text=f"[Attached: {label}, {uri}{lines}]"))
            case _:
                parts.append(TextPart(text="[Something is attached that cannot be shown to a model]"))
    return parts, blobs


def _attached(label: str, text: str) -> TextPart:
    return TextPart(text=f"[Attached: {label}]\n{text}" if text else f"[Attached: {label}]")
