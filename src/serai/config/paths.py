"""The paths of Serai's files.

All of them are in one directory, the *home*: `--home`, else `SERAI_HOME`, else the state directory of the
platform. The person's own configuration file is where the platform keeps such files, unless a home was named:
then it is in the home too, so that one directory holds everything.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from serai.errors import ConfigInvalid

HOME_VARIABLE = "SERAI_HOME"
CONFIG_NAME = "serai.toml"


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths of one host's files. The files need not exist."""

    home: Path
    user_config: Path
    """The person's configuration file; it need not exist."""
    source: str
    """Source of the home: `--home`, `SERAI_HOME` or `default`."""

    @property
    def database(self) -> Path:
        """The encrypted database of sessions."""
        return self.home / "history.db"

    @property
    def token(self) -> Path:
        """The file with the token that clients show."""
        return self.home / "token"

    @property
    def database_key(self) -> Path:
        """The file with the key of the database, if the keyring has none."""
        return self.home / "database.key"

    @property
    def trust(self) -> Path:
        """The file with the list of trusted folders."""
        return self.home / "trust.json"

    def make_home(self) -> Path:
        """Create the home, if it is not there, and return it. Restrict it to its owner.

        Raises:
            ConfigInvalid: It cannot be created, or is not a directory.
        """
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            if stat.S_IMODE(self.home.stat().st_mode) & 0o077:
                with suppress(PermissionError):  # it has another owner, who decides
                    self.home.chmod(0o700)
        except OSError as error:
            raise ConfigInvalid(
                f"the home {self.home} ({self.source}) cannot be made: {error.strerror}",
                remedy=f"Name another directory with --home or {HOME_VARIABLE}",
            ) from None
        return self.home


def here() -> Path:
    """Return the working directory of this process.

    Raises:
        ConfigInvalid: It was removed.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        problem = "the folder that you are in is gone"
        raise ConfigInvalid(problem, remedy="Go to another folder, or write whole paths") from None


def real(path: Path) -> Path:
    """Return a path with all links resolved. It need not exist.

    Raises:
        ConfigInvalid: It cannot be resolved: its links form a loop, for instance.
    """
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a missing working directory, a loop, or a NUL
        why = getattr(error, "strerror", None) or error
        raise ConfigInvalid(f"{path} cannot be followed: {why}") from None


def is_folder(path: Path) -> bool:
    """Tell whether there is such a folder. Unlike `Path.is_dir`, return false when it cannot be accessed."""
    return os.path.isdir(path)  # noqa: PTH112 - see above


def find_paths(home: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> Paths:
    """Return the paths for an optional `--home` and an environment.

    Raises:
        ConfigInvalid: The home is relative to the working directory, which is gone.
    """
    if home is not None:
        return _all_in(Path(home), "--home")
    if named := environ.get(HOME_VARIABLE):
        return _all_in(Path(named), HOME_VARIABLE)
    directories = platformdirs.PlatformDirs("serai", appauthor=False)
    return Paths(
        home=Path(directories.user_state_dir),
        user_config=Path(directories.user_config_dir) / CONFIG_NAME,
        source="default",
    )


def _all_in(home: Path, source: str) -> Paths:
    home = home.expanduser()
    # Links are not resolved.
    absolute = Path(os.path.normpath(home if home.is_absolute() else here() / home))
    return Paths(home=absolute, user_config=absolute / CONFIG_NAME, source=source)
