"""The lower half decides everything without I/O: what imports cannot show is looked for in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import serai

ROOT = Path(serai.__file__).parent
ROOMS = ("ahp", "contract", "jsonrpc", "session")
PURE = sorted([ROOT / "errors.py", *(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))])
IMPURE_CALLS = {"now", "today", "utcnow", "open", "input", "print"}


def impurities(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                yield f"line {node.lineno}: awaits"
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in IMPURE_CALLS:
                yield f"line {node.lineno}: calls {name}"
            case _:
                pass


@pytest.mark.parametrize("file", PURE, ids=lambda file: str(file.relative_to(ROOT)))
def test_the_lower_half_awaits_nothing_and_asks_no_clock(file: Path) -> None:
    assert list(impurities(file.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("source", ["async def f():\n    await g()", "datetime.now(UTC)", "open('x')"])
def test_impure_source_is_found(source: str) -> None:
    assert list(impurities(source))
