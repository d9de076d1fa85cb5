"""References to secrets: `env:VAR` and `keyring:NAME`, resolved only where the secret is used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from serai.config.keys import Keyring
from serai.errors import ConfigInvalid

_SERVICE = "serai"
_REFERENCE = re.compile(r"(env|keyring):([A-Za-z0-9_./@-]+)")
_AT_END = re.compile(rf"(?:^|(?<=\s)){_REFERENCE.pattern}$")


class Secret(NamedTuple):
    """A text with a secret in it, and the secret."""

    text: str
    label: str
    """What stands in its place where it is masked."""
    value: str

    def __repr__(self) -> str:
        return f"Secret({self.label!r})"  # a secret is never shown


def resolve_secret(reference: str, environ: Mapping[str, str], keyring: Keyring | None = None) -> Secret:
    """The secret that a reference stands for. The keyring may take its time: call it in a thread.

    Raises:
        ConfigInvalid: It is no reference, or there is no such secret.
    """
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        raise ConfigInvalid("a secret is named as env:VAR or keyring:NAME")  # which is not repeated here
    kind, name = found[1], found[2]
    value = ((environ.get(name) if kind == "env" else _kept(name, keyring)) or "").strip()
    if not value:
        where = f"the variable {name} is not set" if kind == "env" else f"the keyring has no {name!r}"
        remedy = f"Set {name}" if kind == "env" else f"Keep it with: keyring set {_SERVICE} {name}"
        raise ConfigInvalid(f"{reference} is not there: {where}", remedy=remedy)
    return Secret(value, name, value)


def with_secret(text: str, environ: Mapping[str, str], keyring: Keyring | None = None) -> Secret | None:
    """A text at whose end a reference stands, such as `Bearer env:TOKEN`, with the secret in its place.

    `None` when there is no reference in it.

    Raises:
        ConfigInvalid: There is no such secret.
    """
    found = _AT_END.search(text)
    if found is None:
        return None
    secret = resolve_secret(found[0], environ, keyring)
    return secret._replace(text=text[: found.start()] + secret.value)


def _kept(name: str, keyring: Keyring | None) -> str | None:
    if keyring is None:
        import keyring as system  # noqa: PLC0415 - it takes its time, and few need it

        keyring = system
    try:
        return keyring.get_password(_SERVICE, name)
    except Exception as error:  # noqa: BLE001 - keyrings raise what they like
        raise ConfigInvalid(f"the keyring does not open: {type(error).__name__}") from None
