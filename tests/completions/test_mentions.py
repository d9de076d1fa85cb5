"""Agents, people and rooms after `@`."""

from __future__ import annotations

from collections.abc import Sequence

from serai.ahp.types import SimpleMessageAttachment
from serai.completions.completion import KIND, Candidate, complete
from serai.completions.names import Mention, MentionSource

PRESENT = [
    Mention("#reviews", "room", "what was looked at"),
    Mention("@code-reviewer", "agent"),
    Mention("@reviewer", "agent", "reads changes"),
    Mention("@alice", "human"),
]


class Files:
    """A file for every query."""

    trigger = "@"

    async def candidates(self, query: str) -> Sequence[Candidate]:
        return [Candidate(f"{query}.txt", SimpleMessageAttachment(label=query))]


async def inserted(text: str) -> list[str]:
    offered = await complete(text, len(text), [MentionSource(lambda: PRESENT), Files()])
    return [item.insert_text for item in offered]


async def test_names_that_begin_so_come_first_agents_before_rooms_and_files_last() -> None:
    assert await inserted("ask @rev") == ["@reviewer", "#reviews", "@code-reviewer", "@rev.txt"]


async def test_a_room_can_be_begun_with_its_own_sign() -> None:
    assert await inserted("tell @#re") == ["#reviews", "@#re.txt"]


async def test_an_empty_mention_offers_all() -> None:
    assert await inserted("@") == ["@alice", "@code-reviewer", "@reviewer", "#reviews", "@.txt"]


async def test_what_is_chosen_tells_the_agent_who_it_is() -> None:
    [item, *_] = await complete("@reviewer", 9, [MentionSource(lambda: PRESENT)])
    attachment = item.attachment
    assert isinstance(attachment, SimpleMessageAttachment)
    assert (attachment.meta or {})[KIND] == "agent"
    assert (attachment.model_representation or "").startswith(
        "@reviewer takes part in this workspace (agent): reads changes."
    )
