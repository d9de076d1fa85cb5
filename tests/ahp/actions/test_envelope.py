"""The envelope that actions travel in."""

from __future__ import annotations

import pytest

from ahp.strategies import Json
from serai.ahp.actions import ActionEnvelope, SessionTitleChangedAction
from serai.ahp.wire import UnknownType, convert, decode, encode, to_json

ENVELOPE: Json = {
    "channel": "ahp-session:/s",
    "action": {"type": "session/titleChanged", "title": "A"},
    "serverSeq": 7,
}


def test_an_envelope_from_the_host_has_no_origin() -> None:
    envelope = convert(ENVELOPE, ActionEnvelope)
    assert envelope.origin is None
    assert envelope.action == SessionTitleChangedAction(title="A")
    assert to_json(envelope) == ENVELOPE


def test_an_envelope_from_a_client_names_it_and_may_say_why_it_was_refused() -> None:
    whole = {**ENVELOPE, "origin": {"clientId": "c", "clientSeq": 3}, "rejectionReason": "no"}
    envelope = decode(encode(convert(whole, ActionEnvelope)), ActionEnvelope)
    assert envelope.origin is not None
    assert (envelope.origin.client_id, envelope.origin.client_seq) == ("c", 3)
    assert envelope.rejection_reason == "no"
    assert to_json(envelope) == whole


@pytest.mark.parametrize("kind", ["session/later", "galaxy/moved", "delta"])
def test_an_unknown_action_is_handed_on_as_it_came(kind: str) -> None:
    whole = {**ENVELOPE, "action": {"type": kind, "turnId": None, "deep": {"x": [1.0]}}}
    envelope = convert(whole, ActionEnvelope)
    assert isinstance(envelope.action, UnknownType)
    assert to_json(envelope) == whole


def test_an_action_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        convert(ENVELOPE, ActionEnvelope).action.title = "B"  # pyright: ignore[reportAttributeAccessIssue]
