"""The tree of customisations: containers, and what is in them."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.reducers.cases import ERROR, IS_READ, Case, Json, case, check, params, session
from serai.ahp.types import SessionState


def plugin(plugin_id: str, *children: Json, **fields: Any) -> Json:
    names = {"id": plugin_id, "uri": f"plugin:/{plugin_id}", "name": plugin_id}
    inside = {"children": list(children)} if children else {}
    return {"type": "plugin", **names, "enabled": True, **inside, **fields}


def folder(folder_id: str, *children: Json, **fields: Any) -> Json:
    return {
        **plugin(folder_id, *children),
        "type": "directory",
        "contents": "skill",
        "writable": True,
        **fields,
    }


def skill(skill_id: str) -> Json:
    return {"type": "skill", "id": skill_id, "uri": f"skill:/{skill_id}", "name": skill_id}


def rule(rule_id: str) -> Json:
    return {"type": "rule", "id": rule_id, "uri": f"rule:/{rule_id}", "name": rule_id, "globs": ["*.py"]}


STRANGER: Json = {"type": "galaxy", "id": "g1", "stars": None}


def tree(*containers: Json) -> Json:
    """A session with those customisations. Its status and its times stay, whatever happens to them."""
    return session({"status": ERROR | IS_READ}, customizations=list(containers))


BARE = session({"status": ERROR | IS_READ})
OLD = [plugin("a", skill("s1"), rule("r1")), folder("b", skill("s2"), load={"kind": "loaded"}), STRANGER]


def toggled(container_id: str, *, enabled: bool) -> Json:
    return {"type": "session/customizationToggled", "id": container_id, "enabled": enabled}


def updated(container: Json) -> Json:
    return {"type": "session/customizationUpdated", "customization": container}


def removed(removed_id: str) -> Json:
    return {"type": "session/customizationRemoved", "id": removed_id}


def replaced(*containers: Json) -> Json:
    return {"type": "session/customizationsChanged", "customizations": list(containers)}


CASES: list[Case] = [
    case(
        "the list is replaced as a whole",
        tree(*OLD),
        replaced(plugin("c"), STRANGER),
        tree(plugin("c"), STRANGER),
        "session/customizationsChanged/replaces-list",
    ),
    case(
        "a container is switched off, and what is in it stays",
        tree(*OLD),
        toggled("b", enabled=False),
        tree(OLD[0], {**OLD[1], "enabled": False}, STRANGER),
        "session/customizationToggled/toggles-container",
    ),
    case(
        "a child has no switch",
        tree(*OLD),
        toggled("s1", enabled=False),
        None,
        "session/customizationToggled/children-have-no-flag",
    ),
    case(
        "an unknown id switches nothing",
        tree(*OLD),
        toggled("z", enabled=False),
        None,
        "session/customizationToggled/unknown-id-unchanged",
    ),
    case(
        "a container with a known id is replaced where it stands, with all that is in it",
        tree(*OLD),
        updated(plugin("a", skill("s9"), enabled=False)),
        tree(plugin("a", skill("s9"), enabled=False), *OLD[1:]),
        "session/customizationUpdated/replaces-whole-entry",
        "session/customizationUpdated/children-not-merged",
    ),
    case(
        "a container with a new id goes to the end",
        tree(*OLD),
        updated(plugin("c")),
        tree(*OLD, plugin("c")),
        "session/customizationUpdated/appends-unknown",
    ),
    case(
        "a container that is removed takes what is in it along",
        tree(*OLD),
        removed("a"),
        tree(*OLD[1:]),
        "session/customizationRemoved/removes-container",
    ),
    case(
        "a child that is removed leaves its container and the other children",
        tree(*OLD),
        removed("s1"),
        tree(plugin("a", rule("r1")), *OLD[1:]),
        "session/customizationRemoved/removes-child",
    ),
    case(
        "an unknown id removes nothing",
        tree(*OLD),
        removed("z"),
        None,
        "session/customizationRemoved/unknown-id-unchanged",
    ),
    case(
        "without a list there is nothing to remove",
        BARE,
        removed("a"),
        None,
        "session/customizationRemoved/unknown-id-unchanged",
    ),
]


@pytest.mark.parametrize("each", params(CASES))
def test_session(each: Case) -> None:
    check(each, SessionState)
