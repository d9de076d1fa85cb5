"""Who is telling: the attributes that stand once over all that a host tells."""

from __future__ import annotations

import logging
import os
import platform
import sys
import uuid
from collections.abc import Mapping
from urllib.parse import unquote

from serai.telemetry.records import Attributes, Scalar
from serai.version import __version__

__all__ = ["resource_attributes"]

_log = logging.getLogger(__name__)

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "i686": "x86", "i386": "x86"}
"""Where the conventions have another word than the machine."""


def resource_attributes(environ: Mapping[str, str]) -> Attributes:
    """What is known of this host, by the names of OpenTelemetry's conventions.

    `OTEL_RESOURCE_ATTRIBUTES` goes before what we find, and `OTEL_SERVICE_NAME` before both.
    """
    machine = platform.machine().lower()
    attributes: dict[str, Scalar] = {
        "service.name": "serai",
        "service.version": __version__,
        "service.instance.id": str(uuid.uuid4()),
        "host.name": platform.node(),
        "host.arch": _ARCHITECTURES.get(machine, machine),
        "os.type": platform.system().lower(),
        "process.pid": os.getpid(),
        "process.runtime.name": sys.implementation.name,
        "process.runtime.version": platform.python_version(),
    }
    attributes |= _from_environment(environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    if name := environ.get("OTEL_SERVICE_NAME", "").strip():
        attributes["service.name"] = name
    return attributes


def _from_environment(text: str) -> dict[str, Scalar]:
    """Read `key=value,key=value`, where values are percent-encoded."""
    attributes: dict[str, Scalar] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        key, separator, value = item.partition("=")
        if not separator or not key.strip():
            _log.warning("OTEL_RESOURCE_ATTRIBUTES: an item is not of the form key=value, and left out")
            continue
        attributes[unquote(key.strip())] = unquote(value.strip())
    return attributes
