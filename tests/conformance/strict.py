"""What a strict client insists on, whatever it is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from serai.ahp import wire

_SAY_SOMETHING = (
    ".action.activeClient",
    ".actions[].action.activeClient",
    ".params.changes.agent",  # of a summary: the agent was cleared
)


def check_nulls(message: dict[str, Any], frame: str) -> None:
    """What is absent is absent, but for the places where `null` says something."""
    rest = dict(message)
    for name in ("id", "result"):
        if name in rest and rest[name] is None:
            del rest[name]
    for path in _nulls(rest, ""):
        assert path.endswith(_SAY_SOMETHING), f"{path} is null: {frame}"


def _nulls(value: Any, path: str) -> Iterator[str]:
    match value:
        case None:
            yield path
        case dict():
            for name, item in value.items():
                yield from _nulls(item, f"{path}.{name}")
        case list():
            for item in value:
                yield from _nulls(item, f"{path}[]")
        case _:
            pass


def check_known(value: Any) -> None:
    """A host sends what 0.2 has, and nothing else."""
    match value:
        case wire.Unknown():
            raise AssertionError(f"0.2 does not have {value}")
        case msgspec.Struct():
            assert not getattr(value, "extra", None), f"0.2 does not have {value}"
            for name in value.__struct_fields__:
                check_known(getattr(value, name))
        case list():
            for item in value:
                check_known(item)
        case dict():
            for item in value.values():
                check_known(item)
        case _:
            pass
