"""The key of the database, and the token."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Protocol

import pytest

from serai.config.keys import DatabaseKey, find_database_key, find_token
from serai.config.paths import Paths, find_paths
from serai.errors import ConfigInvalid, StorageUnreadable


class Ring:
    """A keyring in memory."""

    def __init__(self, *, keeps: bool = True) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.keeps = keeps

    def get_password(self, service_name: str, username: str) -> str | None:
        return self.kept.get((service_name, username))

    def set_password(self, service_name: str, username: str, password: str) -> None:
        if self.keeps:
            self.kept[service_name, username] = password


class Broken:
    """A keyring without a backend."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def get_password(self, service_name: str, username: str) -> str | None:
        raise self.error_for(service_name, username)

    def set_password(self, service_name: str, username: str, password: str) -> None:
        raise self.error_for(service_name, username, password)

    def error_for(self, *words: str) -> Exception:
        assert all(words)
        return self.error


class Use(Protocol):
    """Have something be the keyring of the system."""

    def __call__(self, ring: Ring | Broken) -> None: ...


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    def use(ring: Ring | Broken) -> None:
        monkeypatch.setattr("keyring.get_password", ring.get_password)
        monkeypatch.setattr("keyring.set_password", ring.set_password)

    return use


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return find_paths(tmp_path / "home", {})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_variable_wins_and_touches_nothing(paths: Paths, use: Use) -> None:
    use(Broken(ValueError()))
    found = find_database_key(paths, {"SERAI_DATABASE_KEY": "my passphrase"})
    assert found == DatabaseKey("my passphrase", "SERAI_DATABASE_KEY")
    assert not paths.home.exists()


def test_64_hexadecimal_digits_are_32_bytes(paths: Paths) -> None:
    assert find_database_key(paths, {"SERAI_DATABASE_KEY": "0F" * 32}).value == b"\x0f" * 32
    assert find_database_key(paths, {"SERAI_DATABASE_KEY": "0g" * 32}).value == "0g" * 32


def test_a_key_is_made_in_the_keyring_and_found_again(paths: Paths, use: Use) -> None:
    use(Ring())
    made = find_database_key(paths, {})
    assert isinstance(made.value, bytes)
    assert len(made.value) == 32
    assert made.source == "keyring"
    assert find_database_key(paths, {}) == made
    assert not paths.database_key.exists()
    other = find_paths(paths.home / "other", {})
    assert find_database_key(other, {}) != made


@pytest.mark.parametrize("error", [RuntimeError("no backend"), ImportError(), OSError("locked")])
def test_a_keyring_that_fails_is_noted_and_a_file_takes_its_place(
    paths: Paths, error: Exception, use: Use
) -> None:
    use(Broken(error))
    made = find_database_key(paths, {})
    assert made.source == str(paths.database_key)
    assert mode(paths.database_key) == 0o600
    assert mode(paths.home) == 0o700
    assert len(made.notes) == 1
    assert "keyring" in made.notes[0]
    assert find_database_key(paths, {}, use_keyring=False).value == made.value


def test_a_keyring_that_keeps_nothing_is_noticed(paths: Paths, use: Use) -> None:
    use(Ring(keeps=False))
    made = find_database_key(paths, {})
    assert made.source == str(paths.database_key)
    assert made.notes == ("the keyring does not keep what it is given",)


def test_for_a_database_that_exists_no_new_key_is_made(paths: Paths, use: Use) -> None:
    use(Broken(OSError("locked")))
    paths.make_home()
    paths.database.write_bytes(b"x")
    with pytest.raises(StorageUnreadable, match="locked") as caught:
        find_database_key(paths, {})
    assert caught.value.remedy
    assert not paths.database_key.exists()
    with pytest.raises(StorageUnreadable):
        find_database_key(paths, {}, use_keyring=False)


def test_none_is_made_where_none_is_wanted(paths: Paths, use: Use) -> None:
    use(ring := Ring())
    with pytest.raises(StorageUnreadable) as caught:
        find_database_key(paths, {}, make=False)
    assert f"Copy database.key to {paths.home}" in str(caught.value.remedy)
    assert "SERAI_DATABASE_KEY" in str(caught.value.remedy)
    assert ring.kept == {}
    assert not paths.home.exists()
    made = find_database_key(paths, {})
    assert find_database_key(paths, {}, make=False) == made


def test_a_damaged_or_open_key_file_is_refused(paths: Paths) -> None:
    find_database_key(paths, {}, use_keyring=False)
    paths.database_key.chmod(0o640)
    with pytest.raises(ConfigInvalid, match="0640") as caught:
        find_database_key(paths, {}, use_keyring=False)
    assert "chmod 600" in str(caught.value.remedy)
    paths.database_key.chmod(0o600)
    for content in (b"", b" \n", b"\xff\xfe"):
        paths.database_key.write_bytes(content)
        with pytest.raises(ConfigInvalid, match="damaged"):
            find_database_key(paths, {}, use_keyring=False)


# -- the token ---------------------------------------------------------------------------------------------


def test_the_token_is_made_once_for_its_owner_alone(paths: Paths) -> None:
    token = find_token(paths)
    assert len(token) == 43
    assert mode(paths.token) == 0o600
    assert find_token(paths) == token
    assert [entry.name for entry in paths.home.iterdir()] == ["token"]


def test_a_token_that_others_can_read_is_refused(paths: Paths) -> None:
    find_token(paths)
    paths.token.chmod(0o644)
    with pytest.raises(ConfigInvalid, match="0644") as caught:
        find_token(paths)
    assert "chmod 600" in str(caught.value.remedy)


@pytest.mark.parametrize("content", [b"", b"short\n", b"two words of some length", b"\xff" * 30])
def test_a_damaged_token_is_refused(paths: Paths, content: bytes) -> None:
    find_token(paths)
    paths.token.write_bytes(content)
    with pytest.raises(ConfigInvalid, match="damaged"):
        find_token(paths)


def test_whoever_makes_a_file_first_wins(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = "t" * 43

    def another_is_quicker(_source: Path, path: Path) -> None:
        path.touch(0o600)
        path.write_text(theirs)
        raise FileExistsError

    monkeypatch.setattr(os, "link", another_is_quicker)
    assert find_token(paths) == theirs
    assert find_database_key(paths, {}, use_keyring=False).value == theirs
