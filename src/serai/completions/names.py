"""Completions by name: agents, people and rooms of the workspace after `@`, skills and prompts after `/`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from serai.ahp.rules.session import COMPLETION
from serai.ahp.types import MessageResourceAttachment, SimpleMessageAttachment
from serai.completions.completion import KIND, Candidate, folded

_MOST_MENTIONS = 10
"""Most agents, people and rooms among the offers: they come before the files, which need places, too."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A participant or room that a message can be sent to."""

    address: str
    """`@handle` or `#room`."""
    kind: str
    """`agent`, `human`, `service` or `room`."""
    description: str = ""


def mentions(query: str, present: Iterable[Mention]) -> list[Candidate]:
    """Return the agents, people and rooms that match the text behind `@`, best first; agents before rooms."""
    small = folded(query).removeprefix("#")
    placed = [
        (place, one.kind == "room", one.address, one)
        for one in present
        if (place := _place(one.address[1:], small)) is not None
        and (one.kind == "room" or not query.startswith("#"))
    ]
    best = sorted(placed, key=lambda each: each[:3])[:_MOST_MENTIONS]
    return [_offered_mention(one) for *_, one in best]


def _place(name: str, query: str, description: str = "") -> int | None:
    """Rank a match: at the beginning of the name, elsewhere in it, or in the description."""
    name = folded(name)
    if name.startswith(query):
        return 0
    if query in name:
        return 1
    return 2 if query in folded(description) else None


def _offered_mention(mention: Mention) -> Candidate:
    what = f"{mention.address} is a {mention.kind} of this workspace"
    if mention.kind != "room":
        what = f"{mention.address} takes part in this workspace ({mention.kind})"
    about = f": {mention.description}" if mention.description else ""
    said = f"{what}{about}. Messages reach it by the tool send_message, where you have it."
    attachment = _simple(mention.address, mention.kind, mention.description, said)
    return Candidate(mention.address, attachment, text=mention.address)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A skill or a prompt that can be called by its name."""

    name: str
    description: str = ""
    uri: str | None = None
    """File with the text; without one, the model gets only the name and description."""
    kind: str = "prompt"
    """`prompt` or `skill`."""


def prompts(query: str, known: Iterable[Prompt]) -> list[Candidate]:
    """Return the skills and prompts that match the text behind `/`, best first."""
    small = folded(query)
    placed = [
        (place, one.name, one)
        for one in known
        if (place := _place(one.name, small, one.description)) is not None
    ]
    return [_offered_prompt(one) for *_, one in sorted(placed, key=lambda each: each[:2])]


def _offered_prompt(prompt: Prompt) -> Candidate:
    if prompt.uri is None:
        said = f"/{prompt.name}: {prompt.description}" if prompt.description else f"/{prompt.name}"
        return Candidate(prompt.name, _simple(prompt.name, prompt.kind, prompt.description, said))
    attachment = MessageResourceAttachment(
        uri=prompt.uri,
        label=prompt.name,
        display_kind="document",
        meta=_meta(prompt.kind, prompt.description),
        content_type="text/markdown",
    )
    return Candidate(prompt.name, attachment)


def _simple(label: str, kind: str, description: str, said: str) -> SimpleMessageAttachment:
    meta = {**_meta(kind, description), COMPLETION: True}
    return SimpleMessageAttachment(label=label, meta=meta, model_representation=said)


def _meta(kind: str, description: str) -> dict[str, Any]:
    return {KIND: kind, "serai.description": description}
