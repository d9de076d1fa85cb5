"""What is known of an agent before it is started. All of it is data: no code asks for an agent's name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from serai.errors import ConfigInvalid

Word = Annotated[str, Meta(min_length=1)]

_VALUE = re.compile(r"[A-Za-z0-9._:-]+")
"""What may become part of an argument. Anything else could be read as more than a value."""


class Way(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to start an agent: a program, or a package that node runs."""

    program: str = ""
    """A name that is looked for, or a whole path."""
    package: str = ""
    """The name of an npm package."""
    entry: str = ""
    """The file of the package to run; by default its only command, or the one called like it."""
    node: Annotated[int, Meta(ge=0)] = 0
    """The oldest node that will do, where the package's own `engines` does not say so."""
    args: tuple[str, ...] = ()
    within: str = ""
    """A part of the program's real path, for names that other programs have too.

    Without it the program counts only where one of the agent's folders is.
    """
    is_acp: bool = True
    """Whether what is started so speaks ACP. If not, it is found, and cannot be used."""
    model_args: tuple[str, ...] = ()
    """Arguments that choose a model from the start, with `{}` in its place."""
    effort_args: tuple[str, ...] = ()
    """The same for the effort."""

    def choosing(self, *, model: str | None = None, effort: str | None = None) -> tuple[str, ...]:
        """The arguments that choose model and effort from the start; none where there are no such arguments.

        Raises:
            ConfigInvalid: A value has other characters than letters, digits and `._:-`.
        """
        return (*_filled(self.model_args, "a model", model), *_filled(self.effort_args, "an effort", effort))


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By what one sees that someone is signed in. Files are looked at, never read."""

    env: tuple[str, ...] = ()
    """Variables, one of which is set."""
    files: tuple[str, ...] = ()
    """Files, one of which is there and not empty; `~` and `${NAME:-default}` are replaced."""
    conclusive: bool = False
    """Whether nobody is signed in where there is none of it. Keyrings, for one, cannot be seen."""


class AgentDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent of the catalogue. Which models it has is unknown until it is asked."""

    id: Word
    label: Word
    description: str = ""
    homepage: str = ""
    aliases: tuple[Word, ...] = ()
    ways: Annotated[tuple[Way, ...], Meta(min_length=1)]
    """How it can be started, the best first."""
    env: Mapping[str, str] = {}
    """Variables that it is started with. They win over the host's own."""
    mcp_env: Mapping[str, str] = {}
    """Further ones for a session that brings MCP servers along."""
    folders: tuple[str, ...] = ()
    """Where it keeps its things, now or in earlier versions: they tell that someone has used it."""
    install: str = ""
    """How to install it, for people."""
    login: tuple[str, ...] = ()
    """The command that signs in."""
    signed_in: Evidence = Evidence()
    version_args: tuple[str, ...] = ("--version",)
    """What makes its program tell the version. Without any, that of the program is not the agent's."""
    models_args: tuple[str, ...] = ()
    """What makes its program list the models, one on a line."""
    fs: bool = False
    """Whether it is offered to have files read and written by the host."""
    terminal: bool = False
    """Whether it is offered to have commands run in terminals of the host."""
    native_system_prompt: bool = False
    """Whether it takes a system prompt of its own; elsewhere that goes before the first message."""
    cumulative_tokens: bool = False
    """Whether the tokens that it tells with the end of a turn are those of its session since that was opened.
    That is how ACP describes them, but most agents tell those of the turn."""
    auth_patterns: tuple[Word, ...] = ()
    """Regular expressions, without regard to case: a line of its log with one says that it wants someone to
    sign in. Then it is ended at once, and whoever waits for it is told. Without any, its log counts only when
    it does not start."""
    usage_patterns: tuple[Word, ...] = ()
    """The same for an account that has nothing left to spend."""
    loads: Annotated[int, Meta(ge=1)] = 1
    """How often it is asked to load a session that it has, before that counts as refused."""

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
        """The same agent, started by another program. The arguments stay."""
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
