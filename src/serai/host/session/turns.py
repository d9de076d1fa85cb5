"""The turns of one session: their beginning, their answers, their end, and what waits for that."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, runtime_checkable

from msgspec.structs import replace

from serai.ahp import actions as a, wire
from serai.ahp.extensions import QUEUE_HELD as HELD
from serai.ahp.types import (
    ActiveTurn,
    ErrorInfo,
    MarkdownResponsePart,
    PendingMessage,
    PendingMessageKind,
    SessionLifecycle,
    SystemNotificationResponsePart,
    Turn as AhpTurn,
    UserMessage,
)
from serai.contract import (
    Accepted,
    AgentSession,
    Deferred,
    Delivered,
    DeliveryAnswer,
    DeliveryMode,
    DeliveryRecord,
    DeliveryState,
    Failed,
    MessageReceipt,
)
from serai.errors import AgentClosed, SeraiError, SessionGone
from serai.host.changes.bases import Bases
from serai.host.session.core import SessionCore, error_info, is_paused
from serai.host.session.deliveries import Delivery, Postman, user_message
from serai.host.session.mailbox import Mailbox, Waiting
from serai.host.session.questions import Questions
from serai.host.surroundings.terminals import Terminals
from serai.host.tool_call import ends_of_calls
from serai.host.turn import Turn

__all__ = ["HELD", "MOST_OF_ANSWER", "TurnContinuer", "Turns"]

_log = logging.getLogger(__name__)

_TITLE_LENGTH = 60
MOST_OF_ANSWER = 64 * 1024
"""Longest answer that the record of a delivery keeps, in characters."""
_DEFERRED = "serai.deferred"
"""Name, in a session's `_meta`, of the clients' actions that wait for the end of the turn."""


@runtime_checkable
class TurnContinuer(Protocol):
    """The agent of a session that continues a turn that the end of the host has interrupted.

    Its harness is `TranscriptHarness`.
    """

    async def take_up(self, turn: Turn) -> Sequence[str]:
        """Continue a turn. Returns the ids of the deliveries that began it, or came in meanwhile."""
        ...


class Turns:
    """The turns of a session, from a message to the end of its turn. At most one turn runs at a time."""

    def __init__(
        self,
        core: SessionCore,
        mailbox: Mailbox,
        questions: Questions,
        bases: Bases,
        terminals: Terminals,
        *,
        is_in_process: bool,
        takes_up: bool,
    ) -> None:
        self.mailbox = mailbox
        self.questions = questions
        self._core = core
        self._bases = bases
        self._terminals = terminals
        self._running: Turn | None = None
        self.takes_up = takes_up
        """True when the agent continues a turn that the end of the host has interrupted."""
        self.is_in_process = is_in_process
        """True when the agent runs in the host, and so reads its input from the journal."""
        self.hops = 0
        """Number of messages of agents that led to the running turn, since a person spoke."""
        self._handing: set[Turn] = set()
        """The turns whose messages are on their way to the agent, also after a cancel."""
        self._has_settled = asyncio.Event()
        self._interrupted: str | None = None
        """The reason why the last turn was not completed; `None` when it was, or runs."""

    @property
    def postman(self) -> Postman | None:
        """The relay's side of the session."""
        return self.mailbox.postman

    def turn_for_delivery(self, delivery_id: str) -> Turn:
        """Return the running turn, given the delivery that began it.

        Raises:
            SessionGone: It is over.
        """
        if self._running is None or self._running.delivery_id != delivery_id:
            raise SessionGone("the turn is over")
        return self._running

    # -- beginning -----------------------------------------------------------------------------------------

    def start(
        self, action: a.SessionTurnStartedAction, origin: a.ActionOrigin | None, sender: str = "queue"
    ) -> Turn:
        """Begin a turn. The agent is called once that is committed. Secrets in the message are masked.

        Messages that the relay holds for a person's next message enter with it.
        """
        message, waited = action.user_message, action.queued_message_id
        delivery = self.mailbox.take_same(waited, message) if waited is not None else None
        if delivery is None:
            sender = origin.client_id if origin else sender
            delivery = self.mailbox.enter(message, sender, DeliveryMode.IMMEDIATE)
        others, text = self.postman.take_for_next_message() if origin and self.postman else ([], "")
        if others:
            with_others = replace(delivery.message, text=f"{text}\n\n{delivery.message.text}")
            delivery = delivery._replace(message=with_others)
        turn = self._begin(action, origin, delivery, others, hops=0)
        if others:
            part = SystemNotificationResponsePart(content=text)
            self._core.act(a.SessionResponsePartAction(turn_id=turn.id, part=part))
        return turn

    def enter(
        self, deliveries: Sequence[Delivery], text: str, *, interrupted: str | None = None
    ) -> list[DeliveryRecord]:
        """Begin a turn with messages of the relay. Returns their new records.

        Args:
            deliveries: The messages, in order; the session is idle.
            text: Their text, together.
            interrupted: The turn that was cancelled for them.
        """
        attachments = tuple(one for delivery in deliveries for one in delivery.message.attachments)
        first = deliveries[0]._replace(
            message=replace(deliveries[0].message, text=text, attachments=attachments)
        )
        action = a.SessionTurnStartedAction(
            turn_id=self._core.new_id(), user_message=user_message(first.message)
        )
        for delivery in deliveries:
            self._core.telemetry.entered(delivery.id, delivery.record.mode, delivery.record.reason)
        hops = max(delivery.record.hops for delivery in deliveries)
        extra = {"interrupted": interrupted} if interrupted else {}
        turn = self._begin(action, None, first, deliveries[1:], hops=hops, extra=extra)
        entered = turn.handed | {record.id: record for record in turn.entered}
        return [entered[delivery.id] for delivery in deliveries]

    def _begin(
        self,
        action: a.SessionTurnStartedAction,
        origin: a.ActionOrigin | None,
        delivery: Delivery,
        more: Sequence[Delivery],
        *,
        hops: int,
        extra: dict[str, str] | None = None,
    ) -> Turn:
        core = self._core
        is_first = not core.live.head.turns
        core.telemetry.begins(delivery.id)
        core.act(action, origin, is_masked=True)
        core.clear_activity()
        self._interrupted = None
        self.hold(None)
        self.hops = hops
        if is_first and not core.live.head.summary.title:
            core.act(a.SessionTitleChangedAction(title=_title(action.user_message)))
        core.turn_begins(action, [delivery.id, *(one.id for one in more)])
        turn = self._turn(action.turn_id, delivery.id)
        for record in (delivery.record, *(one.record for one in more)):
            if self.is_in_process:
                # Its input is the journal: what is committed there has got to the agent.
                evidence = {"turnId": action.turn_id, **(extra or {})}
                turn.entered.append(self.mailbox.delivered(record, "journal", **evidence))
            else:
                turn.handed[record.id] = self.mailbox.ledger.hand_over(
                    record, turnId=action.turn_id, **(extra or {})
                )
                self._handing.add(turn)
        self._running = turn
        core.activity_changed()
        core.then(lambda: core.spawn(self._deliver(delivery, turn)))
        return turn

    def _turn(self, turn_id: str, delivery_id: str, parts: int = 0) -> Turn:
        return Turn(
            self._core,
            self.questions,
            self._terminals,
            turn_id,
            delivery_id,
            own=self._own,
            take_steering=self.take_steering,
            parts=parts,
        )

    def take_up(self, running: ActiveTurn) -> None:
        """Hand the turn that ran when the host was stopped back to its agent."""
        self.questions.expect_early()
        self._running = turn = self._turn(running.id, "", len(running.response_parts))
        self._core.activity_changed()
        self._core.then(lambda: self._core.spawn(self._hand_back(turn)))

    async def _hand_back(self, turn: Turn) -> None:
        try:
            agent = await self._core.agent()
            began = await agent.take_up(turn) if isinstance(agent, TurnContinuer) else ()
        except Exception as error:  # noqa: BLE001 - an agent may raise anything, and a turn must end
            self.log_failure("did not take up its turn", error)
            self._end(turn, error_info("interrupted", f"the host was stopped in this turn: {error}"))
            return
        turn.entered += await self.mailbox.records(began)

    async def _deliver(self, delivery: Delivery, turn: Turn) -> None:
        """Hand a message to the agent, and record its receipt."""
        code = "delivery_failed"
        try:
            agent = await self._awake(turn) if turn.is_running else None
            if agent is None or not turn.is_running:
                # Someone cancelled it before the agent was called.
                self._settle(turn, Failed(delivery_id=delivery.id, reason="cancelled"))
                return
            receipt = await agent.receive_message(delivery.message, delivery.context)
        except Exception as error:  # noqa: BLE001 - an agent may raise anything, and a turn must end
            self.log_failure("did not take a message", error)
            code = error.code if isinstance(error, SeraiError) else code
            again = not isinstance(error, SeraiError)
            reason = str(error) or type(error).__name__
            receipt = Failed(delivery_id=delivery.id, reason=reason, retryable=again)
        self._settle(turn, receipt)
        if isinstance(receipt, Failed):
            self._end(turn, error_info(code, receipt.reason))
        elif isinstance(receipt, Deferred):
            self._end(turn, error_info("deferred", receipt.reason or "the agent cannot take it now"))
        elif turn.task is None and isinstance(receipt, Delivered):
            self._end(turn, error_info("no_answer", "the agent took the message and began no answer"))

    async def _awake(self, turn: Turn) -> AgentSession:
        """Return the agent, started while the folder before the turn is recorded.

        An agent that starts with its next turn only has `wake`, which never fails: the turn tells why it does
        not start.
        """
        base = self._core.spawn(self._bases.turn_begins(turn.id))
        try:
            agent = await self._core.agent()
            wake: Callable[[], Awaitable[None]] | None = getattr(agent, "wake", None)
            if wake is not None:
                await wake()
            await asyncio.wait({base})
        finally:
            base.cancel()
        return agent

    def _settle(self, turn: Turn, receipt: MessageReceipt) -> None:
        """Record the receipt of the messages that were handed over with a turn, if they wait for one.

        A message that the agent only accepted is still on its way: it is delivered when the answer begins,
        and has failed if the turn is over before.
        """
        if isinstance(receipt, Accepted) and not turn.is_running:
            receipt = Failed(reason="cancelled")
        handed, turn.handed = turn.handed, {}
        self._handing.discard(turn)
        for record in handed.values():
            own = replace(receipt, delivery_id=record.id, metadata=record.evidence | receipt.metadata)
            settled = self.mailbox.receipt(record, own)
            if isinstance(receipt, Accepted):
                turn.handed[record.id] = settled
                self._handing.add(turn)
            elif isinstance(receipt, Delivered):
                turn.entered.append(settled)
                over = [one for one in self._core.live.head.turns if one.id == turn.id]
                if over and not turn.is_running:  # it has ended before its receipt came
                    self._tell_answers([settled], over[0])
        self._has_settled.set()

    async def handed_over(self) -> None:
        """Wait until the agent has given receipts for the messages that it was handed."""
        while self._running is not None and self._running.handed:
            self._has_settled.clear()
            await self._has_settled.wait()

    async def converse(self, message: UserMessage, sender: str) -> AhpTurn:
        """Begin a turn with an agent's message, and wait for its end. Cancelling cancels the turn.

        Raises:
            SessionGone: Someone took the turn back, or the session is closed.
        """
        message = self._core.redactor.redact_value(message, observed=True)
        action = a.SessionTurnStartedAction(turn_id=self._core.new_id(), user_message=message)
        turn = self.start(action, None, sender)
        turn.end = asyncio.get_running_loop().create_future()
        try:
            return await turn.end
        except asyncio.CancelledError:
            if turn.is_running:
                self.cancel(a.SessionTurnCancelledAction(turn_id=turn.id), None)
            raise

    # -- answering -----------------------------------------------------------------------------------------

    def _own(self, turn: Turn, answer: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the coroutine that answers a turn."""
        if _is_accepted(turn):
            self._settle(turn, Delivered(delivery_id=turn.delivery_id, metadata={"evidence": "answer"}))
        return self._core.spawn(self._run(turn, answer))

    async def _run(self, turn: Turn, answer: Coroutine[Any, Any, None]) -> None:
        span = self._core.telemetry.turn
        try:
            with span.current() if span else contextlib.nullcontext():
                await answer
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            self._end(turn, error_info("agent_error", "the agent cancelled itself"))
        except SeraiError as error:
            log = error.stderr_tail if isinstance(error, AgentClosed) else None
            self._end(turn, error_info(error.code, str(error), log))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an agent may raise anything; a turn must end
            self.log_failure("failed", error)
            self._end(turn, error_info("agent_error", str(error) or type(error).__name__))
        else:
            self._end(turn, None)

    def log_failure(self, what: str, error: BaseException) -> None:
        """Log that an agent raised something; and where, unless it was one of our errors.

        The error's text may quote the session, so it is shown in the session alone.
        """
        is_meant = isinstance(error, SeraiError) and not _log.isEnabledFor(logging.DEBUG)
        where = "" if is_meant else "\n" + "".join(traceback.format_tb(error.__traceback__)).rstrip()
        _log.warning("the agent of %s %s: %s%s", self._core.uri, what, type(error).__name__, where)

    def take_steering(self, message: PendingMessage, evidence: str) -> None:
        """Let the agent have the steering message: it enters the session here."""
        kind = PendingMessageKind.STEERING
        self._core.act(a.SessionPendingMessageRemovedAction(kind=kind, id=message.id))
        if (delivery := self.mailbox.take(Waiting(kind, message.id))) is not None:
            turn = self._running
            more = {"turnId": turn.id} if turn else {}
            if turn is not None and turn.next_call:
                more["toolCallId"] = turn.next_call
            record = self.mailbox.delivered(delivery.record, evidence, **more)
            if turn is not None:
                turn.entered.append(record)
            self.hops = max(self.hops, delivery.record.hops)
            if self.postman is not None and message.id == delivery.id:
                self.postman.steered(delivery.id)

    # -- the relay -----------------------------------------------------------------------------------------

    @property
    def can_steer(self) -> bool:
        """True when a turn runs, and no steering message waits."""
        return self._running is not None and self._core.live.head.steering_message is None

    def steer(self, delivery: Delivery, text: str) -> None:
        """Let a message of the relay wait as the steering message."""
        said = user_message(replace(delivery.message, text=text))
        kind = PendingMessageKind.STEERING.value
        action = a.SessionPendingMessageSetAction(kind=kind, id=delivery.id, user_message=said)
        self._core.act(action, is_masked=True)
        self.mailbox.lend(Waiting(kind, delivery.id), delivery)
        self._core.followed(action)

    def unsteer(self, delivery_id: str) -> None:
        """Take a message of the relay back from the place of the steering message."""
        kind = PendingMessageKind.STEERING.value
        if self.mailbox.take(Waiting(kind, delivery_id)) is not None:
            self._core.act(a.SessionPendingMessageRemovedAction(kind=kind, id=delivery_id))

    def interrupt_for_message(self) -> str | None:
        """Cancel the running turn, for a message that may interrupt. Returns the turn's id."""
        turn = self._core.live.turn
        if turn is not None:
            self.cancel(a.SessionTurnCancelledAction(turn_id=turn.id), None, goes_on=False)
        return turn.id if turn is not None else None

    def _tell_of(self, turn: Turn, turns: list[AhpTurn]) -> None:
        """Tell those who wait for the end of a turn, and record it with the deliveries that entered in it."""
        _tell_end(turn, turns)
        if _is_accepted(turn):
            self._settle(turn, Failed(reason="cancelled"))
        if turns and turns[-1].id == turn.id:
            self._tell_answers(turn.entered, turns[-1])
        if self.postman is not None:
            self.postman.turn_ended()

    def _tell_answers(self, entered: list[DeliveryRecord], turn: AhpTurn) -> None:
        """Record the answer of a turn with the deliveries that entered in it."""
        said = [part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart)]
        text = "\n\n".join(said)[:MOST_OF_ANSWER]
        for record in entered:
            answer = DeliveryAnswer(turn_id=turn.id, state=turn.state, text=text)
            self.mailbox.ledger.put(replace(record, answer=answer))

    # -- ending --------------------------------------------------------------------------------------------

    def _end(self, turn: Turn, error: ErrorInfo | None) -> None:
        if not turn.is_running:
            return  # it was cancelled or truncated in the meantime
        self._end_calls()
        if error is None:
            self._core.act(a.SessionTurnCompleteAction(turn_id=turn.id))
        else:
            self._core.act(a.SessionErrorAction(turn_id=turn.id, error=error))
        self._core.sign_in_needed(None if error is None else error.error_type)
        self._after(None if error is None else "error")

    def cancel(
        self, action: a.SessionTurnCancelledAction, origin: a.ActionOrigin | None, *, goes_on: bool = True
    ) -> None:
        """Cancel the running turn: it is over at once.

        Args:
            action: The action that cancels it.
            origin: The client that dispatched the action.
            goes_on: Whether waiting messages may enter now; else the caller has one to enter first.
        """
        self._end_calls()
        self._core.act(action, origin)
        self._after("cancelled", goes_on=goes_on)

    def _end_calls(self) -> None:
        begun = self._running.begun if self._running is not None else {}
        for action in ends_of_calls(self._core.live, begun):
            self._core.act(action)

    def truncate(self, action: a.SessionTruncatedAction, origin: a.ActionOrigin) -> None:
        """Take turns out of the history, and with them their questions and the title that they gave."""
        core, live = self._core, self._core.live
        turns, running = list(live.head.turns), live.turn
        core.act(action, origin)
        left = live.head.turns
        self._bases.truncated([turn.id for turn in turns[len(left) :]])
        first = turns[0] if turns else running
        is_empty = not left and live.turn is None
        if is_empty and first is not None and live.head.summary.title == _title(first.user_message):
            core.act(a.SessionTitleChangedAction(title=""))  # nobody gave it: the next message does
        if running is not None and live.turn is None:
            self._after("cancelled")
            return
        if not live.head.input_requests:
            core.then(self.questions.let_go())  # who asked outside of a turn hears that it is over
        self._core.followed(action)

    def _after(self, interrupted: str | None, *, goes_on: bool = True) -> None:
        """Stop the agent of a turn that is over, and do what waited for its end."""
        core, turn = self._core, self._let_go()
        expect_no_more = self.questions.let_go()

        def stop() -> None:
            if interrupted == "cancelled" and turn is not None and turn.task is not None:
                turn.task.cancel()
            expect_no_more()

        core.then(stop)
        if turn is not None:
            self._bases.turn_ended(turn.id, turn.task)
            self._tell_of(turn, core.live.head.turns)
        self._interrupted = interrupted
        core.clear_activity()
        self.apply_deferred()
        if interrupted is None:
            self.consume_queue()
        elif core.live.head.queued_messages:
            self.hold(interrupted)
        if self._running is None and goes_on:
            if self.postman is not None:
                self.postman.idle()
            core.activity_changed()

    def _let_go(self) -> Turn | None:
        """Let go of the running turn, if there is one; another may begin."""
        turn, self._running = self._running, None
        if turn is not None:
            turn.is_running = False
        return turn

    def disposed(self) -> None:
        """End, for a session that is disposed of, the running turn and the deliveries on their way."""
        for turn in list(self._handing):
            self._settle(turn, Failed(reason="session_disposed"))
        self._fail("session_disposed", "the session was disposed of while this turn was running")

    def interrupt(self, code: str, why: str) -> None:
        """End the running turn, if there is one, with an error: nobody answers it any more."""
        if (turn_id := self._fail(code, why)) is not None:
            self._bases.turn_ended(turn_id, None)

    def _fail(self, code: str, why: str) -> str | None:
        turn = self._core.live.turn
        if turn is None:
            return None
        self._end_calls()
        self._core.act(a.SessionErrorAction(turn_id=turn.id, error=error_info(code, why)))
        return turn.id

    def close(self) -> None:
        """Let go of what runs. The state stays."""
        if (turn := self._let_go()) is not None:
            _tell_end(turn, [])
        self.questions.let_go()()

    # -- what waits ----------------------------------------------------------------------------------------

    def enqueue(self, message: UserMessage, sender: str) -> None:
        """Queue an agent's message as the next one. It begins a turn if the session is idle.

        After an interrupted turn it waits, like all queued messages, until a person continues.
        """
        self._enqueue(self._core.redactor.redact_value(message, observed=True), sender)

    def _enqueue(self, message: UserMessage, sender: str) -> None:
        core, kind, message_id = self._core, PendingMessageKind.QUEUED.value, self._core.new_id()
        action = a.SessionPendingMessageSetAction(kind=kind, id=message_id, user_message=message)
        core.act(action, is_masked=True)
        self.mailbox.put(Waiting(kind, message_id), message, sender)
        others = [other.id for other in core.live.head.queued_messages or () if other.id != message_id]
        if others:
            core.act(a.SessionQueuedMessagesReorderedAction(order=[message_id, *others]))
        if self._interrupted is None:
            self.consume_queue()
        elif not self.is_held:
            self.hold(self._interrupted)

    def queue_steering(self, message: PendingMessage, sender: str) -> None:
        """Queue, as the next message, a steering message that does not reach the agent in its turn."""
        kind = PendingMessageKind.STEERING.value
        self._core.act(a.SessionPendingMessageRemovedAction(kind=kind, id=message.id))
        self.mailbox.drop(Waiting(kind, message.id), "requeued")
        self._enqueue(message.user_message, sender)  # its secrets are masked, as in the state

    def defer(self, action: a.StateAction, origin: a.ActionOrigin) -> None:
        """Let a client's action wait for the end of the turn, in the state, which survives the host."""
        waiting = {"action": wire.to_json(action), "origin": wire.to_json(origin)}
        self._core.note(_DEFERRED, [*(self._core.noted(_DEFERRED) or ()), waiting], is_masked=True)

    def apply_deferred(self) -> None:
        """Let the actions happen that waited for the end of the turn."""
        deferred = self._core.noted(_DEFERRED) or ()
        self._core.note(_DEFERRED, None)
        for waiting in deferred:
            action = wire.convert(waiting["action"], a.StateAction)
            self._core.act(action, wire.convert(waiting["origin"], a.ActionOrigin))

    def consume_queue(self) -> None:
        """Begin a turn with the first queued message, if the session is idle and the queue is not held."""
        core, head = self._core, self._core.live.head
        is_idle = core.live.turn is None and head.lifecycle == SessionLifecycle.READY
        if not is_idle or not head.queued_messages or self.is_held or is_paused(core.live):
            return
        message = head.queued_messages[0]
        core.act(a.SessionPendingMessageRemovedAction(kind=PendingMessageKind.QUEUED, id=message.id))
        action = a.SessionTurnStartedAction(
            turn_id=core.new_id(), user_message=message.user_message, queued_message_id=message.id
        )
        self.start(action, None)

    @property
    def is_held(self) -> bool:
        """True while the queue waits until someone continues."""
        return HELD in (self._core.live.head.meta or {})

    def hold(self, reason: str | None) -> None:
        """Hold the queue until someone continues, and say why; or (`None`) release it."""
        self._core.note(HELD, reason)


def _is_accepted(turn: Turn) -> bool:
    """Tell whether the agent has accepted the message of a turn, and has not begun to answer it."""
    return any(record.state == DeliveryState.ACCEPTED for record in turn.handed.values())


def _tell_end(turn: Turn, turns: list[AhpTurn]) -> None:
    """Give the end of a turn to the one who waits for it, if it is the last one of these."""
    if turn.end is None or turn.end.done():
        return
    if turns and turns[-1].id == turn.id:
        turn.end.set_result(turns[-1])
    else:
        turn.end.set_exception(SessionGone(f"the turn {turn.id!r} was taken back, or its session is closed"))


def _title(message: UserMessage) -> str:
    """Make a title of the first message."""
    first_line = next((line.strip() for line in message.text.splitlines() if line.strip()), "New session")
    return first_line if len(first_line) <= _TITLE_LENGTH else first_line[: _TITLE_LENGTH - 1].rstrip() + "…"
