"""What an agent's error means: its number first, then its words.

Agents pass on what their model said, each in its own way, and mostly as -32603. The words tell whether a
person must sign in, wait, pay, or begin a new conversation.

Where the agent refuses to open an earlier session, only what is unmistakable and may be otherwise later is
told apart. All else is a `SessionLoadFailed`, after which one can go on in a new session: a stray word must
not pass for such trouble, for each turn would fail in the same way, for good.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from serai.acp.capabilities import AuthMethod
from serai.acp.process.mask import mask_json, masking
from serai.acp.shapes import is_list, is_object
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
from serai.jsonrpc.messages import AUTH_REQUIRED, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND

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
    "session/set_model": "setSessionModel",
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
    """The status of a model's answer, wherever it stands; not what is a name, a place or a count."""
    before = r"(?<!\d[.,])(?<!session )(?<!thread )(?<!line )"
    after = r"(?!(?-i:[-.][a-z\d]))(?! (?:lines|files|sessions|tests|tokens|messages|bytes)\b)"
    return rf"\b{before}(?:{numbers})\b{after}"


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
    r"\.[a-z]{1,4}:\d+",
)
"""Paths, addresses, lines of files. What stands in them is a name, and says nothing. `/login` is none."""
_NAMES = _any(
    r"\{(?s:.*)",
    r"(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)",
    r"\"[^\"\n]*\"|`[^`\n]*`|“[^“”\n]*”|«[^«»\n]*»",
)
"""What is a name where an earlier session is meant: JSON, and what stands in quotes."""
_HAPPENED = r"(?:is |was |has been )?(?:exceeded|reached|hit)"
_STATUS = r"(?:[(\[]|http(?:/\d(?:\.\d)?)? |status(?:[ _]?code)?[ :=]{{1,3}})(?:{0})\b|error: (?:{0})\W*$"
"""A status in brackets, or that is called one, or that an error ends with."""


def _phrase(*phrases: str) -> re.Pattern[str]:
    """Phrases that are no part of a longer name."""
    return _any(rf"(?<![-\w])(?:{'|'.join(phrases)})(?![-\w])")


_CERTAIN: dict[type[AgentError], re.Pattern[str]] = {
    UsageLimitReached: _phrase(
        rf"usage limit {_HAPPENED}",
        r"(?:exceeded|reached|hit) (?:your|the) (?:\w+ )?usage limit",
        r"exceeded your (?:current )?quota",
        r"credit balance is too low|out of credits|insufficient_quota",
    ),
    AuthRequired: _phrase(
        r"please (?:run )?/?(?:log|sign) ?in",
        r"not (?:logged|signed) in",
        r"authentication (?:is )?required|authentication_failed",
        r"(?:invalid|incorrect) api key(?: provided|(?! \w))",
    ),
    RateLimited: _phrase(
        rf"rate[ -]limit {_HAPPENED}",
        r"(?:exceeded|reached|hit) (?:your|the) (?:\w+ )?rate[ -]limit",
        r"rate[ _-]limited|rate_limit_(?:error|exceeded)",
        r"too many requests",
    ),
    AgentOverloaded: _phrase(
        r"overloaded_error", r"(?:is|are) (?:currently |temporarily )?overloaded", r"503 service unavailable"
    ),
}
"""What is unmistakable also where an agent tells of an earlier session."""
_CERTAIN_STATUS = {RateLimited: _any(_STATUS.format("429")), AgentOverloaded: _any(_STATUS.format("503|529"))}
_STATUS_KEY = re.compile(r"status|code$", re.IGNORECASE)
_READ = 10_000
"""How much of a text is read where an earlier session is meant."""
_EMPTY = frozenset({"Internal error", "Error", "Server error"})
"""Words that say nothing: then the data may."""
_SHOWN = 500
_DEEPEST = 6


def meaning(text: str) -> type[AgentError] | None:
    """Which of the known troubles some words tell of; `None` for none of them."""
    text = _PATHS.sub(" ", text)
    return next((error for error, words in _WORDS.items() if words.search(text)), None)


def _sort(method: str, number: int, words: str, data: Any = None) -> type[AgentError]:
    """Which error it is, by all that was said."""
    plain = _PLAIN.get(method, AgentRequestFailed)
    if plain is SessionLoadFailed:
        return plain if number == RESOURCE_NOT_FOUND else _of_earlier(number, words, data) or plain
    return meaning("\n".join([words, *_texts(data)])) or _by_number(number, data) or plain


def _by_number(number: int, data: Any) -> type[AgentError] | None:
    """What the number means, or a status in the data."""
    statuses = (value for key, value in _leaves(data) if type(value) is int and _STATUS_KEY.search(key))
    return next((_NUMBERS[each] for each in (number, *statuses) if each in _NUMBERS), None)


def _of_earlier(number: int, words: str, data: Any) -> type[AgentError] | None:
    """Which trouble an agent has with an earlier session, if it is unmistakable."""
    said = "\n".join(_NAMES.sub(" ", _PATHS.sub(" ", text[:_READ])) for text in (words, *_texts(data)))
    found = (
        error for error, phrases in (*_CERTAIN.items(), *_CERTAIN_STATUS.items()) if phrases.search(said)
    )
    return next(found, None) or _by_number(number, data)


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

    def of(self, method: str, told: ProtocolError) -> AgentError:
        """What the error means that a request was answered with.

        Where an earlier session was to be opened, it is a `SessionLoadFailed` unless a person can sign in,
        wait or pay: the session will be there then.
        """
        number, data = told.number, told.data
        words = self._mask(told.message or next(_texts(data), "it did not say why"))
        if number == AUTH_REQUIRED:
            return self.auth_required(words, number, data)
        if number == METHOD_NOT_FOUND and method in _CAPABILITIES:
            return CapabilityNotSupportedError(_CAPABILITIES[method], agent=self._agent)
        error = _sort(method, number, words, data)
        if error is AuthRequired:
            return self.auth_required(words, number, data)
        if words in _EMPTY and (more := next(_texts(data), None)):
            words = f"{words} ({self._mask(more)[:_SHOWN]})"
        message = f"the agent {self._agent!r} answered {method} with the error {number}: {words}"
        return error(message, agent=self._agent, number=number, data=mask_json(data, self._mask))

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
            data=mask_json(data, self._mask),
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


def _texts(data: Any) -> Iterator[str]:
    """All texts in an error's data: agents nest what their model said."""
    return (value for _, value in _leaves(data) if isinstance(value, str))


def _leaves(data: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """All that data holds, with the key that it stands under."""
    if is_object(data) or is_list(data):
        if depth < _DEEPEST:
            for name, value in data.items() if is_object(data) else ((key, each) for each in data):
                yield from _leaves(value, name, depth + 1)
    else:
        yield key, data
