"""A made-up machine: a home, folders of programs, packages. Nothing of the real one is looked at."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from serai.agents.catalogue.programs import Surroundings

SHELL_PATH = "/usr/bin:/bin"
"""What the scripts here need to run: a shell and a few commands."""


@dataclass
class Machine:
    """Builds files under one folder, and says where to look for them."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict[str, str])
    project: Path | None = None

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def bin(self) -> Path:
        """A folder that is in `PATH`."""
        return self.root / "bin"

    @property
    def surroundings(self) -> Surroundings:
        environ = {"PATH": str(self.bin), **self.environ}
        return Surroundings(home=self.home, environ=environ, project=self.project, system=())

    def program(self, place: Path | str, says: str = "1.2.3", *, body: str = "") -> Path:
        """A program at a path, or of a name in `bin`, that answers everything with one line."""
        path = self.bin / place if isinstance(place, str) else place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\nPATH={SHELL_PATH}\n{body or f'echo {says}'}\n")
        path.chmod(0o755)
        return path

    def node(self, place: Path | str = "node", version: str = "v22.1.0") -> Path:
        """Something that tells the version of a node."""
        return self.program(place, version)

    def file(self, path: Path, text: str = "content") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def package(
        self,
        modules: Path,
        name: str,
        *,
        version: str = "3.2.1",
        bin: str | dict[str, str] = "index.js",  # noqa: A002 - it is npm's own name
        engines: str | None = None,
        called: str | None = None,
    ) -> Path:
        """A package with empty files for its commands; `called` is another name than its folder's."""
        folder = modules / name
        manifest: dict[str, object] = {"name": called or name, "version": version, "bin": bin}
        if engines is not None:
            manifest["engines"] = {"node": engines}
        self.file(folder / "package.json", json.dumps(manifest))
        for entry in [bin] if isinstance(bin, str) else bin.values():
            self.file(folder / entry, "#!/usr/bin/env node\n").chmod(0o755)
        return folder

    @property
    def global_modules(self) -> Path:
        """Where npm installs for all, beside `bin`."""
        return self.root / "lib" / "node_modules"
