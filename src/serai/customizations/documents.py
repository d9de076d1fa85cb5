"""Agents, skills, prompts and rules: files with a text, and fields that say what it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from serai.ahp.types import (
    AgentCustomization,
    ChildCustomization,
    CustomizationType,
    PromptCustomization,
    RuleCustomization,
    SkillCustomization,
)
from serai.config.loosetoml import BrokenToml, read_toml
from serai.customizations.containers import Contents, Origin, clean, identity, in_one_line, read_text
from serai.customizations.definitions import (
    AgentDefinition,
    Definition,
    PromptDefinition,
    RuleDefinition,
    SkillDefinition,
)
from serai.customizations.frontmatter import Broken, Document, Value, first_paragraph, read
from serai.errors import FileUnreadable

__all__ = ["read_document"]

_MAX_DESCRIPTION = 1_024
# The longest first: what is left of a name is the name.
_ENDINGS = (
    ".instructions.md",
    ".chatmode.md",
    ".prompt.md",
    ".agent.md",
    ".toml",
    ".mdc",
    ".md",
)
_TOML_BODIES = ("prompt", "developer_instructions")


@dataclass(frozen=True, slots=True)
class _File:
    """A file that was read, and what is the same for all kinds of it."""

    origin: Origin
    path: str
    name: str
    id: str
    uri: str
    description: str | None
    fields: Mapping[str, Value]
    instructions: str | None


def read_document(
    origin: Origin,
    path: str,
    folder: str,
    contents: CustomizationType,
    into: Contents,
    *,
    always: bool = False,
    whole_name: bool = False,
) -> None:
    """Read one file into `into`. A file that is not there is passed over; one that is broken is told of.

    Args:
        origin: Where the file comes from.
        path: The file.
        folder: The folder that names are relative to: `git/commit.toml` in it is `git:commit`.
        contents: What the file is.
        into: Where it goes.
        always: For rules: whether they apply when they do not say so. Such a rule counts even when its
            frontmatter is broken.
        whole_name: It is known by its file's name, as `AGENTS.md` is.
    """
    try:
        text = read_text(origin, path)
        if text is None:
            return
        is_toml = path.endswith(".toml")
        document = (
            _toml(origin, path, text) if is_toml else _markdown(origin, path, text, into, forgiving=always)
        )
    except FileUnreadable as error:
        into.problems.append(error.message)
        return
    file = _File(
        origin,
        path,
        in_one_line(path.rpartition("/")[2])
        if whole_name
        else _name(path, folder, contents, document.fields),
        identity(contents, origin.container, path),
        origin.tree.uri(path),
        _description(document),
        document.fields,
        document.body if is_toml else None,
    )
    child, definition = _made(file, contents, always=always)
    into.children.append(child)
    into.definitions.append(definition)


def _markdown(origin: Origin, path: str, text: str, into: Contents, *, forgiving: bool) -> Document:
    try:
        return read(text)
    except Broken as broken:
        message = f"{origin.tree.shown(path)}, line {broken.line}: {broken.problem}"
        if not forgiving:
            raise FileUnreadable(message) from None
        into.warnings.append(message)
        return Document({}, text)


def _toml(origin: Origin, path: str, text: str) -> Document:
    try:
        table = read_toml(text)
    except BrokenToml as error:
        raise FileUnreadable(f"{origin.tree.shown(path)}: {error}") from None
    body = next((table[key] for key in _TOML_BODIES if isinstance(table.get(key), str)), None)
    if body is None:
        raise FileUnreadable(
            f"{origin.tree.shown(path)}: it has no '{_TOML_BODIES[0]}' or '{_TOML_BODIES[1]}'"
        )
    fields = {key: value for key, value in table.items() if key not in _TOML_BODIES}
    return Document(cast("dict[str, Value]", fields), cast("str", body))


def _made(file: _File, contents: CustomizationType, *, always: bool) -> tuple[ChildCustomization, Definition]:
    match contents:
        case CustomizationType.AGENT:
            return (
                AgentCustomization(id=file.id, uri=file.uri, name=file.name, description=file.description),
                AgentDefinition(**_common(file)),
            )
        case CustomizationType.SKILL:
            return _skill(file)
        case CustomizationType.PROMPT:
            hint = _text(file.fields, "argument-hint")
            quiet = _flag(file.fields, "disable-model-invocation", "disableModelInvocation")
            return (
                PromptCustomization(id=file.id, uri=file.uri, name=file.name, description=file.description),
                PromptDefinition(**_common(file), argument_hint=hint, disable_model_invocation=bool(quiet)),
            )
        case _:
            return _rule(file, always=always)


def _skill(file: _File) -> tuple[ChildCustomization, Definition]:
    quiet = _flag(file.fields, "disable-model-invocation", "disableModelInvocation")
    for_people = _flag(file.fields, "user-invocable", "userInvocable", "user-invokable")
    return (
        SkillCustomization(
            id=file.id,
            uri=file.uri,
            name=file.name,
            description=file.description,
            disable_model_invocation=quiet,
        ),
        SkillDefinition(
            **_common(file),
            disable_model_invocation=bool(quiet),
            user_invocable=for_people is not False,
            argument_hint=_text(file.fields, "argument-hint"),
        ),
    )


def _rule(file: _File, *, always: bool) -> tuple[ChildCustomization, Definition]:
    # Copilot's `applyTo` and Claude Code's `paths` bring the rule in by themselves; Cursor's `globs` are a
    # condition beside `alwaysApply`.
    brought_in = _globs(file.fields, "applyTo", "paths")
    globs = [] if "**" in brought_in else brought_in or _globs(file.fields, "globs")
    said = _flag(file.fields, "alwaysApply")
    applies = said if said is not None else (always or bool(brought_in) or None)
    return (
        RuleCustomization(
            id=file.id,
            uri=file.uri,
            name=file.name,
            description=file.description,
            always_apply=applies,
            globs=globs or None,
        ),
        RuleDefinition(**_common(file), always_apply=bool(applies), globs=tuple(globs)),
    )


def _common(file: _File) -> dict[str, Any]:
    return {
        "id": file.id,
        "container": file.origin.container,
        "source": file.origin.source,
        "plugin": file.origin.plugin,
        "path": file.path,
        "uri": file.uri,
        "name": file.name,
        "runnable": file.origin.trusted,
        "description": file.description,
        "fields": file.fields,
        "instructions": file.instructions,
        "tree": file.origin.tree,
    }


def _name(path: str, folder: str, contents: CustomizationType, fields: Mapping[str, Value]) -> str:
    below = path[len(folder) :].strip("/") if path.startswith(folder) else path
    parts = below.split("/")
    if parts[-1] == "SKILL.md":
        parts = parts[:-1] or folder.rstrip("/").split("/")[-1:]
    else:
        ending = next((ending for ending in _ENDINGS if parts[-1].endswith(ending)), "")
        parts[-1] = parts[-1].removesuffix(ending)
    said = _text(fields, "name")
    # A prompt is started by its path; its `name`, where it has one, is a title.
    if said and (contents is not CustomizationType.PROMPT or len(parts) == 1):
        return in_one_line(said)
    return in_one_line(":".join(parts))


def _description(document: Document) -> str | None:
    description = _text(document.fields, "description") or first_paragraph(document.body)
    if description and len(description) > _MAX_DESCRIPTION:
        description = description[: _MAX_DESCRIPTION - 1].rstrip() + "…"
    return clean(description) if description else None


def _text(fields: Mapping[str, Value], key: str) -> str | None:
    value = fields.get(key)
    return value.strip() or None if isinstance(value, str) else None


def _flag(fields: Mapping[str, Value], *keys: str) -> bool | None:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            return value.lower() == "true"
    return None


def _globs(fields: Mapping[str, Value], *keys: str) -> list[str]:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str):
            return [clean(part) for part in _split(value)]
        if isinstance(value, list):
            return [clean(part.strip()) for part in value if isinstance(part, str) and part.strip()]
    return []


def _split(globs: str) -> list[str]:
    """Take a list with commas apart; commas in braces belong to their glob: `*.{ts,tsx}, *.js` are two."""
    parts: list[str] = [""]
    depth = 0
    for sign in globs:
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip().strip("\"'") for part in parts if part.strip()]
