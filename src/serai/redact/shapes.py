"""What credentials look like, for those whose value nobody has told us.

A shape is a pattern and a check. The pattern finds candidates; the check looks at the whole candidate and
says whether it is a credential, because most false alarms (`sk-folding-cube`, `token = get_token()`) fit a
pattern and are not random. Hashes and UUIDs are no secrets unless a name such as `password=` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from serai.redact.finder import VALUE, Pattern, Run

LIMIT = 4096
"""A candidate that is longer is taken for a secret without a check."""

PRIVATE_KEY = "private-key"

_WORD = "A-Za-z0-9"
_URL_SAFE = r"A-Za-z0-9_\-"


class Secret(NamedTuple):
    """Which part of a candidate is to be masked, and as what."""

    kind: str
    start: int
    end: int


Check: TypeAlias = Callable[[str, int, int, int], bool | Secret]
"""Takes a text and where in it the match, the candidate and what follows begin. `False`: no secret."""


class Shape(NamedTuple):
    """A kind of credential."""

    kind: str
    pattern: Pattern
    check: Check

    def secret(self, text: str, start: int, value: int, end: int) -> Secret | None:
        """What is to be masked of a whole match; `None` when it is a false alarm."""
        if end - value < LIMIT:
            if "." in self.pattern.tail:  # a full stop after it
                end = value + len(text[value:end].rstrip("."))
            found = self.check(text, start, value, end)
            if isinstance(found, Secret):
                return found
            if not found:
                return None
        return Secret(self.kind, value, end)

    def has_begun(self, text: str, start: int, value: int) -> bool:
        """Whether a match under way has something of a secret, as far as the text goes.

        It has not after a name that tells of none, in the fixed beginning of a key (`github_pat_`), or in an
        address whose next word has neither a password nor a digit: most likely it is the host.
        """
        if self.check is _is_assigned:
            return _kind_by_name(text, start, value) is not None
        there = text[value:]
        if self.check is _in_url:
            return ":" in there or any(map(str.isdigit, there))
        return not self.pattern.word.startswith(there)


_TURN = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
"""Where the kind of character changes. A capital before small letters is no turn: words begin so."""
_ENOUGH = 256
_SPECIAL = frozenset("!@#$%^*~+")


def looks_random(text: str, turns: float = 0.25) -> bool:
    """Whether a text changes between letters, capitals and digits more often than words and names do.

    In random base 62, 45 of 100 neighbours are a turn, in hexadecimal 47; in `OAuth2TokenResponse` 17.
    """
    text = text[:_ENOUGH]
    if len(set(text)) < 8 or not any(map(str.isdigit, text)):
        return False
    return len(_TURN.findall(text)) >= turns * len(text)


def _always(_text: str, _start: int, _value: int, _end: int) -> bool:
    return True


def _has_digits(text: str, _start: int, value: int, end: int) -> bool:
    return sum(map(str.isdigit, text[value : min(end, value + _ENOUGH)])) >= 2


def _is_random(text: str, _start: int, value: int, end: int) -> bool:
    return looks_random(text[value:end])


def _is_somewhat_random(text: str, _start: int, value: int, end: int) -> bool:
    return looks_random(text[value:end], turns=0.12)


_SEGMENT = re.compile(r"[A-Za-z0-9]{16,}")


def _is_provider_key(text: str, _start: int, value: int, end: int) -> bool:
    # `sk-` also begins class names of style sheets, which have many short words between their hyphens.
    key = text[value : min(end, value + _ENOUGH)]
    return looks_random(key, 0.2) or any(looks_random(part, 0.2) for part in _SEGMENT.findall(key))


def _is_exactly(pattern: str) -> Check:
    whole = re.compile(pattern)
    return lambda text, _start, value, end: whole.fullmatch(text, value, end) is not None


def _prefixed(kind: str, prefix: str, chars: str, low: int, check: Check = _always) -> Shape:
    return Shape(kind, Pattern((VALUE, prefix, Run(chars, low))), check)


def _provider_keys() -> Iterator[Shape]:
    for letter in "pousr":
        yield _prefixed("github-token", f"gh{letter}_", _WORD, 30)
    yield _prefixed("github-token", "github_pat_", f"{_WORD}_", 36)
    yield _prefixed("serai-token", "srt_", _URL_SAFE, 40)
    for kind in ("pat", "dt", "rt", "ptt", "ft", "oas", "cbt", "agent"):
        yield _prefixed("gitlab-token", f"gl{kind}-", _URL_SAFE, 20, _has_digits)
    for letter in "abeprs":
        yield _prefixed("slack-token", f"xox{letter}-", rf"{_WORD}\-", 16, _has_digits)
    yield _prefixed("slack-token", "xapp-", rf"{_WORD}\-", 16, _has_digits)
    yield _prefixed("anthropic-key", "sk-ant-", _URL_SAFE, 20, _is_provider_key)
    yield _prefixed("api-key", "sk-", _URL_SAFE, 20, _is_provider_key)
    for prefix in ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"):
        yield _prefixed("stripe-key", prefix, _WORD, 16, _has_digits)
    for prefix in ("AKIA", "ASIA"):
        yield _prefixed("aws-key-id", prefix, _WORD, 16, _is_exactly("[A-Z0-9]{20}"))
    yield _prefixed("google-key", "AIza", _URL_SAFE, 35, _is_exactly(r"[\w\-]{39}"))
    yield _prefixed("google-secret", "GOCSPX-", _URL_SAFE, 20)
    yield _prefixed("google-token", "ya29.", _URL_SAFE, 20, _has_digits)
    yield _prefixed("huggingface-token", "hf_", _WORD, 30)
    yield _prefixed("npm-token", "npm_", _WORD, 30)
    yield _prefixed("pypi-token", "pypi-", _URL_SAFE, 50, _has_digits)
    yield _prefixed("docker-token", "dckr_pat_", _URL_SAFE, 20)
    yield _prefixed("digitalocean-token", "dop_v1_", _WORD, 40)
    yield _prefixed("vault-token", "hvs.", _URL_SAFE, 20, _has_digits)
    yield _prefixed("sendgrid-key", "SG.", rf"{_URL_SAFE}.", 40, _is_provider_key)
    for prefix in ("gsk_", "xai-", "nvapi-", "pplx-", "r8_"):
        yield _prefixed("api-key", prefix, _URL_SAFE, 30, _is_provider_key)
    yield _prefixed("age-key", "AGE-SECRET-KEY-1", _WORD, 40)
    # All parts but the last are bounded, so that other base64 of JSON is let go soon.
    header = (VALUE, "eyJ", Run(_URL_SAFE, 8, 512), ".")
    rest = Run(f"{_URL_SAFE}.", 8)
    yield Shape("jwt", Pattern((*header, "eyJ", rest)), _always)
    yield Shape("jwt", Pattern((*header, Run(_URL_SAFE, 0, 512), ".", rest)), _always)


_NAMES = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "api-key", "accesskey",
    "access_key", "access-key", "privatekey", "private_key", "private-key", "accountkey", "account_key",
    "encryption_key", "signing_key", "credential", "auth_key", "authkey",
)  # fmt: skip
_NAME = re.compile("|".join(_NAMES), re.IGNORECASE)
_OTHER = re.compile(
    r"(?i:hash|digest|sha|md5|type|count|limit|length|size|name|ur[il]|endpoint|file|path|dir|index|expir|version|"
    r"arn|izer|usage|budget|public)|ID$|Id$|_id$|ids?$"
)
"""What makes a name tell of something else: `token_count`, `secretName`, `api_key_id`."""
_PASSWORD = re.compile(r"pass|pwd", re.IGNORECASE)

_VALUE_CHARS = r"A-Za-z0-9_\-+/.~!@#$%^*"  # none of what may stand between a name and its value
_QUOTES = "\"'`\\\\"
_KEY = re.compile(r"[A-Za-z0-9_\-]+")
SEPARATORS = ":=>"
ASSIGNED = rf"[ \t]{{0,8}}+[{_QUOTES}]{{0,4}}+[{_VALUE_CHARS}]{{8}}"
"""What follows after a name and a separator."""


def name_tells(name: str) -> str | None:
    """Which kind of secret a name speaks of: `password` for `dbPassword`; `None` for `token_count`."""
    found = _NAME.search(name)
    if found is None or _OTHER.search(name, found.end()):
        return None
    return "password" if _PASSWORD.match(found[0]) else found[0].lower().replace("_", "-")


def is_secret_value(kind: str, value: str) -> bool:
    """Whether the value of a name that tells of a secret is one, and no word, variable or call."""
    if len(value) >= 12 and looks_random(value):
        return True
    # A password that people make: not random, but with all kinds of characters.
    return (
        kind == "password"
        and len(value) >= 8
        and value[0] not in "$%"
        and not _SPECIAL.isdisjoint(value)
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
    )


def _is_assigned(text: str, start: int, value: int, end: int) -> bool | Secret:
    if text.startswith("[", end):
        return False  # an index, or a mask: the value goes on
    kind = _kind_by_name(text, start, value)
    if kind is None or not is_secret_value(kind, text[value:end]):
        return False
    if text.startswith("[secret:", start - 1) and text.startswith("]", end):
        return False  # our own mask
    return Secret(kind, value, end)


def _kind_by_name(text: str, start: int, value: int) -> str | None:
    """Which kind of secret the name before a value speaks of."""
    if text[start] == "-":  # a flag: its name begins after the hyphens
        start += 2
    key = _KEY.match(text, start, value)
    if key is None or text.startswith("]", key.end()):
        return None  # `[masked:github-token]: ...` is no name
    return name_tells(key[0])


def _assignments() -> Iterator[Shape]:
    rest = (
        Run(r"A-Za-z0-9_", 0, 12),
        Run(_QUOTES, 0, 3),
        Run(r"\]", 0, 1),
        Run(r" \t", 0, 8),
        Run(SEPARATORS, 1, 3),
        Run(r" \t", 0, 8),
        Run(_QUOTES, 0, 4),
        VALUE,
        Run(_VALUE_CHARS, 8),
    )
    for name in _NAMES:
        yield Shape("secret", Pattern((name, *rest), any_case=True, at_word=False), _is_assigned)
    flag = ("--", Run(r"a-z0-9\-", 2, 18), Run(" =", 1, 1), Run(_QUOTES, 0, 3), VALUE, Run(_VALUE_CHARS, 8))
    yield Shape("secret", Pattern(flag, at_word=False), _is_assigned)


def _credentials() -> Iterator[Shape]:
    token = (VALUE, Run(rf"{_WORD}\-._~+/", 16))
    bearer, basic = (Pattern((word, Run(" ", 1, 2), *token), any_case=True) for word in ("bearer", "basic"))
    yield Shape("bearer-token", bearer, _is_somewhat_random)
    yield Shape("basic-credentials", basic, _is_random)
    # The scheme alone begins with a common letter; after what ends a header's name it is found at once.
    for before in (":", ": ", ':"', ': "', ": '", ':\\"', ': \\"'):
        scheme = Pattern((f"{before}token", Run(" ", 1, 2), *token), any_case=True, at_word=False)
        yield Shape("token", scheme, _is_somewhat_random)
    userinfo = Run(r"^\s/@\"'<>{}()\[\]\\`|,", 1, 256)
    yield Shape("url-password", Pattern(("://", VALUE, userinfo, "@"), at_word=False), _in_url)


def _in_url(text: str, _start: int, value: int, end: int) -> bool | Secret:
    end -= 1  # the @
    user, colon, password = text[value:end].partition(":")
    if looks_random(user) and len(user) >= 16:
        return Secret("url-credentials", value, end)
    if not colon or not password or password[0] in "$%*":
        return False
    return Secret("url-password", value + len(user) + 1, end)


def _private_keys() -> Iterator[Shape]:
    # Only its header: what follows is read line by line, however long it is.
    header = (VALUE, "-----BEGIN ", Run("A-Z0-9 ", 0, 60), "-----")
    yield Shape(PRIVATE_KEY, Pattern(header, at_word=False), _is_private)


def _is_private(text: str, _start: int, value: int, end: int) -> bool:
    return "PRIVATE KEY" in text[value:end]


SHAPES: tuple[Shape, ...] = (*_private_keys(), *_provider_keys(), *_credentials(), *_assignments())
"""At one place in a text, a shape that stands earlier wins."""
