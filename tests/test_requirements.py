from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from requirements import (
    FINISHED_STEPS,
    PREFIXES,
    ManifestError,
    Proofs,
    by_page,
    load,
    load_page,
    unknown_ids,
    unproven,
)

# --- tests and manifest agree


def test_every_id_that_a_test_names_is_in_the_manifest(proofs: Proofs) -> None:
    unknown = unknown_ids(proofs, load())
    assert not unknown, "\n".join(f"{name}: named by {', '.join(tests)}" for name, tests in unknown.items())


def test_every_requirement_of_a_finished_step_is_proven_by_a_test(proofs: Proofs) -> None:
    if not proofs.whole_suite:
        pytest.skip("only part of the suite was collected, so that proofs may be missing")
    missing = unproven(proofs, load(), FINISHED_STEPS)
    assert not missing, f"{len(missing)} requirements of finished steps are unproven\n{by_page(missing)}"


# --- the manifest is well-formed


@pytest.mark.parametrize("page", PREFIXES)
def test_every_page_has_requirements(page: str) -> None:
    assert any(r.page == page for r in load().values())


def test_ids_begin_with_the_prefix_of_their_page_and_hold_no_blank() -> None:
    for requirement in load().values():
        assert requirement.id == f"{PREFIXES[requirement.page]}:{requirement.key}"
        assert not re.search(r"\s", requirement.id), requirement.id


def test_a_requirement_names_its_source_by_page_and_heading() -> None:
    assert load()["ahp:SessionTruncatedAction.turnId"].source == "ahp-session-channel: session/truncated"


def test_each_kind_has_what_it_needs_and_no_more() -> None:
    for r in load().values():
        assert (r.required is not None) == (r.kind == "field"), f"{r.id}: a field says whether it is required"
        assert (r.value is not None) or r.kind != "member", f"{r.id}: a member has a value"
        assert (r.value is None) or r.kind in {"member", "field"}, f"{r.id}: a {r.kind} has no value"
        assert bool(r.variants) == (r.kind == "union"), f"{r.id}: a union has variants"


def test_keys_are_shaped_by_their_kind() -> None:
    shapes = {
        "field": r"\w+(\.\w+)+",
        "member": r"\w+(\.[\w-]+)+",
        "union": r"\w+",
        "clause": r"[\w-]+(/[\w-]+)+",
    }
    for r in load().values():
        assert re.fullmatch(shapes[r.kind], r.key), r.id


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('"A.b" = { step = 8, kind = "clause", says = "It." }', "step is 1 to 7"),
        ('"A.b" = { kind = "clause", says = "It." }', "step is 1 to 7"),
        ('"A.b" = { step = 1, kind = "wish", says = "It." }', "kind is one of"),
        ('"A.b" = { step = 1, kind = "clause", says = " " }', "says nothing"),
        ('"A.b" = { step = 1, kind = "clause" }', "says nothing"),
        ('"A.b" = { step = 1, kind = "clause", says = "It.", sais = 1 }', "unknown sais"),
    ],
)
def test_a_line_that_lacks_something_is_refused_by_name(tmp_path: Path, line: str, complaint: str) -> None:
    (tmp_path / "relay-delivery.toml").write_text(f"[A]\n{line}\n", encoding="utf-8")
    with pytest.raises(ManifestError, match=rf"delivery:A\.b: {complaint}"):
        load_page(tmp_path / "relay-delivery.toml")


# --- nothing of the pages was forgotten (where the pages are at hand)

_COMMANDS = ("createSession", "disposeSession", "fetchTurns", "completions")
_HEADING = re.compile(rf"[A-Z][A-Za-z]+|session/\w+(?: \(\w+\))?|{'|'.join(_COMMANDS)}")
_ROW = re.compile(r"([A-Za-z_]\w*) \| (.*)")
_UNION = re.compile(r"[A-Z][\w.]+(?: \| [A-Z][\w.]+)+")


@pytest.fixture(scope="session")
def page(shared_folder: Path) -> Callable[[str], str]:
    """Gives the text of a page by its name."""

    def read(name: str) -> str:
        return (shared_folder / "spec" / f"{name}.md").read_text(encoding="utf-8")

    return read


def test_every_table_row_of_the_session_channel_is_in_the_manifest(page: Callable[[str], str]) -> None:
    rows = dict(_table_rows(page("ahp-session-channel")))
    assert len(rows) > 400
    listed = {r.key: r for r in load().values() if r.page == "ahp-session-channel"}
    assert {key for key, r in listed.items() if r.kind in {"field", "member"}} == set(rows)
    for key, fact in rows.items():
        entry = listed[key]
        assert (entry.required if entry.kind == "field" else entry.value) == fact, key


