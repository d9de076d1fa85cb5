"""The base of the host: the journal, the clock, the channels, and all else that its parts share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from serai.ahp.types import AgentInfo, RootState
from serai.config.settings import Settings
from serai.host.channels import Channels
from serai.host.clients import Clients
from serai.host.identities import Identities
from serai.host.ledger import Ledger
from serai.host.root import RootChannel
from serai.host.telemetry import HostTelemetry
from serai.journal.journal import Journal
from serai.machine.processes.processes import Processes
from serai.machine.watch.watch import Watches
from serai.redact import Redactor
from serai.store.contract import Store


class HostCore:
    """The base that the parts of a host share. `Host` extends it, and describes the arguments.

    The parts know this class alone. What else they use is given to them one by one.
    """

    def __init__(
        self,
        store: Store,
        frame: Callable[[bytes], bytes],
        agents: list[AgentInfo],
        *,
        settings: Settings,
        default_directory: str | None,
        summary_delay: float,
        now: Callable[[], int],
        new_id: Callable[[], str],
        home: Path,
        redactor: Redactor,
    ) -> None:
        self.settings = settings
        self.default_directory = default_directory
        self.now = now
        self.new_id = new_id
        self.home = home
        self.redactor = redactor
        self.journal = Journal(store, frame)
        root = RootState(agents=agents)
        self.root = RootChannel(self.journal, now, frame, root, summary_delay, settings.default_agent)
        self.ledger = Ledger(self.journal, redactor, now)
        self.identities = Identities(self.ledger)
        self.clients = Clients(self.journal)
        self.channels = Channels(self.journal)
        self.telemetry = HostTelemetry(self.journal, frame, redactor.redact)
        self.processes = Processes(home / "processes")
        self.watches = Watches()
        """The watches on the disk."""
        self.folders: dict[str, tuple[str | None, list[str]]] = {}
        """The working directory and the additional folders of every session. The additional ones are not
        known of a session that has not been in memory since the host started."""
        self._chores: set[asyncio.Task[Any]] = set()
        """Background tasks, such as letting agents go."""

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run something in the background that ends by itself. Closing the host waits for it."""
        self._chores.add(task := asyncio.create_task(work))
        task.add_done_callback(self._chores.discard)
