"""The session around its turns: beginning, summary, flags, tools, settings and history."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.reducers.cases import (
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_ARCHIVED,
    IS_READ,
    NEWER,
    NOW,
    Case,
    Json,
    case,
    check,
    markdown,
    message,
    params,
    running,
    session,
    turn,
)
from requirements import proves
from serai.ahp.types import SessionState, SessionStatus

FAILURE: Json = {"errorType": "spawn", "message": "no such program", "stack": "..."}
TOOL: Json = {
    "name": "search",
    "inputSchema": {"type": "object", "properties": {"q": {"default": None}}},
    "annotations": {"readOnlyHint": True},
}
CLIENT: Json = {"clientId": "c1", "displayName": "Editor", "tools": [TOOL]}
SETTINGS: Json = {
    "schema": {"type": "object", "properties": {"effort": {"type": "string", "title": "Effort"}}},
    "values": {"effort": "low", "free": {"deep": None}, "gone": None},
}
CHANGESET: Json = {"label": "All", "uriTemplate": "ahp-changeset:/all", "files": 2}
QUEUE = [{"id": "q1", "userMessage": message()}]


def act(name: str, **fields: Any) -> Json:
    return {"type": f"session/{name}", **fields}


def settings(**values: Any) -> Json:
    return {**SETTINGS, "values": values}


BEGINNING = [
    case(
        "a session that is ready is ready, and that is all",
        session({"status": ERROR | IS_READ}, lifecycle="creating"),
        act("ready"),
        session({"status": ERROR | IS_READ}),
        "session/ready/lifecycle-becomes-ready",
    ),
    case(
        "a session that could not be made says why, and its status shows no error",
        session(lifecycle="creating"),
        act("creationFailed", error=FAILURE),
        session(lifecycle="creationFailed", creationError=FAILURE),
        "session/creationFailed/lifecycle-becomes-failed",
    ),
]

SUMMARY = [
    case(
        "a title is set",
        running(),
        act("titleChanged", title="Better"),
        running(modified=NOW) | {"summary": running(modified=NOW)["summary"] | {"title": "Better"}},
        "session/titleChanged/sets-title",
    ),
    case(
        "a model is set",
        session({"model": {"id": "m1", "config": {"effort": "low"}}}),
        act("modelChanged", model={"id": "m2"}),
        session({"model": {"id": "m2"}, "modifiedAt": NOW}),
        "session/modelChanged/sets-model",
    ),
    case(
        "an agent is set",
        session({"agent": {"uri": "agent:/1"}}),
        act("agentChanged", agent={"uri": "agent:/2"}),
        session({"agent": {"uri": "agent:/2"}, "modifiedAt": NOW}),
        "session/agentChanged/sets-agent",
    ),
    case(
        "an agent that is absent is no agent",
        session({"agent": {"uri": "agent:/1"}}),
        act("agentChanged"),
        session({"modifiedAt": NOW}),
        "session/agentChanged/clears-agent",
    ),
    case(
        "an activity is set, and the session counts as unchanged",
        session({"activity": "Thinking"}),
        act("activityChanged", activity="Reading"),
        session({"activity": "Reading"}),
        "session/activityChanged/sets-activity",
    ),
    case(
        "an activity that is absent is taken away",
        session({"activity": "Thinking"}),
        act("activityChanged"),
        session(),
        "session/activityChanged/clears-activity",
    ),
    case(
        "changesets are replaced as a whole",
        session({"changesets": [CHANGESET, CHANGESET]}),
        act("changesetsChanged", changesets=[{**CHANGESET, "files": 3}]),
        session({"changesets": [{**CHANGESET, "files": 3}]}),
        "session/changesetsChanged/replaces-catalogue",
    ),
    case(
        "changesets that are absent are taken away",
        session({"changesets": [CHANGESET]}),
        act("changesetsChanged"),
        session(),
        "session/changesetsChanged/clears-catalogue",
    ),
]

OTHERS = INPUT_NEEDED | NEWER
FLAGS = [
    *(
        case(
            f"{action}: {value} on {'a set' if before & bit else 'a clear'} bit",
            session({"status": before}),
            act(action, **{field: value}),
            session({"status": OTHERS | other | (bit if value else 0)}),
            f"session/{action}/sets-flag",
            "SessionStatus/flags-combine",
        )
        for action, field, bit, other in (
            ("isReadChanged", "isRead", IS_READ, IS_ARCHIVED),
            ("isArchivedChanged", "isArchived", IS_ARCHIVED, IS_READ),
        )
        for value in (True, False)
        for before in (OTHERS | other, OTHERS | other | bit)
    )
]

TOOLS = [
    case(
        "the host's tools are replaced as a whole",
        session(serverTools=[TOOL, {"name": "old"}]),
        act("serverToolsChanged", tools=[{"name": "new"}]),
        session(serverTools=[{"name": "new"}]),
        "session/serverToolsChanged/replaces-tools",
    ),
    case(
        "a client becomes the active one",
        session(),
        act("activeClientChanged", activeClient=CLIENT),
        session(activeClient=CLIENT),
        "session/activeClientChanged/claims-role",
    ),
    case(
        "there is one active client: the next takes the place of the one before",
        session(activeClient=CLIENT),
        act("activeClientChanged", activeClient={"clientId": "c2", "tools": []}),
        session(activeClient={"clientId": "c2", "tools": []}),
        "SessionActiveClient/one-at-a-time",
    ),
    case(
        "an active client that is absent is nobody",
        session(activeClient=CLIENT),
        act("activeClientChanged"),
        session(),
        "session/activeClientChanged/releases-role",
    ),
    case(
        "the active client's tools are replaced as a whole, and the rest of it stays",
        session(activeClient={**CLIENT, "x-new": None}),
        act("activeClientToolsChanged", tools=[{"name": "new"}]),
        session(activeClient={**CLIENT, "tools": [{"name": "new"}], "x-new": None}),
        "session/activeClientToolsChanged/replaces-tools",
    ),
]

SETTINGS_AND_META = [
    case(
        "settings are merged over the old ones, nulls included, and not deeper than one level",
        session(config=SETTINGS),
        act("configChanged", config={"effort": None, "free": {"new": 1}, "more": [1]}),
        session({"modifiedAt": NOW}, config=settings(effort=None, free={"new": 1}, gone=None, more=[1])),
        "session/configChanged/merges-values",
    ),
    case(
        "settings that replace are all that is left",
        session(config=SETTINGS),
        act("configChanged", config={"other": 1.0}, replace=True),
        session({"modifiedAt": NOW}, config=settings(other=1.0)),
        "session/configChanged/replaces-values",
    ),
    case("settings of a session without settings change nothing", session(), act("configChanged", config={})),
    case(
        "extras are replaced as a whole",
        session(_meta={"git": {"branch": "main"}, "old": 1}),
        act("metaChanged", _meta={"git": {"branch": "dev", "upstream": None}}),
        session(_meta={"git": {"branch": "dev", "upstream": None}}),
        "session/metaChanged/replaces-meta",
        "SessionState/well-known-meta-keys",
    ),
    case(
        "extras that are absent are taken away",
        session(_meta={"git": {}}),
        act("metaChanged"),
        session(),
        "session/metaChanged/clears-meta",
    ),
]

HISTORY = [turn("t1"), turn("t2"), turn("t3", markdown("p1", "x"))]
QUESTION: Json = {"id": "r1"}
TRUNCATED = [
    case(
        "history ends after the turn that is named",
        session({"status": IDLE | IS_READ | NEWER}, turns=HISTORY),
        act("truncated", turnId="t2"),
        session({"status": IDLE | IS_READ | NEWER, "modifiedAt": NOW}, turns=HISTORY[:2]),
        "session/truncated/keeps-up-to-turn",
    ),
    case(
        "history after the last turn is all of it",
        session({"status": ERROR}, turns=HISTORY),
        act("truncated", turnId="t3"),
        session({"modifiedAt": NOW}, turns=HISTORY),
        "session/truncated/keeps-up-to-turn",
        "session/truncated/status-back-to-idle",
    ),
    case(
        "without a turn all of history goes, when it is absent",
        session(turns=HISTORY),
        act("truncated"),
        session({"modifiedAt": NOW}),
        "session/truncated/removes-all-turns",
    ),
    case(
        "a running turn and its questions go without a trace, and messages that wait stay",
        running(
            markdown("p1", "half"),
            status=INPUT_NEEDED | IS_ARCHIVED,
            turns=HISTORY,
            inputRequests=[QUESTION],
            steeringMessage=QUEUE[0],
            queuedMessages=QUEUE,
        )
        | {"activeTurn": {"id": "t4", "userMessage": message(), "responseParts": []}},
        act("truncated", turnId="t1"),
        session(
            {"status": IDLE | IS_ARCHIVED, "modifiedAt": NOW},
            turns=HISTORY[:1],
            steeringMessage=QUEUE[0],
            queuedMessages=QUEUE,
        ),
        "session/truncated/drops-active-turn",
        "session/truncated/status-back-to-idle",
    ),
    *(
        case(
            f"a turn that is {what} ends no history: nothing changes",
            running(status=INPUT_NEEDED, turns=[turn("t0")], inputRequests=[QUESTION]),
            act("truncated", turnId=turn_id),
        )
        for what, turn_id in (("unknown", "t9"), ("still running", "t1"), ("nameless", ""))
    ),
]

CASES: list[Case] = [*BEGINNING, *SUMMARY, *FLAGS, *TOOLS, *SETTINGS_AND_META, *TRUNCATED]


@pytest.mark.parametrize("each", params(CASES))
def test_session(each: Case) -> None:
    check(each, SessionState)


@proves("ahp:SessionStatus/bits-not-equality")
def test_a_waiting_session_is_in_progress_too() -> None:
    assert SessionStatus.INPUT_NEEDED & SessionStatus.IN_PROGRESS
    assert not SessionStatus.IDLE & SessionStatus.IN_PROGRESS
    assert not SessionStatus.ERROR & SessionStatus.IN_PROGRESS
    each = case(
        "",
        running(status=IN_PROGRESS | NEWER),
        act("inputRequested", request=QUESTION),
        running(status=INPUT_NEEDED | NEWER, modified=NOW, inputRequests=[QUESTION]),
    )
    check(each, SessionState)
    assert each.then["summary"]["status"] & SessionStatus.IN_PROGRESS
