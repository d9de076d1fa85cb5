"""The parameters of a call, as they came."""

from __future__ import annotations

from serai.contract import METHODS, DeliveryMode, Record, decode
from serai.errors import InvalidParams, MethodNotFound, Mismatch, UnknownMode

__all__ = ["read_params"]


def read_params(method: str, data: bytes) -> Record:
    """Read the parameters of a method from JSON.

    Raises:
        MethodNotFound: There is no such method.
        UnknownMode: They name a delivery mode that there is not.
        InvalidParams: They do not fit.
        ParseError: That is no JSON.
    """
    found = METHODS.get(method)
    if found is None:
        raise MethodNotFound(f"there is no method {method!r}")
    try:
        return decode(data, found[0])
    except Mismatch as error:
        if error.field == "mode":
            modes = ", ".join(DeliveryMode)
            raise UnknownMode(
                f"there is no such delivery mode: {error.problem}", remedy=f"Use {modes}"
            ) from None
        raise InvalidParams(error.message, field=error.field) from None
