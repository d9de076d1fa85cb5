"""What AHP's errors tell beside their message."""

from __future__ import annotations

from serai.ahp.errors import (
    AhpErrorCode,
    AuthRequiredErrorData,
    PermissionDeniedErrorData,
    UnsupportedProtocolVersionErrorData,
    error_data,
)


def test_the_numbers_are_those_of_the_protocol() -> None:
    assert {code.name: code.value for code in AhpErrorCode} == {
        "SESSION_NOT_FOUND": -32001,
        "PROVIDER_NOT_FOUND": -32002,
        "SESSION_ALREADY_EXISTS": -32003,
        "TURN_IN_PROGRESS": -32004,
        "UNSUPPORTED_PROTOCOL_VERSION": -32005,
        "CONTENT_NOT_FOUND": -32006,
        "AUTH_REQUIRED": -32007,
        "NOT_FOUND": -32008,
        "PERMISSION_DENIED": -32009,
        "ALREADY_EXISTS": -32010,
        "CONFLICT": -32011,
    }


def test_a_missing_token_names_its_resources_in_an_object_or_a_bare_list() -> None:
    resources = [{"resource": "https://api.example", "scopes_supported": ["read"]}]
    for data in ({"resources": resources}, resources):
        read = error_data(AhpErrorCode.AUTH_REQUIRED, data)
        assert isinstance(read, AuthRequiredErrorData)
        assert [resource.resource for resource in read.resources] == ["https://api.example"]


def test_a_refusal_may_say_which_permission_would_help() -> None:
    wish = {"channel": "ahp-root://", "uri": "file:///x", "read": True}
    read = error_data(AhpErrorCode.PERMISSION_DENIED, {"request": wish})
    assert isinstance(read, PermissionDeniedErrorData)
    assert read.request is not None
    assert read.request.uri == "file:///x"


def test_an_unsupported_version_names_the_supported_ones() -> None:
    read = error_data(AhpErrorCode.UNSUPPORTED_PROTOCOL_VERSION, {"supportedVersions": ["^0.2.0"]})
    assert isinstance(read, UnsupportedProtocolVersionErrorData)
    assert read.supported_versions == ["^0.2.0"]


def test_data_that_nobody_knows_tells_nothing() -> None:
    assert error_data(-32603, {"x": 1}) is None
    assert error_data(AhpErrorCode.AUTH_REQUIRED, None) is None
    assert error_data(AhpErrorCode.AUTH_REQUIRED, {"resources": 5}) is None
