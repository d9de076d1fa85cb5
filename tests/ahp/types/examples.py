"""Examples of protocol types, made from the types themselves: one JSON object with every field in it."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final, TypeAlias

import msgspec.inspect as mi
from msgspec import Struct, structs

from serai.ahp import actions, commands, notifications, types

Json: TypeAlias = dict[str, Any]

_MODULES: Final[tuple[ModuleType, ...]] = (types, actions, commands, notifications)


def named(name: str) -> Any:
    """The type, enumeration or alias of that name, wherever it is."""
    for module in _MODULES:
        if hasattr(module, name):
            return getattr(module, name)
    raise LookupError(f"serai.ahp has no {name}")


def wire_fields(struct: type[Struct]) -> dict[str, structs.FieldInfo]:
    """The fields of a type by their names on the wire, without the tag and without `extra`."""
    return {field.encode_name: field for field in structs.fields(struct) if field.name != "extra"}


def tag_of(struct: type[Struct]) -> tuple[str | None, Any]:
    """The name of the tag field and the tag."""
    config = struct.__struct_config__
    return config.tag_field, config.tag


def variants(alias: Any) -> list[type[Struct]]:
    """The types that a union is made of."""
    info = mi.type_info(alias)
    found = info.types if isinstance(info, mi.UnionType) else (info,)
    return [variant.cls for variant in found if isinstance(variant, mi.StructType)]


def full(as_type: Any) -> Json:
    """A JSON object of that type with every field that it may have, at every depth."""
    return _full(mi.type_info(as_type), ())


def _full(info: mi.Type, above: tuple[type, ...]) -> Any:
    match info:
        case mi.StructType():
            fields = {
                member.encode_name: _full(member.type, (*above, info.cls))
                for member in info.fields
                if member.name != "extra" and not (not member.required and _leads_back(member.type, above))
            }
            return {**({info.tag_field: info.tag} if info.tag_field else {}), **fields}
        case mi.UnionType():
            return _full(next(t for t in info.types if not isinstance(t, mi.NoneType)), above)
        case mi.ListType():
            return [_full(info.item_type, above)]
        case mi.DictType():
            return {"key": _full(info.value_type, above)}
        case mi.LiteralType():
            return info.values[0]
        case mi.StrType():
            return "text"
        case mi.IntType():
            return 7
        case mi.BoolType():
            return True
        case mi.AnyType():
            return {"free": [None, 1, 1.5]}
        case _:
            raise NotImplementedError(info)


def _leads_back(info: mi.Type, above: tuple[type, ...]) -> bool:
    """Whether a field of a recursive type would begin it once more."""
    match info:
        case mi.StructType():
            return info.cls in above
        case mi.UnionType():
            return any(_leads_back(t, above) for t in info.types)
        case mi.ListType():
            return _leads_back(info.item_type, above)
        case mi.DictType():
            return _leads_back(info.value_type, above)
        case _:
            return False
