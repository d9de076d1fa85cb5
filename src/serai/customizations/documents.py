"""Agents, skills, prompts and rules: files with a text, and fields that say what it is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from serai.ahp.types import (
    AgentCustomization,
    ChildCustomization,
    CustomizationType,
    PromptCustomization,
    RuleCustomization,
    SkillCustomization,
)
from serai.config.toml import BrokenToml, read_toml
from serai.customizations.containers import Contents, Origin, clean, identity, in_one_line, read_text
from serai.customizations.definitions import TextDefinition
from serai.customizations.frontmatter import BrokenFrontmatter, first_paragraph, read
from serai.errors import FileUnreadable

__all__ = ["read_document"]

_MAX_DESCRIPTION = 1_024
_ENDINGS = (".instructions.md", ".chatmode.md", ".prompt.md", ".agent.md", ".toml", ".mdc", ".md")
"""Endings that are no part of a name, the longest first."""
_TOML_BODIES = ("prompt", "developer_instructions")


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
    """Read one file into `into`. A file that is not there is passed over.

    Args:
        origin: Where the file comes from.
        path: The file.
        folder: The folder that names are relative to: `git/commit.toml` in it is `git:commit`.
        contents: What the file is.
        into: Where it goes.
        always: For rules: whether they apply when they do not say so. Such a rule counts even when its
            frontmatter is broken.
        whole_name: It is known by its file's name, as `AGENTS.md` is.

    Raises:
        FileUnreadable: It is broken; the message names it.
    """
    text = read_text(origin, path)
    if text is None:
        return
    is_toml = path.endswith(".toml")
    if is_toml:
        fields, body = _toml(origin, path, text)
    else:
        fields, body = _markdown(origin, path, text, into, forgiving=always)
    name = in_one_line(path.rpartition("/")[2]) if whole_name else _name(path, folder, contents, fields)
    shown: dict[str, Any] = {
        "id": identity(contents, origin.container, path),
        "uri": origin.tree.uri(path),
        "name": name,
        "description": _description(fields, body),
    }
    child, particular = _made(shown, fields, contents, always=always)
    into.children.append(child)
    into.definitions.append(
        TextDefinition(
            **shown,
            **particular,
            type=contents,
            container=origin.container,
            source=origin.source,
            plugin=origin.plugin,
            path=path,
            runnable=origin.trusted,
            fields=fields,
            instructions=body if is_toml else None,
            tree=origin.tree,
        )
    )


def _markdown(
    origin: Origin, path: str, text: str, into: Contents, *, forgiving: bool
) -> tuple[dict[str, Any], str]:
    try:
        return read(text)
    except BrokenFrontmatter as broken:
        message = f"{origin.tree.shown(path)}, line {broken.line}: {broken}"
        if not forgiving:
            raise FileUnreadable(message) from None
        into.warnings.append(message)
        return {}, text


def _toml(origin: Origin, path: str, text: str) -> tuple[dict[str, Any], str]:
    try:
        table = read_toml(text)
    except BrokenToml as error:
        raise FileUnreadable(f"{origin.tree.shown(path)}: {error}") from None
    body = next((table[key] for key in _TOML_BODIES if isinstance(table.get(key), str)), None)
    if body is None:
        raise FileUnreadable(f"{origin.tree.shown(path)}: it has no 'prompt' or 'developer_instructions'")
    return {key: value for key, value in table.items() if key not in _TOML_BODIES}, body


def _made(
    shown: dict[str, Any], fields: Mapping[str, Any], contents: CustomizationType, *, always: bool
) -> tuple[ChildCustomization, dict[str, Any]]:
    """What AHP shows of a file, and what its definition has besides."""
    if contents is CustomizationType.AGENT:
        return AgentCustomization(**shown), {}
    if contents is CustomizationType.RULE:
        applies, globs = _applies(fields, always=always)
        particular = {"always_apply": bool(applies), "globs": tuple(globs)}
        return RuleCustomization(**shown, always_apply=applies, globs=globs or None), particular
    quiet = _flag(fields, "disable-model-invocation", "disableModelInvocation")
    particular = {"disable_model_invocation": bool(quiet), "argument_hint": _text(fields, "argument-hint")}
    if contents is CustomizationType.PROMPT:
        return PromptCustomization(**shown), particular
    for_people = _flag(fields, "user-invocable", "userInvocable", "user-invokable")
    particular["user_invocable"] = for_people is not False
    return SkillCustomization(**shown, disable_model_invocation=quiet), particular


def _applies(fields: Mapping[str, Any], *, always: bool) -> tuple[bool | None, list[str]]:
    # Copilot's `applyTo` and Claude Code's `paths` bring the rule in by themselves; Cursor's `globs` are a
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
