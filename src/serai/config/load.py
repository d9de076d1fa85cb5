"""Settings from four sources: flags over the environment over the project's file over the person's file.

Each value knows where it comes from. The project's file of a folder that a person trusts sets what concerns
its sessions; whatever else such a file wants is left out and reported. Agents
(`[agents.NAME]`) come from files only; one that a project describes takes the place of the person's own of
that name. Servers of models (`[models.NAME]`) come from the person's file only: they are the host's, and so
are their keys.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from serai.config.agents import AgentSettings, read_agents
from serai.config.models import ModelServer, read_models
from serai.config.paths import CONFIG_NAME, Paths, real
from serai.config.settings import FROM_PROJECTS, Settings
from serai.config.toml import MAX_TOML, BrokenToml, briefly, problem_of, read_toml
from serai.config.trust import Trust
from serai.errors import ConfigInvalid

_HOSTS_OWN = "it is the host's own: set it in your own serai.toml"
_TYPES = {info.name: info.type for info in msgspec.structs.fields(Settings)}


class Source(StrEnum):
    """Where a value comes from, the strongest last."""

    DEFAULT = "default"
    USER = "user file"
    PROJECT = "project file"
    ENVIRONMENT = "environment"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where one value comes from."""

    source: Source
    place: str = ""
    """The file, the variable or the flag."""

    def __str__(self) -> str:
        return f"{self.source} ({self.place})" if self.place else str(self.source)


@dataclass(frozen=True, slots=True)
class Ignored:
    """Something that a project's file wanted, and may not want."""

    key: str
    value: Any
    file: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.key} is ignored: {self.reason}"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings that hold, and why."""

    settings: Settings
    paths: Paths
    provenance: Mapping[str, Provenance]
    """By the name of the setting; for all of them."""
    ignored: tuple[Ignored, ...] = ()
    agents: Mapping[str, AgentSettings] = field(default_factory=dict[str, AgentSettings])
    """What files say about agents, by name. They may hold secrets, so they are not among the settings."""
    models: Mapping[str, ModelServer] = field(default_factory=dict[str, ModelServer])
    """The servers of models that the person's file describes, by name."""


class SettingsFile(NamedTuple):
    """What a file says."""

    values: dict[str, Any]
    agents: dict[str, AgentSettings]
    models: dict[str, ModelServer]


_Found: TypeAlias = dict[str, tuple[Any, Provenance]]
"""What holds so far, by setting, and where it comes from."""


def variable(key: str) -> str:
    """The environment variable of a setting: `SERAI_PORT` for `port`."""
    return f"SERAI_{key.upper()}"


def load(
    paths: Paths,
    environ: Mapping[str, str],
    *,
    flags: Mapping[str, Any] | None = None,
    project: Path | None = None,
) -> Configuration:
    """Read all sources and say what holds.

    Args:
        paths: Where the files are; the list of trusted folders is read from there.
        environ: The environment.
        flags: What the command line says, by the name of the setting; `None` stands for a flag not given.
        project: The working directory whose `serai.toml` counts, if there is one in it.

    Raises:
        ConfigInvalid: A source has a key that there is not, or a value that cannot be. The message names the
            source, the key and what is expected. Or the project leads nowhere.
    """
    found: _Found = {}
    _put(found, {key: getattr(Settings(), key) for key in _TYPES}, Provenance(Source.DEFAULT))
    own = _from_file(paths.user_config)
    _put(found, own.values, Provenance(Source.USER, str(paths.user_config)))
    agents, ignored = own.agents, list[Ignored]()
    if project is not None:
        agents = agents | _add_project(found, paths, project, ignored)
    for key in _TYPES:
        name, flag = variable(key), f"--{key.replace('_', '-')}"
        given = (flags or {}).get(key)
        if given is not None:
            _put(found, {key: _read_value(key, given, flag)}, Provenance(Source.FLAG, flag))
        elif name in environ:
            _put(found, {key: _read_value(key, environ[name], name)}, Provenance(Source.ENVIRONMENT, name))
    settings = Settings(**{key: value for key, (value, _) in found.items()})
    provenance = {key: source for key, (_, source) in found.items()}
    return Configuration(settings, paths, provenance, tuple(ignored), agents, own.models)


def _put(found: _Found, values: Mapping[str, Any], provenance: Provenance) -> None:
    found |= {key: (value, provenance) for key, value in values.items()}


def _add_project(
    found: _Found, paths: Paths, project: Path, ignored: list[Ignored]
) -> dict[str, AgentSettings]:
    """Add what a project's file may set, and what it may not to `ignored`. Returns its agents."""
    file = real(project) / CONFIG_NAME
    if file == paths.user_config.resolve():
        return {}
    values, agents, models = _from_file(file)
    ignored += [Ignored(f"models.{name}", None, file, _HOSTS_OWN) for name in models]
    ignored += [Ignored(key, values[key], file, _HOSTS_OWN) for key in values if key not in FROM_PROJECTS]
    values = {key: value for key, value in values.items() if key in FROM_PROJECTS}
    if (values or agents) and not Trust(paths.trust).is_trusted(project):
        why = f"the folder is not trusted (to trust it: 'serai config trust {project}')"
        ignored += [Ignored(key, value, file, why) for key, value in values.items()]
        ignored += [Ignored(f"agents.{name}", None, file, why) for name in agents]
        values, agents = {}, {}
    _put(found, values, Provenance(Source.PROJECT, str(file)))
    return agents


def _from_file(file: Path) -> SettingsFile:
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # anyone may have made it: it may be a pipe
            raise ConfigInvalid(f"{file} cannot be read: it is not a file")
        with file.open("rb") as stream:
            data = stream.read(MAX_TOML + 1)
    except (FileNotFoundError, NotADirectoryError):
        return SettingsFile({}, {}, {})
    except OSError as error:
        raise ConfigInvalid(f"{file} cannot be read: {error.strerror}") from None
    return read_settings(data, file)


def read_settings(data: bytes, file: Path) -> SettingsFile:
    """What a file says, given what is in it.

    Raises:
        ConfigInvalid: It is not TOML, or says what it cannot.
    """
    try:
        table = read_toml(data.decode("utf-8-sig"))  # editors of Windows put a mark before the text
    except (BrokenToml, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"{file} is not TOML: {error}") from None
    agents = read_agents(table.pop("agents", {}), str(file))
    models = read_models(table.pop("models", {}), str(file))
    return SettingsFile(
        {key: _checked(key, value, str(file)) for key, value in table.items()}, agents, models
    )


def _read_value(key: str, value: Any, place: str) -> Any:
    """A value that may be written as text: lists with commas, numbers and switches as words."""
    if not isinstance(value, str):
        return _checked(key, value, place)
    if _TYPES.get(key) == tuple[str, ...]:
        return tuple(word for part in value.split(",") if (word := part.strip()))
    return _checked(key, value.strip(), place, strict=False)


def _checked(key: str, value: Any, place: str, *, strict: bool = True) -> Any:
    if key not in _TYPES:
        there_are = [*_TYPES, "agents", "models"]
        near = get_close_matches(key, there_are, n=1)
        remedy = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(there_are)}"
        raise ConfigInvalid(f"{place}: there is no setting {briefly(repr(key))}", remedy=remedy)
    try:
        return msgspec.convert(value, _TYPES[key], strict=strict)
    except msgspec.ValidationError as error:
        raise ConfigInvalid(f"{place}: {key} = {briefly(repr(value))}: {problem_of(error)}") from None
