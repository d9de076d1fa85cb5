"""An agent's log: what is kept of it, and what only the words around it give away."""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import Any

import pytest

from serai.acp.process.log import StderrTail, masked
from serai.errors import AgentRequestFailed


def shown(*data: bytes) -> str:
    tail = StderrTail(lambda text: text.replace("hunter2", "***"))
    for each in data:
        tail.feed(each)
    tail.close()
    return str(tail)


def test_lines_may_come_in_pieces_and_without_an_end() -> None:
    assert shown(b"one\ntw", b"o\nth", b"ree") == "one\ntwo\nthree"


def test_secrets_colours_and_what_is_no_text_are_taken_out() -> None:
    assert shown(b"\x1b[31mred\x1b[0m hunter2 \x1b]0;title\x07\x00\xff\r\n\n") == "red *** \ufffd"


def test_a_line_without_an_end_is_kept_only_in_part_and_cut_between_words() -> None:
    tail = shown(b"the secret is " + b"x" * 3_000_000, b"yyy\nnext\n")
    assert tail == "the secret is [...]\nnext"


def rnd(length: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(random.Random(length).choices(letters, k=length))


def hexadecimal(length: int) -> str:
    return rnd(length, "0123456789abcdef")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Token {}", rnd(40)),
        ("auth token {}", hexadecimal(64)),
        ("Unauthorized: {} was refused", hexadecimal(40)),
        ("fine\nnot authenticated with {}\nfine", hexadecimal(56)),
    ],
)
def test_a_credential_is_masked(text: str, value: str) -> None:
    assert masked(text.format(value)) == text.format("[masked:token]")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("password=hunter2", "password"),
        ("login?pwd=hunter2&next=/", "password"),
        ("OPENAI_API_KEY=AbcdefGhijklMnopqrStuv", "api-key"),
        ("export MY_TOKEN='Zm9vYmFy'", "token"),
    ],
)
def test_so_is_whatever_is_assigned_to_a_name_that_tells(text: str, kind: str) -> None:
    found = masked(text)
    assert f"[masked:{kind}]" in found
    assert not any(part in found for part in ("hunter2", "Abcdef", "Zm9v"))
    assert masked(found) == found


@pytest.mark.parametrize(
    "text",
    [
        f"commit {hexadecimal(40)} by its author",
        f"authorized\n{hexadecimal(40)}",
        f"auth {hexadecimal(39)} {hexadecimal(81)} x{hexadecimal(40)}",
        "the token authentication-mechanisms-are-these",
        "password=required token=getToken2() secret=$MY_SECRET_2 token_count=123456 monkey=banana22",
    ],
)
def test_what_is_none_stays(text: str) -> None:
    assert masked(text) == text


async def test_an_agents_log_and_its_errors_are_masked_so(start: Any, tmp_path: Path, converse: Any) -> None:
    key, told = hexadecimal(48), f"authorization failed for {hexadecimal(48)}"
    agent = await start(start_timeout=10)
    session = await agent.open_session(tmp_path)
    error = (await converse(session, f"error -32603 {told}")).error
    assert isinstance(error, AgentRequestFailed)
    assert "authorization failed for [masked:token]" in str(error)
    agent.tail.feed(f"\x1b[31mauth \x1b[0mtoken {key[:20]}\x1b[0m{key[20:]}\n".encode())
    assert agent.stderr_tail == "auth token [masked:token]"
