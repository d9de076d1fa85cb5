"""Agents, people and rooms after `@`."""

from __future__ import annotations

from serai.ahp.types import SimpleMessageAttachment
from serai.completions.completion import KIND, Token, items
from serai.completions.names import Mention, mentions

PRESENT = [
    Mention("#reviews", "room", "what was looked at"),
    Mention("@code-reviewer", "agent"),
    Mention("@reviewer", "agent", "reads changes"),
    Mention("@alice", "human"),
]


def found(query: str) -> list[str]:
    return [one.name for one in mentions(query, PRESENT)]


def test_names_that_begin_so_come_first_agents_before_rooms() -> None:
    assert found("rev") == ["@reviewer", "#reviews", "@code-reviewer"]


def test_a_room_can_be_begun_with_its_own_sign() -> None:
    assert found("#re") == ["#reviews"]


def test_an_empty_mention_offers_all() -> None:
    assert found("") == ["@alice", "@code-reviewer", "@reviewer", "#reviews"]


def test_what_is_chosen_tells_the_agent_who_it_is() -> None:
    [item, *_] = items(Token("@", "reviewer", 0, 9), mentions("reviewer", PRESENT))
    assert item.insert_text == "@reviewer"
    attachment = item.attachment
    assert isinstance(attachment, SimpleMessageAttachment)
    assert (attachment.meta or {})[KIND] == "agent"
    assert (attachment.model_representation or "").startswith(
        "@reviewer takes part in this workspace (agent): reads changes."
    )
