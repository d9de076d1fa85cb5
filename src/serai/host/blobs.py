"""Large content, which is kept beside the journal, once, under its digest; the state refers to it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from msgspec.structs import replace

from serai.ahp import actions as a, types as t
from serai.ahp.commands import AhpErrorCode, ContentEncoding, ResourceReadParams, ResourceReadResult
from serai.errors import ProtocolError
from serai.redact.redactor import decode_base64
from serai.store.contract import BlobRow, Store

LARGE = 64 * 1024
"""Largest content that stays in the state, in bytes."""
BLOB_SCHEME = "serai-blob:/"
_WITH_CONTENT = frozenset({a.SessionToolCallCompleteAction, a.SessionToolCallContentChangedAction})


def moved_out(action: a.StateAction, session: str) -> tuple[a.StateAction, Sequence[BlobRow]]:
    """Return the action with references in place of its large content, and that content."""
    if action.__class__ not in _WITH_CONTENT:
        return action, ()
    blobs: list[BlobRow] = []
    match action:
        case a.SessionToolCallCompleteAction(result=result) if result.content:
            content = [_moved(item, session, blobs) for item in result.content]
            light = replace(action, result=replace(result, content=content))
        case a.SessionToolCallContentChangedAction():
            content = [_moved(item, session, blobs) for item in action.content]
            light = replace(action, content=content)
        case _:
            light = action
    return (light if blobs else action), blobs


def _moved(item: t.ToolResultContent, session: str, blobs: list[BlobRow]) -> t.ToolResultContent:
    match item:
        case t.ToolResultTextContent() if len(item.text) > LARGE // 4:
            data, content_type = item.text.encode("utf-8", "replace"), "text/plain; charset=utf-8"
        case t.ToolResultEmbeddedResourceContent() if len(item.data) > LARGE // 4:
            data, content_type = decode_base64(item.data), item.content_type
            if data is None:  # it says that it is base64 and is not: whoever reads it finds out
                data = item.data.encode("utf-8", "replace")
        case _:
            return item
    if len(data) <= LARGE:
        return item
    digest = hashlib.sha256(data).hexdigest()
    blobs.append(BlobRow(digest, content_type, data, session))
    return t.ToolResultResourceContent(
        uri=f"{BLOB_SCHEME}{digest}", size_hint=len(data), content_type=content_type
    )


async def read_blob(store: Store, params: ResourceReadParams) -> ResourceReadResult:
    """Return the content behind a reference. Content that is no text comes as base64.

    Raises:
        ProtocolError: There is no such content.
    """
    blob = await store.blob(params.uri.removeprefix(BLOB_SCHEME))
    if blob is None:
        raise ProtocolError(f"there is no content {params.uri}", number=AhpErrorCode.CONTENT_NOT_FOUND)
    return read_result(blob.data, blob.content_type, params.encoding)


def read_result(data: bytes, content_type: str | None, encoding: str | None) -> ResourceReadResult:
    """Make the answer to `resourceRead`: as text where it is text, unless base64 was asked for."""
    try:
        text = data.decode() if encoding != ContentEncoding.BASE64 else None
    except UnicodeDecodeError:
        text = None
    if text is not None:
        return ResourceReadResult(data=text, encoding=ContentEncoding.UTF8.value, content_type=content_type)
    coded = base64.b64encode(data).decode()
    return ResourceReadResult(data=coded, encoding=ContentEncoding.BASE64.value, content_type=content_type)
