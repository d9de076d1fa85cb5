"""The requirements: what the five pages promise, and which test shows that it holds.

Each file in `tests/requirements/` lists one page, one line per field, table row or promise. A test says what
it proves with `@proves("ahp:SessionState.turns", ...)`. `tests/test_requirements.py` compares the two.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import pytest

FINISHED_STEPS: frozenset[int] = frozenset({1, 2, 3, 4, 5, 6})
"""Steps whose every requirement must be proven by a test."""

Kind: TypeAlias = Literal["field", "member", "union", "clause"]

FOLDER: Final = Path(__file__).parent / "requirements"
KINDS: Final[frozenset[str]] = frozenset(get_args(Kind))
STEPS: Final = range(1, 8)
PREFIXES: Final[Mapping[str, str]] = {
    "ahp-session-channel": "ahp",
    "agent-session": "session",
    "agents-wire-capabilities": "wire",
    "relay-session-capabilities": "caps",
    "relay-delivery": "delivery",
}
"""The pages, and how the ids of each begin."""


class ManifestError(ValueError):
    """A line of the manifest that does not say what it must."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that a page promises."""

    id: str
    page: str
    heading: str
    key: str
    kind: Kind
    says: str
    step: int
    required: bool | None = None
    """For a field: whether it must be on the wire."""
    value: str | int | bool | None = None
    """For a member, what it is on the wire; for a field that is always the same, that constant."""
    variants: tuple[str, ...] | None = None
    """For a union: the types it is made of."""

    @property
    def source(self) -> str:
        return f"{self.page}: {self.heading}"


@dataclass(slots=True)
class Proofs:
    """Which tests named which requirements, among the tests that were collected."""

    whole_suite: bool
    tests: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By requirement id: the tests that prove it."""

    def add(self, test: str, ids: Iterable[str]) -> None:
        for requirement in ids:
            self.tests.setdefault(requirement, []).append(test)


def proves(*ids: str) -> pytest.MarkDecorator:
    """Marks a test with the ids of the requirements that it shows to hold."""
    return pytest.mark.proves(*ids)


@cache
def load() -> dict[str, Requirement]:
    """All requirements of all pages, by id."""
    return {r.id: r for page in PREFIXES for r in load_page(FOLDER / f"{page}.toml")}


def load_page(path: Path) -> list[Requirement]:
    """The requirements of one page, in its order."""
    page = path.stem
    if page not in PREFIXES:
        raise ManifestError(f"{path.name}: no such page; the pages are {', '.join(PREFIXES)}")
    found: dict[str, Requirement] = {}
    for heading, rows in tomllib.loads(path.read_text(encoding="utf-8")).items():
        for key, row in cast("dict[str, dict[str, Any]]", rows).items():
            requirement = _requirement(page, heading, key, row)
            if requirement.id in found:
                raise ManifestError(f"{requirement.id}: stands under {found[requirement.id].heading!r} too")
            found[requirement.id] = requirement
    return list(found.values())


def _requirement(page: str, heading: str, key: str, row: dict[str, Any]) -> Requirement:
    name = f"{PREFIXES[page]}:{key}"
    if unknown := row.keys() - {"step", "kind", "says", "required", "value", "variants"}:
        raise ManifestError(f"{name}: unknown {', '.join(sorted(unknown))}")
    if row.get("kind") not in KINDS:
        raise ManifestError(f"{name}: kind is one of {', '.join(sorted(KINDS))}, not {row.get('kind')!r}")
    if row.get("step") not in STEPS:
        raise ManifestError(f"{name}: step is 1 to 7, not {row.get('step')!r}")
    if not str(row.get("says", "")).strip():
        raise ManifestError(f"{name}: says nothing")
    variants = row.get("variants")
    return Requirement(
        id=name,
        page=page,
        heading=heading,
        key=key,
        kind=row["kind"],
        says=row["says"],
        step=row["step"],
        required=row.get("required"),
        value=row.get("value"),
        variants=None if variants is None else tuple(variants),
    )


def unknown_ids(proofs: Proofs, manifest: Collection[str]) -> dict[str, list[str]]:
    """Ids that tests name and the manifest does not have, with those tests."""
    return {name: tests for name, tests in sorted(proofs.tests.items()) if name not in manifest}


def unproven(
    proofs: Proofs, manifest: Mapping[str, Requirement], steps: Collection[int]
) -> list[Requirement]:
    """Requirements of these steps that no test proves."""
    return [r for r in manifest.values() if r.step in steps and r.id not in proofs.tests]


def by_page(requirements: Iterable[Requirement]) -> str:
    """A list for people: page by page, a line for each requirement."""
    lines: list[str] = []
    for page, rows in groupby(requirements, lambda r: r.page):
        group = list(rows)
        lines += [f"{page} ({len(group)}):", *(f"  {r.id} (step {r.step}): {r.says}" for r in group)]
    return "\n".join(lines)
