"""The turns of one session: how they begin, who answers them, how they end, and what waits for that."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from serai.ahp import actions as a
from serai.ahp.extensions import QUEUE_HELD as HELD
from serai.ahp.types import ErrorInfo, PendingMessage, PendingMessageKind, SessionLifecycle, UserMessage
from serai.ahp.types import Turn as AhpTurn
from serai.contract import AgentSession, Delivered, DeliveryMode, Failed, MessageReceipt
from serai.errors import AgentClosed, SeraiError, SessionGone
from serai.host.session.core import SessionCore, error_info
from serai.host.session.deliveries import DeferredAction, Delivery, Door
from serai.host.session.mailbox import Mailbox, Waiting
from serai.host.session.questions import Questions
from serai.host.tool_call import ends_of_calls
from serai.host.turn import Turn

__all__ = ["HELD", "AroundTurns", "Drowsy", "Turns"]

_log = logging.getLogger(__name__)

_TITLE_LENGTH = 60
_DISPOSED = "session_disposed"
_MOST_DEFERRED, _MOST_DEFERRED_BYTES = 1000, 1024 * 1024
"""When so much waits, no more is taken: all of it happens in one step when the turn ends. The last one that
is taken may be as long as a message can be."""


@runtime_checkable
class Drowsy(Protocol):
    """The agent of a session that is started with its next turn only."""

    async def wake(self) -> None:
        """Start it now: a turn is about to begin. It never fails; why it does not start, the turn tells."""
        ...


@dataclass(frozen=True, slots=True)
class AroundTurns:
    """What turns need of their session, beyond what all its parts share."""

    agent: Callable[[], Awaitable[AgentSession]]
    """The agent; it is started when it is not there."""
    record_base: Callable[[str], Coroutine[Any, Any, None]]
    """Records what there is before a turn, given its id. It never fails."""
    new_turn: Callable[[str], Turn]
    """The agent's side of a turn, given its id."""
    began: Callable[[], None]
    """Is called when a turn runs."""
    ended: Callable[[str, asyncio.Task[None] | None], None]
    """Is called when a turn is over; what answers it may still be stopping."""
    taken_back: Callable[[list[str]], None]
    """Is called when the session has some turns no longer."""
    is_idle: Callable[[], None]
    """Is called when no turn runs any more, and what waited for that has happened."""
    followed: Callable[[a.StateAction], None]
    """Has follow what follows from a client's action, once it is committed."""


