"""The root channel: the agents, settings and terminals of the host, and news of its sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

import msgspec
from msgspec.structs import replace

from serai import jsonrpc
from serai.ahp import actions as a, codec, wire
from serai.ahp.channels import is_run
from serai.ahp.notifications import (
    SessionAddedParams,
    SessionRemovedParams,
    SessionSummaryChangedParams,
    SessionSummaryChanges,
)
from serai.ahp.reducers import LiveRoot
from serai.ahp.rules import Judgement, Verdict, rejected
from serai.ahp.types import (
    ROOT,
    ConfigPropertySchema,
    ConfigSchema,
    FreeForm,
    RootConfigState,
    RootState,
    SessionSummary,
)
from serai.host.channels import Channel
from serai.journal.journal import Journal
from serai.journal.sessions import KeptSession

_RECORDS = "serai-root-config"
"""The channel of the records of clients' choices."""
_DEFAULT_AGENT = "defaultAgent"
"""The setting that names the agent of sessions that name none."""
_NEVER_CHANGES = {"resource", "provider", "created_at", "extra"}
_EMPTY: dict[str, Any] = {"activity": "", "changesets": []}


class RootChannel(Channel):
    """The root channel. Changes of summaries are gathered for `delay` seconds before they are published."""

    live: LiveRoot

    def __init__(
        self,
        journal: Journal,
        now: Callable[[], int],
        frame: Callable[[bytes], bytes],
        state: RootState,
        delay: float,
        default_provider: str,
    ) -> None:
        config = _first_config(default_provider)
        super().__init__(journal, now, ROOT, LiveRoot(replace(state, config=config)))
        self._first = config.values
        """The values without a client's choice: those of the settings file."""
        self._frame = frame
        self._delay = delay
        self._changed: dict[str, KeptSession] = {}
        self._told: asyncio.TimerHandle | None = None

    async def restore(self) -> None:
        """Restore the choices of clients after a start, and tell those who followed the channel before."""
        rows = await self.journal.store.rows(_RECORDS, 0)
        chosen: FreeForm = msgspec.json.decode(rows[-1].action) if rows else {}
        values = {name: chosen.get(name, value) for name, value in self._first.items()}
        self.act(a.RootConfigChangedAction(config=values, replace=True))

    @property
    def default_provider(self) -> str:
        """The agent of sessions that name none."""
        return self._values[_DEFAULT_AGENT]

    @property
    def _values(self) -> FreeForm:
        config = self.live.head.config
        return config.values if config else {}

    async def close(self) -> None:
        """Stop telling of summaries."""
        if self._told is not None:
            self._told.cancel()

    def act(self, action: a.StateAction, origin: a.ActionOrigin | None = None, *, kept: bool = True) -> None:
        """Let an action happen. Without `kept` it is numbered and published, and not written to disk."""
        super().act(action, origin, kept=kept)

    def accept(self, action: a.StateAction, origin: a.ActionOrigin) -> None:
        """Let a client's action happen. Its choice holds for the next host, too."""
        before = self._values
        self.act(action, origin)
        if self._values != before:
            # A client that chooses the first value leaves the choice to the settings file again.
            first, values = self._first, self._values
            chosen = {name: value for name, value in values.items() if value != first.get(name)}
            self.journal.record(_RECORDS, msgspec.json.encode(chosen))

    def judge(self, action: a.StateAction, sender: str) -> Judgement:
        """Judge a client's action. The default agent must be one that there is."""
        judgement = super().judge(action, sender)
        if judgement.verdict is Verdict.ACCEPT and isinstance(action, a.RootConfigChangedAction):
            problem = _problem_with_agent(action.config, [agent.provider for agent in self.live.head.agents])
            return rejected("bad_config", problem) if problem else judgement
        return judgement

    def added(self, summary: SessionSummary) -> None:
        """Tell of a new session. Runs of workflows are left out, here and below."""
        if not is_run(summary.resource):
            self._tell("root/sessionAdded", SessionAddedParams(channel=ROOT, summary=replace(summary)))

    def removed(self, uri: str) -> None:
        """Tell that a session is gone."""
        self._changed.pop(uri, None)
        if not is_run(uri):
            self._tell("root/sessionRemoved", SessionRemovedParams(channel=ROOT, session=uri))

    def summary_changed(self, session: KeptSession) -> None:
        """Tell soon of a summary that may have changed: several changes become one notification."""
        if is_run(session.uri):
            return
        self._changed[session.uri] = session
        if self._told is None:
            self._told = asyncio.get_running_loop().call_later(self._delay, self._tell_summaries)

    def is_to_tell_of(self, uri: str) -> bool:
        """Tell whether a change of a session's summary may not have been published yet."""
        return uri in self._changed

    def _tell_summaries(self) -> None:
        self._told = None
        changed, self._changed = self._changed, {}
        for uri, session in changed.items():
            now = replace(session.live.head.summary)
            before, session.told_summary = session.told_summary, now
            if changes := _difference(before, now):
                params = SessionSummaryChangedParams(
                    channel=ROOT, session=uri, changes=SessionSummaryChanges(**changes)
                )
                self._tell("root/sessionSummaryChanged", params)

    def _tell(self, method: str, params: wire.Value) -> None:
        """Send a notification to the followers of the root channel, after all that it reflects."""
        message = self._frame(codec.encode(jsonrpc.Notification(method=method, params=params)))

        def tell(_seq: int) -> None:
            self.journal.subscriptions.deliver([(ROOT, message)])

        self.journal.then(tell)


def _difference(before: SessionSummary, now: SessionSummary) -> dict[str, Any]:
    changes = {
        name: getattr(now, name)
        for name in now.__struct_fields__
        if name not in _NEVER_CHANGES and getattr(now, name) != getattr(before, name)
    }
    # For a field that is gone 0.2 has nothing but `null`, which its types do not foresee. Where an empty
    # value says the same, it is the safer one.
    empty = {name: value for name, value in _EMPTY.items() if name in changes and changes[name] is None}
    return {**changes, **empty}


def _first_config(default_agent: str) -> RootConfigState:
    """Return the settings, with their values as long as no client has chosen others.

    The schema does not list the agents: more are found while the host runs, and no action of the protocol
    changes a schema. They are listed beside it, in the root state.
    """
    known = ConfigPropertySchema(
        type="string",
        title="Default agent",
        description="The agent of new sessions that name none: the provider of one of the host's agents.",
    )
    schema = ConfigSchema(type="object", properties={_DEFAULT_AGENT: known}, required=[_DEFAULT_AGENT])
    return RootConfigState(schema=schema, values={_DEFAULT_AGENT: default_agent})


def _problem_with_agent(changes: FreeForm, agents: Collection[str]) -> str | None:
    """Return why the default agent cannot be the one that a client wants; `None` when it can."""
    wanted = changes.get(_DEFAULT_AGENT)
    if wanted is None or wanted in agents:
        return None
    return f"{_DEFAULT_AGENT!r} must be one of: {', '.join(sorted(agents))}"
