"""Which variables of the environment hold secrets: those whose name says so, and whose value could be one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from serai.redact.managed import SHORTEST
from serai.redact.shapes import looks_random

__all__ = ["managed_from_environment"]

_NAME = re.compile(
    r"(?:^|_)(?:\w*(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|APIKEY|CREDENTIALS?)|KEY|PWD|PAT)(?:$|_)"
)
_OTHER = re.compile(
    r"(?:^|_)(?:PUBLIC|GPG)_KEY|(?:^|OLD)PWD$|"
    r"_(?:FILE|PATH|DIR|ID|IDS|NAME|URL|URI|HOST|TYPE|COUNT|LIMIT|SIZE|TTL|EXPIRY|EXPIRES|SOCK|ALGORITHM|VERSION)$"
)
"""Names that tell of something about a secret, and not of the secret: `AWS_ACCESS_KEY_ID`, `TOKEN_FILE`."""

_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.\- /]*|[A-Za-z]:\\.*", re.ASCII)
_WORDS = re.compile(r"[a-z]+(?:[ _\-][a-z]+)*", re.IGNORECASE)
_MIXED_CASE = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NUMBER = re.compile(r"[\d.,:+\-]+")
_URL_PASSWORD = re.compile(r"[a-z][a-z0-9+.\-]*://[^\s/:@]*:([^\s/@]+)@", re.IGNORECASE)


def managed_from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The secrets among the variables of an environment, by their names.

    Of an address with a password in it (`DATABASE_URL`), the password is the secret.
    """
    found: dict[str, str] = {}
    for name, value in environ.items():
        if _NAME.search(name.upper()) and not _OTHER.search(name.upper()):
            if _may_be_secret(value):
                found[name] = value
        elif (url := _URL_PASSWORD.match(value)) and len(url[1]) >= SHORTEST:
            found[name] = unquote(url[1])
    return found


def _may_be_secret(value: str) -> bool:
    if len(value.strip()) < SHORTEST or _NUMBER.fullmatch(value):
        return False
    if _PATH.fullmatch(value):
        return looks_random(value)  # base64 has slashes too
    return not _WORDS.fullmatch(value) or _MIXED_CASE.search(value) is not None
