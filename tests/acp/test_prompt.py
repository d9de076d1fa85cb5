"""What an agent can take of a prompt, and what its answer says."""

from __future__ import annotations

from typing import Any

import pytest

from serai.acp import AgentCapabilities, Finished, fit_prompt, text_block

TEXT = text_block("hi")
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "", "mimeType": "audio/wav"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///a", "text": ""}}
NEWER = {"type": "hologram"}
ALL: list[dict[str, Any]] = [TEXT, LINK, IMAGE, AUDIO, RESOURCE, IMAGE, NEWER]


def able(**prompt: bool) -> AgentCapabilities:
    return AgentCapabilities.of({"agentCapabilities": {"promptCapabilities": prompt}})


@pytest.mark.parametrize(
    ("prompt", "dropped"),
    [
        ({"image": True}, ("audio", "resource")),
        ({"audio": True}, ("image", "resource")),
        ({"embeddedContext": True}, ("image", "audio")),
    ],
)
def test_only_what_is_not_offered_is_left_out(prompt: dict[str, bool], dropped: tuple[str, ...]) -> None:
    assert fit_prompt(ALL, able(**prompt))[1] == dropped


def test_numbers_of_tokens_that_cannot_be_are_left_out() -> None:
    told = {"inputTokens": 10**400, "outputTokens": -5, "totalTokens": 1e300, "cachedReadTokens": 7, "x": "y"}
    finished = Finished.of({"stopReason": "end_turn", "usage": told})
    assert finished.usage == {"cachedReadTokens": 7, "x": "y"}
    assert finished.raw["usage"] == told
    assert Finished.of({"usage": {"inputTokens": -1}}).usage is None
