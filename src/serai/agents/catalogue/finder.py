"""The search for installed agents: their place, their version, and whether someone is signed in.

It reads the disk. The only programs that it runs are those that it has found, to print their version.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from serai.acp.process.connection import Launch
from serai.agents.catalogue.definitions import AgentDefinition, Evidence, Way
from serai.agents.catalogue.programs import (
    NpmPackage,
    Surroundings,
    ask_program,
    find_package,
    find_program,
    is_script,
    version_in,
)
from serai.errors import AgentNotInstalled

_PROBE_SECONDS = 5.0
_LISTING_SECONDS = 20.0
_LISTED = re.compile(r"\s*([\w@][\w@./:+-]*)\s*(?:\s-\s.*)?")
"""A line of a list of models: an id, and perhaps a name after a dash."""


@dataclass(frozen=True)
class FoundAgent:
    """An agent on this machine."""

    definition: AgentDefinition
    installed: bool
    path: Path | None = None
    """Its program, or the file of its package that node runs."""
    version: str | None = None
    signed_in: bool | None = None
    """`None` when that is unknown without asking it."""
    reason: str = ""
    """The reason why it cannot be used, or what is unknown about it, for people."""
    launch: Launch | None = field(default=None, repr=False)
    """The launch of it; `None` when it cannot be started. Its variables may be secrets."""
    way: Way | None = None

    @property
    def id(self) -> str:
        """The agent's id."""
        return self.definition.id

    @property
    def label(self) -> str:
        """The agent's name, for people."""
        return self.definition.label

    def launching(
        self, *, model: str | None = None, effort: str | None = None, with_mcp: bool = False
    ) -> Launch:
        """Return how to start it for a session. Model and effort count if arguments choose them.

        Raises:
            AgentNotInstalled: It cannot be started; the error says why, and how to install it.
            ConfigInvalid: The model or the effort has invalid characters.
        """
        if self.launch is None or self.way is None:
            raise AgentNotInstalled(
                f"{self.label} cannot be started: {self.reason}",
                agent=self.id,
                install=self.definition.install or None,
                remedy=_how_to_install(self.definition),
            )
        chosen = self.way.choosing(model=model, effort=effort)
        env = {**self.launch.env, **(self.definition.mcp_env if with_mcp else {})}
        return replace(self.launch, argv=(*self.launch.argv, *chosen), env=env)


def is_signed_in(
    evidence: Evidence, surroundings: Surroundings, env: Mapping[str, str] | None = None
) -> bool | None:
    """Tell by the evidence whether someone is signed in; `None` when that is unknown."""
    environ = {**surroundings.environ, **(env or {})}
    files = filter(None, map(surroundings.expand, evidence.files))
    # A file of four bytes is an empty object.
    has_files = any(os.path.isfile(each) and os.path.getsize(each) > 4 for each in files)  # noqa: PTH113, PTH202 - they never raise
    if has_files or any(environ.get(name) for name in evidence.env):
        return True
    return False if evidence.conclusive else None


