"""The meaning of an agent's error, by its number first, then by its words.

Agents pass on their model's errors, each in its own way, and mostly as -32603. The words tell whether a
person must sign in, wait, pay, or begin a new conversation. When an agent refuses to open an earlier
session, only numbers count: a stray word would make every later turn fail in the same way.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from serai import errors
from serai.acp.capabilities import AuthMethod
from serai.acp.process.log import masking
from serai.acp.shapes import is_list, is_object, mask_json
from serai.jsonrpc.messages import AUTH_REQUIRED, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from serai.acp.process.connection import Launch

_METHODS = ("list", "resume", "fork", "close", "delete")
_CAPABILITIES = {
    "session/load": "loadSession",
    **{f"session/{name}": f"sessionCapabilities.{name}" for name in _METHODS},
    "session/set_mode": "setSessionMode",
    "session/set_config_option": "setSessionConfigOption",
    "session/set_model": "setSessionModel",
    "authenticate": "authenticate",
    "logout": "auth.logout",
}
"""The capability that an agent lacks when it does not know the method."""

_PLAIN: dict[str, type[errors.AgentError]] = {
    "initialize": errors.AgentInitFailed,
    "session/new": errors.SessionCreateFailed,
    "session/load": errors.SessionLoadFailed,
    "session/resume": errors.SessionLoadFailed,
    "session/fork": errors.SessionLoadFailed,
}


def _any(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE | re.MULTILINE)


# In this order: a spent account is often reported as a rate limit, and a rate limit as an overload.
_WORDS: dict[type[errors.AgentError], re.Pattern[str]] = {
    errors.UsageLimitReached: _any(
        r"usage[ _-]?limit",
        r"insufficient[ _-](?:quota|credits?|balance|funds)",
        r"quota (?:is |was )?exceeded",
        r"exceeded your (?:current )?quota",
        r"credit balance is too low",
        r"out of credits",
        r"payment required",
        r"(?:spending|billing)[ _-](?:hard[ _-])?limit",
    ),
    errors.AuthRequired: _any(
        r"auth(?:entication|orization)?[ _-]?(?:is )?required",
        r"authentication[ _-](?:error|failed)",
        r"not (?:logged|signed) in",
        r"(?:log|sign) ?in (?:first|required|again)",
        r"please (?:run )?/?(?:log|sign) ?in",
        r"unauthori[sz]ed|unauthenticated",
        r"(?:invalid|incorrect|missing|expired|no)[ _-](?:x-)?api[ _-]?key",
        r"(?:invalid|incorrect|missing|expired)[ _-](?:access token|oauth token|credentials)",
    ),
    errors.ContextTooLong: _any(
        r"context[ _-](?:length|window)",
        r"maximum context",
        r"(?:prompt|input) is too long",
        r"too many (?:input )?tokens",
        r"token limit exceeded",
    ),
    errors.RateLimited: _any(
        r"rate[ _-]?limit", r"too many requests", r"resource[ _-]exhausted", r"\b429\b(?!\.\w)"
    ),
    errors.AgentOverloaded: _any(
        r"overloaded",
        r"(?:over|at) capacity",
        r"service (?:is )?(?:temporarily )?unavailable",
        r"server (?:is )?(?:too )?busy",
        r"\b(?:503|529)\b(?!\.\w)",
    ),
}
_NUMBERS: dict[int, type[errors.AgentError]] = {
    429: errors.RateLimited,
    503: errors.AgentOverloaded,
    529: errors.AgentOverloaded,
}
"""Errors by the HTTP status of a model's answer, which some agents pass on as their own number."""
_IN_WORD = r"[^\s\"'`(){}\[\]<>,;:=|/]"
_PATHS = _any(
    rf"(?<!/)(?<!{_IN_WORD}){_IN_WORD}*(?:/{_IN_WORD}*){{2,}}",
    r"\b[a-z]:\\[^\s\"'`]*",
    r"\.[a-z]{1,4}:\d+",
)
"""Paths, addresses and lines of files. Words in them are names and mean nothing. `/login` is no path."""
_STATUS_KEY = re.compile(r"status|code$", re.IGNORECASE)
_EMPTY = frozenset({"Internal error", "Error", "Server error"})
"""Messages that say nothing: then the data is looked at."""
_SHOWN = 500
_DEEPEST = 6


