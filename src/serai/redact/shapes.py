"""The shapes of credentials whose value is not known.

A shape consists of a lead, the characters of the secret, and a check. The lead, such as `password = ` or
`ghp_`, is no secret itself, and finds candidates. The check examines the whole candidate and decides whether
it is a credential, because most false alarms (`sk-folding-cube`, `token = get_token()`) look like one and are
not random. Hashes and UUIDs are no secrets unless a name such as `password=` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

LIMIT = 4096
"""Longest candidate that is checked, in characters. A longer one counts as a secret."""

PRIVATE_KEY = "private-key"

_WORD = "A-Za-z0-9"
_URL_SAFE = r"A-Za-z0-9_\-"


class SecretSpan(NamedTuple):
    """The part of a candidate to mask, and the kind of its mask."""

    kind: str
    start: int
    end: int


Check: TypeAlias = Callable[[str, int, int, int], bool | SecretSpan]
"""A check of a candidate: takes a text, and where the match, the candidate and the rest begin."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A kind of credential."""

    kind: str
    words: tuple[str, ...]
    """Texts of which one begins the lead."""
    chars: str
    """Characters of the secret, as in a character class of an expression."""
    low: int
    """Shortest secret, in characters."""
    check: Check
    more: str = ""
    """Expression for the rest of the lead."""
    any_case: bool = False
    """True when the lead may have capitals."""
    at_word: bool = True
    """True when the lead begins only where a word begins."""
    high: int = LIMIT
    """Most characters of a candidate."""

    @cached_property
    def lead(self) -> str:
        """The expression for the lead: at most `LONGEST_LEAD` characters."""
        words = (re.escape(word) for word in self.words)
        return f"(?{'i' * self.any_case}:{'|'.join(words)}){self.more}()"

    @property
    def is_key(self) -> bool:
        """True when the lead is fixed. Then no other secret begins inside the candidate."""
        return self.at_word and not self.more

    @cached_property
    def run(self) -> re.Pattern[str]:
        """The expression for a candidate."""
        return re.compile(f"[{self.chars}]{{0,{self.high}}}+")

    def secret(self, text: str, start: int, value: int, end: int) -> SecretSpan | None:
        """Return the part of a candidate to mask; `None` for a false alarm."""
        found: bool | SecretSpan = end - value >= LIMIT
        if not found:
            if "." in self.chars:  # a full stop after it
                end = value + len(text[value:end].rstrip("."))
            found = end - value >= self.low and self.check(text, start, value, end)
        return SecretSpan(self.kind, value, end) if found is True else found or None

    def has_begun(self, text: str, start: int, value: int) -> bool:
        """Tell whether an incomplete candidate may contain a part of a secret.

        It cannot after a name that does not denote a secret, or in an address whose next word has neither a
        password nor a digit: most likely that word is the host.
        """
        if self.check is _is_assigned and _kind_by_name(text, start, value) is None:
            return False
        there = text[value:]
        return bool(there) and (self.check is not _in_url or ":" in there or any(map(str.isdigit, there)))


_TURN = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
"""Change of the kind of character. A capital before small letters does not count: words begin so."""
_ENOUGH = 256
_SPECIAL = frozenset("!@#$%^*~+")


