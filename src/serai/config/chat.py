"""The settings of `[chat]`: what holds for model sessions whose agent does not say otherwise."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from serai.session.agent_file import FsScopeTier, OnExceed


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model, the reach and the budget of sessions that name none."""

    default_model: str = ""
    """`NAME:ID`, for agents without a model, and for sessions without an agent."""
    fs_scope: FsScopeTier = FsScopeTier.SANDBOXED
    allowed_commands: tuple[str, ...] = ()
    """What `run_command` runs: words, of which a last `*` stands for any more."""
    max_messages: Annotated[int, Meta(ge=0)] = 0
    """How many messages of a conversation a model sees, the newest; 0 stands for all."""
    max_cost_microcents: Annotated[int, Meta(ge=0)] | None = None
    """What a session may cost. One microcent is 1e-8 dollar; without it there is no bound."""
    on_exceed: OnExceed = OnExceed.STOP