def meaning(text: str) -> type[errors.AgentError] | None:
    """Return the error that a text describes; `None` for none of the known ones."""
    text = _PATHS.sub(" ", text)
    return next((error for error, words in _WORDS.items() if words.search(text)), None)


class Failures:
    """Turns the error answers of one agent into exceptions.

    Args:
        launch: The agent's name, and its command to sign in when that is known.
        mask: Removes secrets from messages.
    """

    def __init__(self, launch: Launch, mask: Callable[[str], str]) -> None:
        self._agent = launch.name
        self._launch = launch
        self._mask = masking(mask)
        self.methods: tuple[AuthMethod, ...] = ()
        """The agent's ways to sign in, from its handshake."""

    def error_for(self, method: str, answer: errors.ProtocolError) -> errors.AgentError:
        """Return the exception for an error answer to a request.

        When an earlier session was to be opened, it is a `SessionLoadFailed`, unless the number says that a
        person can sign in or wait: the session will be there then.
        """
        number, data = answer.number, answer.data
        words = self._mask(answer.message or next(_texts(data), "it did not say why"))
        if number == AUTH_REQUIRED:
            return self.auth_required(words, number, data)
        if number == METHOD_NOT_FOUND and method in _CAPABILITIES:
            return errors.CapabilityNotSupportedError(_CAPABILITIES[method], agent=self._agent)
        plain = _PLAIN.get(method, errors.AgentRequestFailed)
        statuses = (value for key, value in _leaves(data) if type(value) is int and _STATUS_KEY.search(key))
        error = next((_NUMBERS[each] for each in (number, *statuses) if each in _NUMBERS), plain)
        if plain is not errors.SessionLoadFailed:
            error = meaning("\n".join([words, *_texts(data)])) or error
        if error is errors.AuthRequired:
            return self.auth_required(words, number, data)
        if words in _EMPTY and (more := next(_texts(data), None)):
            words = f"{words} ({self._mask(more)[:_SHOWN]})"
        message = f"the agent {self._agent!r} answered {method} with the error {number}: {words}"
        return error(message, agent=self._agent, number=number, data=mask_json(data, self._mask))

    def auth_required(self, words: str, number: int | None = None, data: Any = None) -> errors.AuthRequired:
        """Return the error that a person has to sign in, with the way to do it as far as that is known."""
        offered = (each.login_command(self._launch.argv) for each in self.methods)
        command = self._launch.login or next(filter(None, offered), ())
        ways = ", ".join(each.name for each in self.methods)
        remedy = f"Sign in with: {ways}" if ways else None
        return errors.AuthRequired(
            f"the agent {self._agent!r} wants you to sign in: {words}",
            agent=self._agent,
            number=number,
            data=mask_json(data, self._mask),
            methods=tuple(dict(each.raw) for each in self.methods),
            login_command=command,
            remedy=f"Run '{shlex.join(command)}' in a terminal" if command else remedy,
        )

    def error_in_log(self, text: str) -> errors.AgentError | None:
        """Return why an agent did not start, if its log says that a person has to sign in or to pay."""
        for line in reversed(text.splitlines()):
            error = meaning(line)
            if error is errors.AuthRequired:
                return self.auth_required(line)
            if error is errors.UsageLimitReached:
                return self.usage_limit(line)
        return None

    def usage_limit(self, words: str) -> errors.UsageLimitReached:
        """Return the error that the account has nothing left to spend."""
        return errors.UsageLimitReached(f"the agent {self._agent!r} says: {words}", agent=self._agent)


def _texts(data: Any) -> Iterator[str]:
    """Yield all texts in an error's data: agents nest their model's message in it."""
    return (value for _, value in _leaves(data) if isinstance(value, str))


def _leaves(data: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield all plain values in data, each with its key."""
    if is_object(data) or is_list(data):
        if depth < _DEEPEST:
            for name, value in data.items() if is_object(data) else ((key, each) for each in data):
                yield from _leaves(value, name, depth + 1)
    else:
        yield key, data
