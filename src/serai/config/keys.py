"""The key of the database, the token that opens the door, and references to secrets.

The database's key comes from `SERAI_DATABASE_KEY`, else from the keyring of the system, else from a file. It
is made when there is none. Where a database exists, no new key is made for it: that would lock its owner out.
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
    """A key, and where it came from."""

    value: bytes | str
    """32 bytes, or a passphrase of a person's own."""
    source: str
    """The variable, `keyring`, or the file."""
    notes: tuple[str, ...] = ()
    """What a person may want to know, such as why the keyring was not used."""

    def __repr__(self) -> str:
        return f"DatabaseKey(source={self.source!r})"  # a key is never shown


def find_database_key(
    paths: Paths,
    environ: Mapping[str, str],
    *,
    use_keyring: bool = True,
    make: bool = True,
) -> DatabaseKey:
    """The key of the database in a home; made when there is none anywhere.

    Args:
        paths: Where the files are.
        environ: The environment.
        use_keyring: Whether the keyring of the system may be asked.
        make: Whether one is made. Who brings a database along must bring its key, too.

    Raises:
        ConfigInvalid: The file with the key can be read by others, is damaged, or cannot be written.
        StorageUnreadable: There is no key, and none is made: because it is not wanted, or because there is a
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
        if use_keyring and not notes and _into_ring(paths, text, notes):
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


def _from_ring(paths: Paths, notes: list[str]) -> str | None:
    """The key that the keyring of the system has. Whatever goes wrong in it becomes a note."""
    try:
        return _kept(f"{_KEY_NAME} {paths.home}")
    except Exception as error:  # noqa: BLE001 - backends raise what they like
        notes.append(_failed(error))
        return None


def _into_ring(paths: Paths, text: str, notes: list[str]) -> bool:
    """Keep a key in the keyring of the system. Returns whether it does."""
    try:
        import keyring  # noqa: PLC0415 - see `_kept`

        keyring.set_password(_SERVICE, f"{_KEY_NAME} {paths.home}", text)
        # Some backends take everything and keep nothing.
        if _kept(f"{_KEY_NAME} {paths.home}") == text:
            return True
        notes.append("the keyring does not keep what it is given")
    except Exception as error:  # noqa: BLE001 - the same
        notes.append(_failed(error))
    return False


def _failed(error: Exception) -> str:
    said = str(error).strip().partition(". ")[0]  # the first sentence: some go on with advice
    return f"the keyring cannot be used: {said or type(error).__name__}"


def _kept(name: str) -> str | None:
    """What the keyring of the system has under a name. It raises what it likes."""
    import keyring  # noqa: PLC0415 - it looks for backends, which takes a while

    return keyring.get_password(_SERVICE, name)


def find_token(paths: Paths) -> str:
    """The token that clients show; made when there is none.

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
    """A text with a secret in it, and the secret."""

    text: str
    label: str
    """What stands in its place where it is masked."""
    value: str

    def __repr__(self) -> str:
        return f"TextWithSecret({self.label!r})"  # a secret is never shown


def resolve_secret(reference: str, environ: Mapping[str, str]) -> str:
    """The secret that a reference stands for. The keyring may take its time: call it in a thread.

    Raises:
        ConfigInvalid: It is no reference, or there is no such secret.
    """
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        raise ConfigInvalid("a secret is named as env:VAR or keyring:NAME")  # which is not repeated here
    kind, name = found[1], found[2]
    try:
        value = ((environ.get(name) if kind == "env" else _kept(name)) or "").strip()
    except Exception as error:  # noqa: BLE001 - backends raise what they like
        raise ConfigInvalid(f"the keyring does not open: {type(error).__name__}") from None
    if not value:
        where = f"the variable {name} is not set" if kind == "env" else f"the keyring has no {name!r}"
        remedy = f"Set {name}" if kind == "env" else f"Keep it with: keyring set {_SERVICE} {name}"
        raise ConfigInvalid(f"{reference} is not there: {where}", remedy=remedy)
    return value


def with_secret(text: str, environ: Mapping[str, str]) -> TextWithSecret | None:
    """A text at whose end a reference stands, such as `Bearer env:TOKEN`, with the secret in its place.

    `None` when there is no reference in it.

    Raises:
        ConfigInvalid: There is no such secret.
    """
    found = _AT_END.search(text)
    if found is None:
        return None
    value = resolve_secret(found[0], environ)
    return TextWithSecret(text[: found.start()] + value, found[2], value)
