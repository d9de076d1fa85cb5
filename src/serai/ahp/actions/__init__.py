"""The actions of all channels, and the envelope with their channel, sender and number."""

from __future__ import annotations

from typing import TypeAlias

from serai.ahp.actions.channels import *
from serai.ahp.actions.channels import ChangesetAction, ResourceWatchAction, RootAction, TerminalAction
from serai.ahp.actions.session import *
from serai.ahp.actions.session import SessionAction
from serai.ahp.types import URI, Count
from serai.ahp.wire import UnknownType, Value

StateAction: TypeAlias = (
    RootAction | SessionAction | TerminalAction | ChangesetAction | ResourceWatchAction | UnknownType
)
"""Any action of any channel. One that this version does not know is kept and changes nothing."""


class ActionOrigin(Value):
    """The client that dispatched an action, and its own number for it."""

    client_id: str
    client_seq: Count


class ActionEnvelope(Value):
    """An action with its number. With a `rejection_reason` it was refused and changes nothing."""

    channel: URI
    action: StateAction
    server_seq: Count
    origin: ActionOrigin | None = None
    rejection_reason: str | None = None
