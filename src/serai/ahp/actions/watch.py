"""The action of the resource-watch channel."""

from __future__ import annotations

from typing import TypeAlias

from serai.ahp.actions.base import Action
from serai.ahp.types import ResourceChanges

__all__ = ["ResourceWatchAction", "ResourceWatchChangedAction"]


class ResourceWatchChangedAction(Action, tag="resourceWatch/changed"):
    """Resources have changed. It passes through: a watch's state is what it watches."""

    changes: ResourceChanges


ResourceWatchAction: TypeAlias = ResourceWatchChangedAction
