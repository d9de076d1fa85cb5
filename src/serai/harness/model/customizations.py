"""The customisations of a session in one turn: rules, skills, prompts, hooks and servers.

They are collected when a turn begins, so what people switch on or off counts from the next turn. The rules in
force follow from what the model sees: from the files that the conversation is about, and from the rules that
were taken in it. So a turn that is continued after a restart has the same rules.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from serai.ahp import types as t
from serai.contract.record import tool_schema
from serai.customizations.containers import Definition
from serai.errors import FileUnreadable, InvalidParams, ProtocolError
from serai.harness.model.hooks import Hooks
from serai.harness.model.tool import Asking, ForeignRequest, ModelTool, ToolAnswer, ToolRequest
from serai.host.turn import Turn
from serai.machine.watch.globs import PathFilter
from serai.session.messages import (
    SessionContext,
    SessionMessage,
    SessionMessageRole,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from serai.uris import path_of

_MOST_TEXT = 128 * 1024
"""Most characters of one rule, skill or prompt that a model sees."""
_NOTHING = PathFilter([""])
_PLACE_OF_ARGUMENTS = re.compile(r"\$ARGUMENTS\b|\{\{\s*args\s*\}\}|\$([1-9])")
_READ_RULE = "read_rule"


class _Rule(NamedTuple):
    definition: Definition
    is_always: bool
    globs: tuple[str, ...]
    files: PathFilter | None
    """The files that the rule is for; `None` for all."""
    mention: re.Pattern[str]
    """The pattern by which a person names the rule."""

    @property
    def title(self) -> str:
        only = f" (for files that match {', '.join(self.globs)})" if self.globs else ""
        return f"{self.definition.name}{only}"

    def is_in_force(self, files: Iterable[str], taken: Collection[str], typed: str) -> bool:
        """Tell whether the rule holds: for its files only, and if it always holds or someone has taken it."""
        if self.files is not None and not any(self.files.passes(file) for file in files):
            return False
        return self.is_always or self.definition.name in taken or self.mention.search(typed) is not None


@dataclass(frozen=True, slots=True)
class Customized:
    """The session's customisations, as one turn has them."""

    tools: tuple[ModelTool, ...]
    """The tools `read_rule` and `use_skill`, if there is something for them."""
    servers: tuple[Definition, ...]
    """The MCP servers that may run."""
    hooks: Hooks
    rules: tuple[_Rule, ...]
    skills: tuple[Definition, ...]
    """The skills that the model may use."""
    called: str
    """The whole text of what the person has called by its name."""
    files: frozenset[str]
    """The files that the person has open or has attached."""
    folder: Path

    async def instructions(self, seen: Sequence[SessionMessage]) -> str:
        """Return the text beside the system prompt, given what the model is going to see."""
        calls = list(_successful_calls(seen))
        files = self.files | {
            _relative_path(self.folder, path)
            for call in calls
            if isinstance(path := call.input.get("path"), str)
        }
        taken = {str(call.input.get("name")) for call in calls if call.name == _READ_RULE}
        typed = "\n".join(_typed_texts(seen))
        in_force = [rule for rule in self.rules if rule.is_in_force(files, taken, typed)]
        shown = {rule.definition.child.id for rule in in_force}
        offered = [
            rule.definition
            for rule in self.rules
            if not rule.is_always and rule.definition.child.id not in shown
        ]
        sections = [f"# Rule: {rule.title}\n\n{await _read(rule.definition)}" for rule in in_force]
        sections += _listed("Rules that you may take up with read_rule, where one bears on the task", offered)
        sections += _listed("Skills that you may read with use_skill, where one fits the task", self.skills)
        sections += [f"# Context from hooks\n\n{said}" for said in self.hooks.context]
        return "\n\n".join([*sections, self.called] if self.called else sections)


async def customized(
    turn: Turn, situation: SessionContext, session: str, environ: Mapping[str, str]
) -> Customized:
    """Collect the customisations of a turn. Nothing runs yet.

    Args:
        turn: The turn.
        situation: The working directory, and the files that the person has open.
        session: The session's URI.
        environ: The environment of hooks, without secrets.
    """
    folder, message = Path(situation.working_dir), turn.message
    definitions = [one for one in await turn.definitions() if one.enabled]
    rules = tuple(_rule(one, one.child) for one in definitions if isinstance(one.child, t.RuleCustomization))
    skills = _by_name(
        one
        for one in definitions
        if isinstance(one.child, t.SkillCustomization) and not one.child.disable_model_invocation
    )
    for_people = _by_name(
        one
        for one in definitions
        if isinstance(one.child, t.SkillCustomization | t.PromptCustomization) and one.user_invocable
    )
    chosen = {rule.definition.name: rule for rule in reversed(rules) if not rule.is_always}
    rule_tool = "Take up one of the rules that are offered. Its text is then among your instructions."
    skill_tool = "Read what one of the skills that are listed says, and do as it says."
    tools = [
        *_by_name_tool(_READ_RULE, "rule", rule_tool, chosen, _when_in_force),
        *_by_name_tool("use_skill", "skill", skill_tool, skills, _read),
    ]
    open_files = [situation.active_file, situation.selection.file if situation.selection else None]
    return Customized(
        tools=tuple(tools),
        servers=tuple(
            one for one in definitions if isinstance(one.child, t.McpServerCustomization) and one.runnable
        ),
        hooks=Hooks(definitions, folder, environ, session, turn.notice),
        rules=rules,
        skills=tuple(skills.values()),
        called=await _called_text(message.text, for_people),
        files=frozenset(
            _relative_path(folder, path) for path in [*open_files, *_attached_uris(message)] if path
        ),
        folder=folder,
    )


