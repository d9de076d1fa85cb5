"""Large content moves out of the state, however it is written, and without its secrets."""

from __future__ import annotations

import base64
from collections.abc import Callable

from harness.conversation import Conversation, frame
from redact.test_content import each_way
from serai.ahp import actions as a, wire
from serai.ahp.types import ToolResultContent, ToolResultEmbeddedResourceContent, ToolResultResourceContent
from serai.harness.callback import CallbackHarness
from serai.host.blobs import LARGE, moved_out
from serai.host.host import Host
from serai.host.turn import Turn
from serai.redact import Redactor
from serai.store.contract import BlobRow
from serai.store.memory import MemoryStore


def embedded(data: str, content_type: str = "image/png") -> ToolResultEmbeddedResourceContent:
    return ToolResultEmbeddedResourceContent(data=data, content_type=content_type)


def showing(data: str) -> a.SessionToolCallContentChangedAction:
    return a.SessionToolCallContentChangedAction(turn_id="t", tool_call_id="c", content=[embedded(data)])


def moved(data: str) -> tuple[ToolResultContent, BlobRow]:
    action, blobs = moved_out(showing(data), "session:/s")
    assert isinstance(action, a.SessionToolCallContentChangedAction)
    (reference,), (blob,) = action.content, blobs
    return reference, blob


@each_way
def test_large_bytes_become_a_reference(write: Callable[[bytes], str]) -> None:
    reference, blob = moved(write(b"x" * (LARGE + 1)))
    assert isinstance(reference, ToolResultResourceContent)
    assert reference.size_hint == LARGE + 1
    assert (blob.data, blob.content_type) == (b"x" * (LARGE + 1), "image/png")


@each_way
async def test_secrets_in_a_tools_output_reach_neither_state_nor_journal_nor_blob(
    write: Callable[[bytes], str],
) -> None:
    value, key = "correct-horse-battery-staple-77", "sk-ant-api03-" + "Ab3dEf6hIj" * 9 + "AA"
    text = f"{'#' * 30}\nANTHROPIC_API_KEY={key}\npw={value}\n"

    async def answer(turn: Turn) -> None:
        call = await turn.tool("r", "R", message="R", confirmed="not-needed")
        large = text + "x" * 3 * LARGE
        shown: list[ToolResultContent] = [
            embedded(write(each.encode()), "text/plain") for each in (text, large)
        ]
        await call.done("Read", content=shown)

    host = Host(MemoryStore(), [CallbackHarness("reads", answer)], frame, redactor=Redactor({"PW": value}))
    await host.open()
    try:
        talk = await Conversation.begin(host, "reads")
        await talk.say("go")
        action = await talk.heard("session/toolCallComplete")
        small, large = action["result"]["content"]
        told = [base64.b64decode(small["data"], validate=True), await talk.blob(large["uri"])]
        rows = await host.journal.store.rows(talk.session.uri, 0)
        kept = [row for row in rows if b"session/toolCallComplete" in row.action]
    finally:
        await host.close()
    for content in told:
        assert b"ANTHROPIC_API_KEY=[masked:" in content
        assert b"pw=[secret:PW]" in content
        assert key.encode() not in content
    assert [len(row.action) < LARGE for row in kept] == [True]
    assert small["data"].encode() in kept[0].action
    assert wire.encode(talk.state).count(small["data"].encode()) == 1
