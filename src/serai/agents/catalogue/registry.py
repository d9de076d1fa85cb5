"""The registry of ACP agents: a JSON file that tells how agents are distributed.

A registry names programs and the arguments to start them with: take one from those you trust. Nothing is
installed because of it. Its agents are looked for like all others, and can be used once they are installed.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import platform
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import IO, Any, cast
from urllib.parse import urlsplit

import msgspec

from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.config.agents import is_agent_name
from serai.errors import ConfigInvalid

__all__ = ["SECONDS", "Registry", "load_registry", "parse_registry"]

_LARGEST = 8 * 1024 * 1024
SECONDS = 15.0
"""How long one may take to come."""
_PACKAGE = re.compile(r"(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*", re.IGNORECASE)
_PROGRAM = re.compile(r"[\w][\w.+-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Registry:
    """The agents of a registry, and what of it could not be used."""

    definitions: tuple[AgentDefinition, ...] = ()
    skipped: tuple[str, ...] = ()
    """Why an entry was left out, one sentence for each."""


class _Skipped(Exception):
    """An entry cannot be used."""


async def load_registry(place: str, *, seconds: float = SECONDS) -> Registry:
    """The registry in a file or at an `http(s)` address. A person has named it: none is fetched by itself.

    Cancelling it stops the waiting; a download that is under way ends by its time limit.

    Raises:
        ConfigInvalid: It cannot be read, is too large or takes too long, or is no registry.
    """
    scheme = place.partition("://")[0].lower() if "://" in place else ""
    if scheme in {"http", "https"}:
        data = await asyncio.to_thread(_fetch, place, seconds)
    elif scheme:
        raise ConfigInvalid(f"a registry is a file, or at an http or https address, not {place!r}")
    else:
        data = await asyncio.to_thread(_read, place)
    return parse_registry(data, place)


def parse_registry(data: bytes, place: str, *, target: str | None = None) -> Registry:
    """The agents of a registry's JSON. An entry that cannot be used is left out, and said why.

    Args:
        data: The JSON.
        place: Where it comes from, for messages.
        target: The platform, as `linux-x86_64`; by default this one.

    Raises:
        ConfigInvalid: It is no JSON, or has no list of agents.
    """
    try:
        document = msgspec.json.decode(data)
    except (ValueError, RecursionError) as error:
        raise ConfigInvalid(f"the registry {place} is not JSON: {error}") from None
    entries = document.get("agents") if isinstance(document, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - anything can stand there
    if not isinstance(entries, list):
        raise ConfigInvalid(f"the registry {place} has no list of agents")
    target = target or _this_platform()
    definitions: dict[str, AgentDefinition] = {}
    skipped: list[str] = []
    for index, entry in enumerate(cast("list[Any]", entries)):
        try:
            definition = _definition(entry, target)
        except _Skipped as reason:
            skipped.append(f"{_called(entry, index)}: {reason}")
        else:
            definitions[definition.id] = definition
    return Registry(tuple(definitions.values()), tuple(skipped))


# -- entries -----------------------------------------------------------------------------------------------


def _definition(entry: Any, target: str) -> AgentDefinition:
    fields = _object(entry, "it is no object")
    name = _text(fields, "id")
    if not is_agent_name(name):
        raise _Skipped("its id cannot be a name of an agent")
    distribution = _object(fields.get("distribution"), "it does not say how it is distributed")
    offers = list(_offers(distribution, target))
    if not offers:
        raise _Skipped(f"it is not distributed for {target}")
    first = offers[0]
    return AgentDefinition(
        id=name,
        label=_text(fields, "name") or name,
        description=_text(fields, "description"),
        homepage=_text(fields, "website") or _text(fields, "repository"),
        # One agent has one environment: what is distributed with another one is left to the first.
        ways=tuple(way for offer in offers if offer.env == first.env for way in offer.ways),
        env=first.env,
        install=first.install,
    )


@dataclass(frozen=True, slots=True)
class _Offer:
    ways: tuple[Way, ...]
    env: dict[str, str]
    install: str


def _offers(distribution: Mapping[str, Any], target: str) -> Iterator[_Offer]:
    if (npx := distribution.get("npx")) is not None:
        yield _from_npx(_object(npx, "its npx is no object"))
    if (uvx := distribution.get("uvx")) is not None:
        yield _from_uvx(_object(uvx, "its uvx is no object"))
    if (binary := distribution.get("binary")) is not None:
        targets = _object(binary, "its binary is no object")
        if (one := targets.get(target)) is not None:
            yield _from_binary(_object(one, f"its binary for {target} is no object"))


def _from_npx(offer: Mapping[str, Any]) -> _Offer:
    spec = _text(offer, "package")
    name = spec[: spec.find("@", 1)] if "@" in spec[1:] else spec
    if not _PACKAGE.fullmatch(name):
        raise _Skipped("its npm package has no proper name")
    command = _text(offer, "cmd")
    args = _args(offer)
    ways = [Way(package=name, bin=command, args=args)]
    if command:
        ways.append(Way(program=_program(command), args=args))
    return _Offer(tuple(ways), _env(offer), f"npm install -g {name}")


def _from_uvx(offer: Mapping[str, Any]) -> _Offer:
    spec = _text(offer, "package")
    match = re.match(r"[A-Za-z0-9][\w.-]*", spec)
    if match is None:
        raise _Skipped("its Python package has no proper name")
    name = match[0]
    extras = re.match(r"\[[\w,.\- ]*\]", spec[len(name) :])
    program = _program(_text(offer, "cmd") or name)
    install = f"{name}{extras[0] if extras else ''}"
    return _Offer(
        (Way(program=program, args=_args(offer)),),
        _env(offer),
        f"uv tool install '{install}'" if extras else f"uv tool install {install}",
    )


def _from_binary(offer: Mapping[str, Any]) -> _Offer:
    program = _program(re.split(r"[/\\]", _text(offer, "cmd"))[-1].removesuffix(".exe"))
    archive = _text(offer, "archive")
    install = f"get {archive} and put {program} on your PATH" if archive else ""
    return _Offer((Way(program=program, args=_args(offer)),), _env(offer), install)


def _program(name: str) -> str:
    if not _PROGRAM.fullmatch(name):
        raise _Skipped("its command is no name of a program")
    return name


def _args(offer: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        return msgspec.convert(offer.get("args") or (), tuple[str, ...])
    except msgspec.ValidationError:
        raise _Skipped("its arguments are no list of texts") from None


def _env(offer: Mapping[str, Any]) -> dict[str, str]:
    try:
        env = msgspec.convert(offer.get("env") or {}, dict[str, str])
    except msgspec.ValidationError:
        raise _Skipped("its variables are no texts") from None
    if not all(_VARIABLE.fullmatch(name) for name in env):
        raise _Skipped("one of its variables cannot have that name")
    return env


def _object(value: Any, otherwise: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _Skipped(otherwise)
    return cast("Mapping[str, Any]", value)


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    # One line without what a terminal would obey: it is shown to people.
    return "".join(letter for letter in value if letter.isprintable()) if isinstance(value, str) else ""


def _called(entry: Any, index: int) -> str:
    named = _text(cast("Mapping[str, Any]", entry), "id") if isinstance(entry, dict) else ""
    return named[:64] or f"entry {index + 1}"


def _this_platform() -> str:
    machine = platform.machine().lower()
    return f"{platform.system().lower()}-{_MACHINES.get(machine, machine)}"


# -- reading -----------------------------------------------------------------------------------------------


def _read(file: str) -> bytes:
    try:
        with open(os.path.expanduser(file), "rb") as stream:  # noqa: PTH111, PTH123 - it never raises
            data = stream.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise ConfigInvalid(f"the registry {file} cannot be read: {said}") from None
    return _bounded(data, file)


class _SameSafety(urllib.request.HTTPRedirectHandler):
    """Follows to other addresses, but never from https to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        """The request to the other address; `None` when it is not to be followed."""
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            return None
        return super().redirect_request(req, fp, code, msg, cast("http.client.HTTPMessage", headers), newurl)


def _fetch(address: str, seconds: float) -> bytes:
    """Download with a limit of size and of time. Runs in a thread."""
    opener = urllib.request.OpenerDirector()  # only what is named here is spoken: no files, no FTP
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _SameSafety(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    deadline = time.monotonic() + seconds
    data = bytearray()
    try:
        with opener.open(address, timeout=seconds) as response:
            while len(data) <= _LARGEST and (piece := response.read1(1 << 16)):
                data += piece
                if time.monotonic() > deadline:
                    break
    except urllib.error.HTTPError as error:
        error.close()
        raise ConfigInvalid(f"the registry {address} cannot be had: {error.code} {error.reason}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        if not isinstance(error, TimeoutError) and not isinstance(getattr(error, "reason", 0), TimeoutError):
            raise ConfigInvalid(f"the registry {address} cannot be had: {error}") from None
    if time.monotonic() > deadline:
        raise ConfigInvalid(f"the registry {address} did not come within {seconds:g} s")
    return _bounded(bytes(data), address)


def _bounded(data: bytes, place: str) -> bytes:
    if len(data) > _LARGEST:
        raise ConfigInvalid(f"the registry {place} has more than {_LARGEST >> 20} MB")
    return data
