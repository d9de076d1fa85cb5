"""The base of all records of the contract, their conversion to JSON and back, and bounds on JSON.

Absent fields are not written, and unknown fields are ignored when a record is read. Dates are aware and
written as RFC 3339. msgspec checks that when it reads, but not when a record is made: `RecordType` does that,
except for records that only the host makes, by its own clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from itertools import accumulate, islice
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, dataclass_transform, overload

import msgspec

from serai.errors import Mismatch, ParseError

T = TypeVar("T")

Moment: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
"""A point in time that knows its zone."""

Number: TypeAlias = int | float
"""A number of JSON: 12 stays 12, and does not come back as 12.0."""

Metadata: TypeAlias = dict[str, Any]
"""Free-form JSON under names that its writer chose."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class RecordType(msgspec.StructMeta):
    """Makes records frozen and keyword-only, which msgspec inherits only in part, and refuses naive dates."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **settings: Any
    ) -> RecordType:
        """Create the class of a record. The dates of a `host_made` one are not checked."""
        is_checked = not settings.pop("host_made", False)
        kinds: dict[str, str] = namespace.get("__annotations__", {}) if is_checked else {}
        if moments := [field for field, kind in kinds.items() if kind.partition(" ")[0] == "Moment"]:
            namespace["__post_init__"] = _aware(moments)
        return super().__new__(mcls, name, bases, namespace, frozen=True, kw_only=True, **settings)


class Record(msgspec.Struct, metaclass=RecordType, rename="camel", omit_defaults=True):
    """A value of the contract: two with the same fields are equal.

    `msgspec.structs.replace` makes a changed copy.
    """


def _aware(names: list[str]) -> Callable[[Any], None]:
    def refuse_naive(record: Any) -> None:
        for name in names:
            moment = getattr(record, name)
            if moment is not None and moment.tzinfo is None:
                raise ValueError(f"the date {moment.isoformat()} needs a time zone")

    return refuse_naive


encode: Callable[[Record], bytes] = msgspec.json.Encoder().encode
"""Encoder of a record as JSON."""


@overload
def decode(data: bytes | str, as_type: type[T]) -> T: ...
@overload
def decode(data: bytes | str, as_type: UnionType) -> Any: ...
def decode(data: bytes | str, as_type: Any) -> Any:
    """Read one JSON document as a record, or as one of a union of records.

    Raises:
        Mismatch: The data is not JSON, or does not fit the type.
    """
    try:
        return _decoder(as_type).decode(checked(data))
    except ParseError as error:
        raise Mismatch(error.message, field="") from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise mismatch(str(error)) from None


def convert(value: Any, as_type: Any) -> Any:
    """Read plain JSON values as a record, or as another type.

    Raises:
        Mismatch: They do not fit.
    """
    try:
        return msgspec.convert(value, as_type)
    except (msgspec.ValidationError, ValueError) as error:
        raise mismatch(str(error)) from None


def to_wire(record: Record) -> dict[str, Any]:
    """Convert a record to plain JSON values (dicts, lists, strings, ...), under the names that JSON has."""
    return _decode_plain(encode(record))  # msgspec.to_builtins would keep tuples


_decode_plain = msgspec.json.Decoder().decode


_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]+)`")


def mismatch(message: str) -> Mismatch:
    """Turn a message of msgspec into our error, with the place in a field of its own."""
    what, _, place = message.partition(" - at `$")
    place = place.strip("`.")
    if missing := _MISSING.fullmatch(what):
        return Mismatch("is required", field=f"{place}.{missing['name']}".lstrip("."))
    # The first letter becomes small, except in words such as JSON.
    return Mismatch(what if what[:2].isupper() else what[:1].lower() + what[1:], field=place)


@cache
def _decoder(as_type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(as_type)


def tool_schema(kind: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's input without references, which not all agents and models follow."""
    (root,), parts = msgspec.json.schema_components([kind], ref_template="{name}")

    def whole(value: Any) -> Any:
        if isinstance(value, list):
            return [whole(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(value, dict):
            return value
        found: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        if found.get("default", ...) is None:  # an optional value is left out, and never null
            found = {key: each for key, each in found.items() if key != "default"}
            kinds = [one for one in found.pop("anyOf", ()) if one != {"type": "null"}]
            found |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}
        if "$ref" in found:
            named = {key: each for key, each in parts[found["$ref"]].items() if key != "description"}
            found = {**named, **{key: each for key, each in found.items() if key != "$ref"}}
        return {key: whole(each) for key, each in found.items() if key != "title"}

    schema = whole(root)
    schema.setdefault("properties", {})
    return schema


# -- bounds on JSON ----------------------------------------------------------------------------------------

# Interpreters differ in how deep C code may recurse, so the bound is ours, and it is checked before anything
# is read: a document that can be read can then also be written, wherever in the stack that happens. And a
# document that is read in one piece holds everyone up for as long as that takes, which goes by values more
# than by bytes.
MAX_DEPTH = 128
"""Deepest nesting of JSON, in levels. AHP's own types need 16; the rest is for settings and free-form
records."""

# Possessive, and matching unterminated strings: no input makes it backtrack.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = [0] * 256
_STEPS[ord("[")] = _STEPS[ord("{")] = 1
_STEPS[ord("]")] = _STEPS[ord("}")] = -1


def checked(data: bytes | str, max_depth: int = MAX_DEPTH, max_values: int | None = None) -> bytes:
    """Return the data as bytes, if its nesting and its number of values are within the bounds.

    Raises:
        ParseError: It is nested deeper, has more values, or is text that is not Unicode.
    """
    try:
        raw = data.encode() if isinstance(data, str) else data
    except UnicodeEncodeError as error:
        raise ParseError(f"this is not readable JSON: {error}") from None
    if max_values is not None and len(raw) > 2 * max_values and _most_values(raw) > max_values:
        # A value has at most two strings, its name and itself: with more strings the bound is exceeded.
        more_strings = islice(_STRING.finditer(raw), 2 * max_values, None)
        if next(more_strings, None) or _most_values(_STRING.sub(b"", raw)) > max_values:
            raise ParseError(f"this has more than {max_values:,} values")
    # Short data, or data with few brackets, cannot be deep: most frames need only two counts in C.
    if len(raw) > 2 * max_depth and raw.count(b"[") + raw.count(b"{") > max_depth:
        brackets = _STRING.sub(b"", raw).translate(None, _NO_BRACKETS)
        if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > max_depth:
            raise ParseError(f"this is nested deeper than {max_depth} levels")
    return raw


def _most_values(raw: bytes) -> int:
    """Return the most values that there can be: each begins the document or a list, or follows a comma."""
    return 1 + raw.count(b",") + raw.count(b"[") + raw.count(b"{")
