"""How the tests compare records with the wire: one full example per record, written by hand.

An example says which fields its record must have and which it may have, under their wire names, and in the
order in which they are written. From it follow two tests: the whole example is written exactly as it was
read, and each field is needed, or may be left out and is then not written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
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
    always: frozenset[str] = frozenset()
    """Optional fields that are written also where they were left out."""

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


def shape_tests(shapes: Iterable[Shape]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Two tests: of each example as a whole, and of each field, which proves the field's requirement."""
    shapes = list(shapes)
    names = [shape.name or shape.required.get("type") or shape.as_type.__name__ for shape in shapes]

    @pytest.mark.parametrize("shape", shapes, ids=names)
    def whole(shape: Shape) -> None:
        """It is written as it was read, and what is unknown in it is passed over."""
        record = decode(json.dumps(shape.wire), shape.as_type)
        assert json.loads(encode(record)) == to_wire(record) == shape.wire
        assert decode(encode(record), shape.as_type) == record
        assert decode(json.dumps({**shape.wire, "fromTheFuture": [1]}), shape.as_type) == record

    each: list[ParameterSet] = []
    for name, shape in zip(names, shapes, strict=True):
        for path in {**shape.required, **shape.optional, **shape.beyond}:
            marks = [proves(f"{shape.name}.{path}")] if shape.name and path not in shape.beyond else []
            each.append(pytest.param(shape, path, marks=marks, id=f"{name}.{path}"))

    @pytest.mark.parametrize(("shape", "path"), each)
    def field_of(shape: Shape, path: str) -> None:
        """A required field cannot be missing; an optional one can, and then is not written."""
        wire = shape.without(path)
        if path in shape.required:
            with pytest.raises(Mismatch):
                decode(json.dumps(wire), shape.as_type)
        elif path not in shape.always:
            assert json.loads(encode(decode(json.dumps(wire), shape.as_type))) == wire

    return whole, field_of


def members(name: str, *values: str) -> list[ParameterSet]:
    """A parameter per value of an enumeration, with the mark of the requirement that it shows to hold."""
    return [pytest.param(value, marks=proves(f"{name}.{value}"), id=value) for value in values]
