"""Content both ways: an agent's output and forms become AHP's, a person's message becomes ACP's."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from serai.acp.prompt import file_block, text_block
from serai.acp.shapes import is_object, list_of, object_of, objects_of, text_of, texts_of
from serai.acp.updates import Block
from serai.ahp import types as t
from serai.ahp.wire import Unknown
from serai.completions.completion import KIND
from serai.host.tool_call import Keep, file_edit, made
from serai.uris import uri_of

COMMAND = "command"
"""Kind of the attachments that stand for commands of the agent."""
_BYTES = "application/octet-stream"
_LINK = re.compile(r"(?:https?|file)://[^\s<>]+", re.IGNORECASE)
"""Addresses that are shown as links. Others, such as `javascript:`, may run code."""


# -- an agent's output -------------------------------------------------------------------------------------


def contents_of(
    entries: Iterable[Mapping[str, Any]],
    *,
    folder: Path,
    keep: Keep,
    terminal: Callable[[str], t.ToolResultContent | None],
) -> list[t.ToolResultContent]:
    """Convert the content of a tool call. Unknown entries are shown as JSON.

    Args:
        entries: The agent's entries: `content`, `diff` and `terminal`.
        folder: The folder of relative paths.
        keep: Stores a file's content before and after.
        terminal: Finds a terminal of the host by the agent's id for it. Other terminals show nothing.
    """
    shown: list[t.ToolResultContent] = []
    for entry in entries:
        match entry:
            case {"type": "content", "content": block} if is_object(block):
                shown.append(_content(block))
            case {"type": "diff"} if (edit := edit_of(entry, folder, keep)) is not None:
                shown.append(made(edit))
            case {"type": "terminal", "terminalId": str(name)}:
                shown += [found] if (found := terminal(name)) is not None else []
            case _:
                shown.append(_as_it_came(entry))
    return shown


def _content(block: Mapping[str, Any]) -> t.ToolResultContent:
    match block:
        case {"type": "text", "text": str(text)} | {"type": "resource", "resource": {"text": str(text)}}:
            return t.ToolResultTextContent(text=text)
        case {"type": "image" | "audio", "data": str(data), **more} | {
            "type": "resource",
            "resource": {"blob": str(data), **more},
        }:
            kind = text_of(more.get("mimeType"))
            return t.ToolResultEmbeddedResourceContent(data=data, content_type=kind or _BYTES)
        case {"type": "resource_link", "uri": str(uri)}:
            size = block.get("size")
            return t.ToolResultResourceContent(
                uri=uri,
                size_hint=size if isinstance(size, int) else None,
                content_type=text_of(block.get("mimeType")),
            )
        case _:
            return _as_it_came(block)


def _as_it_came(value: Mapping[str, Any]) -> t.ToolResultContent:
    return t.ToolResultTextContent(text=json.dumps(value, ensure_ascii=False))


def edit_of(entry: Mapping[str, Any], folder: Path, keep: Keep) -> t.FileEdit | None:
    """Return the edit in a `diff` entry; `None` for other entries."""
    path, old, new = text_of(entry.get("path")), text_of(entry.get("oldText")), text_of(entry.get("newText"))
    if entry.get("type") != "diff" or path is None or new is None:
        return None
    before = None if old is None else old.encode("utf-8", "replace")
    return file_edit(keep, uri_of(folder / path), before, new.encode("utf-8", "replace"))


def bytes_of(block: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of an image or a sound; `None` without any."""
    data = text_of(block.get("data"))
    try:
        return base64.b64decode(data, validate=True) if data else None
    except ValueError:
        return None


def in_words(block: Block) -> str | None:
    """Return content that is no text as Markdown; `None` where that is not possible."""
    match block:
        case {"type": "resource_link", "uri": str(uri)}:
            return link_to(uri, text_of(block.get("name")))
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case _:
            return None


def link_to(uri: str, name: str | None) -> str:
    """Return an agent's link as Markdown. Neither its name nor its address can become anything else."""
    address = f"<{uri}>" if _LINK.fullmatch(uri) else _code(uri)
    return f"{_code(name)} {address}" if name else address


def _code(text: str) -> str:
    return f"`{' '.join(text.replace('`', ' ').split())}`"


# -- a person's message ------------------------------------------------------------------------------------


def blocks_of(message: t.UserMessage) -> tuple[list[Block], list[str]]:
    """Return the message as content blocks, and the types of unknown attachments.

    The text is first: a command has to be at the beginning. `serai.acp.prompt.fit_prompt` leaves out the
    blocks that an agent cannot take.
    """
    blocks = [text_block(message.text)] if message.text else []
    unknown: list[str] = []
    for attachment in message.attachments or ():
        if isinstance(attachment, Unknown):
            unknown.append(str(attachment.raw.get("type")))
        elif (block := _block(attachment)) is not None:
            blocks.append(block)
    return blocks, unknown


