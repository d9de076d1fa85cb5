"""Large content moves out of the state, and what cannot be read stays as it came."""

from __future__ import annotations

import base64

import pytest

from serai.ahp import actions as a
from serai.ahp.types import ToolResultEmbeddedResourceContent, ToolResultResourceContent
from serai.host.content import LARGE, moved_out


def showing(data: str) -> a.SessionToolCallContentChangedAction:
    content = ToolResultEmbeddedResourceContent(data=data, content_type="image/png")
    return a.SessionToolCallContentChangedAction(turn_id="t", tool_call_id="c", content=[content])


def test_large_bytes_become_a_reference() -> None:
    action, blobs = moved_out(showing(base64.b64encode(b"x" * (LARGE + 1)).decode()), "session:/s")
    assert isinstance(action, a.SessionToolCallContentChangedAction)
    (reference,) = action.content
    assert isinstance(reference, ToolResultResourceContent)
    assert [blob.data for blob in blobs] == [b"x" * (LARGE + 1)]


@pytest.mark.parametrize("letter", ["%", "ä"])
def test_what_says_that_it_is_base64_and_is_not_stays_as_it_came(letter: str) -> None:
    said = showing(letter * (LARGE + 1))
    assert moved_out(said, "session:/s") == (said, [])
