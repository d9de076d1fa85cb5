"""AHP's own error numbers, and the data that goes with them. JSON-RPC's are in `serai.errors`."""

from __future__ import annotations

from enum import IntEnum

from serai.ahp.commands import ResourceRequestParams
from serai.ahp.types import ProtectedResourceMetadata
from serai.ahp.wire import Value


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
