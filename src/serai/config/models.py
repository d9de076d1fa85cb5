"""Servers of models: `[models.NAME]`. A model is `NAME:ID`. A key is only referenced, and resolved on use.

A key itself is never part of a setting, a message or a log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from serai.config.toml import briefly, read_entries
from serai.errors import ConfigInvalid

_KEY = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|keyring:.+")


class ModelKind(StrEnum):
    """The API of a server."""

    OPENAI = "openai"
    """The chat completions API of OpenAI and most others."""
    ANTHROPIC = "anthropic"
    GOOGLE = "google"


class PricePerMillion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The price of a million tokens, in dollars."""

    input: Annotated[float, Meta(ge=0, le=1e6)]
    output: Annotated[float, Meta(ge=0, le=1e6)]


class ModelServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a server of models in a file."""

    kind: ModelKind
    base_url: str | None = None
    """Address of the server; by default the vendor's own."""
    key: str | None = None
    """Reference to its key: `env:VARIABLE`, or `keyring:NAME` under the service `serai`."""
    ids: tuple[str, ...] = ()
    """Ids of its models; without any, every id is accepted."""
    prices: dict[str, PricePerMillion] = {}

    @property
    def key_variable(self) -> str | None:
        """The environment variable with the key. No tool is started with it."""
        return self.key.removeprefix("env:") if self.key and self.key.startswith("env:") else None


class ModelRef(NamedTuple):
    """The parts of a model's name."""

    server_name: str
    server: ModelServer
    id: str


def read_models(table: Any, place: str) -> dict[str, ModelServer]:
    """Read the servers of a file's `models` table. See `read_entries`."""
    try:
        return read_entries(table, ModelServer, "models", place, _problem)
    except ConfigInvalid as error:
        where, is_kind, _ = error.message.partition(": invalid enum value")
        raise ConfigInvalid(f"{where}: kind must be {', '.join(ModelKind)}") if is_kind else error from None


def _problem(server: ModelServer) -> str | None:
    if not _KEY.fullmatch(server.key or "env:X"):
        return "key must be env:VARIABLE or keyring:NAME; a key itself does not belong in this file"
    if server.base_url is None and server.key is None:
        return "key is missing; only a server with a base_url may do without"
    if server.base_url is not None and not _is_address(server.base_url):
        return "base_url must be http:// or https://, with a host and without a password"
    return None


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc


def find_model(servers: Mapping[str, ModelServer], model: str) -> ModelRef:
    """Find the server of a model.

    Args:
        servers: All servers, by name.
        model: `NAME:ID`. An id may have colons of its own.

    Raises:
        ConfigInvalid: There is no such server, or it has no such model.
    """
    name, _, model_id = model.partition(":")
    server = servers.get(name)
    if server is None or not model_id:
        there_are = ", ".join(sorted(servers)) or "none"
        raise ConfigInvalid(
            f"there is no model {briefly(repr(model))}",
            remedy=f"A model is NAME:ID, where serai.toml has [models.NAME]. There are: {there_are}",
        )
    if server.ids and model_id not in server.ids:
        raise ConfigInvalid(
            f"{name} has no model {briefly(repr(model_id))}", remedy=f"It has: {', '.join(server.ids)}"
        )
    return ModelRef(name, server, model_id)
