"""`serai restore` and `serai backup`: a database goes with its key, and none is made for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.programs import run
from serai.config.keys import find_database_key
from serai.config.paths import Paths, find_paths
from serai.store.sqlite.store import SqliteStore


@pytest.fixture
async def old(tmp_path: Path) -> Paths:
    """The home of a host, with a copy of its database."""
    paths = find_paths(tmp_path / "old", {})
    store = SqliteStore(paths.database, find_database_key(paths, {}, use_keyring=False).value)
    await store.open()
    await store.close()
    assert (await run("backup", str(tmp_path / "copy.db"), home=paths.home)).code == 0
    return paths


async def test_on_a_new_machine_the_key_has_to_be_brought_along(old: Paths, tmp_path: Path) -> None:
    new = find_paths(tmp_path / "new", {})
    done = await run("restore", str(tmp_path / "copy.db"), home=new.home)
    assert done.code == 1
    assert f"Copy database.key to {new.home}" in done.err
    assert "SERAI_DATABASE_KEY" in done.err
    assert not new.home.exists()
    key = old.database_key.read_text().strip()
    assert (await run("restore", str(tmp_path / "copy.db"), home=new.home, SERAI_DATABASE_KEY=key)).code == 0
    assert new.database.exists()
    assert not new.database_key.exists()
    new.database_key.touch(0o600)
    new.database_key.write_text(key)
    assert (await run("doctor", home=new.home)).out.count("every page checked") == 1


async def test_a_database_that_became_empty_is_refused_and_can_be_restored(
    old: Paths, tmp_path: Path
) -> None:
    old.database.write_bytes(b"")
    old.database.with_name("history.db.lock").unlink()
    done = await run("serve", "--port", "0", home=old.home)
    assert done.code == 1
    assert f"{old.database} is empty: what was in it is lost" in done.err
    assert "'serai restore'" in done.err
    assert old.database.stat().st_size == 0
    assert (await run("restore", str(tmp_path / "copy.db"), home=old.home)).code == 0
    assert "every page checked" in (await run("doctor", home=old.home)).out


async def test_a_copy_is_written_over_nothing_and_through_no_link(old: Paths, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to("nowhere.db")
    done = await run("backup", str(link), home=old.home)
    assert (done.code, done.out) == (1, "")
    assert f"{link} exists. Name a new file; nothing is overwritten" in done.err
    assert is_link_to_nothing(link)


def is_link_to_nothing(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


async def test_a_copy_that_is_none_is_not_to_be_restored_again(old: Paths, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(b"x" * 5_000)
    done = await run("restore", str(other), home=old.home)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "Name another copy; nothing was changed" in done.err
    assert "serai restore" not in done.err


@pytest.mark.parametrize(
    "words", [("backup", "x.db"), ("sessions", "purge", "x"), ("sessions", "--disposed")]
)
async def test_without_a_database_nothing_is_made(words: tuple[str, ...], tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = await run(*words, home=home, cwd=tmp_path)
    assert done.code == 1
    assert f"there is no database {home / 'history.db'}" in done.err
    assert not home.exists()
