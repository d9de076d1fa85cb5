from __future__ import annotations

from typing import Any

import pytest

from serai.acp.capabilities import Handshake
from serai.acp.process.connection import Launch
from serai.acp.process.failures import Failures, meaning
from serai.errors import (
    AgentError,
    AgentInitFailed,
    AgentOverloaded,
    AgentRequestFailed,
    AuthRequired,
    CapabilityNotSupportedError,
    ContextTooLong,
    ProtocolError,
    RateLimited,
    SessionCreateFailed,
    SessionLoadFailed,
    UsageLimitReached,
)


def of(failures: Failures, method: str, told: dict[str, Any]) -> AgentError:
    error = ProtocolError(told.get("message", ""), number=told.get("code", -32603), data=told.get("data"))
    return failures.error_for(method, error)


@pytest.fixture
def failures() -> Failures:
    return Failures(Launch((), name="x"), lambda text: text.replace("hunter2", "***"))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("You've hit your usage limit. Upgrade to Pro", UsageLimitReached),
        ("Authentication required", AuthRequired),
        ("Invalid API key · Please run /login", AuthRequired),
        ("prompt is too long: 210000 tokens > 200000 maximum", ContextTooLong),
        ("HTTP 429 Too Many Requests", RateLimited),
        ("503 Service Unavailable", AgentOverloaded),
        (r"failed: {\"error\":{\"code\":503}}", AgentOverloaded),
        ("no session file /var/sessions/503/x.json", None),
        ("x.py:529: assertion failed", None),
        ("cannot open /srv/rate-limit/unauthorized.txt", None),
        ("rate_limit_error, see https://example.org/docs/x", RateLimited),
        ("the author wrote a limit of 5 pages", None),
    ],
)
def test_words_tell_of_the_known_troubles(words: str, error: Any, failures: Failures) -> None:
    assert meaning(words) is error
    told = of(
        failures, "session/prompt", {"code": -32603, "message": "Internal error", "data": {"deep": [words]}}
    )
    assert type(told) is (error or AgentRequestFailed)
    assert (told.agent, told.number) == ("x", -32603)


def test_the_number_counts_more_than_the_words() -> None:
    failures = Failures(Launch(("x",), name="x"), str)
    failures.methods = Handshake.read(
        {"authMethods": [{"id": "t", "name": "T", "type": "terminal", "args": ["login"]}]}
    ).auth_methods
    error = of(failures, "session/new", {"code": -32000, "message": "rate limit"})
    assert isinstance(error, AuthRequired)
    assert error.login_command == ("x", "login")
    assert error.methods == ({"id": "t", "name": "T", "type": "terminal", "args": ["login"]},)
    assert "x login" in str(error)
    assert error.to_wire()["loginCommand"] == ["x", "login"]


def test_a_command_that_is_known_from_elsewhere_comes_first() -> None:
    error = Failures(Launch((), name="x", login=("/the path/x", "auth")), str).auth_required("no")
    assert error.login_command == ("/the path/x", "auth")
    assert "'/the path/x' auth" in str(error)


def test_without_a_command_the_ways_are_named(failures: Failures) -> None:
    failures.methods = Handshake.read({"authMethods": [{"id": "w", "name": "Web page"}]}).auth_methods
    assert "Web page" in str(failures.auth_required("no"))
    assert failures.auth_required("no").login_command == ()


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("session/load", "loadSession"),
        ("session/set_mode", "setSessionMode"),
    ],
)
def test_a_method_that_is_not_there_is_a_missing_capability(
    method: str, capability: str, failures: Failures
) -> None:
    error = of(failures, method, {"code": -32601, "message": "Method not found"})
    assert isinstance(error, CapabilityNotSupportedError)
    assert error.capability == capability


@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("initialize", AgentInitFailed),
        ("session/new", SessionCreateFailed),
        ("session/load", SessionLoadFailed),
        ("session/prompt", AgentRequestFailed),
    ],
)
def test_other_errors_say_what_was_asked(method: str, error: Any, failures: Failures) -> None:
    told = of(failures, method, {"code": 1001, "message": "odd: hunter2", "data": {"x": ["hunter2", 1]}})
    assert type(told) is error
    assert (told.number, told.data) == (1001, {"x": ["***", 1]})
    assert method in str(told)
    assert "hunter2" not in str(told)


@pytest.mark.parametrize(
    "words", ["Session 'fix rate limit' not found", "unauthorized: session belongs to another user"]
)
def test_words_do_not_keep_a_session_from_being_made_anew(words: str, failures: Failures) -> None:
    assert type(of(failures, "session/load", {"code": -32603, "message": words})) is SessionLoadFailed


@pytest.mark.parametrize(
    ("number", "error"), [(-32002, SessionLoadFailed), (-32000, AuthRequired), (503, AgentOverloaded)]
)
def test_the_number_of_a_refusal_counts_more(number: int, error: Any, failures: Failures) -> None:
    assert type(of(failures, "session/resume", {"code": number, "message": "rate limit"})) is error


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"status": 429}, RateLimited),
        ({"error": {"statusCode": 529}}, AgentOverloaded),
        ({"line": 429}, None),
    ],
)
def test_a_status_in_the_data_counts_like_the_number(data: Any, error: Any, failures: Failures) -> None:
    told = {"code": -32603, "message": "Internal error", "data": data}
    assert type(of(failures, "session/load", told)) is (error or SessionLoadFailed)
    assert type(of(failures, "session/prompt", told)) is (error or AgentRequestFailed)


def test_words_that_say_nothing_are_helped_by_the_data(failures: Failures) -> None:
    told = {"code": -32603, "message": "Internal error", "data": {"details": "no disk, hunter2"}}
    assert str(of(failures, "session/prompt", told)).endswith("Internal error (no disk, ***)")


def test_a_log_tells_why_an_agent_did_not_start(failures: Failures) -> None:
    assert isinstance(failures.error_in_log("hello\nError: not logged in\n"), AuthRequired)
    assert isinstance(failures.error_in_log("usage limit reached"), UsageLimitReached)
    assert failures.error_in_log("rate limit\n429\nsegmentation fault") is None
