"""What a prompt may hold for an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from serai.acp.capabilities import AgentCapabilities
from serai.acp.updates import Block

__all__ = ["fit_prompt", "text_block"]


def text_block(text: str) -> Block:
    """Text, as a content block."""
    return {"type": "text", "text": text}


def fit_prompt(
    blocks: Sequence[Mapping[str, Any]], capabilities: AgentCapabilities
) -> tuple[list[Block], tuple[str, ...]]:
    """The blocks that an agent can take, and the types of those that it cannot, each once.

    Text and links are for every agent. What is not known here is left to the agent.
    """
    prompt = capabilities.prompt
    offered = {"image": prompt.image, "audio": prompt.audio, "resource": prompt.embedded_context}
    kept: list[Block] = []
    dropped: dict[str, None] = {}
    for block in blocks:
        kind = block.get("type")
        if isinstance(kind, str) and not offered.get(kind, True):
            dropped[kind] = None
        else:
            kept.append(dict(block))
    return kept, tuple(dropped)
