"""The folders that a person trusts.

Until a folder is trusted, its `serai.toml` has no effect, and nothing in it runs.
A folder inside a trusted one is trusted. Links are resolved first: only a folder's real path counts.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from serai.config.paths import is_folder, real
from serai.config.private import read_private, replace_private
from serai.errors import ConfigInvalid

_WHAT = "list of trusted folders"


class _Document(msgspec.Struct):
    folders: list[str]


class Trust:
    """The list of trusted folders, in its own file. Every call reads the file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def folders(self) -> list[Path]:
        """Return the listed folders, sorted.

        Raises:
            ConfigInvalid: The file cannot be read, others may read it, or it is damaged.
        """
        data = read_private(self._file, _WHAT)
        if data is None:
            return []
        try:
            document = msgspec.json.decode(data, type=_Document)
        except msgspec.DecodeError as error:
            raise ConfigInvalid(
                f"the {_WHAT} {self._file} is damaged: {error}",
                remedy="Delete it, and name the folders again with 'serai config trust DIR'",
            ) from None
        return sorted(map(Path, document.folders))

    def is_trusted(self, path: Path) -> bool:
        """Tell whether a folder, or one that contains it, is trusted.

        Raises:
            ConfigInvalid: The list cannot be read, or the path cannot be resolved.
        """
        place = real(path)
        return any(place.is_relative_to(folder) for folder in self.folders())

    def trust(self, path: Path) -> Path:
        """Trust a folder and everything in it. Return its real path.

        Raises:
            ConfigInvalid: There is no such folder, or the list cannot be written.
        """
        place = real(path)
        if not is_folder(place):
            raise ConfigInvalid(f"{path} is not a folder")
        folders = self.folders()
        if place not in folders:
            self._write([*folders, place])
        return place

    def distrust(self, path: Path) -> list[Path]:
        """Remove a folder, and all folders in it, from the list. Return the removed ones.

        Raises:
            ConfigInvalid: It is in a folder that is trusted as a whole, or the list cannot be written.
        """
        place = real(path)
        folders = self.folders()
        taken = [folder for folder in folders if folder.is_relative_to(place)]
        left = [folder for folder in folders if folder not in taken]
        if taken:
            self._write(left)
        for folder in left:
            if place.is_relative_to(folder):
                raise ConfigInvalid(
                    f"{place} is still trusted, since {folder} is",
                    remedy=f"Run 'serai config distrust {folder}'",
                )
        return taken

    def _write(self, folders: list[Path]) -> None:
        document = _Document(folders=sorted(map(str, folders)))
        replace_private(self._file, msgspec.json.format(msgspec.json.encode(document)) + b"\n", _WHAT)