def test_every_union_of_the_session_channel_is_in_the_manifest(page: Callable[[str], str]) -> None:
    heading, unions = "", dict[str, tuple[str, ...]]()
    for line in page("ahp-session-channel").splitlines():
        if _HEADING.fullmatch(line):
            heading = line
        elif _UNION.fullmatch(line):
            unions[heading] = tuple(line.split(" | "))
    listed = {r.key: r.variants for r in load().values() if r.page == "ahp-session-channel" and r.variants}
    assert listed == unions


def _table_rows(text: str) -> Iterator[tuple[str, object]]:
    """Each field with whether it is required, each member with its value."""
    heading, part, columns = "", "", ""
    for line in text.replace("}completions\n", "}\ncompletions\n").splitlines():
        if _HEADING.fullmatch(line):
            heading, part, columns = line, "", ""
        elif line in {"Parameters:", "Result:"}:
            part, columns = line, ""
        elif line.startswith(("| Field", "| Member")):
            columns = line
        elif columns and (row := _ROW.match(line)):
            name, rest = row.groups()
            fact = _required(columns, rest) if columns.startswith("| Field") else _value(rest)
            yield f"{_type_name(heading, part)}.{name}", fact


def _required(columns: str, rest: str) -> bool:
    """Whether a field must be on the wire; one that may be undefined or null need not."""
    if "Required" not in columns:
        return not re.search(r"\| (undefined|null)\b", rest)
    cell = re.search(r"(.*?)\| (Yes|No) \|", rest)
    assert cell is not None, rest
    return cell[2] == "Yes" and "undefined" not in cell[1]


def _value(rest: str) -> str | int:
    if text := re.match(r"'([^']*)'", rest):
        return text[1]
    shifts = re.findall(r"1 << (\d)", rest)
    return sum(1 << int(shift) for shift in shifts) if shifts else int(rest.partition(" |")[0])


def _type_name(heading: str, part: str) -> str:
    if heading.startswith("session/toolCallConfirmed"):
        return f"SessionToolCall{'Approved' if 'approved' in heading else 'Denied'}Action"
    name = heading.rpartition("/")[2]
    capital = name[:1].upper() + name[1:]
    if heading.startswith("session/"):
        return f"Session{capital}Action"
    if heading in _COMMANDS:
        return capital + ("Params" if part == "Parameters:" else "Result")
    return heading


@pytest.mark.parametrize(
    ("name", "alias", "count"),
    [
        ("relay-session-capabilities", "AgentSessionEventType", 34),
        ("relay-session-capabilities", "AgentStatus", 10),
        ("relay-delivery", "DeliveryMode", 5),
    ],
)
def test_every_literal_of_the_relay_pages_is_in_the_manifest(
    page: Callable[[str], str], name: str, alias: str, count: int
) -> None:
    block = re.search(rf"type {alias} =\s*([^;]*);", page(name))
    assert block is not None
    literals = re.findall(r"'([^']+)'", block[1])
    assert len(literals) == count
    listed = [r.value for r in load().values() if r.page == name and r.key.startswith(f"{alias}.")]
    assert listed == literals


@pytest.mark.parametrize(
    ("name", "alias", "tag", "suffix", "count"),
    [
        ("relay-session-capabilities", "AgentSessionEvent", "type", "Event", 29),
        ("relay-delivery", "DeliveryEvent", "type", "Event", 5),
        ("relay-delivery", "MessageReceipt", "status", "Receipt", 4),
    ],
)
def test_every_variant_and_its_fields_of_the_relay_pages_are_in_the_manifest(
    page: Callable[[str], str], name: str, alias: str, tag: str, suffix: str, count: int
) -> None:
    union = re.search(rf"type {alias} =((?:\s*\| \{{[^}}]*\}})+)", page(name))
    assert union is not None
    listed = {r.key: r for r in load().values() if r.page == name}
    variants: list[str] = []
    for body in re.findall(r"\{([^}]*)\}", union[1]):
        constant = re.search(rf"{tag}: '([^']+)'", body)
        assert constant is not None
        variants.append("".join(word.capitalize() for word in constant[1].split(".")) + suffix)
        fields = {field: mark != "?" for field, mark in re.findall(r"(\w+)(\??): ", body)}
        assert listed[f"{variants[-1]}.{tag}"].value == constant[1]
        assert fields == {
            key.partition(".")[2]: r.required
            for key, r in listed.items()
            if key.startswith(f"{variants[-1]}.")
        }
    assert len(variants) == count
    assert listed[alias].variants == tuple(variants)
