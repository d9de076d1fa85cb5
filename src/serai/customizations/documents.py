"""Reads agents, skills, prompts and rules: files with a text, and fields that describe it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from serai.ahp.types import (
    AgentCustomization,
    CustomizationType,
    KnownChildCustomization,
    PromptCustomization,
    RuleCustomization,
    SkillCustomization,
)
from serai.customizations.containers import (
    Contents,
    Definition,
    Origin,
    clean,
    identity,
    in_one_line,
    read_text,
)
from serai.customizations.frontmatter import BrokenText, first_paragraph, take_apart
from serai.errors import FileUnreadable

_MAX_DESCRIPTION = 1_024
_ENDINGS = (".instructions.md", ".chatmode.md", ".prompt.md", ".agent.md", ".toml", ".mdc", ".md")
"""Endings that are not part of a name, the longest first."""


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
    """Read one file into `into`. A missing file is skipped.

    Args:
        origin: The source of the file.
        path: The file.
        folder: The folder that names are relative to: `git/commit.toml` in it is `git:commit`.
        contents: The kind of the file.
        into: Receives the result.
        always: For rules: they apply unless they say otherwise. Such a rule counts even when its frontmatter
            is broken.
        whole_name: Name it after its file, as `AGENTS.md`.

    Raises:
        FileUnreadable: The file is broken; the message names it.
    """
    text = read_text(origin, path)
    if text is None:
        return
    try:
        fields, body = take_apart(path, text)
    except BrokenText as broken:
        line = f", line {broken.line}" if broken.line else ""
        message = f"{origin.tree.shown(path)}{line}: {broken}"
        if not always:
            raise FileUnreadable(message) from None
        into.problems.append(message)
        fields, body = {}, text
    name = in_one_line(path.rpartition("/")[2]) if whole_name else _name(path, folder, contents, fields)
    shown: dict[str, Any] = {
        "id": identity(contents, origin.container, path),
        "uri": origin.tree.uri(path),
        "name": name,
        "description": _description(fields, body),
    }
    for_people = _flag(fields, "user-invocable", "userInvocable", "user-invokable")
    into.definitions.append(
        Definition(
            _child(shown, fields, contents, always=always),
            origin.container,
            path,
            origin.trusted,
            fields,
            origin.tree,
            user_invocable=for_people is not False,
        )
    )


def _child(
    shown: dict[str, Any], fields: Mapping[str, Any], contents: CustomizationType, *, always: bool
) -> KnownChildCustomization:
    match contents:
        case CustomizationType.AGENT:
            return AgentCustomization(**shown)
        case CustomizationType.PROMPT:
            return PromptCustomization(**shown)
        case CustomizationType.RULE:
            applies, globs = _applies(fields, always=always)
            return RuleCustomization(**shown, always_apply=applies, globs=globs or None)
        case _:
            quiet = _flag(fields, "disable-model-invocation", "disableModelInvocation")
            return SkillCustomization(**shown, disable_model_invocation=quiet)


def _applies(fields: Mapping[str, Any], *, always: bool) -> tuple[bool | None, list[str]]:
    # Copilot's `applyTo` and Claude Code's `paths` make the rule apply by themselves; Cursor's `globs` are a
    # condition beside `alwaysApply`.
    brought_in = _globs(fields, "applyTo", "paths")
    globs = [] if "**" in brought_in else brought_in or _globs(fields, "globs")
    said = _flag(fields, "alwaysApply")
    return said if said is not None else (always or bool(brought_in) or None), globs


def _name(path: str, folder: str, contents: CustomizationType, fields: Mapping[str, Any]) -> str:
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


def _description(fields: Mapping[str, Any], body: str) -> str | None:
    description = _text(fields, "description") or first_paragraph(body)
    if description and len(description) > _MAX_DESCRIPTION:
        description = description[: _MAX_DESCRIPTION - 1].rstrip() + "…"
    return clean(description) if description else None


def _text(fields: Mapping[str, Any], key: str) -> str | None:
    value = fields.get(key)
    return value.strip() or None if isinstance(value, str) else None


def _flag(fields: Mapping[str, Any], *keys: str) -> bool | None:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            return value.lower() == "true"
    return None


def _globs(fields: Mapping[str, Any], *keys: str) -> list[str]:
    for key in keys:
        value: Any = fields.get(key)
        if isinstance(value, str):
            return [clean(part) for part in _split(value)]
        if isinstance(value, list):
            items = cast("list[Any]", value)
            return [clean(part.strip()) for part in items if isinstance(part, str) and part.strip()]
    return []


def _split(globs: str) -> list[str]:
    """Split a list at its commas; commas in braces belong to their glob: `*.{ts,tsx}, *.js` are two."""
    parts: list[str] = [""]
    depth = 0
    for sign in globs:
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip().strip("\"'") for part in parts if part.strip()]
