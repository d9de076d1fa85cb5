"""The codec between AHP values and JSON, which keeps what this version does not know.

A peer may speak a newer 0.2.x: it sends fields and union variants that are not in our types, and gets them
back unchanged. msgspec decodes straight into types that forbid unknown fields. Where it refuses, the data is
decoded to plain JSON and what is unknown is *lifted*: fields of an object go into its `extra`, a variant of a
union becomes an `Unknown`.

Encoding is the mirror: msgspec writes `extra` under a mark, and only when that mark is found in the bytes is
the JSON *lowered*: what stands under the mark goes back to where it was. The mark is drawn at random when the
module is loaded and never leaves the process, so that no input can forge it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from functools import cache
from threading import RLock
from typing import Any, TypeGuard, TypeVar, overload

import msgspec
import msgspec.inspect
from msgspec import UNSET, Struct, UnsetType, field

from serai.contract.record import RecordType, checked, mismatch
from serai.errors import ParseError

T = TypeVar("T")

_RARE = 0x7F
_MARK = f"\x7fserai-{secrets.token_hex(8)}"
_MARK_BYTES = _MARK.encode()


class Value(Struct, metaclass=RecordType, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """An immutable value of the protocol. `extra` holds unknown fields."""

    extra: dict[str, Any] | UnsetType = field(default=UNSET, name=_MARK)


class State(Struct, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """A part of a channel's state that its reducer may change in place."""

    extra: dict[str, Any] | UnsetType = field(default=UNSET, name=_MARK)


class Unknown(Value):
    """An unknown union variant: kept whole in `extra`, and written back as it came."""

    @property
    def raw(self) -> Mapping[str, Any]:
        """The object as it was received."""
        return {} if self.extra is UNSET else self.extra


class UnknownKind(Unknown, tag_field="kind", tag=_MARK):
    """An unknown variant of a union that is told apart by `kind`."""


class UnknownState(Unknown, tag_field="state", tag=_MARK):
    """An unknown variant of a union that is told apart by `state`."""


class UnknownStatus(Unknown, tag_field="status", tag=_MARK):
    """An unknown variant of a union that is told apart by `status`."""


class UnknownType(Unknown, tag_field="type", tag=_MARK):
    """An unknown variant of a union that is told apart by `type`."""


@overload
def decode(data: bytes | str, as_type: type[T]) -> T: ...
@overload
def decode(data: bytes | str, as_type: Any) -> Any: ...
def decode(data: bytes | str, as_type: Any) -> Any:
    """Read one JSON document as `as_type`.

    Raises:
        ParseError: The data is not JSON in UTF-8, or is nested deeper than `MAX_DEPTH`.
        Mismatch: It is JSON, but does not fit the type.
    """
    raw = checked(data)
    try:
        return _decoder(as_type).decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    try:
        plain = _decode_plain(raw)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ParseError(f"this is not readable JSON: {error}") from None
    return convert(plain, as_type)


@overload
def convert(plain: Any, as_type: type[T]) -> T: ...
@overload
def convert(plain: Any, as_type: Any) -> Any: ...
def convert(plain: Any, as_type: Any) -> Any:
    """Read a value of plain JSON (dicts, lists, strings, ...) as `as_type`.

    Raises:
        Mismatch: It does not fit the type.
    """
    lifter = _lifter(as_type)
    try:
        return msgspec.convert(lifter(plain) if lifter else plain, as_type)
    except msgspec.ValidationError as error:
        raise mismatch(str(error)) from None


def encode(value: Any) -> bytes:
    """Write a value as JSON. Fields that are absent are not written.

    Raises:
        ParseError: The value holds text with a lone surrogate, which JSON cannot carry.
    """
    try:
        data = _encode(value)
    except UnicodeEncodeError as error:
        raise ParseError(f"text that is not Unicode cannot be sent: {error}") from None
    # A rare byte is searched for first, which takes 24 ns in a delta; the whole mark would take 215.
    if _RARE in data and _MARK_BYTES in data:
        return _encode(_lower(_decode_plain(data)))
    return data


def to_json(value: Any) -> Any:
    """Convert a value to plain JSON, as `decode(encode(value), Any)` would."""
    return _lower(msgspec.to_builtins(value, str_keys=True))


