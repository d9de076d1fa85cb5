"""The records of a turn: each is committed before what it announces happens, or with what it tells.

They are all that a turn needs in order to go on after a crash. See `serai.session.turn_core`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from serai.contract.record import Record
from serai.errors import FailureKind
from serai.session.llm import LlmReply


class Begun(Record, tag_field="kind", tag="turn_begun"):
    """The turn has begun."""

    deliveries: tuple[str, ...]
    """What it answers."""


class Requested(Record, tag_field="kind", tag="requested"):
    """A request is about to leave for a model."""

    model: str
    reserved: int | None = None
    """Microcents that it may cost at most; `None` when the price is not known. They stay spent until the
    answer says what it did cost."""


class Answered(Record, tag_field="kind", tag="answered"):
    """A model has answered, whole."""

    reply: LlmReply
    cost: int | None = None
    """Microcents; `None` when the price is not known."""


class Failed(Record, tag_field="kind", tag="failed"):
    """A request brought no answer."""

    failure: FailureKind
    message: str
    has_begun: bool = False
    """Whether some of an answer had come: then no other model is asked."""
    cost: int | None = None


class CallDecided(Record, tag_field="kind", tag="decided"):
    """It is decided whether a call runs."""

    call_id: str
    is_allowed: bool
    input: dict[str, Any] | None = None
    """The input, where a person has changed it."""


class CallBegun(Record, tag_field="kind", tag="begun"):
    """A call is about to run."""

    call_id: str


class CallEnded(Record, tag_field="kind", tag="ended"):
    """What became of a call: it ran, failed, was refused, or cannot be."""

    call_id: str
    name: str
    output: str
    is_error: bool = False
    is_misuse: bool = False
    """Whether the model called it wrongly: an unknown tool, broken or unfitting input."""


class Steered(Record, tag_field="kind", tag="steered"):
    """A message came in while the turn ran."""

    text: str


Step: TypeAlias = Begun | Requested | Answered | Failed | CallDecided | CallBegun | CallEnded | Steered
"""One record of a turn."""
