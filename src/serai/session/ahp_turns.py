"""The transcript of a session whose agent keeps its own: made of the turns that AHP shows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from serai.ahp import types as ahp
from serai.session.messages import (
    DurableContentPart,
    MediaPart,
    ReasoningPart,
    SessionMessage,
    SessionMessageRole,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_Row: TypeAlias = tuple[SessionMessageRole, list[DurableContentPart]]

_ANY_MEDIA = "application/octet-stream"


def messages_of_turns(
    session_id: str, turns: Iterable[ahp.Turn], created_at: datetime
) -> list[SessionMessage]:
    """Return the messages of a session's turns: the same ones for the same turns.

    Args:
        session_id: The session.
        turns: Its turns, in order.
        created_at: The time at which the session was created: the times of its messages are not known.
    """
    messages: list[SessionMessage] = []
    for turn in turns:
        rows = [(SessionMessageRole.USER, _person_parts(turn)), *_answer_rows(turn)]
        for number, (role, content) in enumerate(rows, 1):
            is_answer = role is SessionMessageRole.ASSISTANT and turn.usage is not None
            messages.append(
                SessionMessage(
                    id=f"{turn.id}/{number}",
                    session_id=session_id,
                    sequence_number=len(messages) + 1,
                    role=role,
                    content=tuple(content),
                    model_id=turn.usage.model if is_answer and turn.usage else None,
                    timestamp=created_at,
                )
            )
    return messages


def _person_parts(turn: ahp.Turn) -> list[DurableContentPart]:
    """Return a person's message. Embedded bytes are replaced by a handle."""
    said: list[DurableContentPart] = [TextPart(text=turn.user_message.text)]
    for number, attachment in enumerate(turn.user_message.attachments or (), 1):
        if isinstance(attachment, ahp.MessageResourceAttachment):
            said.append(_media(attachment))
        else:
            kind = getattr(attachment, "content_type", "text/plain")
            said.append(MediaPart(handle=f"{turn.id}/attachments/{number}", media_type=kind))
    return said


def _answer_rows(turn: ahp.Turn) -> list[_Row]:
    """Return the rows of an answer: calls of tools, their results, and so on, until the last text."""
    rows: list[_Row] = []
    said: list[DurableContentPart] = []
    results: list[DurableContentPart] = []

    def end_round() -> None:
        both = ((SessionMessageRole.ASSISTANT, [*said]), (SessionMessageRole.TOOL, [*results]))
        rows.extend(row for row in both if row[1])
        said.clear()
        results.clear()

    for part in turn.response_parts:
        match part:
            case ahp.SystemNotificationResponsePart():
                rows.append((SessionMessageRole.SYSTEM, [TextPart(text=_text_of(part.content))]))
            case ahp.ToolCallResponsePart(tool_call=ahp.ToolCallBase() as call):
                said.append(ToolCallPart(id=call.tool_call_id, name=call.tool_name, input=_input(call)))
                results.append(_result(call))
            case _ if durable := _durable(part):
                if results:
                    end_round()
                said.append(durable)
            case _:
                pass
    if turn.state != ahp.TurnState.COMPLETE:
        said = [replace(it, is_partial=True) if isinstance(it, TextPart) else it for it in said]
    end_round()
    return rows


def _durable(part: ahp.ResponsePart) -> DurableContentPart | None:
    """Return the stored form of a part of an answer; `None` for an empty or unknown one."""
    match part:
        case ahp.MarkdownResponsePart(content=text) if text:
            return TextPart(text=text)
        case ahp.ReasoningResponsePart(content=text) if text:
            return ReasoningPart(text=text)
        case ahp.ResourceResponsePart():
            return _media(part)
        case _:
            return None


def _media(reference: ahp.ContentRef) -> MediaPart:
    return MediaPart(handle=reference.uri, media_type=reference.content_type or _ANY_MEDIA)


def _input(call: ahp.ToolCallBase) -> dict[str, Any]:
    """Return the input of a call. What is no JSON object is its only field."""
    text: str = getattr(call, "tool_input", None) or ""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {"input": text}


def _result(call: ahp.ToolCallBase) -> ToolResultPart:
    """Return the result of a call, as text."""
    match call:
        case ahp.ToolCallWithResult():
            texts = [it.text for it in call.content or () if isinstance(it, ahp.ToolResultTextContent)]
            if call.error is not None:
                texts.append(call.error.message)
            output = "\n".join(texts) or _text_of(call.past_tense_message)
            return ToolResultPart(
                id=call.tool_call_id, name=call.tool_name, output=output, is_error=not call.success
            )
        case ahp.ToolCallCancelledState():
            output = _text_of(call.reason_message) or f"it was not carried out ({call.reason})"
        case _:
            output = "it was not carried out"
    return ToolResultPart(id=call.tool_call_id, name=call.tool_name, output=output, is_error=True)


def _text_of(text: ahp.StringOrMarkdown | None) -> str:
    return text.markdown if isinstance(text, ahp.Markdown) else text or ""
