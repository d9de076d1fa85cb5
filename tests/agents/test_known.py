"""The agents of a configuration, with a registry that can be had, and with one that cannot."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.test_registry import Answers, serving
from serai import agents
from serai.agents.catalogue import agents as known
from serai.agents.catalogue.agents import known_agents
from serai.config.load import Configuration, load
from serai.config.paths import find_paths
from serai.errors import AgentNotInstalled, AgentUnknown

MISSING = "/nowhere/registry.json"


class Home:
    """A folder with a configuration, and what was warned of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warnings: list[str] = []

    def tell(self, registry: str, *lines: str) -> None:
        (self.folder / "serai.toml").write_text("\n".join((f'agent_registry = "{registry}"', *lines)))

    def registry(self, *entries: dict[str, Any]) -> str:
        file = self.folder / "registry.json"
        file.write_text(json.dumps({"agents": entries}))
        return str(file)

    @property
    def configuration(self) -> Configuration:
        environ = {"SERAI_HOME": str(self.folder)}
        return load(find_paths(None, environ), environ, project=self.folder)

    async def known(self, name: str | None = None) -> agents.Catalogue:
        return (await known_agents(self.configuration, self.warnings.append, name=name)).catalogue


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    folder = tmp_path / "serai"
    folder.mkdir()
    monkeypatch.setenv("SERAI_HOME", str(folder))
    monkeypatch.chdir(tmp_path)
    return Home(folder)


def other(**fields: Any) -> dict[str, Any]:
    return {"id": "other", "distribution": {"uvx": {"package": "no-such-acp", "args": ["-x"]}}, **fields}


MINE = ("[agents.mine]", 'command = "no-such-program"', "args = []")
OTHERS = ("[agents.other]", 'env = { A = "1" }')


async def test_the_registry_of_the_configuration_counts_in_python(home: Home) -> None:
    home.tell(home.registry(other()), *OTHERS)
    assert "other" in [one.id for one in await agents.detect()]
    for use in (agents.ask("other", "hi"), agents.capabilities("other"), agents.models("other")):
        with pytest.raises(AgentNotInstalled, match="no-such-acp"):
            await use


async def test_one_that_cannot_be_had_is_warned_of_and_nothing_else_fails(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    home.tell(MISSING, *MINE, *OTHERS)
    assert {"mine", "claude"} < {one.id for one in await agents.detect()}
    assert (
        f"the registry {MISSING} cannot be read: No such file or directory. Its agents are missing"
        in caplog.text
    )
    with pytest.raises(AgentNotInstalled, match="no-such-program"):
        await agents.ask("mine", "hi", on_warning=home.warnings.append)
    assert home.warnings == []  # what it would have said does not matter here
    with pytest.raises(AgentUnknown, match="no agent 'other'"):
        await agents.capabilities("other", on_warning=home.warnings.append)
    [warning] = home.warnings
    assert "cannot be read" in warning


@pytest.mark.parametrize("name", ["claude", "claude-code", "mine"])
async def test_it_is_not_read_for_an_agent_of_which_it_can_say_nothing(name: str, home: Home) -> None:
    home.tell(MISSING, *MINE)
    assert (await home.known(name)).resolve(name) is not None
    assert home.warnings == []


async def test_what_it_says_of_an_agent_that_the_configuration_describes_in_part_counts(home: Home) -> None:
    partly = ("[agents.other]", 'command = "/my/other"')
    home.tell(home.registry(other()), *partly)
    for name in ("other", None):
        [way] = (await home.known(name)).definition_for("other").ways
        assert (way.program, way.args) == ("/my/other", ("-x",))
    home.tell(MISSING, *partly)
    assert (await home.known("other")).definition_for("other").ways[0].args == ()
    assert len(home.warnings) == 1


async def test_a_name_that_nobody_knows_does_not_wait_long_either(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert known._UNHEARD <= 5  # pyright: ignore[reportPrivateUsage] - whoever has mistyped a name waits
    monkeypatch.setattr(known, "_UNHEARD", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        home.tell(f"http://127.0.0.1:{silent.getsockname()[1]}/registry.json", *OTHERS)
        began = time.monotonic()
        with pytest.raises(AgentUnknown, match="no agent 'nosuch'"):
            await agents.ask("nosuch", "hi", on_warning=home.warnings.append)
        assert time.monotonic() - began < 5
    [warning] = home.warnings
    assert "did not come within 0.2 s" in warning


async def test_an_agent_with_a_command_of_its_own_does_not_wait_long_for_what_it_says(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "_BRIEFLY", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"http://127.0.0.1:{silent.getsockname()[1]}/registry.json"
        home.tell(place, "[agents.mine]", 'command = "/my/own"')
        began = time.monotonic()
        [way] = (await home.known("mine")).definition_for("mine").ways
        assert time.monotonic() - began < 5
    assert (way.program, way.args) == ("/my/own", ())
    [warning] = home.warnings
    assert warning == (
        f"the registry {place} did not come within 0.2 s. What it says of mine is missing; "
        "with args = [...] under [agents.mine], or args = [] for none, it is not asked"
    )


@pytest.mark.parametrize("name", ["other", "another"])
async def test_an_agent_that_only_a_registry_that_is_away_can_start_is_told_so(home: Home, name: str) -> None:
    home.tell(MISSING, *OTHERS, 'aliases = ["another"]')
    with pytest.raises(AgentUnknown) as caught:
        await agents.ask(name, "hi", on_warning=home.warnings.append)
    assert caught.value.message == (
        f"there is no agent {name!r} now: [agents.other] has no command, and "
        f"the registry {MISSING} cannot be read: No such file or directory"
    )
    assert caught.value.remedy == (
        "See that the registry can be had, or say how the agent is started: "
        "command = ... under [agents.other]"
    )
    await home.known()
    assert home.warnings[-1].endswith(
        "Its agents are missing, and with them what has no command of its own: [agents.other]"
    )


async def test_an_agent_that_the_configuration_describes_takes_nothing_from_it(home: Home) -> None:
    home.tell(home.registry(other(id="mine", name="Not mine")), *MINE)
    mine = (await home.known()).definition_for("mine")
    assert (mine.label, mine.install) == ("mine", "")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serving(monkeypatch) as address:
        yield address


async def test_it_is_downloaded_once_for_a_while(
    server: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.tell(f"{server}/registry.json")
    for _ in range(2):
        assert (await home.known("one")).resolve("one") == "one"
    assert Answers.asked == ["/registry.json"]
    monkeypatch.setattr(known, "_AGE", -1.0)
    await home.known("one")
    assert len(Answers.asked) == 2
    home.tell(f"{server}/nowhere")
    await home.known("one")
    assert "404" in home.warnings[0]