class Turns:
    """What happens from a message to the end of its turn. At most one turn runs at a time."""

    def __init__(
        self, core: SessionCore, door: Door, mailbox: Mailbox, questions: Questions, around: AroundTurns
    ) -> None:
        self.door = door
        self.mailbox = mailbox
        self._core = core
        self._questions = questions
        self._around = around
        self._running: dict[str, Turn] = {}
        """The turn that runs, by the delivery that began it."""
        self._handed: set[str] = set()
        """Deliveries that are on their way to the agent, and have no receipt yet."""
        self._ends: dict[str, asyncio.Future[AhpTurn]] = {}
        """Who waits for the end of a turn, by its id."""
        self._deferred: list[DeferredAction] = []
        self._interrupted: str | None = None
        """Why the last turn was not completed; `None` when it was, or runs."""

    def is_running(self, turn: Turn) -> bool:
        """Whether a turn still runs. Another one may have begun meanwhile, even under the same id."""
        return turn in self._running.values()

    def of(self, delivery_id: str) -> Turn:
        """The turn that a delivery began."""
        return self._running[delivery_id]

    # -- beginning -----------------------------------------------------------------------------------------

    def start(
        self, action: a.SessionTurnStartedAction, origin: a.ActionOrigin | None, sender: str = "queue"
    ) -> None:
        """Begin a turn. The agent is called once that is committed. Secrets in the message are masked."""
        core = self._core
        first = not core.live.head.turns
        delivery = self._waiting_for(action, origin) or self.door.enter(
            core.new_id(),
            action.user_message,
            sender=origin.client_id if origin else sender,
            mode=DeliveryMode.IMMEDIATE,
            now=core.now(),
        )
        delivery_id = delivery.context.id
        core.telemetry.begins(delivery_id)
        core.act(action, origin, is_masked=True)
        core.clear_activity()
        self._interrupted = None
        self.hold_no_more()
        self.door.handing(delivery_id, action.turn_id)
        self._handed.add(delivery_id)
        if first and not core.live.head.summary.title:
            core.act(a.SessionTitleChangedAction(title=_title(action.user_message)))
        self._running[delivery_id] = self._around.new_turn(action.turn_id)
        self._around.began()
        core.then(lambda: self._hand_over(delivery))

    def _waiting_for(
        self, action: a.SessionTurnStartedAction, origin: a.ActionOrigin | None
    ) -> Delivery | None:
        """The delivery of the message that waited for this turn, if the turn has its words.

        Whatever else waited under its id leaves the state with it, and is not delivered.
        """
        if action.queued_message_id is None:
            return None
        mailbox, found = self.mailbox, None
        for kind in (PendingMessageKind.QUEUED, PendingMessageKind.STEERING):
            waiting = Waiting(kind, action.queued_message_id)
            is_it = origin is None or self._is_shown(waiting, action.user_message)
            if found is None and is_it:
                found = mailbox.take(waiting)
            else:
                mailbox.drop(waiting, "replaced")
        return found

    def _is_shown(self, waiting: Waiting, message: UserMessage) -> bool:
        """Whether a message is the one that waits there, as clients see it."""
        head = self._core.live.head
        is_steering = waiting.kind == PendingMessageKind.STEERING
        shown = (head.steering_message,) if is_steering else head.queued_messages or ()
        return any(one and one.id == waiting.id and one.user_message == message for one in shown)

    def _hand_over(self, delivery: Delivery) -> None:
        self._core.spawn(self._deliver(delivery))

    async def _deliver(self, delivery: Delivery) -> None:
        """Hand a message to the agent, and keep the receipt."""
        delivery_id = delivery.context.id
        turn = self._running.get(delivery_id)
        code = "delivery_failed"
        try:
            agent = await self._awake(turn) if turn else None
            if agent is None or turn is None or delivery_id not in self._running:
                # Someone cancelled it before the agent was called.
                self._settle(delivery_id, Failed(delivery_id=delivery_id, reason="cancelled"))
                return
            receipt = await agent.receive_message(delivery.message, delivery.context)
        except Exception as error:  # noqa: BLE001 - an agent may raise anything, and a turn must end
            self.log_failure("did not take a message", error)
            code = error.code if isinstance(error, SeraiError) else code
            receipt = Failed(delivery_id=delivery_id, reason=str(error) or type(error).__name__)
        self._settle(delivery_id, receipt)
        if turn is None:
            return
        if isinstance(receipt, Failed):
            self._end(turn, error_info(code, receipt.reason))
        elif turn.task is None:
            self._end(turn, error_info("no_answer", "the agent took the message and began no answer"))

    async def _awake(self, turn: Turn) -> AgentSession:
        """The agent, started while it is recorded what there is before the turn."""
        base = self._core.spawn(self._around.record_base(turn.id))
        try:
            agent = await self._around.agent()
            if isinstance(agent, Drowsy):
                await agent.wake()
            await asyncio.wait({base})
        finally:
            base.cancel()
        return agent

    def _settle(self, delivery_id: str, receipt: MessageReceipt) -> None:
        """A delivery that was handed over has its receipt, unless it has one already."""
        if delivery_id in self._handed:
            self._handed.discard(delivery_id)
            self.door.receipt(delivery_id, receipt)

    async def converse(self, message: UserMessage, sender: str) -> AhpTurn:
        """Begin a turn with what an agent says, and wait for its end. Cancelling cancels the turn.

        Raises:
            SessionGone: Someone took the turn back, or the session is closed.
        """
        live = self._core.live
        message = self._core.redactor.redact_value(message, observed=True)
        turn_id = self._core.new_id()
        end = self._ends[turn_id] = asyncio.get_running_loop().create_future()
        self.start(a.SessionTurnStartedAction(turn_id=turn_id, user_message=message), None, sender)
        try:
            return await end
        except asyncio.CancelledError:
            if live.turn is not None and live.turn.id == turn_id:
                self.cancel(a.SessionTurnCancelledAction(turn_id=turn_id), None)
            raise
        finally:
            self._ends.pop(turn_id, None)

    # -- answering -----------------------------------------------------------------------------------------

    def own(self, turn: Turn, answer: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the coroutine that answers a turn."""
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
        """Log that an agent raised something; and where, unless it has refused, say, and meant to.

        What it says may quote what it was asked. That is told in the session, and here only to those who
        debug, with secrets masked.
        """
        is_debugged = _log.isEnabledFor(logging.DEBUG)
        where = ""
        if is_debugged or not isinstance(error, SeraiError):
            where = "".join(["\n", *traceback.format_tb(error.__traceback__)]).rstrip()
        _log.warning("the agent of %s %s: %s%s", self._core.uri, what, type(error).__name__, where)
        if is_debugged:
            _log.debug("it says: %s", self._core.redactor.redact(str(error)))

    def take_steering(self, message: PendingMessage, evidence: str) -> None:
        """The agent takes the steering message: it enters the session here."""
        kind = PendingMessageKind.STEERING
        self._core.act(a.SessionPendingMessageRemovedAction(kind=kind, id=message.id))
        delivery = self.mailbox.take(Waiting(kind, message.id))
        if delivery is not None:
            delivery_id = delivery.context.id
            receipt = Delivered(delivery_id=delivery_id, metadata={"evidence": evidence})
            self.door.receipt(delivery_id, receipt)

    # -- ending --------------------------------------------------------------------------------------------

    def _end(self, turn: Turn, error: ErrorInfo | None) -> None:
        if not self.is_running(turn):
            return  # it was cancelled or truncated in the meantime
        self._end_calls()
        if error is None:
            self._core.act(a.SessionTurnCompleteAction(turn_id=turn.id))
        else:
            self._core.act(a.SessionErrorAction(turn_id=turn.id, error=error))
        self._core.sign_in_needed(None if error is None else error.error_type)
        self._around.ended(turn.id, turn.task)
        self._after(None if error is None else "error")

    def cancel(self, action: a.SessionTurnCancelledAction, origin: a.ActionOrigin | None) -> None:
        """Someone cancels the turn that runs: it is over at once."""
        self._end_calls()
        self._core.act(action, origin)
        self._cancelled()

    def _end_calls(self) -> None:
        turn = next(iter(self._running.values()), None)
        for action in ends_of_calls(self._core.live, turn.begun if turn is not None else {}):
            self._core.act(action)

    def _cancelled(self) -> None:
        """The turn is no longer in the state: its agent is stopped once that is committed."""
        for turn in self._running.values():
            self._around.ended(turn.id, turn.task)
        stop = self._let_go()
        self._after("cancelled")
        self._core.then(stop)

    def truncate(self, action: a.SessionTruncatedAction, origin: a.ActionOrigin) -> None:
        """Take turns out of the history, and with them what was theirs: a question, the title."""
        core, live = self._core, self._core.live
        turns, running = list(live.head.turns), live.turn
        core.act(action, origin)
        left = live.head.turns
        self._around.taken_back([turn.id for turn in turns[len(left) :]])
        first = turns[0] if turns else running
        is_empty = not left and live.turn is None
        if is_empty and first is not None and live.head.summary.title == _title(first.user_message):
            core.act(a.SessionTitleChangedAction(title=""))  # nobody gave it: the next message does
        if running is not None and live.turn is None:
            self._cancelled()
            return
        if not live.head.input_requests:
            core.then(self._questions.let_go())  # who asked outside of a turn hears that it is over
        self._around.followed(action)

    def _let_go(self) -> Callable[[], None]:
        """The turn is no longer ours; another may begin. Returns what makes its agent stop."""
        turns, self._running = self._running, {}
        expect_no_more = self._questions.let_go()

        def stop() -> None:
            for turn in turns.values():
                if turn.task is not None:
                    turn.task.cancel()
            expect_no_more()

        return stop

    def _after(self, interrupted: str | None) -> None:
        """The turn is over: what waited for its end happens now."""
        self._tell_end()
        self._running.clear()
        self._interrupted = interrupted
        self._core.then(self._questions.let_go())  # whoever waits for an answer hears that none will come
        self._core.clear_activity()
        self.apply_deferred()
        if interrupted is None:
            self.consume_queue()
        elif self._core.live.head.queued_messages:
            self.hold(interrupted)
        self._around.is_idle()

    def _tell_end(self) -> None:
        """Whoever waits for the end of the turn gets it."""
        turns = self._core.live.head.turns
        last = turns[-1] if turns else None
        for turn_id, end in self._ends.items():
            if end.done():
                continue
            if last is not None and last.id == turn_id:
                end.set_result(last)
            else:
                end.set_exception(SessionGone(f"the turn {turn_id!r} was taken back"))

    def disposed(self) -> None:
        """The session is disposed of, and nobody brings it back: what runs, or is handed over, ends here."""
        for delivery_id in list(self._handed):
            self._settle(delivery_id, Failed(delivery_id=delivery_id, reason=_DISPOSED))
        self._fail(_DISPOSED, "the session was disposed of while this turn was running")

    def interrupt(self, code: str, why: str) -> None:
        """The turn that runs, if one does, is over with an error: nobody answers it any more."""
        if (turn_id := self._fail(code, why)) is not None:
            self._around.ended(turn_id, None)

    def _fail(self, code: str, why: str) -> str | None:
        turn = self._core.live.turn
        if turn is None:
            return None
        self._end_calls()
        self._core.act(a.SessionErrorAction(turn_id=turn.id, error=error_info(code, why)))
        return turn.id

    def close(self) -> None:
        """Stop what runs. The state stays."""
        self._let_go()()
        for end in self._ends.values():
            if not end.done():
                end.set_exception(SessionGone(f"{self._core.uri} is closed"))

    # -- what waits ----------------------------------------------------------------------------------------

    def put(self, kind: str, message_id: str, message: UserMessage, sender: str) -> None:
        """A message that is in the state waits for its moment from now on."""
        delivery_id, now = self._core.new_id(), self._core.now()
        self.mailbox.put(Waiting(kind, message_id), message, delivery_id=delivery_id, sender=sender, now=now)

    def enqueue(self, message: UserMessage, sender: str) -> None:
        """Have an agent's message wait as the next one. It begins a turn if the session is idle."""
        self._enqueue(self._core.redactor.redact_value(message, observed=True), sender)

    def _enqueue(self, message: UserMessage, sender: str) -> None:
        core, kind, message_id = self._core, PendingMessageKind.QUEUED.value, self._core.new_id()
        action = a.SessionPendingMessageSetAction(kind=kind, id=message_id, user_message=message)
        core.act(action, is_masked=True)
        self.put(kind, message_id, message, sender)
        others = [other.id for other in core.live.head.queued_messages or () if other.id != message_id]
        if others:
            core.act(a.SessionQueuedMessagesReorderedAction(order=[message_id, *others]))
        self.go_on()

    def queue_steering(self, message: PendingMessage, sender: str) -> None:
        """A steering message does not reach the agent in its turn: it is the next one."""
        kind = PendingMessageKind.STEERING.value
        self._core.act(a.SessionPendingMessageRemovedAction(kind=kind, id=message.id))
        self.mailbox.drop(Waiting(kind, message.id), "requeued")
        self._enqueue(message.user_message, sender)  # its secrets are masked, as in the state

    @property
    def is_crowded(self) -> bool:
        """Whether so much waits for the end of the turn by now that no more is taken."""
        size = sum(deferred.size for deferred in self._deferred)
        return len(self._deferred) >= _MOST_DEFERRED or size >= _MOST_DEFERRED_BYTES

    def defer(self, deferred: DeferredAction) -> None:
        """An action waits for the end of the turn."""
        self._deferred.append(deferred)

    def apply_deferred(self) -> None:
        """What waited for the end of the turn happens."""
        deferred, self._deferred = self._deferred, []
        for waiting in deferred:
            self._core.act(waiting.action, waiting.origin)
            self.door.applied(waiting.id)

    def consume_queue(self) -> None:
        """Begin a turn with the first message that waits, if the session is idle and they are not held."""
        core, head = self._core, self._core.live.head
        if core.live.turn is not None or not head.queued_messages or HELD in (head.meta or {}):
            return
        if head.lifecycle != SessionLifecycle.READY:
            return
        message = head.queued_messages[0]
        core.act(a.SessionPendingMessageRemovedAction(kind=PendingMessageKind.QUEUED, id=message.id))
        action = a.SessionTurnStartedAction(
            turn_id=core.new_id(), user_message=message.user_message, queued_message_id=message.id
        )
        self.start(action, None)

    def release_queue(self) -> None:
        """Someone queued a message: the queue goes on, also one that was held, unless a turn runs.

        How that one ends decides then.
        """
        self.hold_no_more()
        self.consume_queue()

    def go_on(self) -> None:
        """The agent queued a message, and no person: that waits as if it had when the last turn ended."""
        if self._interrupted is None:
            self.consume_queue()
        elif HELD not in (self._core.live.head.meta or {}):
            self.hold(self._interrupted)

    def hold(self, reason: str) -> None:
        """The queue waits until someone goes on, and says why."""
        self._core.note(HELD, reason)

    def hold_no_more(self) -> None:
        """The queue waits for no one any more."""
        self._core.note(HELD, None)


def _title(message: UserMessage) -> str:
    """A title from what was said first."""
    first_line = next((line.strip() for line in message.text.splitlines() if line.strip()), "New session")
    return first_line if len(first_line) <= _TITLE_LENGTH else first_line[: _TITLE_LENGTH - 1].rstrip() + "…"
