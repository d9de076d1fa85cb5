"""The changeset: files that changed, and what can be done about it."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.reducers.cases import Case, Json, case, changed, check, params
from serai.ahp.types import ChangesetState

ERROR: Json = {"errorType": "git", "message": "not a repository"}
STAGE: Json = {"id": "stage", "label": "Stage", "scopes": ["resource", "later"]}
COMMIT: Json = {
    "id": "commit",
    "label": "Commit",
    "scopes": ["changeset"],
    "confirmation": {"markdown": "*Sure?*"},
}


def file(file_id: str, added: int = 1, **fields: Any) -> Json:
    return {"id": file_id, "edit": {"diff": {"added": added}}, **fields}


def changeset(*files: Json, status: str = "ready", **fields: Any) -> Json:
    return changed({"status": status, "files": list(files)}, **fields)


def act(name: str, **fields: Any) -> Json:
    return {"type": f"changeset/{name}", **fields}


CASES: list[Case] = [
    *(
        case(
            f"the status is set: {status}",
            changeset(file("a"), status="later"),
            act("statusChanged", status=status),
            changeset(file("a"), status=status),
        )
        for status in ("computing", "ready", "error", "newer")
    ),
    case(
        "a new file goes to the end",
        changeset(file("a")),
        act("fileSet", file=file("b")),
        changeset(file("a"), file("b")),
    ),
    case(
        "a file is removed",
        changeset(file("a"), file("b"), file("c"), operations=[STAGE]),
        act("fileRemoved", fileId="b"),
        changeset(file("a"), file("c"), operations=[STAGE]),
    ),
    case(
        "operations are replaced as a whole",
        changeset(operations=[STAGE]),
        act("operationsChanged", operations=[COMMIT]),
        changeset(operations=[COMMIT]),
    ),
    case(
        "operations that are absent are taken away",
        changeset(operations=[STAGE]),
        act("operationsChanged"),
        changeset(),
    ),
    case(
        "a cleared changeset has no files, and the rest stays",
        changeset(file("a"), status="error", error=ERROR, operations=[STAGE]),
        act("cleared"),
        changeset(status="error", error=ERROR, operations=[STAGE]),
    ),
    case("an unknown action changes nothing", changeset(file("a")), act("disposed")),
]


@pytest.mark.parametrize("each", params(CASES))
def test_changeset(each: Case) -> None:
    check(each, ChangesetState)
