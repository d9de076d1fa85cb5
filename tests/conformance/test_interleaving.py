"""Clients subscribe, dispatch, drop, lag and reconnect in any order; all converge to the host's state."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any, TypeAlias
from unittest import mock

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from conformance.client import NOW, timeless
from conformance.memory import Wire
from serai.ahp import actions as a, wire
from serai.ahp.client import ClientState
from serai.ahp.codec import REQUESTS
from serai.ahp.types import (
    ROOT,
    ModelSelection,
    SessionActiveClient,
    SessionState,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    UserMessage,
)
from serai.config.settings import Settings
from serai.harness.demo import DemoHarness
from serai.host.host import Host
from serai.serve.frames import text_frame
from serai.store.contract import Batch
from serai.store.memory import MemoryStore
from serai.store.sqlite.writer import Tuning

SESSIONS = ["ahp-session:/a", "ahp-session:/b"]
CLIENTS = ["one", "two", "three"]
TEXTS = ["write 200", "think; write 50", "work 0.01 every 1", "tool ls", "ask text", "write 30; fail"]


class SlowStore(MemoryStore):
    """Takes a few turns of the event loop to write."""

    def __init__(self) -> None:
        super().__init__(Tuning(block=50))
        self.chance = random.Random(0)

    def append(self, batch: Batch) -> asyncio.Future[int]:
        return asyncio.ensure_future(self._append_slowly(batch))

    async def _append_slowly(self, batch: Batch) -> int:
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)
        first = await super().append(batch)
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)
        return first


class Guest:
    """A client with its view of the host, which reads when it is told to."""

    def __init__(self, name: str) -> None:
        self.state = ClientState(name)
        self.wire: Wire | None = None
        self.is_known = False
        self.lags = False
        """Whether it leaves what arrives unread."""
        self._asked: dict[int, tuple[str, str]] = {}

    def connect(self, host: Host) -> None:
        self.wire = Wire(host)
        self._asked.clear()
        if self.is_known:
            self.ask("reconnect", ROOT, wire.to_json(self.state.reconnect()))
        else:
            self.ask("initialize", ROOT, wire.to_json(self.state.initialize(["0.2.0"], [ROOT, SESSIONS[0]])))

    def ask(self, method: str, channel: str, params: dict[str, Any]) -> None:
        assert self.wire is not None
        fields = {name: value for name, value in params.items() if name != "channel" and value is not None}
        self._asked[self.wire.request(method, channel, **fields)] = method, channel

    @property
    def is_here(self) -> bool:
        """Whether it is connected, and was answered."""
        return self.wire is not None and self.is_known

    def waits_for(self, method: str, channel: str) -> bool:
        """Whether it has asked this and was not answered. Answers to two such requests look alike."""
        return (method, channel) in self._asked.values()

    def tell(self, method: str, params: dict[str, Any]) -> None:
        if self.wire is not None:
            self.wire.notify(method, **params)

    def dispatch(self, uri: str, action: a.StateAction) -> None:
        if self.is_here:
            self.tell("dispatchAction", wire.to_json(self.state.dispatch(uri, action)))

    def drop(self) -> None:
        if self.wire is not None:
            self.wire.drop()
            self.wire = None

    def read(self, count: int) -> None:
        """Read so many messages of those that have arrived."""
        while count > 0 and self.wire is not None and self.wire.link.inbox:
            count -= 1
            self._take(self.wire.link.inbox.popleft())

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("method") == "action":
            self.state.receive(wire.convert(message["params"], a.ActionEnvelope), NOW)
        elif "id" in message:
            method, channel = self._asked.pop(message["id"])
            if "error" in message:
                # A session may be created a second time, or not be there any more.
                assert method in {"createSession", "subscribe"}, message
                self.state.unsubscribe(channel)
            elif message["result"] is not None:
                self._answered(method, channel, wire.convert(message["result"], _RESULTS[method]))

    def _answered(self, method: str, channel: str, result: Any) -> None:
        if method == "initialize":
            self.state.initialized(result)
            self.is_known = True
        elif method == "subscribe":
            self.state.subscribed(channel, result, NOW)
        elif method == "reconnect":
            self.state.reconnected(result, NOW)
            for again in self.state.pending:
                self.tell("dispatchAction", wire.to_json(again))


_RESULTS = {name: method.result for name, method in REQUESTS.items()}


# -- what clients do, given what they see ------------------------------------------------------------------


def _stop(state: SessionState, _new: str, _name: str) -> list[a.StateAction]:
    return [a.SessionTurnCancelledAction(turn_id=state.active_turn.id)] if state.active_turn else []


def _truncate(state: SessionState, _new: str, _name: str) -> list[a.StateAction]:
    middle = state.turns[len(state.turns) // 2].id if state.turns else None
    return [a.SessionTruncatedAction(turn_id=middle)]


def _answer(state: SessionState, _new: str, _name: str) -> list[a.StateAction]:
    """Yes to every tool that waits, and no to every question."""
    made: list[a.StateAction] = [
        a.SessionInputCompletedAction(request_id=request.id, response="decline")
        for request in state.input_requests or ()
    ]
    turn = state.active_turn
    for part in turn.response_parts if turn else ():
        call = part.tool_call if isinstance(part, ToolCallResponsePart) else None
        if isinstance(call, ToolCallPendingConfirmationState) and turn:
            made.append(
                a.SessionToolCallConfirmedAction(
                    turn_id=turn.id, tool_call_id=call.tool_call_id, approved=True, confirmed="user-action"
                )
            )
    return made


def _put(kind: str) -> Act:
    def put(_state: SessionState, new: str, _name: str) -> list[a.StateAction]:
        message = UserMessage(text="write 20")
        return [a.SessionPendingMessageSetAction(kind=kind, id=new, user_message=message)]

    return put


def _lend(state: SessionState, _new: str, name: str) -> list[a.StateAction]:
    mine = None if state.active_client else SessionActiveClient(client_id=name, tools=[])
    return [a.SessionActiveClientChangedAction(active_client=mine)]


Act: TypeAlias = Callable[[SessionState, str, str], list[a.StateAction]]

ACTS: dict[str, Act] = {
    "stop": _stop,
    "truncate": _truncate,
    "answer": _answer,
    "queue": _put("queued"),
    "steer": _put("steering"),
    "lend": _lend,
    "rename": lambda _state, new, _name: [a.SessionTitleChangedAction(title=new)],
    "choose": lambda _state, new, _name: [a.SessionModelChangedAction(model=ModelSelection(id=new))],
}

names = st.sampled_from(CLIENTS)
sessions = st.sampled_from(SESSIONS)
turns = st.integers(0, 15)


class Interleaving(RuleBasedStateMachine):
    """One host, three clients, two sessions."""

    def __init__(self) -> None:
        super().__init__()
        # Without threads the order of things depends on nothing but the rules.
        self.threads = mock.patch("asyncio.to_thread", _at_once)
        self.threads.start()
        self.runner = asyncio.Runner()
        self.store = SlowStore()
        self.guests = {name: Guest(name) for name in CLIENTS}
        self.count = 0
        self.host = self.runner.run(self._open())

    async def _open(self) -> Host:
        host = Host(
            self.store,
            [DemoHarness(pace="instant")],
            text_frame,
            settings=Settings(client_grace_seconds=0.001, idle_memory_bytes=2000),
            summary_delay=0.001,
        )
        await host.open()
        return host

    def _run(self, steps: int, what: Callable[[], Any] = lambda: None) -> None:
        """Do something; then let the event loop turn, and those who do not lag read."""

        async def go() -> None:
            what()
            await _step(steps)
            for guest in self.guests.values():
                if not guest.lags:
                    guest.read(10_000)

        self.runner.run(go())

    def _new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    # -- what may happen -----------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        """All are there, and something is going on."""
        for guest in self.guests.values():
            self._run(40, lambda guest=guest: guest.connect(self.host))
        self._run(40, lambda: [self.guests["one"].ask("createSession", uri, {}) for uri in SESSIONS])
        for guest in self.guests.values():
            self._run(20, lambda guest=guest: [self._subscribe(guest, uri) for uri in SESSIONS])
        assert all(len(guest.state.subscriptions) == 3 for guest in self.guests.values())
        self._run(9, lambda: self._say(self.guests["two"], SESSIONS[0], "write 300"))

    @rule(name=names, what=st.sampled_from(["drop", "blink", "blink", "lag", "read"]), steps=turns)
    def connect(self, name: str, what: str, steps: int) -> None:
        """A connection comes, goes, or is not read for a while."""
        guest = self.guests[name]

        def do() -> None:
            if guest.wire is None:
                guest.connect(self.host)
            elif what in {"drop", "blink"}:
                guest.drop()
                if what == "blink":
                    guest.connect(self.host)
            else:
                guest.lags = what == "lag"

        self._run(steps, do)

    @rule(name=names, session=sessions, steps=turns)
    def follow(self, name: str, session: str, steps: int) -> None:
        """A channel is followed, or no longer."""
        guest = self.guests[name]
        if not guest.is_here or guest.waits_for("subscribe", session):
            return
        if session in guest.state.subscriptions:
            assert guest.wire is not None
            params = wire.to_json(guest.state.unsubscribe(session))
            self._run(steps, lambda: guest.tell("unsubscribe", params))
        else:
            self._run(steps, lambda: self._subscribe(guest, session))

    def _subscribe(self, guest: Guest, session: str) -> None:
        if guest.is_here:
            guest.ask("subscribe", session, wire.to_json(guest.state.subscribe(session)))

    @rule(name=names, session=sessions, text=st.sampled_from(TEXTS), steps=turns)
    def say(self, name: str, session: str, text: str, steps: int) -> None:
        self._run(steps, lambda: self._say(self.guests[name], session, text))

    def _say(self, guest: Guest, session: str, text: str) -> None:
        guest.dispatch(
            session,
            a.SessionTurnStartedAction(turn_id=self._new("t"), user_message=UserMessage(text=text)),
        )

    @rule(name=names, session=sessions, what=st.sampled_from([*ACTS]), steps=turns)
    def act(self, name: str, session: str, what: str, steps: int) -> None:
        """Something else is dispatched, as far as it makes sense to who dispatches it."""
        guest = self.guests[name]
        state = guest.state.state(session, NOW) if guest.is_here else None
        if isinstance(state, SessionState):
            made = ACTS[what](state, self._new("m"), name)
            self._run(steps, lambda: [guest.dispatch(session, action) for action in made])

    @rule(steps=st.integers(1, 60))
    def run_on(self, steps: int) -> None:
        self._run(steps)

    @rule(when=st.integers(0, 3))
    def kill(self, when: int) -> None:
        """Now and then the host is killed, and starts again on what was committed."""
        if when == 0:
            self.runner.run(self._kill())

    async def _kill(self) -> None:
        for guest in self.guests.values():
            guest.drop()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        self.host.journal.ended.cancel()
        await asyncio.gather(self.host.journal.ended, return_exceptions=True)
        for session in self.host.sessions.in_memory():
            await session.close()
        if self.host.root._told is not None:
            self.host.root._told.cancel()
        self.store.crash()
        self.host = await self._open()
        for guest in self.guests.values():
            guest.connect(self.host)

    # -- the end -------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            self.runner.run(self._converge())
        finally:
            self.runner.close()
            self.threads.stop()

    async def _converge(self) -> None:
        async with asyncio.timeout(30):
            for guest in self.guests.values():
                if guest.wire is None:
                    guest.connect(self.host)
            await self._settle()
            for session in self.host.sessions.in_memory():
                if session.live.turn is not None:
                    action = a.SessionTurnCancelledAction(turn_id=session.live.turn.id)
                    origin = a.ActionOrigin(client_id="the end", client_seq=0)
                    session.dispatch(action, origin, self.guests["one"].wire.peer)  # type: ignore[union-attr]
            await self._settle()
        for guest in self.guests.values():
            self._compare(guest)
        for guest in self.guests.values():
            guest.drop()
        await self._settle()
        await self.host.close()

    async def _settle(self) -> None:
        """Until nobody has anything more to say."""
        quiet = 0
        while quiet < 3:
            await self.host.journal.committed()
            await _step(20)
            await asyncio.sleep(0.002)  # summaries are gathered for so long
            unread = any(guest.wire is not None and guest.wire.link.inbox for guest in self.guests.values())
            in_memory = self.host.sessions.in_memory()
            busy = any(session.tasks and not _waits(session) for session in in_memory)
            for guest in self.guests.values():
                guest.read(10_000)
            quiet = 0 if unread or busy else quiet + 1

    def _compare(self, guest: Guest) -> None:
        assert guest.state.pending == []
        for uri in guest.state.subscriptions:
            known = guest.state.confirmed(uri)
            assert known is not None
            if uri == ROOT:
                assert timeless(known) == timeless(self.host.root.live.snapshot())
                continue
            session = self.host.sessions.get(uri)
            assert session is not None, "a session that someone follows is in memory"
            assert timeless(known) == timeless(session.live.snapshot())


def _waits(session: Any) -> bool:
    """Whether its turn waits for someone, who does not come."""
    return bool(session.questions._futures)


async def _at_once(what: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    return what(*arguments, **more)


async def _step(count: int) -> None:
    """Let the event loop turn so often."""
    for _ in range(count):
        await asyncio.sleep(0)


Interleaving.TestCase.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=40)
TestInterleaving = Interleaving.TestCase
