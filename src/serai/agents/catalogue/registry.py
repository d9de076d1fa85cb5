"""Registries of ACP agents: JSON files that say how agents are distributed.

A registry names programs and their arguments: use one that you trust. It installs nothing. Its agents are
searched like all others, and can be used once they are installed.
"""

from __future__ import annotations

import asyncio
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec

from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.config.toml import is_name
from serai.errors import ConfigInvalid

_LARGEST = 8 * 1024 * 1024
_SECONDS = 5.0
"""Longest wait for a download, in seconds."""
_PACKAGE = re.compile(r"(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*", re.IGNORECASE)
_PROGRAM = re.compile(r"[\w][\w.+-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Registry:
    """The agents of a registry, and the entries that could not be used."""

    definitions: tuple[AgentDefinition, ...] = ()
    skipped: tuple[str, ...] = ()
    """The reasons why entries were left out, one sentence for each."""


class _Offer(msgspec.Struct):
    """One distribution of an agent."""

    package: str = ""
    cmd: str = ""
    archive: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class _Distribution(msgspec.Struct):
    npx: _Offer | None = None
    uvx: _Offer | None = None
    binary: dict[str, _Offer] = {}


class _Entry(msgspec.Struct):
    id: str
    distribution: _Distribution
    name: str = ""
    description: str = ""
    website: str = ""
    repository: str = ""


async def load_registry(place: str) -> Registry:
    """Load a registry from a file or an `http(s)` address.

    Cancelling it stops the waiting.

    Raises:
        ConfigInvalid: It cannot be read, is too large or takes too long, or is no registry.
    """
    try:
        async with asyncio.timeout(_SECONDS):
            data = await (_fetch(place) if "://" in place else asyncio.to_thread(_read, place))
    except (OSError, ValueError, RuntimeError) as error:
        is_late = isinstance(error, TimeoutError)
        why = f"it did not come within {_SECONDS:g} s" if is_late else getattr(error, "strerror", 0) or error
        raise ConfigInvalid(f"the registry {place} cannot be read: {why}") from None
    if len(data) > _LARGEST:
        raise ConfigInvalid(f"the registry {place} has more than {_LARGEST >> 20} MB")
    return parse_registry(data, place)


def parse_registry(data: bytes, place: str, *, target: str | None = None) -> Registry:
    """Read a registry from JSON. Entries that cannot be used are left out, with the reason.

    The target is the platform, such as `linux-x86_64`; by default this one.

    Raises:
        ConfigInvalid: It is no JSON, or has no list of agents.
    """
    try:
        entries = msgspec.json.decode(data, type=dict[str, Any])["agents"]
        entries = msgspec.convert(entries, list[Any])
    except (KeyError, msgspec.ValidationError):
        raise ConfigInvalid(f"the registry {place} has no list of agents") from None
    except (ValueError, RecursionError) as error:
        raise ConfigInvalid(f"the registry {place} is not JSON: {error}") from None
    machine = platform.machine().lower()
    target = target or f"{platform.system().lower()}-{_MACHINES.get(machine, machine)}"
    definitions: dict[str, AgentDefinition] = {}
    skipped: list[str] = []
    for index, entry in enumerate(entries, 1):
        try:
            definition = _definition(msgspec.convert(entry, _Entry), target)
        except ValueError as reason:  # also msgspec's `ValidationError`
            named = _shown(str(cast("dict[str, Any]", entry).get("id"))) if isinstance(entry, dict) else ""
            skipped.append(f"{named[:64] if named not in ('', 'None') else f'entry {index}'}: {reason}")
        else:
            definitions[definition.id] = definition
    return Registry(tuple(definitions.values()), tuple(skipped))


def _definition(entry: _Entry, target: str) -> AgentDefinition:
    if not is_name(entry.id):
        raise ValueError("its id cannot be a name of an agent")
    offers = list(_offers(entry.distribution, target))
    if not offers:
        raise ValueError(f"it is not distributed for {target}")
    first, _, install = offers[0]
    if not all(map(_VARIABLE.fullmatch, first.env)):
        raise ValueError("one of its variables cannot have that name")
    # One agent has one environment: distributions with another one are left out.
    ways = [way for offer, ways, _ in offers if offer.env == first.env for way in ways]
    return AgentDefinition(
        id=entry.id,
        label=_shown(entry.name) or entry.id,
        description=_shown(entry.description),
        homepage=_shown(entry.website or entry.repository),
        ways=tuple(ways),
        env=first.env,
        install=_shown(install),
    )


def _offers(distribution: _Distribution, target: str) -> Iterator[tuple[_Offer, list[Way], str]]:
    """Yield the distributions of an agent for this platform, with the advice on installing each."""
    if (offer := distribution.npx) is not None:
        name = offer.package[: offer.package.find("@", 1)] if "@" in offer.package[1:] else offer.package
        if not _PACKAGE.fullmatch(name):
            raise ValueError("its npm package has no proper name")
        ways = [Way(package=name, args=offer.args)]
        if offer.cmd:
            ways.append(Way(program=_program(offer.cmd), args=offer.args))
        yield offer, ways, f"npm install -g {name}"
    if (offer := distribution.uvx) is not None:
        match = re.match(r"([A-Za-z0-9][\w.-]*)(\[[\w,.\- ]*\])?", offer.package)
        if match is None:
            raise ValueError("its Python package has no proper name")
        package = f"'{match[0]}'" if match[2] else match[0]
        way = Way(program=_program(offer.cmd or match[1]), args=offer.args)
        yield offer, [way], f"uv tool install {package}"
    if (offer := distribution.binary.get(target)) is not None:
        program = _program(re.split(r"[/\\]", offer.cmd)[-1].removesuffix(".exe"))
        install = f"get {offer.archive} and put {program} on your PATH" if offer.archive else ""
        yield offer, [Way(program=program, args=offer.args)], install


def _program(name: str) -> str:
    if not _PROGRAM.fullmatch(name):
        raise ValueError("its command is no name of a program")
    return name


def _shown(text: str) -> str:
    """Return text for people: one line without control characters."""
    return "".join(filter(str.isprintable, text))


def _read(place: str) -> bytes:
    with Path(place).expanduser().open("rb") as stream:
        return stream.read(_LARGEST + 1)


async def _fetch(place: str) -> bytes:
    """Download a registry. Redirects from https to anything else are refused."""
    import httpx2  # noqa: PLC0415 - it is slow to import, and rarely needed

    async def stay_safe(request: httpx2.Request) -> None:
        if place.startswith("https:") and request.url.scheme != "https":
            raise ValueError("it leads away from https")

    data, hooks = bytearray(), {"request": [stay_safe]}
    try:
        async with (
            httpx2.AsyncClient(follow_redirects=True, timeout=None, event_hooks=hooks) as client,
            client.stream("GET", place) as answer,
        ):
            answer.raise_for_status()
            async for piece in answer.aiter_bytes():
                data += piece
                if len(data) > _LARGEST:
                    break
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ValueError(str(error)) from None
    return bytes(data)
