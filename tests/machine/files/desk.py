"""A desk to work at: a directory that may be written, one that may be read, and what lies outside of both."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from serai.ahp import commands as c
from serai.ahp.commands import AhpErrorCode
from serai.ahp.types import ROOT
from serai.errors import ProtocolError
from serai.machine import files
from serai.machine.files import FileRoot, Roots

SECRET = "nobody may see this"

NOT_FOUND = AhpErrorCode.NOT_FOUND
DENIED = AhpErrorCode.PERMISSION_DENIED
EXISTS = AhpErrorCode.ALREADY_EXISTS
CONFLICT = AhpErrorCode.CONFLICT
INVALID = -32602

Named = str | Path


def uri(named: Named) -> str:
    return files.uri_of(named) if isinstance(named, Path) else named


@contextmanager
def refused(number: int, match: str | None = None) -> Generator[pytest.ExceptionInfo[ProtocolError]]:
    with pytest.raises(ProtocolError, match=match) as caught:
        yield caught
    assert caught.value.number == number, caught.value


@dataclass
class Desk:
    work: Path
    """May be written."""
    library: Path
    """May be read."""
    outside: Path
    """May not be touched; there is a secret in it."""
    roots: Roots = field(init=False)

    def __post_init__(self) -> None:
        self.roots = Roots.of(FileRoot.of(self.work, writable=True), FileRoot.of(self.library))

    @property
    def secret(self) -> Path:
        return self.outside / "secret.txt"

    def read(self, named: Named, encoding: str | None = None) -> str:
        params = c.ResourceReadParams(channel=ROOT, uri=uri(named), encoding=encoding)
        return files.read(params, self.roots).data

    def open(self, named: Named, encoding: str | None = None) -> files.Content:
        return files.open_content(
            c.ResourceReadParams(channel=ROOT, uri=uri(named), encoding=encoding), self.roots
        )

    def write(self, named: Named, data: str = "new", encoding: str = "utf-8", **options: Any) -> None:
        params = c.ResourceWriteParams(channel=ROOT, uri=uri(named), data=data, encoding=encoding, **options)
        assert files.write(params, self.roots) == c.EmptyResult()

    def list(self, named: Named) -> dict[str, str]:
        result = files.list_directory(c.ResourceListParams(channel=ROOT, uri=uri(named)), self.roots)
        return {entry.name: entry.type for entry in result.entries}

    def copy(self, source: Named, destination: Named, **options: Any) -> None:
        params = c.ResourceCopyParams(
            channel=ROOT, source=uri(source), destination=uri(destination), **options
        )
        assert files.copy(params, self.roots) == c.EmptyResult()

    def move(self, source: Named, destination: Named, **options: Any) -> None:
        params = c.ResourceMoveParams(
            channel=ROOT, source=uri(source), destination=uri(destination), **options
        )
        assert files.move(params, self.roots) == c.EmptyResult()

    def delete(self, named: Named, **options: Any) -> None:
        params = c.ResourceDeleteParams(channel=ROOT, uri=uri(named), **options)
        assert files.delete(params, self.roots) == c.EmptyResult()

    def resolve(self, named: Named, **options: Any) -> c.ResourceResolveResult:
        params = c.ResourceResolveParams(channel=ROOT, uri=uri(named), **options)
        return files.resolve(params, self.roots)

    def mkdir(self, named: Named) -> None:
        params = c.ResourceMkdirParams(channel=ROOT, uri=uri(named))
        assert files.make_directory(params, self.roots) == c.EmptyResult()

    def refuses_all(self, named: Named, number: int = DENIED) -> None:
        """Every command that can name it is refused."""
        spare = self.work / "spare.txt"
        spare.write_text("spare")
        for attempt in (
            lambda: self.delete(named),
            lambda: self.delete(named, recursive=True),
            lambda: self.read(named),
            lambda: self.write(named),
            lambda: self.write(named, mode="append"),
            lambda: self.write(named, mode="insert"),
            lambda: self.write(named, create_only=True),
            lambda: self.list(named),
            lambda: self.copy(named, self.work / "taken"),
            lambda: self.copy(spare, named),
            lambda: self.move(named, self.work / "taken"),
            lambda: self.move(spare, named),
            lambda: self.resolve(named),
            lambda: self.resolve(named, follow_symlinks=False),
            lambda: self.mkdir(named),
        ):
            with refused(number):
                attempt()
        assert spare.read_text() == "spare"
        spare.unlink()
        assert not os.path.lexists(self.work / "taken")


def contents(folder: Path) -> dict[str, tuple[int, bytes | str | None]]:
    """All that is in a folder, to be compared."""
    found: dict[str, tuple[int, bytes | str | None]] = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        content = (
            path.readlink().as_posix() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        )
        found[str(path.relative_to(folder))] = (info.st_mode, content)
    return found
