"""`serai` alone, and `serai pair`: the links that they print, and whom they let in."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import httpx2
import pytest

from cli.programs import address_of, run, running, seated
from serai.cli.link import address_for_phones, open_browser, qr_code
from serai.client import connect


def browser(folder: Path) -> str:
    """A browser that writes down what it opens."""
    script = folder / "browser.py"
    script.write_text(f"import sys\nopen({str(folder / 'opened')!r}, 'a').write(sys.argv[1] + '\\n')\n")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} %s"


async def enter(link: str, name: str = "a browser") -> httpx2.Response:
    """Do what the page does with a link."""
    address, _, code = link.partition("/#link=")
    async with httpx2.AsyncClient() as http:
        return await http.post(f"{address}/link", json={"code": code, "name": name})


async def test_a_link_lets_one_browser_in_and_alone_at_a_terminal_there_is_another(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        link = (await host.says(r"open     (\S+)"))[1]
        made = (await enter(link)).json()
        assert (await enter(link)).json()["code"] == "link_spent"
        async with connect(link.partition("#")[0], made["token"]) as client:
            await client.ping()
        assert (tmp_path / "token").read_text().strip() not in host.printed
        async with seated(home=tmp_path, BROWSER="none") as seat:
            another = (await seat.shows(r"open     (\S+)"))[1]
            await seat.shows("works once, for ten minutes")
            assert await seat.ended() == 0
        assert another.partition("#")[0] == link.partition("#")[0]
        assert (await enter(another)).status_code == 200


async def test_alone_at_a_terminal_it_starts_the_host_and_opens_the_page(tmp_path: Path) -> None:
    (tmp_path / "serai.toml").write_text("port = 0\n")
    async with seated(home=tmp_path, BROWSER=browser(tmp_path)) as seat:
        link = (await seat.shows(r"open     (\S+)"))[1]
        await seat.shows("'serai pair' tells how")
        assert "▄" in seat.text
        assert (tmp_path / "opened").read_text() == f"{link}\n"
        assert (await enter(link)).status_code == 200
        seat.type("\x03")
        assert await seat.ended() == 0


async def test_a_phone_is_paired_listed_and_revoked(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        await address_of(host, tmp_path)
        paired = await run("pair", "--name", "My phone", "--answer-only", home=tmp_path)
        assert (paired.code, paired.err) == (0, "")
        assert "Phones cannot reach this address" in paired.out
        found = re.search(r"http://\S+/#link=\S+", paired.out)
        assert found
        assert (await enter(found[0])).json()["role"] == "responder"
        listed = await run("pair", "list", home=tmp_path)
        assert re.fullmatch(r"\w{12}  \S+  reads and answers  My phone\n", listed.out)
        assert (await run("pair", "revoke", "my phone", home=tmp_path)).out == "My phone is revoked.\n"
        assert (await run("pair", "list", home=tmp_path)).out == "There are no paired devices.\n"
        again = await run("pair", "revoke", "my phone", home=tmp_path)
        assert (again.code, "there is no device" in again.err) == (1, True)


async def test_a_link_is_made_for_the_address_that_a_phone_reaches(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        await address_of(host, tmp_path)
        paired = await run("pair", "--address", "https://inn.example", home=tmp_path)
        assert re.search(r"^https://inn\.example/#link=\S+$", paired.out, re.MULTILINE)
        assert "cannot reach" not in paired.out
        assert (await run("pair", "--address", "inn.example", home=tmp_path)).code == 1


def test_a_name_that_was_allowed_is_where_phones_go_with_tls() -> None:
    assert address_for_phones(["inn.example"], "127.0.0.1", 7777) == "https://inn.example"
    assert address_for_phones([], "127.0.0.1", 7777) is None
    assert address_for_phones([], "192.168.1.5", 7777) == "http://192.168.1.5:7777"


@pytest.mark.parametrize(
    "environ",
    [{}, {"BROWSER": "none"}, {"DISPLAY": ":0", "SSH_TTY": "x"}, {"BROWSER": "x", "SSH_TTY": "x"}],
)
def test_no_browser_is_opened_where_nobody_would_see_it(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert not open_browser("http://127.0.0.1:1/", environ)


def test_a_picture_has_its_own_colours_unless_none_are_wanted() -> None:
    assert "\x1b[" in qr_code("http://127.0.0.1:7777/#link=x", {})
    assert "\x1b[" not in qr_code("http://127.0.0.1:7777/#link=x", {"NO_COLOR": "1"})
