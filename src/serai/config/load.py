"""Settings from four sources. In order of precedence: flags, environment, project's file, person's file.

Each value has its origin. The project's file of a trusted folder may set what concerns its sessions; its
other settings are ignored and reported. Agents (`[agents.NAME]`) come from files only; one of a project
replaces the person's own agent of that name. Servers of models (`[models.NAME]`) come from the person's file
only: they are the host's, and so are their keys.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

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
    """The source of a value; later ones override earlier ones."""

    DEFAULT = "default"
    USER = "user file"
    PROJECT = "project file"
    ENVIRONMENT = "environment"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of one value."""

    source: Source
    place: str = ""
    """File, variable or flag that has the value."""

    def __str__(self) -> str:
        return f"{self.source} ({self.place})" if self.place else str(self.source)


@dataclass(frozen=True, slots=True)
class Ignored:
    """A setting of a project's file that is ignored."""

    key: str
    value: Any
    file: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.key} is ignored: {self.reason}"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The effective settings, and their origin."""

    settings: Settings
    paths: Paths
    provenance: Mapping[str, Provenance]
    """Origin of each setting, by its name."""
    ignored: tuple[Ignored, ...] = ()
    agents: Mapping[str, AgentSettings] = field(default_factory=dict[str, AgentSettings])
    """Settings of agents from files, by name. They may hold secrets, so they are not part of the settings."""
    models: Mapping[str, ModelServer] = field(default_factory=dict[str, ModelServer])
    """Servers of models from the person's file, by name."""


class SettingsFile(NamedTuple):
    """The content of a configuration file."""

    values: dict[str, Any]
    agents: dict[str, AgentSettings]
    models: dict[str, ModelServer]


def variable(key: str) -> str:
    """Return the environment variable of a setting: `SERAI_PORT` for `port`."""
    return f"SERAI_{key.upper()}"


def load(
    paths: Paths,
    environ: Mapping[str, str],
    *,
    flags: Mapping[str, Any] | None = None,
    project: Path | None = None,
) -> Configuration:
    """Read all sources and return the effective configuration.

    Args:
        paths: Where the files are; the list of trusted folders is read from there.
        environ: The environment.
        flags: The flags of the command line, by the name of the setting; `None` for an absent flag.
        project: The working directory whose `serai.toml` counts, if there is one in it.

    Raises:
        ConfigInvalid: A source has an unknown key or an invalid value. The message names the
            source, the key and what is expected. Or the path of the project cannot be resolved.
    """
    own = _from_file(paths.user_config)
    values, agents, ignored = own.values, own.agents, list[Ignored]()
    provenance = dict.fromkeys(_TYPES, Provenance(Source.DEFAULT))
    provenance |= dict.fromkeys(values, Provenance(Source.USER, str(paths.user_config)))
    if project is not None:
        file = real(project) / CONFIG_NAME
        theirs = _of_project(paths, file, ignored)
        values, agents = values | theirs.values, agents | theirs.agents
        provenance |= dict.fromkeys(theirs.values, Provenance(Source.PROJECT, str(file)))
    for key in _TYPES:
        name, flag = variable(key), f"--{key.replace('_', '-')}"
        given = (flags or {}).get(key)
        if given is not None:
            values[key], provenance[key] = _read_value(key, given, flag), Provenance(Source.FLAG, flag)
        elif name in environ:
            values[key] = _read_value(key, environ[name], name)
            provenance[key] = Provenance(Source.ENVIRONMENT, name)
    return Configuration(Settings(**values), paths, provenance, tuple(ignored), agents, own.models)


def _of_project(paths: Paths, file: Path, ignored: list[Ignored]) -> SettingsFile:
    """Read the permitted settings and the agents of a project's file. Add the others to `ignored`."""
    if file == paths.user_config.resolve():
        return SettingsFile({}, {}, {})
    values, agents, models = _from_file(file)
    ignored += [Ignored(f"models.{name}", None, file, _HOSTS_OWN) for name in models]
    ignored += [Ignored(key, values[key], file, _HOSTS_OWN) for key in values if key not in FROM_PROJECTS]
    values = {key: value for key, value in values.items() if key in FROM_PROJECTS}
    if (values or agents) and not Trust(paths.trust).is_trusted(file.parent):
        why = f"the folder is not trusted (to trust it: 'serai config trust {file.parent}')"
        ignored += [Ignored(key, value, file, why) for key, value in values.items()]
        ignored += [Ignored(f"agents.{name}", None, file, why) for name in agents]
        values, agents = {}, {}
    return SettingsFile(values, agents, {})


def _from_file(file: Path) -> SettingsFile:
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a stranger may have made it as a pipe
            raise ConfigInvalid(f"{file} cannot be read: it is not a file")
        with file.open("rb") as stream:
            data = stream.read(MAX_TOML + 1)
    except (FileNotFoundError, NotADirectoryError):
        return SettingsFile({}, {}, {})
    except OSError as error:
        raise ConfigInvalid(f"{file} cannot be read: {error.strerror}") from None
    return read_settings(data, file)


def read_settings(data: bytes, file: Path) -> SettingsFile:
    """Parse a configuration file.

    Raises:
        ConfigInvalid: The content is not TOML, or not valid.
    """
    try:
        table = read_toml(data.decode("utf-8-sig"))  # editors on Windows write a byte order mark
    except (BrokenToml, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"{file} is not TOML: {error}") from None
    agents = read_agents(table.pop("agents", {}), str(file))
    models = read_models(table.pop("models", {}), str(file))
    return SettingsFile(
        {key: _checked(key, value, str(file)) for key, value in table.items()}, agents, models
    )


def _read_value(key: str, value: Any, place: str) -> Any:
    """Parse a value that may be text: a list with commas, a number or a boolean."""
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
