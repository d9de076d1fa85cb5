"""What an agent's error means: its number first, then its words.

Agents pass on what their model said, each in its own way, and mostly as -32603. The words tell whether a
person must sign in, wait, pay, or begin a new conversation.

Where the agent refuses to open an earlier session, only what may be otherwise later is told apart. All else
is a `SessionLoadFailed`, after which one can go on in a new session. So the name of a session or of a file
must not pass for such words.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from serai.acp.auth_context import masking
from serai.acp.capabilities import AuthMethod
from serai.acp.frames import AUTH_REQUIRED, INTERNAL_ERROR, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from serai.acp.shapes import is_list, is_object
from serai.errors import (
    AgentError,
    AgentInitFailed,
    AgentOverloaded,
    AgentRequestFailed,
    AuthRequired,
    CapabilityNotSupportedError,
    ContextTooLong,
    RateLimited,
    SessionCreateFailed,
    SessionLoadFailed,
    UsageLimitReached,
)

__all__ = ["Failures", "meaning"]

_CAPABILITIES = {
    "session/load": "loadSession",
    "session/list": "sessionCapabilities.list",
    "session/resume": "sessionCapabilities.resume",
    "session/fork": "sessionCapabilities.fork",
    "session/close": "sessionCapabilities.close",
    "session/delete": "sessionCapabilities.delete",
    "session/set_mode": "setSessionMode",
    "session/set_config_option": "setSessionConfigOption",
    "authenticate": "authenticate",
    "logout": "auth.logout",
}
"""What an agent lacks when it does not have the method."""

_PLAIN: dict[str, type[AgentError]] = {
    "initialize": AgentInitFailed,
    "session/new": SessionCreateFailed,
    "session/load": SessionLoadFailed,
    "session/resume": SessionLoadFailed,
    "session/fork": SessionLoadFailed,
}


def _any(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE | re.MULTILINE)


def _status(numbers: str) -> str:
    """The status of a model's answer, and no other number: named as one, or where a line begins.

    There it must not be a count, as in "503 lines were skipped".
    """
    named = r"(?:\bhttp(?:/\d(?:\.\d)?)?|status|code|error|response|\bgot|\breturned)[ \"\\':=(\[]{1,4}"
    begins = r"(?=\s*$|:\s|:? ?[{(\[\"]| (?-i:[A-Z])| (?:status|error)\b)"
    return rf"{named}(?:{numbers})\b(?![-./:]\w)|^[^\w\n]*(?:{numbers}){begins}"


# In this order: a spent account is often told as a rate limit, and a rate limit as an overload.
_WORDS: dict[type[AgentError], re.Pattern[str]] = {
    UsageLimitReached: _any(
        r"usage[ _-]?limit",
        r"insufficient[ _-](?:quota|credits?|balance|funds)",
        r"quota (?:is |was )?exceeded",
        r"exceeded your (?:current )?quota",
        r"credit balance is too low",
        r"out of credits",
        r"payment required",
        r"(?:spending|billing)[ _-](?:hard[ _-])?limit",
    ),
    AuthRequired: _any(
        r"auth(?:entication|orization)?[ _-]?(?:is )?required",
        r"authentication[ _-](?:error|failed)",
        r"not (?:logged|signed) in",
        r"(?:log|sign) ?in (?:first|required|again)",
        r"please (?:run )?/?(?:log|sign) ?in",
        r"unauthori[sz]ed|unauthenticated",
        r"(?:invalid|incorrect|missing|expired|no)[ _-](?:x-)?api[ _-]?key",
        r"(?:invalid|incorrect|missing|expired)[ _-](?:access token|oauth token|credentials)",
    ),
    ContextTooLong: _any(
        r"context[ _-](?:length|window)",
        r"maximum context",
        r"(?:prompt|input) is too long",
        r"too many (?:input )?tokens",
        r"token limit exceeded",
    ),
    RateLimited: _any(r"rate[ _-]?limit", r"too many requests", r"resource[ _-]exhausted", _status("429")),
    AgentOverloaded: _any(
        r"overloaded",
        r"(?:over|at) capacity",
        r"service (?:is )?(?:temporarily )?unavailable",
        r"server (?:is )?(?:too )?busy",
        _status("503|529"),
    ),
}
_NUMBERS: dict[int, type[AgentError]] = {429: RateLimited, 503: AgentOverloaded, 529: AgentOverloaded}
"""What the status of a model's answer means, which some agents pass on as their own number."""
_IN_WORD = r"[^\s\"'`(){}\[\]<>,;:=|/]"
_PATHS = _any(
    rf"(?<!/)(?<!{_IN_WORD}){_IN_WORD}*(?:/{_IN_WORD}*){{2,}}",
    r"\b[a-z]:\\[^\s\"'`]*",
)
"""Paths and addresses. What stands in them is a name, and says nothing. `/login` is none of them."""
_EARLIER = r"(?:session|conversation|thread|chat)"
_GONE = _any(
    rf"\b(?:no|no such|unknown) {_EARLIER}\b",
    rf"\b{_EARLIER}\b.{{0,200}}?\b(?:not found|not exist|doesn't exist|is unknown)\b",
    rf"\b(?:not|cannot|can't) find\b.{{0,50}}?\b{_EARLIER}\b",
)
"""An earlier session is not there: also when its name tells of something else."""
_EMPTY = frozenset({"Internal error", "Error", "Server error"})
"""Words that say nothing: then the data may."""
_SHOWN = 500
_DEEPEST = 6


