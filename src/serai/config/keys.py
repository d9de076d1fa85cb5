"""The key of the database, the token of the host, and references to secrets.

The database's key comes from `SERAI_DATABASE_KEY`, else from the keyring of the system, else from a file. It
is made when there is none. If a database exists, no new key is made for it: that would lock its owner out.
A reference, `env:VAR` or `keyring:NAME`, is resolved only where its secret is used.
"""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from serai.config.paths import Paths
from serai.config.private import find_private, read_private
from serai.errors import ConfigInvalid, StorageUnreadable

KEY_VARIABLE = "SERAI_DATABASE_KEY"
_SERVICE = "serai"
_KEY_NAME = "database key of"
_KEY_BYTES = 32
_HEX = frozenset(string.hexdigits)
_REFERENCE = re.compile(r"(env|keyring):([A-Za-z0-9_./@-]+)")
_AT_END = re.compile(rf"(?:^|(?<=\s)){_REFERENCE.pattern}$")


@dataclass(frozen=True, slots=True)
class DatabaseKey:
    """The key of the database, and its source."""

    value: bytes | str
    """32 bytes, or a person's own passphrase."""
    source: str
    """The variable, `keyring`, or the file that had it."""
    notes: tuple[str, ...] = ()
    """Notes for the person, such as the reason why the keyring was not used."""

    def __repr__(self) -> str:
        return f"DatabaseKey(source={self.source!r})"  # a key is never shown


def find_database_key(
    paths: Paths,
    environ: Mapping[str, str],
    *,
    use_keyring: bool = True,
    make: bool = True,
) -> DatabaseKey:
    """Find the key of the database in a home, or make one when there is none anywhere.

    Args:
        paths: Where the files are.
        environ: The environment.
        use_keyring: Whether the keyring of the system may be used.
        make: Whether a missing key is made. A database that is brought along needs its own key.

    Raises:
        ConfigInvalid: The file with the key can be read by others, is damaged, or cannot be written.
        StorageUnreadable: There is no key, and none is made: because `make` is false, or because there is a
            database already.
    """
    if text := environ.get(KEY_VARIABLE):
        return DatabaseKey(_parse(text), KEY_VARIABLE)
    notes: list[str] = []
    if use_keyring and (text := _from_ring(paths, notes)):
        return DatabaseKey(_parse(text), "keyring", tuple(notes))
    data = read_private(paths.database_key, "key of the database")
    if data is None:
        if not make or paths.database.exists():
            raise _lost(paths, notes)
        text = secrets.token_hex(_KEY_BYTES)
        if use_keyring and not notes and _from_ring(paths, notes, text) == text:
            return DatabaseKey(_parse(text), "keyring", tuple(notes))
        paths.make_home()
        data = find_private(paths.database_key, f"{text}\n".encode(), "key of the database")
    return DatabaseKey(_from_file(paths, data), str(paths.database_key), tuple(notes))


def _parse(text: str) -> bytes | str:
    if len(text) == 2 * _KEY_BYTES and _HEX.issuperset(text):
        return bytes.fromhex(text)
    return text


def _from_file(paths: Paths, data: bytes) -> bytes | str:
    try:
        text = data.decode().strip()
    except UnicodeDecodeError:
        text = ""
    if not text:
        raise ConfigInvalid(
            f"the key of the database in {paths.database_key} is damaged",
            remedy=f"Bring the file back from a backup, or set {KEY_VARIABLE}",
        )
    return _parse(text)


def _lost(paths: Paths, notes: list[str]) -> StorageUnreadable:
    why = f" ({'; '.join(notes)})" if notes else ""
    return StorageUnreadable(
        f"the key of {paths.database} is neither in {KEY_VARIABLE}, nor in the keyring{why}, nor in"
        f" {paths.database_key}",
        remedy=f"Copy {paths.database_key.name} to {paths.home}, unlock the keyring, or set {KEY_VARIABLE};"
        " without its key a database cannot be read",
    )


def _from_ring(paths: Paths, notes: list[str], new: str | None = None) -> str | None:
    """Return the key that the keyring of the system has, after storing a new one. Errors become notes."""
    name = f"{_KEY_NAME} {paths.home}"
    try:
        if new is not None:
            import keyring  # noqa: PLC0415 - see `_kept`

            keyring.set_password(_SERVICE, name, new)
        found = _kept(name)
    except Exception as error:  # noqa: BLE001 - backends raise errors of any kind
        sentence = str(error).strip().partition(". ")[0]  # the first one: some backends add advice
        notes.append(f"the keyring cannot be used: {sentence or type(error).__name__}")
        return None
    if new not in (None, found):  # some backends accept every value and store none
        notes.append("the keyring does not keep what it is given")
    return found


def _kept(name: str) -> str | None:
    """Return the keyring's value for a name. Backends raise errors of any kind."""
    import keyring  # noqa: PLC0415 - it searches for backends, which is slow

    return keyring.get_password(_SERVICE, name)


def find_token(paths: Paths) -> str:
    """Find the token that clients show, or make one when there is none.

    Raises:
        ConfigInvalid: The file with the token can be read by others, is damaged, or cannot be written.
    """
    paths.make_home()
    data = find_private(paths.token, f"{secrets.token_urlsafe(32)}\n".encode(), "token file")
    token = data.decode(errors="replace").strip()
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigInvalid(
            f"the token in {paths.token} is damaged or too short",
            remedy="Delete the file: a new token is made at the next start",
        )
    return token


# -- references --------------------------------------------------------------------------------------------


class TextWithSecret(NamedTuple):
    """A text that contains a secret, and the secret."""

    text: str
    label: str
    """Label that replaces the secret where it is masked."""
    value: str

    def __repr__(self) -> str:
        return f"TextWithSecret({self.label!r})"  # a secret is never shown


def resolve_secret(reference: str, environ: Mapping[str, str]) -> str:
    """Return the secret that a reference names. The keyring may be slow: call this in a thread.

    Raises:
        ConfigInvalid: The reference is malformed, or there is no such secret.
    """
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        raise ConfigInvalid("a secret is named as env:VAR or keyring:NAME")  # it may be the secret itself
    kind, name = found[1], found[2]
    try:
        value = ((environ.get(name) if kind == "env" else _kept(name)) or "").strip()
    except Exception as error:  # noqa: BLE001 - backends raise errors of any kind
        raise ConfigInvalid(f"the keyring does not open: {type(error).__name__}") from None
    if not value:
        where = f"the variable {name} is not set" if kind == "env" else f"the keyring has no {name!r}"
        remedy = f"Set {name}" if kind == "env" else f"Keep it with: keyring set {_SERVICE} {name}"
        raise ConfigInvalid(f"{reference} is not there: {where}", remedy=remedy)
    return value


def with_secret(text: str, environ: Mapping[str, str]) -> TextWithSecret | None:
    """Replace a reference at the end of a text, such as `Bearer env:TOKEN`, by its secret.

    Return `None` when the text has no reference.

    Raises:
        ConfigInvalid: There is no such secret.
    """
    found = _AT_END.search(text)
    if found is None:
        return None
    value = resolve_secret(found[0], environ)
    return TextWithSecret(text[: found.start()] + value, found[2], value)