def looks_random(text: str, turns: float = 0.25) -> bool:
    """Tell whether a text changes between letters, capitals and digits more often than words and names do.

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


def _provider_keys() -> Iterator[Shape]:
    yield Shape("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _WORD, 30, _always)
    yield Shape("github-token", ("github_pat_",), f"{_WORD}_", 36, _always)
    yield Shape("serai-token", ("srt_",), _URL_SAFE, 40, _always)
    gitlab = ("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "gloas-", "glcbt-", "glagent-")
    yield Shape("gitlab-token", gitlab, _URL_SAFE, 20, _has_digits)
    slack = ("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-")
    yield Shape("slack-token", slack, rf"{_WORD}\-", 16, _has_digits)
    yield Shape("anthropic-key", ("sk-ant-",), _URL_SAFE, 20, _is_provider_key)
    yield Shape("api-key", ("sk-",), _URL_SAFE, 20, _is_provider_key)
    stripe = ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_")
    yield Shape("stripe-key", stripe, _WORD, 16, _has_digits)
    yield Shape("aws-key-id", ("AKIA", "ASIA"), _WORD, 16, _is_exactly("[A-Z0-9]{16}"))
    yield Shape("google-key", ("AIza",), _URL_SAFE, 35, _is_exactly(r"[\w\-]{35}"))
    yield Shape("google-secret", ("GOCSPX-",), _URL_SAFE, 20, _always)
    yield Shape("google-token", ("ya29.",), _URL_SAFE, 20, _has_digits)
    yield Shape("huggingface-token", ("hf_",), _WORD, 30, _always)
    yield Shape("npm-token", ("npm_",), _WORD, 30, _always)
    yield Shape("pypi-token", ("pypi-",), _URL_SAFE, 50, _has_digits)
    yield Shape("docker-token", ("dckr_pat_",), _URL_SAFE, 20, _always)
    yield Shape("digitalocean-token", ("dop_v1_",), _WORD, 40, _always)
    yield Shape("vault-token", ("hvs.",), _URL_SAFE, 20, _has_digits)
    yield Shape("sendgrid-key", ("SG.",), f"{_URL_SAFE}.", 40, _is_provider_key)
    others = ("gsk_", "xai-", "nvapi-", "pplx-", "r8_")
    yield Shape("api-key", others, _URL_SAFE, 30, _is_provider_key)
    yield Shape("age-key", ("AGE-SECRET-KEY-1",), _WORD, 40, _always)
    # All parts but the last are bounded, so that other base64 of JSON is released soon.
    part = f"[{_URL_SAFE}]{{0,512}}+"
    header = rf"(?={part}(?:\.|\Z))"
    jwt = rf"[{_URL_SAFE}]{{8,512}}+\.(?:eyJ[{_URL_SAFE}.]{{8,}}|{part}\.[{_URL_SAFE}.]{{8,}})"
    yield Shape("jwt", ("eyJ",), f"{_URL_SAFE}.", 20, _is_exactly(jwt), header)


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
"""Parts of names that denote something else: `token_count`, `secretName`, `api_key_id`."""
_PASSWORD = re.compile(r"pass|pwd", re.IGNORECASE)

_VALUE_CHARS = r"A-Za-z0-9_\-+/.~!@#$%^*"  # without the characters between a name and its value
_QUOTES = "\"'`\\\\"
_KEY = re.compile(r"[A-Za-z0-9_\-]+")
SEPARATORS = ":=>"
_BEFORE_VALUE = rf"[ \t]{{0,8}}+[{_QUOTES}]{{0,4}}+"
ASSIGNED = rf"{_BEFORE_VALUE}[{_VALUE_CHARS}]{{8}}"
"""Expression for the text after a name and a separator."""


def name_tells(name: str) -> str | None:
    """Return the kind of secret that a name denotes: `password` for `dbPassword`, none for `token_count`."""
    found = _NAME.search(name)
    if found is None or _OTHER.search(name, found.end()):
        return None
    return "password" if _PASSWORD.match(found[0]) else found[0].lower().replace("_", "-")


def is_secret_value(kind: str, value: str) -> bool:
    """Tell whether the value of a name that denotes a secret is one, and not a word, variable or call."""
    if len(value) >= 12 and looks_random(value):
        return True
    # A password made by a person: not random, but with all kinds of characters.
    return (
        kind == "password"
        and len(value) >= 8
        and value[0] not in "$%"
        and not _SPECIAL.isdisjoint(value)
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
    )


def _is_assigned(text: str, start: int, value: int, end: int) -> bool | SecretSpan:
    if text.startswith("[", end):
        return False  # an index, or a mask: the value continues
    kind = _kind_by_name(text, start, value)
    if kind is None or not is_secret_value(kind, text[value:end]):
        return False
    if text.startswith("[secret:", start - 1) and text.startswith("]", end):
        return False  # our own mask
    return SecretSpan(kind, value, end)


def _kind_by_name(text: str, start: int, value: int) -> str | None:
    """Return the kind of secret that the name before a value denotes."""
    if text[start] == "-":  # a flag: its name begins after the hyphens
        start += 2
    key = _KEY.match(text, start, value)
    if key is None or text.startswith("]", key.end()):
        return None  # `[masked:github-token]: ...` is no name
    return name_tells(key[0])


def _assignments() -> Iterator[Shape]:
    rest = rf"[A-Za-z0-9_]{{0,12}}+[{_QUOTES}]{{0,3}}+\]?+[ \t]{{0,8}}+[{SEPARATORS}]{{1,3}}+{_BEFORE_VALUE}"
    yield Shape("secret", _NAMES, _VALUE_CHARS, 8, _is_assigned, rest, any_case=True, at_word=False)
    flag = rf"[a-z0-9\-]{{2,18}}+[ =][{_QUOTES}]{{0,3}}+"
    yield Shape("secret", ("--",), _VALUE_CHARS, 8, _is_assigned, flag, at_word=False)


def _credentials() -> Iterator[Shape]:
    token = rf"{_WORD}\-._~+/"
    yield Shape("bearer-token", ("bearer ",), token, 16, _is_somewhat_random, " ?+", any_case=True)
    yield Shape("basic-credentials", ("basic ",), token, 16, _is_random, " ?+", any_case=True)
    # The scheme alone begins with a common letter; after the end of a header's name it is found quickly.
    names = tuple(f"{before}token " for before in (":", ": ", ':"', ': "', ": '", ':\\"', ': \\"'))
    yield Shape("token", names, token, 16, _is_somewhat_random, " ?+", any_case=True, at_word=False)
    userinfo = r"^\s/@\"'<>{}()\[\]\\`|,"
    yield Shape("url-password", ("://",), userinfo, 1, _in_url, at_word=False, high=256)


def _in_url(text: str, _start: int, value: int, end: int) -> bool | SecretSpan:
    if not text.startswith("@", end):
        return False
    user, colon, password = text[value:end].partition(":")
    if looks_random(user) and len(user) >= 16:
        return SecretSpan("url-credentials", value, end)
    if not colon or not password or password[0] in "$%*":
        return False
    return SecretSpan("url-password", value + len(user) + 1, end)


# Only the header of a key: the rest is read line by line.
_KEY_HEADER = r"[A-Z0-9 ]{0,30}PRIVATE KEY[A-Z0-9 ]{0,20}-----"
_PRIVATE = Shape(PRIVATE_KEY, ("-----BEGIN ",), "", 0, _always, _KEY_HEADER, at_word=False)

SHAPES: tuple[Shape, ...] = (_PRIVATE, *_provider_keys(), *_credentials(), *_assignments())
"""All shapes. At one position in a text, the first match wins."""
