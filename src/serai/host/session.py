"""One session: what clients dispatch goes in, what its agent does comes out, and turns begin and end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.rules import Judgement, Verdict, judge, rejected
from serai.ahp.types import (
    ErrorInfo,
    PendingMessage,
    PendingMessageKind,
    SessionInputRequest,
    SessionInputResponseKind,
    SessionLifecycle,
    ToolCallError,
    ToolCallPendingConfirmationState,
    ToolCallResult,
    ToolCallRunningState,
    UserMessage,
)
from serai.ahp.types import Turn as AhpTurn
from serai.contract import AgentSession, Delivered, DeliveryMode, Failed, refusal
from serai.errors import SeraiError, SessionFailed, SessionGone
from serai.host.changes.changing import Changing
from serai.host.content import moved_out
from serai.host.customizing.customizations import SessionCustomizations
from serai.host.deliveries import Deferred, Delivery, Door, Unsettled
from serai.host.expecting import Answers, Expecting
from serai.host.mailbox import Mailbox, Waiting
from serai.host.masking import Masking
from serai.host.observing import Observing
from serai.host.turn import Turn
from serai.journal.sessions import KeptSession
from serai.journal.subscriptions import Subscriber

if TYPE_CHECKING:
    from serai.host.host import Host
    from serai.host.settings import HostSettings
    from serai.host.surroundings.terminals import HostTerminal

__all__ = ["Session"]

_log = logging.getLogger(__name__)

_TITLE_LENGTH = 60
HELD = "serai.queueHeld"
"""In a session's `_meta`: why its queue waits until someone goes on."""

_TOOL_OUTPUT = (a.SessionToolCallCompleteAction, a.SessionToolCallContentChangedAction)
"""What a tool said, also one that a client ran: it is observed, not typed."""


