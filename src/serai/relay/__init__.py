"""The relay: messages between agents, people and programs, and what becomes of each.

`workspace` opens it on a host and answers its calls. docs/architecture.md tells how the rest hangs together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace


class WorkspacePart:
    """A part of a workspace, with what most parts use.

    Args:
        workspace: The relay. A part that is being made finds those parts that were made before.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._host = workspace.host
        self._journal = workspace.host.journal
        self._ledger = workspace.ledger
        self._store = workspace.ledger.store
        self._identities = workspace.identities
        self._policy = workspace.policy
        self._redactor = workspace.host.redactor
        self._new_id = workspace.new_id
