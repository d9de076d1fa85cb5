"""How the tests compare records with the wire: one full example per record, written by hand.

An example says which fields its record must have and which it may have, under their wire names, and in the
order in which they are written. From it follow two tests: the whole example is written exactly as it was
read, and each field is needed, or may be left out and is then not written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from requirements import proves
from serai.contract import decode, encode, to_wire
from serai.errors import Mismatch

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

NOON = "2026-03-01T12:00:00Z"
AGENT: dict[str, Any] = {"id": "a-1", "name": "reviewer", "handle": "@reviewer"}
MESSAGE: dict[str, Any] = {
    "id": "m-1",
    "kind": "dm",
    "text": "please look at this",
    "from": {"id": "a-2", "name": "lead"},
    "target": {"kind": "agent", "agentName": "reviewer"},
    "createdAt": NOON,
}


@dataclass(frozen=True)
class Shape:
    """A record's full example. A dot in a field's name goes into the object of that name."""

    name: str
    """The type's name in the manifest, with the page before it; empty for a type that no page defines."""
    as_type: Any
    required: dict[str, Any]
    optional: dict[str, Any] = field(default_factory=dict[str, Any])
    beyond: dict[str, Any] = field(default_factory=dict[str, Any])
    """Optional fields that we have and the page has not."""

    @property
    def wire(self) -> dict[str, Any]:
        """The example with all its fields."""
        wire: dict[str, Any] = {}
        for path, value in {**self.required, **self.optional, **self.beyond}.items():
            *parents, name = path.split(".")
            place = wire
            for parent in parents:
                place = place.setdefault(parent, {})
            place[name] = deepcopy(value)
        return wire

    def without(self, path: str) -> dict[str, Any]:
        """The example without one field."""
        wire = self.wire
        *parents, name = path.split(".")
        place = wire
        for parent in parents:
            place = place[parent]
        del place[name]
        return wire


def wholes(shapes: Iterable[Shape]) -> list[ParameterSet]:
    """A parameter per shape."""
    return [pytest.param(shape, id=shape.name or shape.as_type.__name__) for shape in shapes]


def fields(shapes: Iterable[Shape]) -> list[ParameterSet]:
    """A parameter per field, with the mark of the requirement that it shows to hold."""
    found: list[ParameterSet] = []
    for shape in shapes:
        for path in {**shape.required, **shape.optional, **shape.beyond}:
            marks = [proves(f"{shape.name}.{path}")] if shape.name and path not in shape.beyond else []
            found.append(
                pytest.param(shape, path, marks=marks, id=f"{shape.name or shape.as_type.__name__}.{path}")
            )
    return found


def check_whole(shape: Shape) -> None:
    """The example is written as it was read, and what is unknown in it is passed over."""
    record = decode(json.dumps(shape.wire), shape.as_type)
    assert json.loads(encode(record)) == shape.wire
    assert to_wire(record) == shape.wire
    assert decode(encode(record), shape.as_type) == record
    assert decode(json.dumps({**shape.wire, "fromTheFuture": [1]}), shape.as_type) == record


def check_field(shape: Shape, path: str) -> None:
    """A required field cannot be missing; an optional one can, and then is not written."""
    wire = shape.without(path)
    if path in shape.required:
        with pytest.raises(Mismatch):
            decode(json.dumps(wire), shape.as_type)
    else:
        assert json.loads(encode(decode(json.dumps(wire), shape.as_type))) == wire
