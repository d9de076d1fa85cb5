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
        "an error is kept with the status error",
        changeset(),
        act("statusChanged", status="error", error=ERROR),
        changeset(status="error", error=ERROR),
    ),
    case(
        "an error that comes without one takes the old one away",
        changeset(status="error", error=ERROR),
        act("statusChanged", status="error"),
        changeset(status="error"),
    ),
    case(
        "another status takes the error away",
        changeset(status="error", error=ERROR),
        act("statusChanged", status="computing"),
        changeset(status="computing"),
    ),
    case(
        "an error that comes with another status is not kept",
        changeset(status="computing"),
        act("statusChanged", status="ready", error=ERROR),
        changeset(),
    ),
    case(
        "a new file goes to the end",
        changeset(file("a")),
        act("fileSet", file=file("b")),
        changeset(file("a"), file("b")),
    ),
    case(
        "a known file is replaced where it stands",
        changeset(file("a"), file("b", _meta={"x": None}), file("c")),
        act("fileSet", file=file("b", 9)),
        changeset(file("a"), file("b", 9), file("c")),
    ),
    case(
        "a file is removed",
        changeset(file("a"), file("b"), file("c"), operations=[STAGE]),
        act("fileRemoved", fileId="b"),
        changeset(file("a"), file("c"), operations=[STAGE]),
    ),
    case("an unknown file is not removed", changeset(file("a")), act("fileRemoved", fileId="b")),
    case(
        "operations are replaced as a whole",
        changeset(operations=[STAGE]),
        act("operationsChanged", operations=[COMMIT]),
        changeset(operations=[COMMIT]),
    ),
    case(
        "operations may be an empty list",
        changeset(),
        act("operationsChanged", operations=[]),
        changeset(operations=[]),
    ),
    *(
        case(
            f"operations that are {what} are taken away",
            changeset(operations=[STAGE]),
            act("operationsChanged", **fields),
            changeset(),
        )
        for what, fields in (("absent", {}), ("null", {"operations": None}))
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
