"""The definition of an agent. All of it is data: no code depends on an agent's name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from serai.errors import ConfigInvalid

Word = Annotated[str, Meta(min_length=1)]

_VALUE = re.compile(r"[A-Za-z0-9._:-]+")
"""Values that may become part of an argument. Others could be read as more than a value."""


class Way(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to start an agent: a program, or a package that node runs."""

    program: str = ""
    """A name to look up, or a whole path."""
    package: str = ""
    """The name of an npm package."""
    entry: str = ""
    """The file of the package to run; by default its only command, or the one of the same name."""
    node: Annotated[int, Meta(ge=0)] = 0
    """The oldest suitable node, if the package's own `engines` does not say it."""
    args: tuple[str, ...] = ()
    within: str = ""
    """Part of the program's real path, for names that other programs have, too.

    A program elsewhere counts only if one of the agent's folders exists.
    """
    is_acp: bool = True
    """True if it speaks ACP. Otherwise the agent is found, and cannot be used."""
    model_args: tuple[str, ...] = ()
    """Arguments that choose a model at the start, with `{}` in its place."""
    effort_args: tuple[str, ...] = ()
    """Arguments that choose an effort when the agent starts; `{}` is its name."""

    def choosing(self, *, model: str | None = None, effort: str | None = None) -> tuple[str, ...]:
        """Return the arguments that choose model and effort at the start, if there are such.

        Raises:
            ConfigInvalid: A value has other characters than letters, digits and `._:-`.
        """
        return (*_filled(self.model_args, "a model", model), *_filled(self.effort_args, "an effort", effort))


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Evidence that someone is signed in. The content of files is not read."""

    env: tuple[str, ...] = ()
    """Variables: one that is set is evidence."""
    files: tuple[str, ...] = ()
    """Files: one that is not empty is evidence. `~` and `${NAME:-default}` are replaced."""
    conclusive: bool = False
    """True if nobody is signed in without such evidence. Credentials in keyrings, say, are not seen."""


class AgentDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent of the catalogue. Its models are unknown until it is asked."""

    id: Word
    label: Word
    description: str = ""
    homepage: str = ""
    aliases: tuple[Word, ...] = ()
    ways: Annotated[tuple[Way, ...], Meta(min_length=1)]
    """The ways to start it, the best first."""
    env: Mapping[str, str] = {}
    """Variables that it is started with. They override the host's own."""
    mcp_env: Mapping[str, str] = {}
    """Further variables for sessions with MCP servers."""
    folders: tuple[str, ...] = ()
    """Its own folders, also of earlier versions: they show that someone has used it."""
    install: str = ""
    """The command or advice that installs it, for people."""
    login: tuple[str, ...] = ()
    """The command that signs in."""
    signed_in: Evidence = Evidence()
    version_args: tuple[str, ...] = ("--version",)
    """Arguments that print its version; empty if the program's version is not the agent's."""
    models_args: tuple[str, ...] = ()
    """Arguments that list its models, one on a line."""
    fs: bool = False
    """True to offer it files that the host reads and writes."""
    terminal: bool = False
    """True to offer it terminals of the host."""
    native_system_prompt: bool = False
    """True if it takes a system prompt in `_meta`. Otherwise that goes before the first message."""
    cumulative_tokens: bool = False
    """True if it reports the tokens of its session at the end of each turn, as ACP has it. Most agents report
    those of the turn."""
    auth_patterns: tuple[Word, ...] = ()
    """Regular expressions, ignoring case, for lines of its log that say that someone has to sign in. Such a
    line ends it at once with that error. Without any, its log counts only when it does not start."""
    usage_patterns: tuple[Word, ...] = ()
    """The same for an account that has nothing left to spend."""
    loads: Annotated[int, Meta(ge=1)] = 1
    """Number of attempts to load a session before it counts as refused."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its id and its aliases."""
        return (self.id, *self.aliases)

    def __post_init__(self) -> None:
        for pattern in (*self.auth_patterns, *self.usage_patterns):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None

    def started_by(self, program: str) -> AgentDefinition:
        """Return the same agent, started by another program. The arguments stay."""
        usual = next((way for way in self.ways if way.is_acp), self.ways[0])
        way = Way(
            program=program, args=usual.args, model_args=usual.model_args, effort_args=usual.effort_args
        )
        return msgspec.structs.replace(self, ways=(way,))

    def __repr__(self) -> str:
        return f"AgentDefinition({self.id!r})"  # its variables may be secrets


def _filled(template: tuple[str, ...], what: str, value: str | None) -> tuple[str, ...]:
    if value is None:
        return ()
    if not _VALUE.fullmatch(value):
        raise ConfigInvalid(
            f"{value!r} cannot be {what}", remedy="It may have letters, digits and the characters . _ : -"
        )
    return tuple(word.replace("{}", value) for word in template)
