"""AHP's own error numbers, and the data that goes with them. JSON-RPC's are in `serai.errors`."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeAlias, cast

from serai.ahp.commands import ResourceRequestParams
from serai.ahp.types import ProtectedResourceMetadata
from serai.ahp.wire import Value, convert
from serai.errors import Mismatch

__all__ = [
    "AhpErrorCode",
    "AuthRequiredErrorData",
    "ErrorData",
    "PermissionDeniedErrorData",
    "UnsupportedProtocolVersionErrorData",
    "error_data",
]


class AhpErrorCode(IntEnum):
    """What went wrong."""

    SESSION_NOT_FOUND = -32001
    PROVIDER_NOT_FOUND = -32002
    SESSION_ALREADY_EXISTS = -32003
    TURN_IN_PROGRESS = -32004
    UNSUPPORTED_PROTOCOL_VERSION = -32005
    CONTENT_NOT_FOUND = -32006
    AUTH_REQUIRED = -32007
    NOT_FOUND = -32008
    PERMISSION_DENIED = -32009
    ALREADY_EXISTS = -32010
    CONFLICT = -32011


class AuthRequiredErrorData(Value):
    """Which resources need a token."""

    resources: list[ProtectedResourceMetadata]


class PermissionDeniedErrorData(Value):
    """Which permission would help."""

    request: ResourceRequestParams | None = None


class UnsupportedProtocolVersionErrorData(Value):
    """Which versions the host speaks."""

    supported_versions: list[str]


ErrorData: TypeAlias = AuthRequiredErrorData | PermissionDeniedErrorData | UnsupportedProtocolVersionErrorData

_DATA: dict[int, type[Value]] = {
    AhpErrorCode.AUTH_REQUIRED: AuthRequiredErrorData,
    AhpErrorCode.PERMISSION_DENIED: PermissionDeniedErrorData,
    AhpErrorCode.UNSUPPORTED_PROTOCOL_VERSION: UnsupportedProtocolVersionErrorData,
}


def error_data(number: int, data: Any) -> ErrorData | None:
    """What an error of that number tells beside its message; `None` when it tells nothing that we know.

    Some hosts send the resources of `AUTH_REQUIRED` as a bare list.
    """
    as_type = _DATA.get(number)
    if as_type is None or data is None:
        return None
    named: Any = {"resources": data}
    bare = as_type is AuthRequiredErrorData and isinstance(data, list)
    try:
        return cast("ErrorData", convert(named if bare else data, as_type))
    except Mismatch:
        return None
