"""Whole actions: every text is looked at, and all else is left as it is."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from ahp.strategies import action as action_of
from redact.test_content import each_way
from redact.test_shapes import rnd
from serai.ahp import actions as a, types as t, wire
from serai.redact import Redactor

KNOWN = "a known value"
SHAPE = "ghp_" + rnd(36)
BOTH = f"see {KNOWN} and {SHAPE}"
MASKED = "see [secret:KNOWN] and ghp_[masked:github-token]"
TYPED = f"see [secret:KNOWN] and {SHAPE}"

OBSERVED: list[a.StateAction] = [
    a.SessionResponsePartAction(turn_id="t", part=t.MarkdownResponsePart(id="p", content=BOTH)),
    a.SessionResponsePartAction(
        turn_id="t", part=t.SystemNotificationResponsePart(content=t.Markdown(markdown=BOTH))
    ),
    a.SessionErrorAction(turn_id="t", error=t.ErrorInfo(error_type="x", message=BOTH, stack=BOTH)),
    a.SessionTitleChangedAction(title=BOTH),
    a.SessionActivityChangedAction(activity=BOTH),
    a.SessionToolCallReadyAction(
        turn_id="t",
        tool_call_id="c",
        invocation_message=BOTH,
        tool_input=BOTH,
        confirmation_title=t.Markdown(markdown=BOTH),
        meta={"a": [{"b": BOTH}]},
    ),
    a.SessionToolCallCompleteAction(
        turn_id="t",
        tool_call_id="c",
        result=t.ToolCallResult(
            success=True,
            past_tense_message=t.Markdown(markdown=BOTH),
            content=[t.ToolResultTextContent(text=BOTH)],
            structured_content={"deep": {"er": [1, None, BOTH]}},
        ),
    ),
    a.SessionConfigChangedAction(config={"note": BOTH}),
    a.SessionMetaChangedAction(meta={"note": BOTH}),
    a.RootConfigChangedAction(config={"note": BOTH}),
    a.TerminalDataAction(data=BOTH),
    a.TerminalCommandExecutedAction(command_id="c", command_line=BOTH, timestamp=1),
    a.SessionTurnStartedAction(
        turn_id="t",
        user_message=t.UserMessage(
            text=BOTH, attachments=[t.SimpleMessageAttachment(label=BOTH, model_representation=BOTH)]
        ),
    ),
    action_of({"type": "session/fromTheFuture", "text": BOTH, "more": {"x": BOTH}}),
    action_of({"type": "session/titleChanged", "title": "t", "newField": BOTH}),
]


@pytest.fixture
def redactor() -> Redactor:
    return Redactor({"KNOWN": KNOWN})


@pytest.mark.parametrize("action", OBSERVED, ids=lambda action: type(action).__name__)
def test_every_text_of_an_action_is_masked(redactor: Redactor, action: a.StateAction) -> None:
    before = wire.encode(action).decode()
    assert BOTH in before
    assert wire.encode(redactor.redact_value(action, observed=True)).decode() == before.replace(BOTH, MASKED)
    assert wire.encode(redactor.redact_value(action, observed=False)).decode() == before.replace(BOTH, TYPED)
    assert wire.encode(action).decode() == before


def test_ids_and_sign_in_pages_keep_what_only_looks_like_a_secret(redactor: Redactor) -> None:
    url = f"https://login.example.org/?request_token={rnd(40)}"
    request = a.SessionInputRequestedAction(request=t.SessionInputRequest(id=SHAPE, url=url))
    assert redactor.redact_value(request, observed=True) is request
    known = a.SessionInputRequestedAction(request=t.SessionInputRequest(id=KNOWN, url=f"{url}{KNOWN}"))
    after = redactor.redact_value(known, observed=True).request
    assert after.id == "[secret:KNOWN]"
    assert after.url == f"{url}[secret:KNOWN]"


def test_free_form_fields_whose_name_says_what_they_hold_are_masked(redactor: Redactor) -> None:
    value = rnd(30)
    config = {"apiKey": value, "env": {"DB_PASSWORD": value, "name": value}, "token_count": "12", KNOWN: "x"}
    observed = redactor.redact_value(a.SessionConfigChangedAction(config=config), observed=True)
    assert observed.config == {
        "apiKey": "[masked:apikey]",
        "env": {"DB_PASSWORD": "[masked:password]", "name": value},
        "token_count": "12",
        "[secret:KNOWN]": "x",
    }
    assert redactor.redact_value(observed, observed=True) is observed
    typed = a.SessionConfigChangedAction(config={"apiKey": value})
    assert redactor.redact_value(typed, observed=False) is typed


@pytest.mark.parametrize("before", [b"\x89PNG", b"\x89x", b"\x89xy", b"\xffyz" * 50])
def test_binary_content_is_searched_for_known_values_only(redactor: Redactor, before: bytes) -> None:
    image = base64.b64encode(before + SHAPE.encode()).decode()
    kept = t.ToolResultEmbeddedResourceContent(data=image, content_type="image/png")
    assert redactor.redact_value(kept, observed=True) is kept
    data = base64.b64encode(before + KNOWN.encode() + b" after").decode()
    attachment = t.MessageEmbeddedResourceAttachment(label="x", data=data, content_type="image/png")
    masked = redactor.redact_value(attachment, observed=False)
    assert base64.b64decode(masked.data) == before + b"[secret:KNOWN] after"


@pytest.mark.parametrize("before", ["", "x", "ü 🙂", "xyz\n" * 50])
def test_text_in_base64_is_searched_like_text_whatever_it_is_said_to_be(
    redactor: Redactor, before: str
) -> None:
    data = base64.b64encode(f"{before} {BOTH}".encode()).decode()
    for content_type in ("text/plain", "image/png", "application/octet-stream"):
        told = t.ToolResultEmbeddedResourceContent(data=data, content_type=content_type)
        masked = redactor.redact_value(told, observed=True)
        assert base64.b64decode(masked.data).decode() == f"{before} {MASKED}"
        typed = redactor.redact_value(told, observed=False)
        assert base64.b64decode(typed.data).decode() == f"{before} {TYPED}"


@each_way
@pytest.mark.parametrize("shift", [61])
def test_secrets_are_masked_however_base64_is_written(
    redactor: Redactor, write: Callable[[bytes], str], shift: int
) -> None:
    before = "?" * shift  # so that a line ends within the secrets
    told = t.ToolResultEmbeddedResourceContent(
        data=write(f"{before} {BOTH}\n".encode()), content_type="text/plain"
    )
    masked = redactor.redact_value(told, observed=True)
    assert base64.b64decode(masked.data, validate=True).decode() == f"{before} {MASKED}\n"
    typed = redactor.redact_value(told, observed=False)
    assert base64.b64decode(typed.data, validate=True).decode() == f"{before} {TYPED}\n"


@pytest.mark.parametrize("cut", range(1, 5))
def test_secrets_are_masked_in_base64_that_is_cut_off(redactor: Redactor, cut: int) -> None:
    lines = base64.encodebytes(f"{BOTH} and more, to the end".encode()).decode().rstrip("\n=")
    told = t.ToolResultEmbeddedResourceContent(data=lines[:-cut], content_type="text/plain")
    for observed, expected in ((True, MASKED), (False, TYPED)):
        masked = redactor.redact_value(told, observed=observed).data
        assert base64.b64decode(masked).decode().startswith(f"{expected} and more, to the")


@each_way
@given(
    data=st.binary(max_size=300),
    start=st.sampled_from([b"", b"\x89PNG\r\n\x1a\n\0", b"GIF89a\x01\0", b"text "]),
)
def test_content_without_secrets_stays_as_it_was_written(
    write: Callable[[bytes], str], data: bytes, start: bytes
) -> None:
    kept = t.ToolResultEmbeddedResourceContent(data=write(start + data), content_type="image/png")
    assert Redactor({"KNOWN": KNOWN}).redact_value(kept, observed=True) is kept


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_text_in_an_older_encoding_is_searched_like_text(redactor: Redactor, encoding: str) -> None:
    told = f"für fünf Leute: {BOTH} §"
    content = t.ToolResultEmbeddedResourceContent(
        data=base64.b64encode(told.encode(encoding)).decode(), content_type="text/plain"
    )
    after = base64.b64decode(redactor.redact_value(content, observed=True).data).decode(encoding)
    assert after == told.replace(BOTH, MASKED)


def test_text_that_was_cut_off_within_a_character_is_searched_like_text(redactor: Redactor) -> None:
    cut = "🙂".encode()[:3]
    content = t.ToolResultEmbeddedResourceContent(
        data=base64.b64encode(f"日本 {BOTH} ".encode() + cut).decode(), content_type="text/plain"
    )
    after = base64.b64decode(redactor.redact_value(content, observed=True).data)
    assert after == f"日本 {MASKED} ".encode() + cut


@pytest.mark.parametrize("known", ["pässwörter für alle", 'with "quotes" and \\', "p\udce4ssword in Latin-1"])
@pytest.mark.parametrize("around", [b"\x89PNG\0", b"text "])
def test_known_values_are_masked_in_bytes_and_in_their_encodings(known: str, around: bytes) -> None:
    redactor = Redactor({"KNOWN": known})
    written = known.encode(errors="surrogateescape")
    for form in (written, json.dumps(known).strip('"').encode(), base64.b64encode(b"-" + written + b"-")):
        after = redactor.redact_bytes(around + form + b"\xfc" + around)
        assert b"[secret:KNOWN]" in after
        assert form not in after
        assert after.startswith(around)
        assert after.endswith(b"\xfc" + around)


@pytest.mark.parametrize("around", ["{}", " {}\n", "{} ok", "key {}"])
def test_words_that_can_be_read_as_base64_are_masked_as_text(redactor: Redactor, around: str) -> None:
    content = t.ToolResultEmbeddedResourceContent(data=around.format(SHAPE), content_type="text/plain")
    assert redactor.redact_value(content, observed=True).data == around.format("ghp_[masked:github-token]")
    assert redactor.redact_value(content, observed=False) is content


@pytest.mark.parametrize("before", ["not base64:", "nicht für base64:"])
def test_binary_content_that_is_no_base64_is_masked_as_text(redactor: Redactor, before: str) -> None:
    content = t.ToolResultEmbeddedResourceContent(data=f"{before} {BOTH}", content_type="text/plain")
    assert redactor.redact_value(content, observed=True).data == f"{before} {MASKED}"
    assert redactor.redact_value(content, observed=False).data == f"{before} {TYPED}"
