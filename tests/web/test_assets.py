from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from serai.web.assets import Page
from serve.conftest import Room, listening

PROJECT = Path(__file__).parent.parent.parent


@pytest.fixture
async def room() -> AsyncGenerator[Room]:
    async with listening(routes=Page().routes) as room:
        yield room


async def start(room: Room) -> str:
    answer = await room.http("/", Authorization="")
    return answer.body.decode()


async def test_the_page_needs_no_token_and_names_only_assets_that_are_there(room: Room) -> None:
    addresses = re.findall(r'(?:href|src)="([^"]+)"', await start(room))
    assert any(address.endswith("/js/main.js") for address in addresses)
    for address in addresses:
        assert (await room.http(address, Authorization="")).status == 200, address


async def test_an_asset_may_be_kept_for_ever_under_its_address(room: Room) -> None:
    (main,) = re.findall(r'src="([^"]+/js/main.js)"', await start(room))
    answer = await room.http(main, Authorization="")
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/javascript")
    small = await room.http(main, Authorization="", Accept_Encoding="gzip")
    assert gzip.decompress(small.body) == answer.body


@pytest.mark.parametrize(
    "path",
    ["/assets/{version}/js/none.js", "/assets/0000000000000000/js/main.js", "/assets/{version}/../assets.py"],
)
async def test_a_missing_asset_is_404_and_never_the_page(room: Room, path: str) -> None:
    answer = await room.http(path.replace("{version}", Page().version), Authorization="")
    assert (answer.status, answer.body["code"]) == (404, "not_found")


async def test_no_script_or_style_but_our_own_may_run(room: Room) -> None:
    first, second = [await room.http("/", Authorization="") for _ in range(2)]
    policy = first.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert policy != second.headers["content-security-policy"]  # a nonce is used once
    assert first.headers["referrer-policy"] == "no-referrer"


def test_vendored_modules_are_as_their_table_says() -> None:
    done = subprocess.run(
        [sys.executable, "tools/vendor.py", "check"], cwd=PROJECT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode()


def test_no_module_of_the_page_is_too_long_to_read() -> None:
    page = PROJECT / "src" / "serai" / "web" / "page"
    long = {
        str(path.relative_to(page)): lines
        for path in [*page.glob("js/**/*.js"), *page.glob("css/**/*.css")]
        if (lines := len(path.read_text().splitlines())) > 400
    }
    assert not long
