from __future__ import annotations

import time
from typing import Any

import pytest

from serai.acp import Handshake
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
    return failures.of(method, error)


@pytest.fixture
def failures() -> Failures:
    return Failures("x", lambda text: text.replace("hunter2", "***"))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("You've hit your usage limit. Upgrade to Pro", UsageLimitReached),
        ("You exceeded your current quota, please check your plan", UsageLimitReached),
        ("Your credit balance is too low", UsageLimitReached),
        ("Authentication required", AuthRequired),
        ("Invalid API key · Please run /login", AuthRequired),
        ("401 Unauthorized", AuthRequired),
        ("prompt is too long: 210000 tokens > 200000 maximum", ContextTooLong),
        ("context_length_exceeded", ContextTooLong),
        ("rate_limit_error", RateLimited),
        ("HTTP 429 Too Many Requests", RateLimited),
        ("overloaded_error", AgentOverloaded),
        ("503 Service Unavailable", AgentOverloaded),
        ("API Error: 429 from the model", RateLimited),
        ("Request failed with status code 503", AgentOverloaded),
        (r"failed: {\"error\":{\"code\":503}}", AgentOverloaded),
        ("[429] slow down", RateLimited),
        ("No such file: 4290.txt", None),
        ("no session file /var/sessions/503/x.json", None),
        ("error 429.json is empty", None),
        ("x.py:529: assertion failed", None),
        ("cannot open /srv/rate-limit/unauthorized.txt", None),
        ("cannot open https://example.org/usage-limit/a", None),
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
    failures = Failures("x", str, argv=("x",))
    failures.methods = Handshake.of(
        {"authMethods": [{"id": "t", "name": "T", "type": "terminal", "args": ["login"]}]}
    ).auth_methods
    error = of(failures, "session/new", {"code": -32000, "message": "rate limit"})
    assert isinstance(error, AuthRequired)
    assert error.login_command == ("x", "login")
    assert error.methods == ({"id": "t", "name": "T", "type": "terminal", "args": ["login"]},)
    assert "x login" in str(error)
    assert error.to_wire()["loginCommand"] == ["x", "login"]


def test_a_command_that_is_known_from_elsewhere_comes_first() -> None:
    error = Failures("x", str, login=("/the path/x", "auth")).auth_required("no")
    assert error.login_command == ("/the path/x", "auth")
    assert "'/the path/x' auth" in str(error)


