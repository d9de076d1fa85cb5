"""Prompt completions: skills and prompts, after `/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from serai.ahp.rules.session import COMPLETION
from serai.ahp.types import MessageResourceAttachment, SimpleMessageAttachment
from serai.completions.completion import KIND, Candidate, folded


@dataclass(frozen=True, slots=True)
class Prompt:
    """A skill or a prompt that can be called by its name."""

    name: str
    description: str = ""
    uri: str | None = None
    """The file that says what to do; without one, the name and description are all that the model gets."""
    kind: str = "prompt"
    """`prompt` or `skill`."""


class PromptSource:
    """Skills and prompts, after `/`.

    Args:
        prompts: Gives those that there are now; it is asked each time.
    """

    trigger = "/"

    def __init__(self, prompts: Callable[[], Sequence[Prompt]]) -> None:
        self._prompts = prompts

    async def candidates(self, query: str) -> Sequence[Candidate]:
        """Those whose name begins with the query, then those that have it elsewhere or in the description."""
        small = folded(query)
        placed = [
            (place, prompt) for prompt in self._prompts() if (place := _place(prompt, small)) is not None
        ]
        placed.sort(key=lambda pair: (pair[0], pair[1].name))
        return [_offered(prompt) for _, prompt in placed]


def _place(prompt: Prompt, query: str) -> int | None:
    name = folded(prompt.name)
    if name.startswith(query):
        return 0
    if query in name:
        return 1
    return 2 if query in folded(prompt.description) else None


def _offered(prompt: Prompt) -> Candidate:
    meta: dict[str, Any] = {KIND: prompt.kind, "serai.description": prompt.description}
    if prompt.uri is None:
        said = f"/{prompt.name}: {prompt.description}" if prompt.description else f"/{prompt.name}"
        meta[COMPLETION] = True
        return Candidate(
            prompt.name, SimpleMessageAttachment(label=prompt.name, meta=meta, model_representation=said)
        )
    attachment = MessageResourceAttachment(
        uri=prompt.uri, label=prompt.name, display_kind="document", meta=meta, content_type="text/markdown"
    )
    return Candidate(prompt.name, attachment)