class Session:
    """A session on this host. Its turn, if one runs, is a task that it owns."""

    def __init__(self, host: Host, kept: KeptSession, settings: HostSettings) -> None:
        self.host = host
        self.settings = settings
        """How this session behaves: the host's settings, and those of its project."""
        self.journal = host.journal
        self.kept = kept
        self.uri = kept.uri
        summary = kept.live.head.summary
        self.observing = Observing(host.telemetry.activities, kept.uri, summary)
        self.door = Door(host.journal, kept.uri, summary.provider, host.redactor, self.observing)
        self.mailbox = Mailbox(self.door)
        self.told_summary = replace(kept.live.head.summary)
        """The summary as those who follow the root channel know it."""
        self._masking = Masking(host.redactor)
        self._agent: AgentSession | None = None
        self._turns: dict[str, Turn] = {}
        """The turn that runs, by the delivery that began it."""
        self.expecting = Expecting()
        self._ends: dict[str, asyncio.Future[AhpTurn]] = {}
        """Who waits for the end of a turn, by its id."""
        self._begun = asyncio.Event()
        self._deferred: list[Deferred] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._awaited = 0  # what is to happen here once something is committed
        self._closed = False
        self.customizations = SessionCustomizations(self, self._spawn)
        self.changing = Changing(self)

    @property
    def live(self) -> LiveSession:
        """The state, to look at."""
        return self.kept.live

    @property
    def is_busy(self) -> bool:
        """Whether something runs in it, or is about to, or a client lends it tools: it stays in memory."""
        head = self.live.head
        waits = head.lifecycle == SessionLifecycle.CREATING or head.active_client is not None or self.mailbox
        runs = self.live.turn is not None or self._tasks or self.changing.is_busy
        return bool(waits or runs or self._awaited)

    # -- actions -------------------------------------------------------------------------------------------

    def act(self, action: a.StateAction, origin: a.ActionOrigin | None = None) -> None:
        """Let an action happen, with secrets masked and large content moved out of it."""
        observed = origin is None or isinstance(action, _TOOL_OUTPUT)
        for masked in self._masking.masked(action, observed=observed):
            light, blobs = moved_out(masked, self.uri)
            if blobs:
                self.journal.side.blobs.extend(blobs)
            self.kept.apply(light, self.host.now())
            self.observing.happened(light)
            # What was held back before this action is the agent's, whoever dispatched the action.
            whose = origin if masked.__class__ is action.__class__ else None
            self.journal.append(self.uri, light, origin=whose, session=self.kept)
        self.host.root.summary_changed(self)

    def act_in_turn(self, turn: Turn, action: a.StateAction) -> None:
        """Let an action of the agent happen, unless its turn is over: someone may have cancelled it."""
        if self.is_running(turn):
            self.act(action)

    def is_running(self, turn: Turn) -> bool:
        """Whether a turn still runs. Another one may have begun meanwhile, even under the same id."""
        return turn in self._turns.values()

    def dispatch(self, action: a.StateAction, origin: a.ActionOrigin, sender: Subscriber) -> None:
        """Take an action from a client: it happens, waits, or goes back with the reason."""
        if self.customizations.holds_up(action, origin, sender):
            return
        judgement = self._refused(action) or judge(self.live, action, origin.client_id)
        match judgement.verdict:
            case Verdict.REJECT:
                self.journal.reject(self.uri, action, origin, judgement.reason or "rejected", sender)
            case Verdict.DEFER:
                self._deferred.append(self.door.defer(self.host.new_id(), action, origin))
            case Verdict.IGNORE:
                pass
            case Verdict.ACCEPT:
                self._accept(action, origin)

    def _refused(self, action: a.StateAction) -> Judgement | None:
        """Why a message cannot wait here: the agent cannot be steered, or too many wait already."""
        match action:
            case a.SessionPendingMessageSetAction(kind=PendingMessageKind.QUEUED):
                queue = self.live.head.queued_messages or []
                if len(queue) >= self.settings.queue_limit and all(m.id != action.id for m in queue):
                    return rejected("mailbox_full", f"{len(queue)} messages are waiting already")
                return None
            case a.SessionPendingMessageSetAction(kind=PendingMessageKind.STEERING) if self._agent:
                problem = refusal(self._agent.capabilities, DeliveryMode.NEXT_TOOL_CALL)
                return rejected(problem.code, str(problem)) if problem else None
            case _:
                return None

    def _accept(self, action: a.StateAction, origin: a.ActionOrigin) -> None:
        if isinstance(action, a.SessionTurnStartedAction):
            self._start_turn(action, origin)
            return
        answers = self._answers_before(action)
        had_turn, turns = self.live.turn is not None, self.live.head.turns
        self.act(action, origin)
        self._file(action, origin)
        if isinstance(action, a.SessionTruncatedAction):
            self.changing.bases.truncated([turn.id for turn in turns[len(self.live.head.turns) :]])
        if had_turn and self.live.turn is None:
            self._turn_is_cancelled()
        else:
            self._then(lambda: self._effect(action, answers))

    def _turn_is_cancelled(self) -> None:
        for turn in self._turns.values():
            self.changing.bases.turn_ended(turn.id, turn.task)
        stop = self._let_go()
        self._after_turn("cancelled")
        self._then(stop)

    def _file(self, action: a.StateAction, origin: a.ActionOrigin) -> None:
        """Keep what stands beside the state in step with it: the mailbox, the customisations."""
        match action:
            case a.SessionPendingMessageSetAction():
                self.mailbox.put(
                    Waiting(action.kind, action.id),
                    action.user_message,
                    delivery_id=self.host.new_id(),
                    sender=origin.client_id,
                    now=self.host.now(),
                )
            case a.SessionPendingMessageRemovedAction():
                self.mailbox.drop(Waiting(action.kind, action.id), "cancelled")
            case a.SessionCustomizationToggledAction():
                self.customizations.toggled(action)
            case a.SessionActiveClientChangedAction():
                self.customizations.active_client_changed()
            case _:
                pass

    def _then(self, effect: Callable[[], None]) -> None:
        """Do something once all that has happened here is committed, unless the session is closed then."""
        self._awaited += 1

        def do(_seq: int) -> None:
            self._awaited -= 1
            if not self._closed:
                effect()

        self.journal.then(do)

    def _answers_before(self, action: a.StateAction) -> dict[str, Any]:
        """The answers that an input request has so far: completing it removes them from the state."""
        if not isinstance(action, a.SessionInputCompletedAction):
            return {}
        requests = self.live.head.input_requests or ()
        request = next((r for r in requests if r.id == action.request_id), None)
        return {**((request.answers if request else None) or {}), **(action.answers or {})}

    def _effect(self, action: a.StateAction, answers: dict[str, Any]) -> None:
        """What follows from a client's action, once it is committed.

        Args:
            action: What the client did.
            answers: The answers of an input request that it completed.
        """
        self.expecting.tell(action, answers)
        match action:
            case a.SessionPendingMessageSetAction(kind=PendingMessageKind.QUEUED):
                self._release_queue()
            case a.SessionPendingMessageRemovedAction() if not self.live.head.queued_messages:
                self._hold_no_more()
            case _:
                pass

    async def ask(self, request: SessionInputRequest) -> Answers:
        """Ask the person something that no turn waits for. It ends, unanswered, with a turn that runs.

        Cancelling takes the question back.
        """
        answer = self.expecting.expect(("input", request.id))
        self.act(a.SessionInputRequestedAction(request=request))
        cancelled = Answers(SessionInputResponseKind.CANCEL.value, {})
        try:
            return await answer
        except asyncio.CancelledError:
            if not answer.cancelled():
                self._take_back(request.id)
                raise
            return cancelled

    def _take_back(self, request_id: str) -> None:
        if any(request.id == request_id for request in self.live.head.input_requests or ()):
            response = SessionInputResponseKind.CANCEL.value
            self.act(a.SessionInputCompletedAction(request_id=request_id, response=response))

    def take_steering(self, message: PendingMessage) -> None:
        """The agent takes the steering message: it enters the session here."""
        kind = PendingMessageKind.STEERING
        self.act(a.SessionPendingMessageRemovedAction(kind=kind, id=message.id))
        delivery = self.mailbox.take(Waiting(kind, message.id))
        if delivery is not None:
            delivery_id = delivery.context.id
            evidence = Delivered(delivery_id=delivery_id, metadata={"evidence": "journal"})
            self.door.receipt(delivery_id, evidence)

    # -- turns ---------------------------------------------------------------------------------------------

    def _start_turn(
        self, action: a.SessionTurnStartedAction, origin: a.ActionOrigin | None, sender: str = "queue"
    ) -> None:
        first = not self.live.head.turns
        delivery = self._waiting_for(action) or self.door.enter(
            self.host.new_id(),
            action.user_message,
            sender=origin.client_id if origin else sender,
            mode=DeliveryMode.IMMEDIATE,
            now=self.host.now(),
        )
        delivery_id = delivery.context.id
        self.observing.begins(delivery_id)
        self.act(action, origin)
        self._hold_no_more()
        self.door.handing(delivery_id, action.turn_id)
        if first and not self.live.head.summary.title:
            self.act(a.SessionTitleChangedAction(title=_title(action.user_message)))
        self._turns[delivery_id] = Turn(self, action.turn_id, action.user_message)
        self.host.activity_changed()
        self.customizations.turn_begins()
        self._then(lambda: self._hand_over(delivery))

    async def converse(self, message: UserMessage, sender: str) -> AhpTurn:
        """Begin a turn, and wait for its end. Cancelling cancels the turn.

        Raises:
            SessionGone: Someone took the turn back, or the session is closed.
        """
        turn_id = self.host.new_id()
        end = self._ends[turn_id] = asyncio.get_running_loop().create_future()
        self._start_turn(a.SessionTurnStartedAction(turn_id=turn_id, user_message=message), None, sender)
        try:
            return await end
        except asyncio.CancelledError:
            if self.live.turn is not None and self.live.turn.id == turn_id:
                self.cancel_turn()
            raise
        finally:
            self._ends.pop(turn_id, None)

    def cancel_turn(self) -> None:
        """End the turn that runs, as a client would."""
        if self.live.turn is not None:
            self.act(a.SessionTurnCancelledAction(turn_id=self.live.turn.id))
            self._turn_is_cancelled()

    def _tell_end(self) -> None:
        """A turn is over: whoever waits for its end gets it."""
        last = self.live.head.turns[-1] if self.live.head.turns else None
        for turn_id, end in self._ends.items():
            if end.done():
                continue
            if last is not None and last.id == turn_id:
                end.set_result(last)
            else:
                end.set_exception(SessionGone(f"the turn {turn_id!r} of {self.uri} was taken back"))

    def _waiting_for(self, action: a.SessionTurnStartedAction) -> Delivery | None:
        """The delivery of a message that waited for this turn."""
        if action.queued_message_id is None:
            return None
        kinds = (PendingMessageKind.QUEUED, PendingMessageKind.STEERING)
        found = (self.mailbox.take(Waiting(kind, action.queued_message_id)) for kind in kinds)
        return next((delivery for delivery in found if delivery is not None), None)

    def _hand_over(self, delivery: Delivery) -> None:
        self._spawn(self._deliver(delivery))

    async def _deliver(self, delivery: Delivery) -> None:
        """Hand a message to the agent, and keep the receipt."""
        delivery_id = delivery.context.id
        turn = self._turns.get(delivery_id)
        try:
            agent = await self.agent() if turn else None
            if turn is not None:
                await self.changing.bases.turn_begins(turn.id)
            if agent is None or turn is None or delivery_id not in self._turns:
                # Someone cancelled it before the agent was called.
                self.door.receipt(delivery_id, Failed(delivery_id=delivery_id, reason="cancelled"))
                return
            receipt = await agent.receive_message(delivery.message, delivery.context)
        except Exception as error:  # noqa: BLE001 - an agent may raise anything, and a turn must end
            self._log_failure("did not take a message", error)
            receipt = Failed(delivery_id=delivery_id, reason=str(error) or type(error).__name__)
        self.door.receipt(delivery_id, receipt)
        if turn is None:
            return
        if isinstance(receipt, Failed):
            self._end_turn(turn, _error("delivery_failed", receipt.reason))
        elif turn.task is None:
            self._end_turn(turn, _error("no_answer", "the agent took the message and began no answer"))

    def turn_of(self, delivery_id: str) -> Turn:
        """The turn that a delivery began."""
        return self._turns[delivery_id]

    def own_turn(self, turn: Turn, answer: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the coroutine that answers a turn."""
        return self._spawn(self._run(turn, answer))

    async def _run(self, turn: Turn, answer: Coroutine[Any, Any, None]) -> None:
        span = self.observing.turn
        try:
            with span.current() if span else contextlib.nullcontext():
                await answer
        except asyncio.CancelledError:
            raise
        except SeraiError as error:
            self._end_turn(turn, _error(error.code, str(error)))
        except Exception as error:  # noqa: BLE001 - an agent may raise anything, and a turn must end
            self._log_failure("failed", error)
            self._end_turn(turn, _error("agent_error", str(error) or type(error).__name__))
        else:
            self._end_turn(turn, None)

    def _end_turn(self, turn: Turn, error: ErrorInfo | None) -> None:
        if not self.is_running(turn):
            return  # it was cancelled or truncated in the meantime
        if error is None:
            self.act(a.SessionTurnCompleteAction(turn_id=turn.id))
        else:
            self.act(a.SessionErrorAction(turn_id=turn.id, error=error))
        self.changing.bases.turn_ended(turn.id, turn.task)
        self._after_turn(None if error is None else "error")

    def _let_go(self) -> Callable[[], None]:
        """The turn is no longer ours; another may begin. Returns what makes its agent stop."""
        turns, self._turns = self._turns, {}
        expect_no_more = self.expecting.let_go()

        def stop() -> None:
            for turn in turns.values():
                if turn.task is not None:
                    turn.task.cancel()
            expect_no_more()

        return stop

    def _after_turn(self, interrupted: str | None) -> None:
        """The turn is over: what waited for its end happens now."""
        self._tell_end()
        self._turns.clear()
        self.expecting.let_go()
        self._clear_activity()
        self._apply_deferred()
        if interrupted is None:
            self.consume_queue()
        elif self.live.head.queued_messages:
            self._hold(interrupted)
        self.customizations.attend()
        self.host.activity_changed()

    def _apply_deferred(self) -> None:
        deferred, self._deferred = self._deferred, []
        for waiting in deferred:
            self.act(waiting.action, waiting.origin)
            self.door.applied(waiting.id)

    def _clear_activity(self) -> None:
        if self.live.head.summary.activity is not None:
            self.act(a.SessionActivityChangedAction())

    def end_terminals(self, terminals: list[HostTerminal]) -> None:
        """End what a turn that was cancelled has started."""
        for terminal in terminals:
            self._spawn(terminal.close())

    # -- the queue -----------------------------------------------------------------------------------------

    def consume_queue(self) -> None:
        """Begin a turn with the first message that waits, if the session is idle."""
        head = self.live.head
        if self.live.turn is not None or not head.queued_messages or head.lifecycle != SessionLifecycle.READY:
            return
        message = head.queued_messages[0]
        self.act(a.SessionPendingMessageRemovedAction(kind=PendingMessageKind.QUEUED, id=message.id))
        action = a.SessionTurnStartedAction(
            turn_id=self.host.new_id(), user_message=message.user_message, queued_message_id=message.id
        )
        self._start_turn(action, None)

    def _hold(self, reason: str) -> None:
        self.act(a.SessionMetaChangedAction(meta={**(self.live.head.meta or {}), HELD: reason}))

    def _release_queue(self) -> None:
        """Someone set a queued message: the queue goes on, also one that was held."""
        self._hold_no_more()
        self.consume_queue()

    def _hold_no_more(self) -> None:
        meta = self.live.head.meta or {}
        if HELD in meta:
            left = {key: value for key, value in meta.items() if key != HELD}
            self.act(a.SessionMetaChangedAction(meta=left or None))

    # -- the agent -----------------------------------------------------------------------------------------

    async def agent(self) -> AgentSession:
        """The agent; it is started when it is not there."""
        if self._agent is None:
            self._agent = await self.host.start_agent(self)
        return self._agent

    def begin(self) -> None:
        """Start the agent of a new session, and say so when it is there."""
        if not self._closed:
            self.customizations.begin()
            self.changing.begin()
            self._spawn(self._begin())

    async def _begin(self) -> None:
        try:
            await self.agent()
        except Exception as error:  # noqa: BLE001 - whatever it is, the session says why it did not begin
            self._log_failure("did not start", error)
            code = error.code if isinstance(error, SeraiError) else "agent_start_failed"
            self.act(a.SessionCreationFailedAction(error=_error(code, str(error) or type(error).__name__)))
        else:
            self.act(a.SessionReadyAction())
            self.consume_queue()
        self._begun.set()

    async def ready(self) -> None:
        """Wait until the agent of a new session is there.

        Raises:
            SessionFailed: It did not start.
        """
        if self.live.head.lifecycle == SessionLifecycle.CREATING:
            await self._begun.wait()
        error = self.live.head.creation_error
        if error is not None:
            raise SessionFailed(error.message, error_type=error.error_type)

    def _log_failure(self, what: str, error: Exception) -> None:
        """Log what an agent raised, with secrets masked: what it raised may hold any."""
        told = self.host.redactor.redact("".join(traceback.format_exception(error)))
        _log.warning("the agent of %s %s\n%s", self.uri, what, told.rstrip())

    def masked_bytes(self, data: bytes) -> bytes:
        """Content with secrets masked, where it is text."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return data
        return self.host.redactor.redact(text).encode()

    def recover(self, unsettled: Unsettled) -> None:
        """After a restart: what was running is over, and says so.

        Args:
            unsettled: What was under way. Whether a delivery got to the agent is not known; a deferred action
                happens now, since the turn that it waited for is over.
        """
        for delivery_id in unsettled.deliveries:
            self.door.receipt(delivery_id, Failed(delivery_id=delivery_id, reason="outcome_unknown"))
        self.mailbox.restore({Waiting(**d.context.metadata["pendingMessage"]): d for d in unsettled.held})
        turn = self.live.turn
        if turn is not None:
            error = _error("interrupted", "the host was stopped while this turn was running")
            self.act(a.SessionErrorAction(turn_id=turn.id, error=error))
            self.changing.bases.turn_ended(turn.id)
        for request in list(self.live.head.input_requests or ()):
            self._take_back(request.id)  # whoever asked is gone with the host
        self._clear_activity()
        self._deferred = unsettled.deferred
        self._apply_deferred()
        if self.live.head.lifecycle == SessionLifecycle.CREATING:
            error = _error("interrupted", "the host was stopped while the session was being created")
            self.act(a.SessionCreationFailedAction(error=error))
        if self.live.head.active_client is not None:
            self.act(a.SessionActiveClientChangedAction(active_client=None))
        if self.live.head.queued_messages and HELD not in (self.live.head.meta or {}):
            self._hold("restart")

    # -- clients -------------------------------------------------------------------------------------------

    def client_left(self, client_id: str) -> None:
        """A client is gone: it is no longer the active one, and has some time to come back to its calls."""
        active = self.live.head.active_client
        if active is not None and active.client_id == client_id:
            self.act(a.SessionActiveClientChangedAction(active_client=None))
        self.customizations.client_left(client_id)
        if self._calls_of(client_id):
            self._spawn(self._give_up(client_id))

    def _calls_of(self, client_id: str) -> list[str]:
        turn = self.live.turn
        if turn is None:
            return []
        return [
            call.tool_call_id
            for call in turn.calls()
            if isinstance(call, ToolCallRunningState | ToolCallPendingConfirmationState)
            and call.tool_client_id == client_id
        ]

    async def _give_up(self, client_id: str) -> None:
        await asyncio.sleep(self.settings.client_grace)
        if self.host.clients.is_connected(client_id):
            return
        for call_id in self._calls_of(client_id):
            action = a.SessionToolCallCompleteAction(
                turn_id=self.live.turn.id if self.live.turn else "",
                tool_call_id=call_id,
                result=ToolCallResult(
                    success=False,
                    past_tense_message="The client that runs this tool is gone",
                    error=ToolCallError(message="the client disconnected", code="client_gone"),
                ),
            )
            self.act(action)
            self._then(lambda action=action: self._effect(action, {}))

    # -- ending --------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Stop what runs and let the agent go. The state stays."""
        self._closed = True
        self.customizations.close()
        self._let_go()()
        for end in self._ends.values():
            if not end.done():
                end.set_exception(SessionGone(f"{self.uri} is closed"))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.changing.close()
        agent, self._agent = self._agent, None
        if agent is not None and agent.capabilities.lifecycle.release:
            with contextlib.suppress(Exception):
                await agent.release("the session is closed")

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _title(message: UserMessage) -> str:
    """A title from what was said first."""
    first_line = next((line.strip() for line in message.text.splitlines() if line.strip()), "New session")
    return first_line if len(first_line) <= _TITLE_LENGTH else first_line[: _TITLE_LENGTH - 1].rstrip() + "…"


def _error(code: str, message: str) -> ErrorInfo:
    return ErrorInfo(error_type=code, message=message)
