"""Who may dispatch what: the column C/S of sections 9.2 and 9.4, row by row."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.rules.world import (
    HELLO,
    ME,
    YOU,
    Json,
    accepts,
    busy,
    call,
    judged,
    rejection,
    root,
    session,
    terminal,
)
from ahp.types.examples import full, tag_of, variants
from requirements import proves
from serai.ahp.actions import StateAction
from serai.ahp.reducers import LiveState, live
from serai.ahp.rules import CLIENT_ACTIONS
from serai.ahp.types import ChangesetState, ResourceWatchState
from serai.ahp.wire import Unknown, convert


def named(table: str) -> set[str]:
    lines = (line.split() for line in table.strip().splitlines())
    return {f"{channel[:-1]}/{name}" for channel, *names in lines for name in names}


CLIENTS_MAY = named(
    """
    session: turnStarted turnCancelled toolCallConfirmed toolCallComplete toolCallResultConfirmed
    session: toolCallContentChanged titleChanged modelChanged agentChanged isReadChanged isArchivedChanged
    session: activeClientChanged activeClientToolsChanged customizationToggled configChanged truncated
    session: inputAnswerChanged inputCompleted pendingMessageSet pendingMessageRemoved
    session: queuedMessagesReordered
    root: configChanged
    terminal: input resized claimed titleChanged cleared
    """
)

ONLY_THE_HOST = named(
    """
    session: ready creationFailed delta reasoning responsePart usage turnComplete error toolCallStart
    session: toolCallDelta toolCallReady activityChanged changesetsChanged serverToolsChanged
    session: customizationsChanged customizationUpdated customizationRemoved metaChanged inputRequested
    root: agentsChanged activeSessionsChanged terminalsChanged
    terminal: data cwdChanged exited commandDetectionAvailable commandExecuted commandFinished
    changeset: statusChanged fileSet fileRemoved operationsChanged cleared
    resourceWatch: changed
    """
)

ACTIONS: dict[str, Json] = {
    str(tag_of(each)[1]): full(each) for each in variants(StateAction) if not issubclass(each, Unknown)
}
ACTIONS["session/toolCallConfirmed"] |= {"approved": True, "confirmed": "user-action"}

CHANNELS: dict[str, LiveState[Any]] = {
    "root": root(),
    "session": busy(call("running")),
    "terminal": terminal(),
    "changeset": live(convert({"status": "ready", "files": []}, ChangesetState)),
    "resourceWatch": live(convert({"root": "file:///", "recursive": True}, ResourceWatchState)),
}
"""A channel of each kind, under the prefix of its actions."""

SETTING = {
    "schema": {
        "type": "object",
        "properties": {"mode": {"type": "string", "title": "Mode", "sessionMutable": True}},
    },
    "values": {},
}
QUESTION = {"id": "r1", "questions": [{"kind": "text", "id": "q1", "message": "Who?"}]}
QUEUED = {"id": "m1", "userMessage": HELLO}

GOOD_MOMENTS: list[tuple[LiveState[Any], Json]] = [
    (session(), {"type": "session/turnStarted", "turnId": "t1", "userMessage": HELLO}),
    (busy(), {"type": "session/turnCancelled", "turnId": "t2"}),
    (
        busy(call("pending-confirmation")),
        {
            "type": "session/toolCallConfirmed",
            "turnId": "t2",
            "toolCallId": "c1",
            "approved": True,
            "confirmed": "user-action",
        },
    ),
    (
        busy(call("pending-confirmation")),
        {
            "type": "session/toolCallConfirmed",
            "turnId": "t2",
            "toolCallId": "c1",
            "approved": False,
            "reason": "denied",
        },
    ),
    (
        busy(call("running", toolClientId=ME)),
        {
            "type": "session/toolCallComplete",
            "turnId": "t2",
            "toolCallId": "c1",
            "result": {"success": True, "pastTenseMessage": "Ran"},
        },
    ),
    (
        busy(call("pending-result-confirmation")),
        {"type": "session/toolCallResultConfirmed", "turnId": "t2", "toolCallId": "c1", "approved": False},
    ),
    (
        busy(call("running", toolClientId=ME)),
        {"type": "session/toolCallContentChanged", "turnId": "t2", "toolCallId": "c1", "content": []},
    ),
    (session(), {"type": "session/titleChanged", "title": "Another"}),
    (session(), {"type": "session/modelChanged", "model": {"id": "large"}}),
    (session(), {"type": "session/agentChanged", "agent": {"uri": "file:///a.md"}}),
    (session(), {"type": "session/agentChanged"}),
    (session(), {"type": "session/isReadChanged", "isRead": True}),
    (session(), {"type": "session/isReadChanged", "isRead": False}),
    (session(), {"type": "session/isArchivedChanged", "isArchived": True}),
    (session(), {"type": "session/isArchivedChanged", "isArchived": False}),
    (session(), {"type": "session/activeClientChanged", "activeClient": {"clientId": ME, "tools": []}}),
    (
        session(activeClient={"clientId": ME, "tools": []}),
        {"type": "session/activeClientToolsChanged", "tools": [{"name": "open"}]},
    ),
    (session(), {"type": "session/customizationToggled", "id": "p1", "enabled": False}),
    (session(config=SETTING), {"type": "session/configChanged", "config": {"mode": "fast"}}),
    (busy(), {"type": "session/truncated", "turnId": "t1"}),
    (busy(), {"type": "session/truncated"}),
    (
        busy(inputRequests=[QUESTION]),
        {
            "type": "session/inputAnswerChanged",
            "requestId": "r1",
            "questionId": "q1",
            "answer": {"state": "draft", "value": {"kind": "text", "value": "I"}},
        },
    ),
    (
        busy(inputRequests=[QUESTION]),
        {"type": "session/inputCompleted", "requestId": "r1", "response": "accept"},
    ),
    (session(), {"type": "session/pendingMessageSet", "kind": "queued", "id": "m1", "userMessage": HELLO}),
    (busy(), {"type": "session/pendingMessageSet", "kind": "steering", "id": "m1", "userMessage": HELLO}),
    (busy(queuedMessages=[QUEUED]), {"type": "session/pendingMessageRemoved", "kind": "queued", "id": "m1"}),
    (busy(steeringMessage=QUEUED), {"type": "session/pendingMessageRemoved", "kind": "steering", "id": "m1"}),
    (busy(queuedMessages=[QUEUED]), {"type": "session/queuedMessagesReordered", "order": ["m1"]}),
    (
        root(
            config={
                "schema": {"type": "object", "properties": {"log": {"type": "string", "title": "Log"}}},
                "values": {},
            }
        ),
        {"type": "root/configChanged", "config": {"log": "debug"}},
    ),
    (terminal(), {"type": "terminal/input", "data": "ls\n"}),
    (terminal(), {"type": "terminal/resized", "cols": 80, "rows": 24}),
    (terminal(), {"type": "terminal/claimed", "claim": {"kind": "client", "clientId": YOU}}),
    (terminal(), {"type": "terminal/titleChanged", "title": "build"}),
    (terminal(), {"type": "terminal/cleared"}),
]
"""For each action that a client may dispatch, a state in which nothing speaks against it."""


def test_every_action_is_either_a_clients_or_the_hosts_own() -> None:
    assert not CLIENTS_MAY & ONLY_THE_HOST
    assert ACTIONS.keys() == CLIENTS_MAY | ONLY_THE_HOST
    assert {str(tag_of(each)[1]) for each in CLIENT_ACTIONS} == CLIENTS_MAY


@proves(
    "ahp:session/toolCallConfirmed/approved/client-may-dispatch",
    "ahp:session/toolCallConfirmed/denied/client-may-dispatch",
    "ahp:session/toolCallResultConfirmed/client-may-dispatch",
    "ahp:session/titleChanged/either-side",
    "ahp:session/isReadChanged/client-may-dispatch",
    "ahp:session/isArchivedChanged/client-may-dispatch",
    "ahp:session/customizationToggled/client-may-dispatch",
    "ahp:session/configChanged/client-may-dispatch",
    "ahp:session/pendingMessageRemoved/client-may-dispatch",
    "ahp:session/inputAnswerChanged/client-may-dispatch",
    "ahp:session/inputCompleted/client-may-dispatch",
)
@pytest.mark.parametrize(
    ("state", "action"), [pytest.param(*moment, id=moment[1]["type"]) for moment in GOOD_MOMENTS]
)
def test_what_clients_may_dispatch_is_accepted_in_a_good_moment(state: LiveState[Any], action: Json) -> None:
    assert accepts(state, action, ME)


def test_no_clients_action_is_left_out_of_the_good_moments() -> None:
    assert {action["type"] for _, action in GOOD_MOMENTS} == CLIENTS_MAY


@proves("ahp:session/activityChanged/server-only", "ahp:SessionInputRequest/server-creates")
def test_what_only_the_host_dispatches_is_rejected_from_a_client() -> None:
    for kind in sorted(ONLY_THE_HOST):
        state = CHANNELS[kind.partition("/")[0]]
        assert rejection(state, ACTIONS[kind], ME) == "server_only", kind


@pytest.mark.parametrize("prefix", CHANNELS)
def test_an_action_that_is_unknown_or_of_another_channel_is_rejected_from_a_client(prefix: str) -> None:
    state = CHANNELS[prefix]
    assert rejection(state, {"type": "session/later", "anything": [1]}, ME) == "unknown_action"
    assert "'session/later'" in str(judged(state, {"type": "session/later"}, ME).reason)
    for kind, action in ACTIONS.items():
        if kind.partition("/")[0] != prefix:
            assert rejection(state, action, ME) == "wrong_channel", kind
