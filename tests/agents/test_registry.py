"""Registries of agents: what they say, and when they are read."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from serai import agents
from serai.agents.catalogue import registry as registries
from serai.agents.catalogue.agents import known_agents
from serai.agents.catalogue.definitions import Way
from serai.agents.catalogue.registry import Registry, load_registry, parse_registry
from serai.config.load import Configuration, load
from serai.config.paths import find_paths
from serai.errors import AgentNotInstalled, AgentUnknown, ConfigInvalid


def entry(distribution: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "one", "name": "One", "version": "1.0.0", "distribution": distribution, **fields}


def registry(*entries: Any) -> bytes:
    return json.dumps({"version": "1.0.0", "agents": entries, "extensions": []}).encode()


def parsed(*entries: Any) -> Registry:
    return parse_registry(registry(*entries), "registry.json", target="linux-x86_64")


def test_an_npm_package() -> None:
    found = parsed(
        entry(
            {"npx": {"package": "@scope/one@1.0.0", "args": ["--acp"], "env": {"A": "1"}}},
            description="Does it",
            website="https://one.example",
        )
    )
    (one,) = found.definitions
    assert (one.id, one.label, one.description, one.homepage) == (
        *("one", "One"),
        *("Does it", "https://one.example"),
    )
    assert one.ways == (Way(package="@scope/one", args=("--acp",)),)
    assert dict(one.env) == {"A": "1"}
    assert one.install == "npm install -g @scope/one"


@pytest.mark.parametrize(
    ("offer", "program", "install"),
    [
        ({"package": "one-acp==0.1"}, "one-acp", "uv tool install one-acp"),
        ({"package": "one[acp]==0.1", "cmd": "one-x"}, "one-x", "uv tool install 'one[acp]'"),
        ({"package": "one@0.1"}, "one", "uv tool install one"),
    ],
)
def test_a_python_package(offer: dict[str, Any], program: str, install: str) -> None:
    (one,) = parsed(entry({"uvx": {**offer, "args": ["-x"]}})).definitions
    assert one.ways == (Way(program=program, args=("-x",)),)
    assert one.install == install


def test_a_binary_of_this_platform() -> None:
    targets = {
        "linux-x86_64": {"archive": "https://x.example/l.tar.gz", "cmd": "./dist/one", "args": ["acp"]},
        "windows-x86_64": {"archive": "https://x.example/w.zip", "cmd": "./dist\\one.exe"},
    }
    data = registry(entry({"binary": targets}))
    (one,) = parse_registry(data, "x", target="linux-x86_64").definitions
    assert one.ways == (Way(program="one", args=("acp",)),)
    assert one.install == "get https://x.example/l.tar.gz and put one on your PATH"
    (one,) = parse_registry(data, "x", target="windows-x86_64").definitions
    assert one.ways == (Way(program="one"),)
    other = parse_registry(data, "x", target="darwin-aarch64")
    assert other.definitions == ()
    assert other.skipped == ("one: it is not distributed for darwin-aarch64",)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("text", "entry 1: Expected `object`"),
        ({}, "entry 1: Object missing required field `id`"),
        ({"id": "A B", "distribution": {}}, "A B: its id cannot be a name"),
        (entry({}), "one: it is not distributed for"),
        (entry({"npx": {"package": "../evil"}}), "one: its npm package has no proper name"),
        (entry({"uvx": {"package": "one", "cmd": "/bin/sh"}}), "one: its command is no name of a program"),
        (entry({"npx": {"package": "one", "env": {"A=B": "1"}}}), "one: one of its variables"),
    ],
)
def test_an_entry_that_cannot_be_used_is_left_out_and_said_why(wrong: Any, why: str) -> None:
    right = entry({"npx": {"package": "two"}}, id="two")
    found = parsed(wrong, right)
    assert [one.id for one in found.definitions] == ["two"]
    assert len(found.skipped) == 1
    assert found.skipped[0].startswith(why)


@pytest.mark.parametrize("data", [b"", b'{"agents": {}}', b"[" * 100_000])
def test_what_is_no_registry_is_refused(data: bytes) -> None:
    with pytest.raises(ConfigInvalid, match="the registry x "):
        parse_registry(data, "x")


# -- reading -----------------------------------------------------------------------------------------------


async def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "registry.json"
    file.write_bytes(registry(entry({"npx": {"package": "one"}})))
    assert [one.id for one in (await load_registry(str(file))).definitions] == ["one"]


async def test_other_addresses_are_refused() -> None:
    with pytest.raises(ConfigInvalid, match="protocol"):
        await load_registry("file:///etc/passwd")


class Answers(BaseHTTPRequestHandler):
    """Answers by path; `/slow` waits for `stop`."""

    stop: threading.Event
    asked: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        match self.path:
            case "/registry.json":
                self._give(registry(entry({"npx": {"package": "one"}})))
            case "/moved":
                self._to("/registry.json")
            case "/to-file":
                self._to("file:///etc/passwd")
            case "/large":
                self._give(*[b" " * (1 << 20)] * 20)
            case "/drip":
                self._give(*[b" "] * 200, pause=0.05)
            case "/slow":
                self.stop.wait(10)
            case _:
                self.send_error(404)

    def _give(self, *pieces: bytes, pause: float = 0) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):  # the reader may have had enough
            for piece in pieces:
                if self.stop.wait(pause):
                    return
                self.wfile.write(piece)

    def _to(self, address: str) -> None:
        self.send_response(302)
        self.send_header("Location", address)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serving(monkeypatch) as address:
        yield address


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """A server of registries, and its address."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    Answers.stop, Answers.asked = threading.Event(), []
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        Answers.stop.set()
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["/registry.json", "/moved"])
async def test_an_address_is_read(server: str, path: str) -> None:
    assert [one.id for one in (await load_registry(server + path)).definitions] == ["one"]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/nowhere", "404"),
        ("/to-file", "cannot be read"),
        ("/large", "more than 8 MB"),
        ("/drip", r"did not come within 0\.3 s"),
    ],
)
async def test_an_address_that_does_not_give_a_registry_is_refused(
    server: str, path: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == "/drip":
        monkeypatch.setattr(registries, "_SECONDS", 0.3)
    with pytest.raises(ConfigInvalid, match=why):
        await load_registry(server + path)


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


async def test_an_agent_that_the_configuration_describes_takes_nothing_from_it(home: Home) -> None:
    home.tell(home.registry(other(id="mine", name="Not mine")), *MINE)
    mine = (await home.known()).definition_for("mine")
    assert (mine.label, mine.install) == ("mine", "")


async def test_it_is_downloaded_once(server: str, home: Home) -> None:
    home.tell(f"{server}/registry.json")
    for _ in range(2):
        assert (await home.known("one")).resolve("one") == "one"
    assert Answers.asked == ["/registry.json"]
    home.tell(f"{server}/nowhere")
    await home.known("one")
    assert "404" in home.warnings[0]