_encode = msgspec.json.Encoder().encode
_decode_plain = msgspec.json.Decoder().decode


_learning = RLock()
"""Lock for the inspection of types, which happens at their first use, by one thread at a time."""


@cache
def _decoder(as_type: Any) -> msgspec.json.Decoder[Any]:
    with _learning:
        return msgspec.json.Decoder(as_type)


# -- lifting and lowering what is unknown ------------------------------------------------------------------

Lifter = Callable[[Any], Any]


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


@cache
def _lifter(as_type: Any) -> Lifter | None:
    with _learning:
        msgspec.json.Decoder(as_type)  # else msgspec would inspect it in `convert`, without the lock
        return _lifter_of(msgspec.inspect.type_info(as_type))


_struct_lifters: dict[type, Lifter] = {}


def _lifter_of(info: msgspec.inspect.Type) -> Lifter | None:
    match info:
        case msgspec.inspect.StructType():
            return _struct_lifters.get(info.cls) or _struct_lifter(info)
        case msgspec.inspect.UnionType():
            return _union_lifter(info)
        case msgspec.inspect.ListType():
            each = _lifter_of(info.item_type)
            return _list_lifter(each) if each else None
        case msgspec.inspect.DictType(value_type=msgspec.inspect.AnyType()):
            return None  # free-form: kept unchanged, with its nulls
        case msgspec.inspect.DictType():
            return _dict_lifter(_lifter_of(info.value_type))
        case msgspec.inspect.IntType():
            return _lift_integer
        case _:
            return None


def _struct_lifter(info: msgspec.inspect.StructType) -> Lifter:
    """Make the function that moves the fields that a struct does not have under the mark."""
    fields: dict[str, Lifter | None] = {} if info.tag_field is None else {info.tag_field: None}

    def lift(value: Any) -> Any:
        if not _is_object(value):
            return value
        known: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for name, item in value.items():
            if name in fields:
                lifter = fields[name]
                known[name] = lifter(item) if lifter and item is not None else item
            else:
                extra[name] = item
        if extra:
            known[_MARK] = extra
        return known

    _struct_lifters[info.cls] = lift  # before its fields: types may be recursive
    fields |= {f.encode_name: _lifter_of(f.type) for f in info.fields if f.encode_name != _MARK}
    return lift


def _union_lifter(info: msgspec.inspect.UnionType) -> Lifter | None:
    """Make the function that finds the variant of a union; one that is unknown goes whole under the mark."""
    structs = [t for t in info.types if isinstance(t, msgspec.inspect.StructType)]
    variants = {str(t.tag): lifter for t in structs if t.tag_field and (lifter := _lifter_of(t))}
    if not variants:
        if any(isinstance(t, msgspec.inspect.FloatType) for t in info.types):
            return None  # a number stays as it was written
        # An optional value, or text beside one shape: msgspec allows at most one of each in a union.
        return next((lifter for t in info.types if (lifter := _lifter_of(t))), None)
    tag_field = str(structs[0].tag_field)
    keeps_unknown = variants.pop(_MARK, None) is not None

    def lift(value: Any) -> Any:
        tag = value.get(tag_field) if _is_object(value) else None
        if not isinstance(tag, str):
            return value
        if lifter := variants.get(tag):
            return lifter(value)
        return {tag_field: _MARK, _MARK: value} if keeps_unknown else value

    return lift


def _list_lifter(each: Lifter) -> Lifter:
    return lambda value: [each(item) for item in value] if _is_array(value) else value


def _dict_lifter(each: Lifter | None) -> Lifter:
    """Make the function for a record whose values have a type: a `null` in it is an absent entry."""

    def lift(value: Any) -> Any:
        if not _is_object(value):
            return value
        return {k: each(v) if each else v for k, v in value.items() if v is not None}

    return lift


def _lift_integer(value: Any) -> Any:
    """Convert a whole number that is written as a float, such as 80.0: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _lower(value: Any) -> Any:
    if _is_object(value):
        lowered = {name: _lower(item) for name, item in value.items() if _MARK not in (name, item)}
        extra = value.get(_MARK)
        return {**lowered, **extra} if extra else lowered
    if _is_array(value):
        return [_lower(item) for item in value]
    return value
