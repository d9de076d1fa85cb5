"""Which folders are trusted."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from serai.config.trust import Trust
from serai.errors import ConfigInvalid


@pytest.fixture
def file(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home / "trust.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work" / "inner").mkdir(parents=True)
    return tmp_path / "work"


def test_a_folder_in_a_trusted_one_is_trusted_and_a_namesake_is_not(file: Path, folder: Path) -> None:
    assert Trust(file).trust(folder) == folder
    trust = Trust(file)
    assert trust.is_trusted(folder)
    assert trust.is_trusted(folder / "inner")
    assert trust.is_trusted(folder / "not" / "there")
    assert not trust.is_trusted(folder.parent)
    assert not trust.is_trusted(folder.with_name("workshop"))


def test_links_count_where_they_lead(file: Path, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    (tmp_path / "alias").symlink_to(folder)
    trust = Trust(file)
    trust.trust(tmp_path / "alias")
    assert trust.folders() == [folder]
    assert not trust.is_trusted(folder / "link")


def test_the_list_is_for_its_owner_alone_and_leaves_nothing_behind(file: Path, folder: Path) -> None:
    trust = Trust(file)
    trust.trust(folder)
    trust.trust(folder)
    trust.trust(folder / "inner")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [entry.name for entry in file.parent.iterdir()] == ["trust.json"]
    assert trust.folders() == [folder, folder / "inner"]


def test_trust_is_taken_back_from_a_folder_and_all_in_it(file: Path, folder: Path) -> None:
    trust = Trust(file)
    trust.trust(folder)
    trust.trust(folder / "inner")
    assert trust.distrust(folder) == [folder, folder / "inner"]
    assert not trust.is_trusted(folder / "inner")
    assert trust.distrust(folder) == []


def test_a_folder_stays_trusted_when_a_larger_one_is(file: Path, folder: Path) -> None:
    trust = Trust(file)
    trust.trust(folder)
    with pytest.raises(ConfigInvalid, match="still trusted") as caught:
        trust.distrust(folder / "inner")
    assert str(folder) in str(caught.value.remedy)


def test_what_is_no_folder_cannot_be_trusted(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid):
        Trust(file).trust(tmp_path / "nowhere")


@pytest.mark.parametrize("content", ["no json", "{}", '{"folders": [1]}'])
def test_a_damaged_list_is_an_error_and_no_trust(file: Path, folder: Path, content: str) -> None:
    file.touch(0o600)
    file.write_text(content)
    with pytest.raises(ConfigInvalid, match="damaged"):
        Trust(file).is_trusted(folder)


def test_a_list_that_others_may_write_is_refused(file: Path, folder: Path) -> None:
    Trust(file).trust(folder)
    file.chmod(0o666)
    with pytest.raises(ConfigInvalid, match="0666"):
        Trust(file).is_trusted(folder)
