"""A house with a home and a folder for customisations, and what a client sees of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client
from conformance.conftest import ONE, new_session
from hosts import House, housing
from serai.config.settings import Settings
from serai.customizations.containers import Definition
from serai.harness.callback import CallbackHarness
from serai.host.turn import Turn

SKILL = "---\nname: {name}\ndescription: {about}\n---\nDo it.\n"
HOOKS = '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}'
GRACE = 0.02


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def write_skill(folder: Path, name: str, about: str = "Something") -> None:
    write(folder / ".agents/skills" / name / "SKILL.md", SKILL.format(name=name, about=about))


class Inn:
    """The folders of a test, and what its agent saw."""

    def __init__(self, place: Path) -> None:
        self.home = place / "person"
        self.work = place / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.trusted: list[Path] = []
        self.seen: list[tuple[Definition, ...]] = []

    async def look(self, turn: Turn) -> None:
        """An agent that looks at what it has."""
        self.seen.append(await turn.definitions())

    def is_trusted(self, folder: Path) -> bool:
        return folder in self.trusted


@pytest.fixture
def inn(tmp_path: Path) -> Inn:
    return Inn(tmp_path)


@pytest.fixture
async def house(inn: Inn) -> AsyncIterator[House]:
    settings = Settings(client_grace_seconds=GRACE)
    async with housing(
        harnesses=[CallbackHarness("looks", inn.look)],
        settings=settings,
        is_trusted=inn.is_trusted,
        user_home=inn.home,
    ) as house:
        yield house


def containers(client: Client, session: str = ONE) -> dict[str, Any]:
    """The containers that a client knows, by name."""
    found: list[Any] = list(client.session(session).customizations or ())
    return {container.name: container for container in found}


def children(client: Client, session: str = ONE) -> list[str]:
    """The names of all that is in them."""
    found = containers(client, session).values()
    return sorted(child.name for container in found for child in container.children or ())


def state_of(container: Any) -> str:
    """How far the host is with a container."""
    return container.load.__struct_config__.tag


def by_child(client: Client, name: str) -> Any:
    """The container that has a child of that name."""
    found = containers(client).values()
    return next(c for c in found if any(child.name == name for child in c.children or ()))


async def begin(client: Client, inn: Inn, uri: str = ONE, **params: Any) -> str:
    """A session in the folder, as soon as it has its customisations."""
    session = await new_session(client, uri, workingDirectory=inn.work.as_uri(), provider="looks", **params)
    await client.until(lambda: client.session(session).customizations)
    return session


async def toggle(client: Client, container: str, *, enabled: bool) -> str | None:
    """Switch a container; the reason when that is refused."""
    seq = await client.dispatch(ONE, "customizationToggled", id=container, enabled=enabled)

    def told() -> list[dict[str, Any]]:
        return [e for e in client.envelopes if e.get("origin", {}).get("clientSeq") == seq]

    await client.until(told)
    return told()[0].get("rejectionReason")


def hooks_of(client: Client) -> Any:
    return next(c for c in containers(client).values() if getattr(c, "contents", "") == "hook")