def _block(attachment: t.MessageAttachment) -> Block | None:
    match attachment:
        case t.SimpleMessageAttachment(label=label, model_representation=text):
            if (attachment.meta or {}).get(KIND) == COMMAND:
                return None  # the text begins with it already
            return text_block(f"[{label}]" if text is None else f"{label}:\n{text}")
        case t.MessageEmbeddedResourceAttachment(content_type=kind, data=data):
            return file_block(data, kind, f"attachment:///{quote(attachment.label)}")
        case t.MessageResourceAttachment():
            return _link(attachment)
        case _:
            return None


def _link(attachment: t.MessageResourceAttachment) -> Block:
    block: Block = {"type": "resource_link", "uri": attachment.uri, "name": attachment.label}
    if attachment.content_type is not None:
        block["mimeType"] = attachment.content_type
    if attachment.size_hint is not None:
        block["size"] = int(attachment.size_hint)
    if attachment.selection is not None:
        lines = attachment.selection.range
        first, last = lines.start.line + 1, lines.end.line + 1
        block["description"] = (
            f"Line {first} is selected" if first == last else f"Lines {first} to {last} are selected"
        )
    return block


# -- an agent's forms ---------------------------------------------------------------------------------------


def questions_of(schema: Mapping[str, Any]) -> list[t.SessionInputQuestion]:
    """Return the questions of a form: one for each property of its JSON Schema."""
    required = texts_of(schema.get("required"))
    return [
        _question(name, object_of(field), required=name in required)
        for name, field in object_of(schema.get("properties")).items()
    ]


def _question(name: str, field: Mapping[str, Any], *, required: bool) -> t.SessionInputQuestion:
    title = text_of(field.get("title"))
    base: dict[str, Any] = {
        "id": name,
        "message": text_of(field.get("description")) or title or name,
        "title": title,
        "required": required or None,
    }
    default = field.get("default")
    match field.get("type"):
        case "boolean":
            return t.SessionInputBooleanQuestion(
                **base, default_value=default if isinstance(default, bool) else None
            )
        case "integer" | "number" as kind:
            question = t.SessionInputIntegerQuestion if kind == "integer" else t.SessionInputNumberQuestion
            return question(
                **base,
                min=_number(field.get("minimum")),
                max=_number(field.get("maximum")),
                default_value=_number(default),
            )
        case "array":
            return t.SessionInputMultiSelectQuestion(
                **base,
                options=_options(object_of(field.get("items")), list_of(default)),
                min=_number(field.get("minItems")),
                max=_number(field.get("maxItems")),
            )
        case _ if options := _options(field, [default]):
            return t.SessionInputSingleSelectQuestion(**base, options=options)
        case _:
            return t.SessionInputTextQuestion(
                **base,
                format=text_of(field.get("format")),
                min=_number(field.get("minLength")),
                max=_number(field.get("maxLength")),
                default_value=text_of(default),
            )


def _options(field: Mapping[str, Any], default: list[Any]) -> list[t.SessionInputOption]:
    return [
        t.SessionInputOption(
            id=value, label=label, description=description, recommended=True if value in default else None
        )
        for value, label, description in _choices(field)
    ]


def _choices(field: Mapping[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    """Yield the possible values, each with its name and its description."""
    titled = objects_of(field.get("oneOf")) or objects_of(field.get("anyOf"))
    for each in titled:
        if isinstance(value := each.get("const"), str):
            yield value, text_of(each.get("title")) or value, text_of(each.get("description"))
    if titled:
        return
    names = list_of(field.get("enumNames"))
    for number, value in enumerate(list_of(field.get("enum"))):
        if isinstance(value, str):
            name = names[number] if number < len(names) else None
            yield value, text_of(name) or value, None


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def values_of(schema: Mapping[str, Any], answers: Mapping[str, t.SessionInputAnswer]) -> dict[str, Any]:
    """Return the person's answers as values of the form. Skipped questions are left out."""
    properties = object_of(schema.get("properties"))
    found = {name: _value(object_of(properties[name]), answers.get(name)) for name in properties}
    return {name: value for name, value in found.items() if value is not None}


def _value(field: Mapping[str, Any], answer: t.SessionInputAnswer | None) -> Any:
    if not isinstance(answer, t.SessionInputSubmitted):
        return None
    match answer.value:
        case t.SessionInputNumberAnswerValue(value=number):
            return int(number) if field.get("type") == "integer" else number
        case t.SessionInputSelectedManyAnswerValue(value=chosen):
            return list(chosen)
        case (
            t.SessionInputTextAnswerValue(value=value)
            | t.SessionInputBooleanAnswerValue(value=value)
            | t.SessionInputSelectedAnswerValue(value=value)
        ):
            return value
        case _:
            return None
