"""Asking models: what comes back, what goes out, and what becomes of servers that fail, stall and drop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from harness.model.model_server import Call, ModelScriptServer, Reply
from serai.config.models import ModelKind, ModelServer
from serai.errors import FailureKind, ModelFailure
from serai.harness.model.client import ModelClient, Piece
from serai.redact import Redactor
from serai.session.messages import (
    FinishReason,
    LlmReply,
    LlmRequest,
    LlmUsage,
    MediaPart,
    ReasoningPart,
    SessionMessage,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from session.sessions import rows

KEY = "made-up-key-0123456789"
FAKE_SERVER = Path(__file__).parents[4] / "shared" / "tools" / "fake_model_server.py"
HANDLES = ("picture", "gone")
LONG = 20.0
"""No test takes so long, unless something is broken."""


def said(text: str) -> list[SessionMessage]:
    return rows(("user", TextPart(text=text)))


def request(messages: list[SessionMessage] | None = None, tools: tuple[ToolSpec, ...] = ()) -> LlmRequest:
    return LlmRequest("x:m", "Be brief.", messages or said("hi"), tools, 64, {"picture": b"\x89PNG"})


@pytest.fixture
def redactor() -> Redactor:
    return Redactor()


@pytest.fixture
async def client(
    scripted: ModelScriptServer, redactor: Redactor, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ModelClient]:
    monkeypatch.setenv("MADE_UP", KEY)
    server = ModelServer(kind=ModelKind.OPENAI, base_url=scripted.base_url, key="env:MADE_UP")
    async with aclosing(ModelClient({"x": server}, redactor)) as client:
        yield client


async def all_of(client: ModelClient, asked: LlmRequest | None = None) -> list[Piece]:
    async with asyncio.timeout(LONG), aclosing(client.ask(asked or request())) as answer:
        return [piece async for piece in answer]


async def reply_of(client: ModelClient, asked: LlmRequest | None = None) -> LlmReply:
    last = (await all_of(client, asked))[-1]
    assert isinstance(last, LlmReply)
    return last


async def failure_of(client: ModelClient, asked: LlmRequest | None = None) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        await all_of(client, asked)
    return caught.value


async def test_text_comes_as_it_is_said_and_the_whole_answer_last(
    client: ModelClient, scripted: ModelScriptServer
) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 7}}
    scripted.script = [Reply(reasoning=["Hm", "m."], text=["Good ", "day."], usage=usage)]
    assert await all_of(client) == [
        ReasoningPart(text="Hm"),
        ReasoningPart(text="m."),
        TextPart(text="Good "),
        TextPart(text="day."),
        LlmReply(
            parts=(ReasoningPart(text="Hmm."), TextPart(text="Good day.")),
            finish=FinishReason.STOP,
            usage=LlmUsage(input_tokens=10, output_tokens=3, cache_read_tokens=7),
        ),
    ]


async def test_the_conversation_goes_out_whole_with_its_tools_and_without_reasoning(
    client: ModelClient, scripted: ModelScriptServer
) -> None:
    messages = rows(
        ("user", TextPart(text="see?")),
        (
            "assistant",
            [ReasoningPart(text="secret thought"), ToolCallPart(id="abc", name="look", input={"at": "it"})],
        ),
        ("tool", ToolResultPart(id="abc", name="look", output="too dark", is_error=True)),
        (
            "user",
            [TextPart(text="this"), *(MediaPart(handle=one, media_type="image/png") for one in HANDLES)],
        ),
    )
    spec = ToolSpec("look", "Looks at it.", {"type": "object", "properties": {"at": {"type": "string"}}})
    await all_of(client, request(messages, (spec,)))
    (body,) = scripted.bodies
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    system, user, assistant, tool, shown = body["messages"]
    assert (system["content"], user["content"]) == ("Be brief.", "see?")
    assert assistant["tool_calls"][0]["id"] == tool["tool_call_id"] == "abc"
    assert "too dark" in tool["content"]
    assert shown["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert shown["content"][2]["text"] == "[An image that is gone]"
    assert "secret thought" not in str(body)
    assert body["tools"][0]["function"]["name"] == "look"
    assert (body["model"], body["max_tokens"], body["stream"]) == ("m", 64, True)


async def test_calls_have_ids_of_their_own_also_where_the_model_repeats_its_own(
    client: ModelClient, scripted: ModelScriptServer
) -> None:
    twice = [Call("look", {"at": "a"}, id="call_1"), Call("look", {"at": "b"}, id="call_1")]
    scripted.script = [Reply(calls=twice), Reply(calls=twice)]
    calls = [*(await reply_of(client)).parts, *(await reply_of(client)).parts]
    assert all(isinstance(call, ToolCallPart) for call in calls)
    assert [call.input["at"] for call in calls if isinstance(call, ToolCallPart)] == ["a", "b", "a", "b"]
    assert len({call.id for call in calls if isinstance(call, ToolCallPart)}) == 4


@pytest.mark.parametrize(
    "broken", ["", '{"at": ', "[1]", '"text"', "null", "{'at': 1}", '{"a":' * 120 + "1" + "}" * 120]
)
async def test_arguments_that_are_no_object_are_told_as_broken(
    client: ModelClient, scripted: ModelScriptServer, broken: str
) -> None:
    scripted.script = [Reply(calls=[Call("look", broken)])]
    (call,) = (await reply_of(client)).parts
    assert isinstance(call, ToolCallPart)
    assert call.input == ({"_broken": broken} if broken else {})


async def test_half_a_character_becomes_one_that_can_be_written_down(
    client: ModelClient, scripted: ModelScriptServer
) -> None:
    scripted.script = [Reply(text=["a\ud83d", "b"])]
    pieces = await all_of(client)
    assert pieces[0] == TextPart(text="a\ufffd")
    assert isinstance(pieces[-1], LlmReply)
    assert pieces[-1].parts == (TextPart(text="a\ufffdb"),)


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("length", FinishReason.LENGTH), ("content_filter", FinishReason.CONTENT_FILTER)],
)
async def test_an_answer_says_why_it_ended(
    client: ModelClient, scripted: ModelScriptServer, finish: str, reason: FinishReason
) -> None:
    scripted.script = [Reply(text=["so"], finish=finish)]
    assert (await reply_of(client)).finish is reason


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, FailureKind.RATE_LIMIT),
        (500, FailureKind.OVERLOADED),
        (503, FailureKind.OVERLOADED),
        (401, FailureKind.AUTHENTICATION),
        (400, FailureKind.REFUSED),
        (404, FailureKind.REFUSED),
    ],
)
async def test_an_error_of_the_server_is_told_and_the_request_was_sent_once(
    client: ModelClient, scripted: ModelScriptServer, status: int, kind: FailureKind
) -> None:
    scripted.script = [Reply(status=status, error=f"no, said {KEY}", headers={"retry-after": "3"})]
    failure = await failure_of(client)
    assert (failure.failure, failure.has_begun) == (kind, False)
    assert failure.retry_after == 3
    assert str(status) in failure.message
    assert "no, said" in failure.message
    assert KEY not in str(failure)
    assert scripted.requests == 1


@pytest.mark.parametrize("text", [[], ["half an "]])
@pytest.mark.parametrize("how", ["drop", "cut_off"])
async def test_a_stream_that_ends_before_its_end_is_no_answer(
    client: ModelClient, scripted: ModelScriptServer, text: list[str], how: str
) -> None:
    scripted.script = [Reply(text=text, drop=how == "drop", cut_off=how == "cut_off")]
    failure = await failure_of(client)
    assert (failure.failure, failure.has_begun) == (FailureKind.TRANSPORT, bool(text))
    assert scripted.requests == 1


async def test_a_server_that_is_not_there_is_a_failure_of_the_transport(redactor: Redactor) -> None:
    server = ModelServer(kind=ModelKind.OPENAI, base_url="http://127.0.0.1:9/v1")
    async with aclosing(ModelClient({"x": server}, redactor)) as client:
        assert (await failure_of(client)).failure is FailureKind.TRANSPORT


@pytest.mark.parametrize("reply", [Reply(silent=True), Reply(text=["well"], stall=True)])
async def test_a_server_that_falls_silent_is_given_up(
    scripted: ModelScriptServer, redactor: Redactor, reply: Reply
) -> None:
    scripted.script = [reply]
    server = ModelServer(kind=ModelKind.OPENAI, base_url=scripted.base_url)
    async with aclosing(ModelClient({"x": server}, redactor, silence=1.0)) as client:
        failure = await failure_of(client)
    assert failure.failure is FailureKind.TIMEOUT
    assert failure.has_begun is bool(reply.text)
    assert scripted.requests <= 1


async def test_a_server_without_a_key_gets_no_key_of_another(
    scripted: ModelScriptServer, redactor: Redactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = ModelServer(kind=ModelKind.OPENAI, base_url=scripted.base_url)
    async with aclosing(ModelClient({"x": server}, redactor)) as client:
        await all_of(client)
    assert KEY not in str(scripted.headers)


async def test_a_key_that_was_refused_is_looked_for_anew(
    scripted: ModelScriptServer, redactor: Redactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.script = [Reply(status=401)]
    monkeypatch.setenv("MADE_UP", "an-old-key-0123")
    server = ModelServer(kind=ModelKind.OPENAI, base_url=scripted.base_url, key="env:MADE_UP")
    async with aclosing(ModelClient({"x": server}, redactor)) as client:
        assert (await failure_of(client)).failure is FailureKind.AUTHENTICATION
        monkeypatch.setenv("MADE_UP", KEY)
        await all_of(client)
    assert scripted.headers[-1]["authorization"] == f"Bearer {KEY}"


async def test_without_its_key_nothing_is_sent(scripted: ModelScriptServer, redactor: Redactor) -> None:
    server = ModelServer(kind=ModelKind.OPENAI, base_url=scripted.base_url, key="env:MADE_UP")
    async with aclosing(ModelClient({"x": server}, redactor)) as client:
        failure = await failure_of(client)
    assert failure.failure is FailureKind.AUTHENTICATION
    assert "MADE_UP" in str(failure)
    assert not scripted.requests


@pytest.mark.parametrize("model", ["y:m", "x", "x:"])
async def test_a_model_that_nobody_has_is_refused(client: ModelClient, model: str) -> None:
    failure = await failure_of(client, request()._replace(model=model))
    assert failure.failure is FailureKind.REFUSED


@pytest.mark.parametrize(
    ("kind", "path", "library"),
    [
        (ModelKind.OPENAI, "/v1", "openai"),
        (ModelKind.ANTHROPIC, "", "anthropic"),
        (ModelKind.GOOGLE, "", "google.genai"),
    ],
)
async def test_every_kind_of_server_answers_thinks_and_calls(
    redactor: Redactor, kind: ModelKind, path: str, library: str, unused_tcp_port: int
) -> None:
    pytest.importorskip(library, reason=f"NOT CHECKED: needs {library}")
    if not FAKE_SERVER.exists():
        pytest.skip(f"NOT CHECKED: there is no {FAKE_SERVER}")
    spec = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
    fake = await asyncio.create_subprocess_exec(
        sys.executable, str(FAKE_SERVER), str(unused_tcp_port), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert fake.stdout is not None
        async with asyncio.timeout(LONG):
            await fake.stdout.readline()
        server = ModelServer(kind=kind, base_url=f"http://127.0.0.1:{unused_tcp_port}{path}")
        async with aclosing(ModelClient({"x": server}, redactor)) as client:
            plain = await reply_of(client)
            assert plain.parts == (TextPart(text="Hello from the fake model."),)
            assert plain.usage.input_tokens >= 100
            thought = await reply_of(client, request(said("FAKE_THINK{deep}")))
            assert [part for part in thought.parts if isinstance(part, ReasoningPart)]
            asked = request(said('FAKE_TOOL{look|{"at": "it"}}'), tools=(spec,))
            called = await reply_of(client, asked)
            (call,) = [part for part in called.parts if isinstance(part, ToolCallPart)]
            assert (call.name, call.input) == ("look", {"at": "it"})
            result = ToolResultPart(id=call.id, name="look", output="seen")
            more = rows(("assistant", called.parts), ("tool", result))
            done = await reply_of(client, asked._replace(messages=[*asked.messages, *more]))
            assert "TOOL_DONE" in str(done.parts)
            assert (await failure_of(client, request(said("FAKE_HTTP{401}")))).failure is (
                FailureKind.AUTHENTICATION
            )
            assert (
                await failure_of(client, request(said("FAKE_HTTP{503}")))
            ).failure is FailureKind.OVERLOADED
    finally:
        fake.kill()
        await fake.wait()


@pytest.mark.parametrize(
    ("kind", "library"), [(ModelKind.ANTHROPIC, "anthropic"), (ModelKind.GOOGLE, "google.genai")]
)
async def test_no_kind_of_server_is_asked_twice_or_with_a_key_of_another(
    scripted: ModelScriptServer,
    redactor: Redactor,
    monkeypatch: pytest.MonkeyPatch,
    kind: ModelKind,
    library: str,
) -> None:
    pytest.importorskip(library, reason=f"NOT CHECKED: needs {library}")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    scripted.script = [Reply(status=503), Reply(status=503)]
    server = ModelServer(kind=kind, base_url=scripted.base_url.removesuffix("/v1"))
    async with aclosing(ModelClient({"x": server}, redactor)) as client:
        assert (await failure_of(client)).failure is FailureKind.OVERLOADED
    assert scripted.requests == 1
    assert KEY not in str(scripted.headers)


def test_nothing_imports_pydantic_ai_before_a_model_is_asked() -> None:
    modules = "serai, serai.cli.serve, serai.serve.run, serai.harness.model.client"
    code = f"import sys, {modules}\nsys.exit('pydantic_ai' in sys.modules or 'genai_prices' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
