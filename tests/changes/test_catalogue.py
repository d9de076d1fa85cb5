"""The changesets of a session, and their URIs."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from serai.ahp.channels import ChannelKind, kind_of
from serai.changes.view import (
    SESSION,
    UNCOMMITTED,
    Address,
    ChangesetKind,
    Counts,
    Which,
    address_of,
    summaries,
    uri_of,
)

ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(
    ids, st.one_of(st.just(UNCOMMITTED), st.just(SESSION), st.builds(Which, st.just(ChangesetKind.TURN), ids))
)
def test_a_uri_leads_back_to_its_changeset(session_id: str, which: Which) -> None:
    uri = uri_of(session_id, which)
    assert kind_of(uri) is ChannelKind.CHANGESET
    assert address_of(uri) == Address(session_id, which)


@pytest.mark.parametrize(
    "uri",
    [
        "ahp-session:/s1/session",
        "ahp-changeset:/s1",
        "ahp-changeset:/s1/",
        "ahp-changeset:/s1/everything",
        "ahp-changeset:/s1/turn",
        "ahp-changeset:/s1/turn/",
        "ahp-changeset:/s1/turn/a/b",
        "ahp-changeset:/s1/session/more",
        "ahp-changeset://session",
        "ahp-changeset:/%ff/session",
    ],
)
def test_other_uris_name_none(uri: str) -> None:
    assert address_of(uri) is None


def test_the_catalogue_with_git() -> None:
    known = {
        UNCOMMITTED: (Counts(2, 10, 3), None),
        SESSION: (Counts(None, None, None), "Left out: x"),
    }
    uncommitted, session, turn = summaries("s 1", known, has_git=True)
    assert uncommitted.uri_template == "ahp-changeset:/s%201/uncommitted"
    assert (uncommitted.files, uncommitted.additions, uncommitted.deletions) == (2, 10, 3)
    assert session.uri_template == "ahp-changeset:/s%201/session"
    assert (session.files, session.description) == (None, "Left out: x")
    assert turn.uri_template == "ahp-changeset:/s%201/turn/{turnId}"
