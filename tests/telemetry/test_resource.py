"""Who is telling."""

from __future__ import annotations

import os
import platform

import pytest

from serai import __version__
from serai.telemetry.resource import resource_attributes


def test_a_host_says_who_it_is() -> None:
    attributes = resource_attributes({})
    assert attributes["service.name"] == "serai"
    assert attributes["service.version"] == __version__
    assert attributes["process.pid"] == os.getpid()
    assert attributes["host.name"] == platform.node()
    assert attributes["process.runtime.name"] == "cpython"
    assert attributes["service.instance.id"] != resource_attributes({})["service.instance.id"]


def test_the_variables_go_before_what_is_found() -> None:
    attributes = resource_attributes(
        {"OTEL_RESOURCE_ATTRIBUTES": "service.name=a, deployment.environment.name=a%20b%2Cc,host.name=h"}
    )
    assert attributes["service.name"] == "a"
    assert attributes["deployment.environment.name"] == "a b,c"
    assert attributes["host.name"] == "h"


def test_the_name_of_the_service_goes_before_all() -> None:
    environ = {"OTEL_RESOURCE_ATTRIBUTES": "service.name=a", "OTEL_SERVICE_NAME": "b"}
    assert resource_attributes(environ)["service.name"] == "b"
    assert resource_attributes({"OTEL_SERVICE_NAME": " "})["service.name"] == "serai"


def test_an_item_that_cannot_be_read_is_left_out_and_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    attributes = resource_attributes({"OTEL_RESOURCE_ATTRIBUTES": "secretword,=x,ok=1"})
    assert attributes["ok"] == "1"
    assert len(caplog.records) == 2
    assert "secretword" not in caplog.text