def test_without_a_command_the_ways_are_named(failures: Failures) -> None:
    failures.methods = Handshake.of({"authMethods": [{"id": "w", "name": "Web page"}]}).auth_methods
    assert "Web page" in str(failures.auth_required("no"))
    assert failures.auth_required("no").login_command == ()


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("session/load", "loadSession"),
        ("session/list", "sessionCapabilities.list"),
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
        ("session/resume", SessionLoadFailed),
        ("session/fork", SessionLoadFailed),
        ("session/prompt", AgentRequestFailed),
    ],
)
def test_other_errors_say_what_was_asked(method: str, error: Any, failures: Failures) -> None:
    told = of(failures, method, {"code": 1001, "message": "odd: hunter2", "data": {"x": ["hunter2", 1]}})
    assert type(told) is error
    assert (told.number, told.data) == (1001, {"x": ["***", 1]})
    assert method in str(told)
    assert "hunter2" not in str(told)


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
@pytest.mark.parametrize(
    ("number", "words", "error"),
    [
        (-32603, "the conversation exceeds the context window", SessionLoadFailed),
        (-32603, "prompt is too long", SessionLoadFailed),
        (-32002, "rate limit", SessionLoadFailed),
        (-32002, "unauthorized", SessionLoadFailed),
        (-32603, "Session 'fix rate limit' not found", SessionLoadFailed),
        (-32603, "there is no conversation of the name usage-limit", SessionLoadFailed),
        (-32603, "unknown thread overloaded", SessionLoadFailed),
        (-32000, "Session not found", AuthRequired),
        (-32603, "rate limit reached in this session", RateLimited),
        (503, "later", AgentOverloaded),
    ],
)
def test_a_session_is_refused_for_good_unless_a_person_can_wait_pay_or_sign_in(
    method: str, number: int, words: str, error: Any, failures: Failures
) -> None:
    assert type(of(failures, method, {"code": number, "message": words})) is error


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
@pytest.mark.parametrize(
    "words",
    [
        "session 'rate_limit_work' is corrupt",
        "Session overloaded-worker cannot be restored",
        "unauthorized: session belongs to another user",
        "You are not authorized to access this session",
        "cannot read sessions/rate-limit.json: bad json",
        "Error: 503 sessions scanned, none matched",
        "failed to resume thread 429: rollout is empty",
        "missing credentials section in session file",
        "invalid api key format in stored session",
        "disk quota exceeded",
        "Could not load session: usage limit plugin missing",
        "session store unavailable",
    ],
)
def test_a_name_or_a_stray_word_in_a_refusal_does_not_keep_a_session_from_being_made_anew(
    method: str, words: str, failures: Failures
) -> None:
    assert type(of(failures, method, {"code": -32603, "message": words})) is SessionLoadFailed
    told = {"code": -32603, "message": "Internal error", "data": {"details": [words]}}
    assert type(of(failures, method, told)) is SessionLoadFailed


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("Rate limit exceeded", RateLimited),
        ("Too many requests", RateLimited),
        ("rate_limit_exceeded", RateLimited),
        ("API Error: Request rejected (429) · this may be a temporary capacity issue", RateLimited),
        ("the model said overloaded_error", AgentOverloaded),
        ("Could not load session (503)", AgentOverloaded),
        ("503 Service Unavailable", AgentOverloaded),
        ("Your usage limit has been reached", UsageLimitReached),
        ("You've hit your usage limit. Upgrade to Pro", UsageLimitReached),
        ("insufficient_quota", UsageLimitReached),
        ("Session expired, please log in again", AuthRequired),
        ("You are not logged in", AuthRequired),
        ("Invalid API key · Please run /login", AuthRequired),
        ("authentication_failed", AuthRequired),
    ],
)
def test_a_refusal_that_is_unmistakable_keeps_the_session(
    method: str, words: str, error: Any, failures: Failures
) -> None:
    assert type(of(failures, method, {"code": -32603, "message": words})) is error
    told = {"code": -32603, "message": "Internal error", "data": {"errorKind": words}}
    assert type(of(failures, method, told)) is error


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"status": 429}, RateLimited),
        ({"error": {"statusCode": 529}}, AgentOverloaded),
        ({"line": 429}, None),
        ({"status": True}, None),
        ({"status": [429.5]}, None),
    ],
)
def test_a_status_in_the_data_counts_like_the_number(data: Any, error: Any, failures: Failures) -> None:
    told = {"code": -32603, "message": "Internal error", "data": data}
    assert type(of(failures, "session/load", told)) is (error or SessionLoadFailed)
    assert type(of(failures, "session/prompt", told)) is (error or AgentRequestFailed)


@pytest.mark.parametrize("piece", ["a", "a.a", "/", "a/", "429", "\\"])
def test_a_long_refusal_is_read_in_little_time(piece: str, failures: Failures) -> None:
    words = piece * (60_000 // len(piece))
    since = time.process_time()
    of(failures, "session/prompt", {"code": -32603, "message": words, "data": [words]})
    assert time.process_time() - since < 1


def test_words_that_say_nothing_are_helped_by_the_data(failures: Failures) -> None:
    told = {"code": -32603, "message": "Internal error", "data": {"details": "no disk, hunter2"}}
    assert str(of(failures, "session/prompt", told)).endswith("Internal error (no disk, ***)")


def test_a_log_tells_why_an_agent_did_not_start(failures: Failures) -> None:
    assert isinstance(failures.of_log("hello\nError: not logged in\n"), AuthRequired)
    assert isinstance(failures.of_log("usage limit reached"), UsageLimitReached)
    assert failures.of_log("rate limit\n429\nsegmentation fault") is None