def meaning(text: str) -> type[AgentError] | None:
    """Which of the known troubles some words tell of; `None` for none of them."""
    text = _PATHS.sub(" ", text)
    return next((error for error, words in _WORDS.items() if words.search(text)), None)


def _sort(method: str, number: int, text: str) -> type[AgentError]:
    """Which error it is, by all that was said."""
    plain = _PLAIN.get(method, AgentRequestFailed)
    is_earlier = plain is SessionLoadFailed
    if is_earlier and number == RESOURCE_NOT_FOUND:
        return plain
    error = meaning(text) or _NUMBERS.get(number) or plain
    if is_earlier and error is not AuthRequired and (error is ContextTooLong or _GONE.search(text)):
        return plain
    return error


class Failures:
    """Makes errors of what one agent answers.

    Args:
        agent: Its name.
        mask: Takes secrets out of what it said.
    """

    def __init__(self, agent: str, mask: Callable[[str], str]) -> None:
        self._agent = agent
        self._mask = masking(mask)
        self.methods: tuple[AuthMethod, ...] = ()
        """The ways to sign in that it has told of."""
        self.argv: tuple[str, ...] = ()
        self.login: tuple[str, ...] = ()
        """The command to sign in with, when it is known from elsewhere."""

    def of(self, method: str, told: Any) -> AgentError:
        """What the error means that a request was answered with.

        Where an earlier session was to be opened, it is a `SessionLoadFailed` unless a person can sign in,
        wait or pay: the session will be there then.
        """
        number, words, data = _parts(told)
        words = self._mask(words)
        if number == AUTH_REQUIRED:
            return self.auth_required(words, number, data)
        if number == METHOD_NOT_FOUND and method in _CAPABILITIES:
            return CapabilityNotSupportedError(_CAPABILITIES[method], agent=self._agent)
        error = _sort(method, number, "\n".join([words, *_texts(data)]))
        if error is AuthRequired:
            return self.auth_required(words, number, data)
        if words in _EMPTY and (more := next(_texts(data), None)):
            words = f"{words} ({self._mask(more)[:_SHOWN]})"
        message = f"the agent {self._agent!r} answered {method} with the error {number}: {words}"
        return error(message, agent=self._agent, number=number, data=self._masked(data))

    def auth_required(self, words: str, number: int | None = None, data: Any = None) -> AuthRequired:
        """A person has to sign in. It says how, as far as that is known."""
        command = self.login or next(
            (command for each in self.methods if (command := each.login_command(self.argv))), ()
        )
        if command:
            remedy = f"Run '{shlex.join(command)}' in a terminal"
        elif self.methods:
            remedy = f"Sign in with: {', '.join(each.name for each in self.methods)}"
        else:
            remedy = None
        return AuthRequired(
            f"the agent {self._agent!r} wants you to sign in: {words}",
            agent=self._agent,
            number=number,
            data=self._masked(data),
            methods=tuple(dict(each.raw) for each in self.methods),
            login_command=command,
            remedy=remedy,
        )

    def of_log(self, text: str) -> AgentError | None:
        """Why an agent did not start, if its log says that it wants a person to sign in or to pay."""
        for line in reversed(text.splitlines()):
            error = meaning(line)
            if error is AuthRequired:
                return self.auth_required(line)
            if error is UsageLimitReached:
                return self.usage_limit(line)
        return None

    def usage_limit(self, words: str) -> UsageLimitReached:
        """The account has nothing left to spend."""
        return UsageLimitReached(f"the agent {self._agent!r} says: {words}", agent=self._agent)

    def _masked(self, data: Any) -> Any:
        if isinstance(data, str):
            return self._mask(data)
        if is_object(data):
            return {name: self._masked(value) for name, value in data.items()}
        if is_list(data):
            return [self._masked(value) for value in data]
        return data


def _parts(told: Any) -> tuple[int, str, Any]:
    """The number, the words and the data of an error object, which may be no such object."""
    if not is_object(told):
        return INTERNAL_ERROR, str(told), None
    number, words, data = told.get("code"), told.get("message"), told.get("data")
    return (
        number if isinstance(number, int) and not isinstance(number, bool) else INTERNAL_ERROR,
        words if isinstance(words, str) and words else next(_texts(data), "it did not say why"),
        data,
    )


def _texts(data: Any, depth: int = 0) -> Iterator[str]:
    """All texts in an error's data: agents nest what their model said."""
    if isinstance(data, str):
        yield data
    elif depth < _DEEPEST and (is_object(data) or is_list(data)):
        for value in data.values() if is_object(data) else data:
            yield from _texts(value, depth + 1)