class Finder:
    """Finds agents. Nothing is cached: an agent that was installed a moment ago is found."""

    def __init__(self, surroundings: Surroundings | None = None) -> None:
        self._surroundings = surroundings or Surroundings.here()

    async def find(self, definition: AgentDefinition, *, with_version: bool = True) -> FoundAgent:
        """Find one agent. It never raises. The version is not needed to start it."""
        try:
            return await self._find(definition, with_version=with_version)
        except (OSError, ValueError) as error:  # a disk error, or an impossible path
            return FoundAgent(definition, installed=False, reason=f"it was not found: {error}")

    async def find_all(self, definitions: Iterable[AgentDefinition]) -> list[FoundAgent]:
        """Find several agents at once, and return them in the same order."""
        return list(await asyncio.gather(*(self.find(definition) for definition in definitions)))

    async def list_models(self, found: FoundAgent) -> list[str]:
        """Return the models that an agent's program lists; none if it cannot, or nobody is signed in."""
        words = found.definition.models_args
        if not words or found.path is None or found.launch is None:
            return []
        environ = {**self._surroundings.environ, **found.launch.env}
        answer = await ask_program([str(found.path), *words], environ, seconds=_LISTING_SECONDS)
        return [match[1] for line in (answer or "").splitlines() if (match := _LISTED.fullmatch(line))]

    async def _find(self, definition: AgentDefinition, *, with_version: bool) -> FoundAgent:
        signed_in = await asyncio.to_thread(
            is_signed_in, definition.signed_in, self._surroundings, definition.env
        )
        unusable: FoundAgent | None = None
        for way in definition.ways:
            found = await self._find_way(definition, way, with_version=with_version)
            if found is not None:
                found = replace(found, signed_in=signed_in)
                if found.launch is not None:
                    return found
                unusable = unusable or found
        absence = FoundAgent(definition, False, signed_in=signed_in, reason=self._absence(definition))
        return unusable or absence

    async def _find_way(
        self, definition: AgentDefinition, way: Way, *, with_version: bool
    ) -> FoundAgent | None:
        path, version, oldest = await asyncio.to_thread(self._place, definition, way)
        if path is None:
            return None
        found = FoundAgent(definition, installed=True, path=path, version=version, way=way)
        folders, argv = [] if way.package else [path.parent], (str(path),)
        if await asyncio.to_thread(is_script, path):
            node, reason = await self._node(oldest)
            if node is None:
                return replace(found, reason=reason)
            folders.append(node.parent)
            if way.package or path.suffix:  # a file, not a command that npm has created
                argv = (str(node), str(path))
        found = self._usable(found, argv, *folders)
        if way.package or not with_version or not definition.version_args:
            return found
        # It gets the same variables as when it is started, if it can be started at all.
        env = found.launch.env if found.launch is not None else definition.env
        version = await self._version((*argv, *definition.version_args), env)
        untold = "" if version else f"it did not tell its version within {_PROBE_SECONDS:g} s"
        return replace(found, version=version, reason=found.reason or untold)

    def _place(self, definition: AgentDefinition, way: Way) -> tuple[Path | None, str | None, int]:
        """Return the file to run, its package's version, and the oldest suitable node."""
        if way.package:
            package, entry = find_package(way, self._surroundings) or (NpmPackage(), None)
            return entry, package.version or None, max(way.node, package.node)
        for path in find_program(way.program, self._surroundings):
            if not way.within or way.within in os.path.realpath(path) or self._used(definition):
                return path, None, way.node
        return None, None, 0

    def _usable(self, found: FoundAgent, argv: tuple[str, ...], *folders: Path) -> FoundAgent:
        way, definition = found.way, found.definition
        if way is None or not way.is_acp:
            return replace(found, reason="what is installed does not speak ACP")
        env = dict(definition.env)
        missing = [str(folder) for folder in folders if folder not in self._surroundings.path]
        if missing:
            # Programs that a script runs by name are found beside it, even with a short PATH.
            rest = list(map(str, self._surroundings.path)) or [os.defpath]
            env.setdefault("PATH", os.pathsep.join(dict.fromkeys([*missing, *rest])))
        launch = Launch(
            argv=(*argv, *way.args),
            env=env,
            name=found.id,
            login=definition.login,
            install=_how_to_install(definition),
            auth_patterns=definition.auth_patterns,
            usage_patterns=definition.usage_patterns,
            cumulative_tokens=definition.cumulative_tokens,
        )
        return replace(found, launch=launch)

    def _used(self, definition: AgentDefinition) -> Path | None:
        """Return a folder that shows that someone has used the agent."""
        folders = map(self._surroundings.expand, definition.folders)
        return next((each for each in folders if each and os.path.isdir(each)), None)  # noqa: PTH112 - it never raises

    def _absence(self, definition: AgentDefinition) -> str:
        names = dict.fromkeys(way.package or way.program for way in definition.ways)
        missing = f"{' or '.join(names)} was not found"
        used = self._used(definition)
        return f"{missing}, though {used} is there" if used is not None else missing

    async def _node(self, needed: int) -> tuple[Path | None, str]:
        """Return a node of this major version or newer, else the reason why there is none."""
        newest = ""
        for path in await asyncio.to_thread(lambda: list(find_program("node", self._surroundings))):
            version = await self._version((str(path), "--version"), {}) if needed else "0"
            if version is not None and int(version.partition(".")[0]) >= needed:
                return path, ""
            newest = newest or version or ""
        wanted = f"node {needed} or newer" if needed else "node"
        return None, f"it needs {wanted}" + (f"; there is node {newest}" if newest else "")

    async def _version(self, argv: tuple[str, ...], env: Mapping[str, str]) -> str | None:
        environ = {**self._surroundings.environ, **env}
        return version_in(await ask_program(argv, environ, seconds=_PROBE_SECONDS) or "")


def _how_to_install(definition: AgentDefinition) -> str | None:
    return f"To install it: {definition.install}" if definition.install else None
