"""The active client, its tools, and messages that wait."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.rules.world import HELLO, ME, YOU, Json, accepts, rejection, session
from requirements import proves
from serai.ahp.reducers import LiveSession


def lent_by(client: str | None) -> LiveSession:
    return session(activeClient={"clientId": client, "tools": []} if client else None)


def claim(client: str | None) -> Json:
    active = {"clientId": client, "tools": [{"name": "open"}]} if client else None
    return {"type": "session/activeClientChanged", "activeClient": active}


TOOLS: Json = {"type": "session/activeClientToolsChanged", "tools": []}


@proves("ahp:session/activeClientChanged/rejected-while-taken", "ahp:SessionActiveClient/one-at-a-time")
def test_while_another_client_is_active_nobody_else_may_claim_the_role_or_end_it() -> None:
    assert rejection(lent_by(YOU), claim(ME)) == "other_client_active"
    assert rejection(lent_by(YOU), claim(None)) == "other_client_active"
    assert accepts(lent_by(YOU), claim(None), YOU)


@proves("ahp:session/activeClientChanged/own-identity-only")
def test_a_client_may_claim_the_role_for_itself_only() -> None:
    assert rejection(lent_by(None), claim(YOU)) == "not_yourself"
    assert rejection(lent_by(ME), claim(YOU)) == "not_yourself"
    assert accepts(lent_by(None), claim(YOU), YOU)


def test_a_client_may_release_the_role_that_it_has() -> None:
    assert accepts(lent_by(ME), claim(None))
    assert accepts(lent_by(None), claim(None))  # as with an absent field: nothing is there to be released
    assert accepts(lent_by(ME), {"type": "session/activeClientChanged"})


@proves("ahp:session/activeClientToolsChanged/only-the-active-client")
def test_only_the_active_client_may_change_its_tools() -> None:
    assert accepts(lent_by(ME), TOOLS)
    assert rejection(lent_by(YOU), TOOLS) == "not_active"
    assert rejection(lent_by(None), TOOLS) == "not_active"


# --- messages that wait


def put(kind: str, message_id: str = "m1") -> Json:
    return {"type": "session/pendingMessageSet", "kind": kind, "id": message_id, "userMessage": HELLO}


def taken_back(kind: str, message_id: str = "m1") -> Json:
    return {"type": "session/pendingMessageRemoved", "kind": kind, "id": message_id}


def waiting(message_id: str) -> Json:
    return {"id": message_id, "userMessage": HELLO}


def test_a_message_of_a_kind_that_nobody_knows_cannot_wait() -> None:
    assert rejection(session(), put("later")) == "bad_value"


@pytest.mark.parametrize("kind", ["steering", "queued", "later"])
@pytest.mark.parametrize(
    "fields", [{}, {"queuedMessages": [waiting("m8")], "steeringMessage": waiting("m9")}]
)
def test_a_message_that_does_not_wait_cannot_be_taken_back(kind: str, fields: dict[str, Any]) -> None:
    assert rejection(session(**fields), taken_back(kind)) == "no_such_message"


@pytest.mark.parametrize("order", [[], ["m1"], ["m9", "m1", "m1"]])
def test_the_queue_may_be_put_in_any_order_also_by_a_client_with_an_old_view_of_it(order: list[str]) -> None:
    action = {"type": "session/queuedMessagesReordered", "order": order}
    assert accepts(session(queuedMessages=[waiting("m1"), waiting("m2")]), action)
    assert accepts(session(), action)
