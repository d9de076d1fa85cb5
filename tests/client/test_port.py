"""The client over a real port of this machine, and where it looks for one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from client.hosts import House, at_once, soon
from serai.client import AccessRefused, Client, Connected, ConnectionLost, connect
from serai.client.address import DEFAULT_URL, find_address
from serai.config.settings import Settings
from serai.errors import ConfigInvalid
from serai.host.turn import Turn
from serai.relay.tokens import digest
from serai.serve.ahp.commands import ahp_peer
from serai.serve.port import serve_port
from serai.store.sqlite.lock import write_address
from serai.store.sqlite.store import SqliteStore

TOKEN = "a-token-that-nobody-guesses"


async def echo(turn: Turn) -> None:
    await turn.say(turn.message.text)


@asynccontextmanager
async def serving(house: House, port: int = 0) -> AsyncGenerator[str, None]:
    """The house on a port; gives its address."""
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serve = serve_port(
        Settings(port=port),
        lambda connection: ahp_peer(house.host, connection),
        lambda: (True, {}),
        started=started.set_result,
        token_digests={digest(TOKEN)},
    )
    task = asyncio.create_task(serve)
    try:
        yield f"http://127.0.0.1:{await soon(started)}"
    finally:
        task.cancel()
        await asyncio.wait([task])


class TestPort:
    async def test_a_turn_and_a_host_that_comes_back(self) -> None:
        async with House(echo=echo) as house:
            async with serving(house) as url:
                client = Client(connect(url, TOKEN)._opener, delays=at_once)
                await soon(client.open())
                session = await soon(client.create_session())
                text = "hello " * 20_000  # longer than a frame's short forms
                assert (await soon((await soon(session.prompt(text))).result())).text == text
            prompt = asyncio.ensure_future(session.prompt("later"))
            connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            client.on_event(
                lambda event: connected.set_result(None) if isinstance(event, Connected) else None
            )
            async with serving(house, int(url.rpartition(":")[2])):
                await soon(connected)
                assert (await soon((await soon(prompt)).result())).text == "later"
                await soon(client.close())

    async def test_without_the_right_token_the_door_stays_shut(self) -> None:
        async with House(echo=echo) as house, serving(house) as url:
            with pytest.raises(AccessRefused, match=r"the token is not the right one.*SERAI_TOKEN"):
                await soon(connect(url, "wrong"))
            with pytest.raises(AccessRefused, match="no WebSocket is here"):
                await soon(connect(f"{url}/elsewhere", TOKEN))

    async def test_nobody_at_home(self) -> None:
        async with House(echo=echo) as house, serving(house) as url:
            pass
        with pytest.raises(ConnectionLost, match=r"no host answers at ws://.*Start one with `serai serve`"):
            await soon(connect(url, TOKEN))


class TestAddress:
    def test_what_is_given_counts_before_the_environment(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("kept\n")
        environ = {"SERAI_URL": "https://there:1/x", "SERAI_TOKEN": "env", "SERAI_HOME": str(tmp_path)}
        assert find_address("http://here:2", "given", environ) == ("ws://here:2/", "given")
        assert find_address("http://here:2?tkn=in&a=b", None, environ) == ("ws://here:2/?a=b", "in")
        assert find_address(None, None, environ) == ("wss://there:1/x", "env")
        del environ["SERAI_URL"], environ["SERAI_TOKEN"]
        assert find_address(None, None, environ) == (DEFAULT_URL.replace("http", "ws") + "/", "kept")
        assert find_address("ws://[::1]:3", None, environ) == ("ws://[::1]:3/", "kept")

    @pytest.mark.parametrize(
        ("says", "url"),
        [
            ('{"pid": 1, "since": "", "address": "127.0.0.1:7791"}', "ws://127.0.0.1:7791/"),
            ('{"address": "0.0.0.0:80"}', "ws://127.0.0.1:80/"),
            ('{"address": "::1:80"}', "ws://[::1]:80/"),
            ('{"address": ":::80"}', "ws://[::1]:80/"),
            ('{"address": "[::]:80"}', "ws://[::1]:80/"),
            ('{"address": "127.0.0.1:0"}', "ws://127.0.0.1:7777/"),
            ('{"address": null}', "ws://127.0.0.1:7777/"),
            ("[]", "ws://127.0.0.1:7777/"),
            ("", "ws://127.0.0.1:7777/"),
        ],
    )
    def test_the_host_of_this_machine_is_where_it_says_that_it_listens(
        self, tmp_path: Path, says: str, url: str
    ) -> None:
        (tmp_path / "history.db.lock").write_text(says)
        assert find_address(None, None, {"SERAI_HOME": str(tmp_path)}).url == url

    async def test_a_host_writes_that_where_a_client_looks_for_it(self, tmp_path: Path) -> None:
        store = SqliteStore(tmp_path / "history.db", b"k" * 32)
        await store.open()
        try:
            write_address(tmp_path / "history.db", "127.0.0.1:7791")
            assert find_address(None, None, {"SERAI_HOME": str(tmp_path)}).url == "ws://127.0.0.1:7791/"
        finally:
            await store.close()

    def test_a_host_on_another_address_of_this_machine_gets_its_token(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("kept\n")
        (tmp_path / "history.db.lock").write_text('{"address": "192.0.2.7:7777"}')
        found = find_address(None, None, {"SERAI_HOME": str(tmp_path)})
        assert found == ("ws://192.0.2.7:7777/", "kept")

    def test_the_token_of_this_machine_is_shown_to_no_other(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("kept\n")
        environ = {"SERAI_HOME": str(tmp_path)}
        assert find_address("http://there:1", None, environ).token is None
        assert find_address("http://localhost.there:1", None, environ).token is None
        assert find_address("http://localhost:1", None, environ)[1] == "kept"
        assert "kept" not in repr(find_address("http://localhost:1", None, environ))

    @pytest.mark.parametrize("url", ["", "nothing", "ftp://x", "http://", "http://x:port", "http://[::1"])
    def test_what_is_no_address_is_refused(self, url: str) -> None:
        if not url:
            assert find_address(url, None, {}).url.startswith("ws://127.0.0.1")
            return
        with pytest.raises(ConfigInvalid, match="is not the address of a host"):
            find_address(url, None, {})