# -- rules -------------------------------------------------------------------------------------------------


def _rule(definition: Definition, child: t.RuleCustomization) -> _Rule:
    globs = tuple(child.globs or ())
    # Not a part of a longer name or of a path: `@style` is none in `@style-guide` and `/style/a.md`.
    mention = re.compile(rf"(?<!\S)[@/]{re.escape(child.name)}(?![\w./:-]*\w)")
    return _Rule(definition, bool(child.always_apply), globs, _filter(globs), mention)


def _filter(globs: Sequence[str]) -> PathFilter | None:
    """Return the filter of some globs. A glob without a slash means names in every folder."""
    try:
        return PathFilter([glob if "/" in glob else f"**/{glob}" for glob in globs]) if globs else None
    except InvalidParams:  # a broken glob means no file
        return _NOTHING


def _typed_texts(seen: Sequence[SessionMessage]) -> Iterator[str]:
    """Yield the texts that people have typed. These come before attachments."""
    for message in seen:
        if message.role is SessionMessageRole.USER:
            yield from (part.text for part in message.content[:1] if isinstance(part, TextPart))


def _successful_calls(seen: Sequence[SessionMessage]) -> Iterator[ToolCallPart]:
    """Yield the calls that did not fail, including those that still run."""
    parts = [part for message in seen for part in message.content]
    failed = {part.id for part in parts if isinstance(part, ToolResultPart) and part.is_error}
    return (part for part in parts if isinstance(part, ToolCallPart) and part.id not in failed)


def _attached_uris(message: t.UserMessage) -> Iterator[str]:
    for attachment in message.attachments or ():
        if isinstance(attachment, t.MessageResourceAttachment):
            yield attachment.uri


def _relative_path(folder: Path, path: str) -> str:
    """Return a file's path relative to the working directory, as globs name it."""
    with suppress(ProtocolError):  # it is no URI
        path = str(path_of(path))
    return os.path.relpath(folder / path.replace("\0", ""), folder)


# -- skills and prompts by name ----------------------------------------------------------------------------


class _Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str


def _by_name_tool(
    name: str, kind: str, description: str, known: Mapping[str, Any], told: Callable[[Any], Awaitable[str]]
) -> list[ModelTool]:
    """Return a tool that takes a name, if any names are known. `told` returns what the model reads."""

    def read(given: Mapping[str, Any]) -> ToolRequest:
        named = msgspec.convert(given, _Named).name

        async def call() -> ToolAnswer:
            if (one := known.get(named)) is None:
                there = ", ".join(known)
                return ToolAnswer(f"there is no {kind} {named!r}; there are: {there}", is_error=True)
            return ToolAnswer(await told(one))

        return ForeignRequest(f"Take the {kind} {named}", call)

    title, schema = f"Take a {kind}", tool_schema(_Named)
    return (
        [ModelTool(name, title, description, schema, read, Asking.NEVER, is_idempotent=True)] if known else []
    )


async def _when_in_force(rule: _Rule) -> str:
    """Return the sentence that says when a rule holds: its text is among the instructions then."""
    when = f"while a file that matches {', '.join(rule.globs)} is at hand" if rule.globs else "from now on"
    return f"The text of {rule.definition.name} is among your instructions {when}."


def _by_name(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """Return definitions by their names. Of two with the same name, the first counts."""
    found: dict[str, Definition] = {}
    for one in definitions:
        found.setdefault(one.name, one)
    return found


def _listed(title: str, definitions: Iterable[Definition]) -> list[str]:
    lines = [
        f"- {one.name}: {' '.join((getattr(one.child, 'description', None) or '').split())}"
        for one in definitions
    ]
    return ["\n".join([f"# {title}", "", *lines])] if lines else []


async def _called_text(text: str, known: Mapping[str, Definition]) -> str:
    """Return the text that a person calls by a message that begins with `/name arguments`; else nothing."""
    for name in sorted(known, key=len, reverse=True):  # a name may have spaces, and begin with another name
        if re.match(rf"/{re.escape(name)}(?!\S)", text):
            body = _with_arguments(await _read(known[name]), text[len(name) + 1 :].strip())
            return f"# The person has called /{name}\n\nDo as it says:\n\n{body}"
    return ""


def _with_arguments(body: str, arguments: str) -> str:
    """Return a prompt with its arguments inserted, or behind it."""
    words = ["", *arguments.split()]

    def put(found: re.Match[str]) -> str:
        if found[1] is None:
            return arguments
        return words[int(found[1])] if int(found[1]) < len(words) else ""

    filled, count = _PLACE_OF_ARGUMENTS.subn(put, body)
    return filled if count or not arguments else f"{body}\n\nArguments: {arguments}"


async def _read(definition: Definition) -> str:
    """Return the text of a rule, a skill or a prompt; for a skill, also where its files are."""
    try:
        body = (await asyncio.to_thread(definition.body)).strip()
    except FileUnreadable as error:
        return f"[It cannot be read: {error.message}]"
    if len(body) > _MOST_TEXT:
        body = f"{body[:_MOST_TEXT]}\n[The rest is left out: it is too long]"
    if definition.path.endswith("/SKILL.md"):
        folder = definition.child.uri.removeprefix("file://").rpartition("/")[0]
        return f"{body}\n\n[The files of this skill are in {folder}]"
    return body
