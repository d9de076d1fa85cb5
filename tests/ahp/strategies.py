"""Random values of the protocol's types, made from the types themselves.

They live in a small world: few turns, parts, calls, requests and messages, so that one action finds what
another has made. With `strange=True` they also have fields and variants that this version does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

import msgspec.inspect as mi
from hypothesis import strategies as st

from serai.ahp.actions import (
    ActionEnvelope,
    SessionActiveClientChangedAction,
    SessionToolCallConfirmedAction,
    StateAction,
)
from serai.ahp.wire import Unknown, convert

Json: TypeAlias = dict[str, Any]
Strategy: TypeAlias = st.SearchStrategy[Any]
T = TypeVar("T")

texts: Final = st.sampled_from(["", "a", "ä", "🙂", 'q"\\', "[{", "a longer piece of text\n"])
numbers: Final = st.sampled_from([0, 1, -7, 2**53, 2**63, 10**30, 0.5, 1.0, -2.5e300])
json_values: Final[Strategy] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
free_form: Final = st.dictionaries(texts, json_values, max_size=2)


def _one_of(*values: Any) -> Strategy:
    return st.sampled_from(values)


WORLD: Final[Mapping[str, Strategy]] = {
    "turnId": _one_of("t1", "t1", "t1", "t2"),
    "id": _one_of("t1", "x1", "x2", "c1"),
    "partId": _one_of("x1", "x2", "c1"),
    "toolCallId": _one_of("c1", "c2", "x1"),
    "requestId": _one_of("x1", "x2"),
    "questionId": _one_of("x1", "x2"),
    "queuedMessageId": _one_of("x1", "x2"),
    "selectedOptionId": _one_of("x1", "c1", "x9"),
    "commandId": _one_of("x1", "x2"),
    "fileId": _one_of("x1", "x2"),
    "order": st.lists(_one_of("x1", "x2", "c1", "x9"), max_size=4),
    "status": st.integers(0, 4096),
    "lifecycle": _one_of("creating", "ready", "creationFailed", "later"),
    "state": _one_of("complete", "cancelled", "error"),
    "confirmed": _one_of("not-needed", "user-action", "setting"),
    "reason": _one_of("denied", "skipped"),
    "response": _one_of("accept", "decline", "cancel"),
}
"""What fields of these names hold, wherever they are. A tag is not a field."""

_BY_TYPE_AND_NAME: Final[Mapping[tuple[str, str], Strategy]] = {
    ("SessionPendingMessageSetAction", "kind"): _one_of("steering", "queued"),
    ("SessionPendingMessageRemovedAction", "kind"): _one_of("steering", "queued"),
    ("ActiveTurn", "id"): _one_of("t1", "t1", "t2"),
    ("Turn", "id"): _one_of("t1", "t2", "t3"),
    ("ChangesetState", "status"): _one_of("computing", "ready", "error"),
    ("ChangesetStatusChangedAction", "status"): _one_of("computing", "ready", "error"),
}

_SELDOM: Final = frozenset({"icons", "range", "protectedResources", "configSchema", "selection", "stack"})
"""Optional fields that say little and cost much."""


@cache
def plain(as_type: Any, *, strange: bool = False) -> Strategy:
    """JSON objects that are valid for a type."""
    return _plain(mi.type_info(as_type), strange, ())


def values(as_type: type[T], *, strange: bool = False) -> st.SearchStrategy[T]:
    """Values of a type."""
    return plain(as_type, strange=strange).map(lambda json: convert(json, as_type))


def actions_of(union: Any, *, strange: bool = False) -> st.SearchStrategy[StateAction]:
    """Actions of a union of them."""
    return plain(union, strange=strange).map(action)


def action(json: Json) -> StateAction:
    """An action as it is read from its envelope."""
    return convert({"channel": "ahp-session:/s", "action": json, "serverSeq": 1}, ActionEnvelope).action


_structs: dict[tuple[type, bool, bool], Strategy] = {}


def _plain(info: mi.Type, strange: bool, above: tuple[type, ...]) -> Strategy:
    match info:
        case mi.StructType():
            key = (info.cls, strange, info.cls in above)
            if key not in _structs:
                _structs[key] = _struct(info, strange, above)
            return _structs[key]
        case mi.UnionType():
            return _union(info, strange, above)
        case mi.ListType():
            return st.lists(_plain(info.item_type, strange, above), max_size=2)
        case mi.DictType(value_type=mi.AnyType()):
            return free_form
        case mi.DictType():
            return st.dictionaries(_one_of("x1", "x2"), _plain(info.value_type, strange, above), max_size=2)
        case _:
            return _simple(info)


def _simple(info: mi.Type) -> Strategy:
    match info:
        case mi.LiteralType():
            return _one_of(*info.values)
        case mi.StrType():
            return texts
        case mi.IntType():
            return st.integers(-3, 2**40)
        case mi.FloatType():
            return _one_of(0.5, 1.0)
        case mi.BoolType():
            return st.booleans()
        case mi.AnyType():
            return json_values.filter(lambda value: value is not None)
        case _:
            raise NotImplementedError(info)


def _struct(info: mi.StructType, strange: bool, above: tuple[type, ...]) -> Strategy:
    needed: dict[str, Strategy] = {}
    optional: dict[str, Strategy] = {}
    if info.tag_field is not None:
        needed[info.tag_field] = st.just(info.tag)
    for member in info.fields:
        name = member.encode_name
        if member.name == "extra" or (not member.required and (info.cls in above or name in _SELDOM)):
            continue
        own = _BY_TYPE_AND_NAME.get((info.cls.__name__, name), WORLD.get(name))
        (needed if member.required else optional)[name] = (
            own if own is not None else _plain(member.type, strange, (*above, info.cls))
        )
    if strange:
        optional["x-new"] = json_values
    if info.cls is SessionActiveClientChangedAction:  # the one field that is always written
        needed |= {name: st.none() | strategy for name, strategy in optional.items() if name != "x-new"}
        optional = {name: strategy for name, strategy in optional.items() if name == "x-new"}
    made = st.fixed_dictionaries(needed, optional=optional)
    return made.map(_answered) if info.cls is SessionToolCallConfirmedAction else made


def _answered(json: Json) -> Json:
    """An approval says why it may run, and a denial why not."""
    return {"confirmed": "user-action", **json} if json["approved"] else {"reason": "denied", **json}


def _union(info: mi.UnionType, strange: bool, above: tuple[type, ...]) -> Strategy:
    branches: list[Strategy] = []
    for variant in info.types:
        if isinstance(variant, mi.NoneType):
            continue
        if isinstance(variant, mi.StructType) and issubclass(variant.cls, Unknown):
            if strange:
                branches.append(_unknown(str(variant.tag_field)))
            continue
        branches.append(_plain(variant, strange, above))
    return st.one_of(branches)


def _unknown(tag_field: str) -> Strategy:
    return st.fixed_dictionaries(
        {tag_field: _one_of("later", "session/later", "")},
        optional={"id": WORLD["id"], "toolCallId": WORLD["toolCallId"], "x-new": json_values},
    )
