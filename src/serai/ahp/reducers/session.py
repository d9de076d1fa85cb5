"""The session channel's reducer."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.reducers import toolcalls
from serai.ahp.reducers.live import Handlers, LiveState, find, merged, placed, without
from serai.ahp.reducers.turn import LiveTurn
from serai.ahp.types import (
    ActiveTurn,
    Customization,
    MarkdownResponsePart,
    Number,
    PendingMessage,
    PendingMessageKind,
    ReasoningResponsePart,
    SessionLifecycle,
    SessionState,
    SessionStatus,
    ToolCallResponsePart,
    Turn,
    TurnState,
)
from serai.ahp.wire import Unknown, UnknownType

_DOING = 31
"""The status bits for what a session is doing. The others are flags of the person, or unknown."""

_GROWS = {a.SessionDeltaAction: MarkdownResponsePart, a.SessionReasoningAction: ReasoningResponsePart}
"""The kind of part that each action adds text to."""

_ENDS = {
    a.SessionTurnCompleteAction: TurnState.COMPLETE,
    a.SessionTurnCancelledAction: TurnState.CANCELLED,
    a.SessionErrorAction: TurnState.ERROR,
}


class LiveSession(LiveState[SessionState]):
    """A session's state, changed in place by `apply`.

    It owns the state, its summary, its list of turns and its running turn; all below is replaced, never
    changed. So it shares what is below with the state that it was made from, and with every snapshot.
    """

    __slots__ = ("_turn",)

    handlers: ClassVar = Handlers()
    handlers.puts(a.SessionActiveClientChangedAction, "active_client")
    handlers.puts(a.SessionCustomizationsChangedAction, "customizations")
    handlers.puts(a.SessionMetaChangedAction, "meta")
    handlers.puts(a.SessionTitleChangedAction, "title", in_summary=True, touches=True)
    handlers.puts(a.SessionModelChangedAction, "model", in_summary=True, touches=True)
    handlers.puts(a.SessionAgentChangedAction, "agent", in_summary=True, touches=True)
    handlers.puts(a.SessionActivityChangedAction, "activity", in_summary=True)
    handlers.puts(a.SessionChangesetsChangedAction, "changesets", in_summary=True)

    def __init__(self, state: SessionState) -> None:
        self._state = replace(
            state, summary=replace(state.summary), turns=state.turns.copy(), active_turn=None
        )
        self._turn = LiveTurn(state.active_turn) if state.active_turn else None

    def snapshot(self) -> SessionState:
        """Return the state as a separate value, which later actions do not change."""
        state = self._state
        return replace(
            state,
            summary=replace(state.summary),
            turns=state.turns.copy(),
            active_turn=self._turn.snapshot() if self._turn else None,
        )

    @property
    def turn(self) -> LiveTurn | None:
        """The running turn: only to be read."""
        return self._turn

    # -- what several actions do ---------------------------------------------------------------------------

    def _running(self, turn_id: str) -> LiveTurn | None:
        turn = self._turn
        return turn if turn is not None and turn.id == turn_id else None

    def _touch(self, now: Number) -> None:
        self._state.summary.modified_at = now

    def _flag(self, flag: SessionStatus, *, on: bool) -> None:
        summary = self._state.summary
        bit = int(flag)  # the complement of an IntFlag would drop unknown bits
        summary.status = summary.status | bit if on else summary.status & ~bit

    def _refresh_status(self) -> None:
        if self._state.input_requests or (self._turn and self._turn.waits_for_someone):
            doing = SessionStatus.INPUT_NEEDED
        elif self._turn:
            doing = SessionStatus.IN_PROGRESS
        else:
            doing = SessionStatus.IDLE
        self._set_doing(doing)

    def _set_doing(self, doing: SessionStatus) -> None:
        summary = self._state.summary
        summary.status = summary.status & ~_DOING | int(doing)

    # -- the session's beginning ---------------------------------------------------------------------------

    @handlers.on(a.SessionReadyAction)
    def _ready(self, _action: a.SessionReadyAction, _now: Number) -> None:
        self._state.lifecycle = SessionLifecycle.READY.value

    @handlers.on(a.SessionCreationFailedAction)
    def _creation_failed(self, action: a.SessionCreationFailedAction, _now: Number) -> None:
        self._state.lifecycle = SessionLifecycle.CREATION_FAILED.value
        self._state.creation_error = action.error

    # -- a turn --------------------------------------------------------------------------------------------

    @handlers.on(a.SessionTurnStartedAction)
    def _turn_started(self, action: a.SessionTurnStartedAction, now: Number) -> None:
        state = self._state
        self._turn = LiveTurn(
            ActiveTurn(id=action.turn_id, user_message=action.user_message, response_parts=[])
        )
        if action.queued_message_id is not None:
            if state.steering_message and state.steering_message.id == action.queued_message_id:
                state.steering_message = None
            state.queued_messages = without(state.queued_messages, action.queued_message_id) or None
        self._touch(now)
        self._refresh_status()
        self._flag(SessionStatus.IS_READ, on=False)

    @handlers.on(*_GROWS)
    def _text_grows(self, action: a.SessionDeltaAction | a.SessionReasoningAction, _now: Number) -> None:
        turn = self._turn
        if turn is not None and turn.id == action.turn_id:
            turn.grow(action.part_id, _GROWS[type(action)], action.content)

    @handlers.on(a.SessionResponsePartAction)
    def _response_part(self, action: a.SessionResponsePartAction, _now: Number) -> None:
        if turn := self._running(action.turn_id):
            turn.append(action.part)

    @handlers.on(a.SessionUsageAction)
    def _usage(self, action: a.SessionUsageAction, _now: Number) -> None:
        if turn := self._running(action.turn_id):
            turn.usage = action.usage

    @handlers.on(*_ENDS)
    def _turn_ends(
        self,
        action: a.SessionTurnCompleteAction | a.SessionTurnCancelledAction | a.SessionErrorAction,
        now: Number,
    ) -> None:
        turn = self._running(action.turn_id)
        if turn is None:
            return
        how = _ENDS[type(action)]
        self._state.turns.append(
            Turn(
                id=turn.id,
                user_message=turn.user_message,
                response_parts=turn.finished_parts(),
                usage=turn.usage,
                state=how.value,
                error=action.error if isinstance(action, a.SessionErrorAction) else None,
            )
        )
        self._turn = None
        self._state.input_requests = None
        self._touch(now)
        if how is TurnState.ERROR:
            self._set_doing(SessionStatus.ERROR)
        else:
            self._refresh_status()

    @handlers.on(a.SessionTruncatedAction)
    def _truncated(self, action: a.SessionTruncatedAction, now: Number) -> None:
        kept = 0
        if action.turn_id is not None:
            kept = next((n for n, turn in enumerate(self._state.turns, 1) if turn.id == action.turn_id), 0)
            if not kept:
                return
        del self._state.turns[kept:]
        self._turn = None
        self._state.input_requests = None
        self._touch(now)
        self._refresh_status()

    # -- tool calls ----------------------------------------------------------------------------------------

    @handlers.on(a.SessionToolCallStartAction)
    def _tool_call_start(self, action: a.SessionToolCallStartAction, _now: Number) -> None:
        if turn := self._running(action.turn_id):
            turn.append(ToolCallResponsePart(tool_call=toolcalls.start(action)))

    @handlers.on(a.SessionToolCallDeltaAction)
    def _tool_call_delta(self, action: a.SessionToolCallDeltaAction, _now: Number) -> None:
        if turn := self._running(action.turn_id):
            turn.grow_input(action.tool_call_id, action.content, action.invocation_message)

    @handlers.on(*toolcalls.STEPS)
    def _tool_call_step(self, action: a.ToolCallActionBase, _now: Number) -> None:
        step = toolcalls.STEPS[type(action)]
        if turn := self._running(action.turn_id):
            turn.change_call(action.tool_call_id, lambda call: step(call, action))
        # Even without such a call: the protocol lets a stray action turn an error into idle.
        self._refresh_status()

    @handlers.on(a.SessionToolCallContentChangedAction)
    def _tool_call_content(self, action: a.SessionToolCallContentChangedAction, _now: Number) -> None:
        if turn := self._running(action.turn_id):
            turn.change_call(action.tool_call_id, lambda call: toolcalls.set_content(call, action))

    # -- flags of the summary ------------------------------------------------------------------------------

    @handlers.on(a.SessionIsReadChangedAction)
    def _is_read(self, action: a.SessionIsReadChangedAction, _now: Number) -> None:
        self._flag(SessionStatus.IS_READ, on=action.is_read)

    @handlers.on(a.SessionIsArchivedChangedAction)
    def _is_archived(self, action: a.SessionIsArchivedChangedAction, _now: Number) -> None:
        self._flag(SessionStatus.IS_ARCHIVED, on=action.is_archived)

    # -- tools, clients, customisations, settings ----------------------------------------------------------

    @handlers.on(a.SessionServerToolsChangedAction)
    def _server_tools(self, action: a.SessionServerToolsChangedAction, _now: Number) -> None:
        self._state.server_tools = action.tools

    @handlers.on(a.SessionActiveClientToolsChangedAction)
    def _active_client_tools(self, action: a.SessionActiveClientToolsChangedAction, _now: Number) -> None:
        if self._state.active_client:
            self._state.active_client = replace(self._state.active_client, tools=action.tools)

    @handlers.on(a.SessionCustomizationToggledAction)
    def _customization_toggled(self, action: a.SessionCustomizationToggledAction, _now: Number) -> None:
        if self._state.customizations is not None:
            self._state.customizations = toggled(
                self._state.customizations, action.id, enabled=action.enabled
            )

    @handlers.on(a.SessionCustomizationUpdatedAction)
    def _customization_updated(self, action: a.SessionCustomizationUpdatedAction, _now: Number) -> None:
        self._state.customizations = placed(self._state.customizations, action.customization)

    @handlers.on(a.SessionCustomizationRemovedAction)
    def _customization_removed(self, action: a.SessionCustomizationRemovedAction, _now: Number) -> None:
        if self._state.customizations is not None:
            self._state.customizations = without_customization(self._state.customizations, action.id)

    @handlers.on(a.SessionConfigChangedAction)
    def _config(self, action: a.SessionConfigChangedAction, now: Number) -> None:
        if self._state.config is not None:
            self._state.config = merged(self._state.config, action)
            self._touch(now)

    # -- messages that wait --------------------------------------------------------------------------------

    @handlers.on(a.SessionPendingMessageSetAction)
    def _pending_set(self, action: a.SessionPendingMessageSetAction, _now: Number) -> None:
        message = PendingMessage(id=action.id, user_message=action.user_message)
        if action.kind == PendingMessageKind.STEERING:
            self._state.steering_message = message
            return
        self._state.queued_messages = placed(self._state.queued_messages, message)

    @handlers.on(a.SessionPendingMessageRemovedAction)
    def _pending_removed(self, action: a.SessionPendingMessageRemovedAction, _now: Number) -> None:
        state = self._state
        if action.kind == PendingMessageKind.STEERING:
            if state.steering_message and state.steering_message.id == action.id:
                state.steering_message = None
            return
        state.queued_messages = without(state.queued_messages, action.id) or None

    @handlers.on(a.SessionQueuedMessagesReorderedAction)
    def _queue_reordered(self, action: a.SessionQueuedMessagesReorderedAction, _now: Number) -> None:
        queue = self._state.queued_messages
        if not queue:
            return
        waiting = {message.id: message for message in queue}
        named = [waiting.pop(message_id) for message_id in action.order if message_id in waiting]
        self._state.queued_messages = [*named, *(message for message in queue if message.id in waiting)]

    # -- questions -----------------------------------------------------------------------------------------

    @handlers.on(a.SessionInputRequestedAction)
    def _input_requested(self, action: a.SessionInputRequestedAction, now: Number) -> None:
        request = action.request
        requests = self._state.input_requests or []
        position = find(requests, request.id)
        if position is not None and request.answers is None:
            request = replace(request, answers=requests[position].answers)
        self._state.input_requests = placed(requests, request)
        self._touch(now)
        self._refresh_status()
        self._flag(SessionStatus.IS_READ, on=False)

    @handlers.on(a.SessionInputAnswerChangedAction)
    def _input_answer(self, action: a.SessionInputAnswerChangedAction, now: Number) -> None:
        requests = self._state.input_requests or []
        position = find(requests, action.request_id)
        if position is None:
            return
        answers = dict(requests[position].answers or {})
        if action.answer is None:
            answers.pop(action.question_id, None)
        else:
            answers[action.question_id] = action.answer
        request = replace(requests[position], answers=answers or None)
        self._state.input_requests = placed(requests, request)
        self._touch(now)

    @handlers.on(a.SessionInputCompletedAction)
    def _input_completed(self, action: a.SessionInputCompletedAction, now: Number) -> None:
        requests = self._state.input_requests or []
        if find(requests, action.request_id) is None:
            return
        self._state.input_requests = without(requests, action.request_id) or None
        self._touch(now)
        self._refresh_status()


def toggled(containers: list[Customization], container_id: str, *, enabled: bool) -> list[Customization]:
    """Return the containers with one enabled or disabled. Children cannot be switched separately."""
    position = find(containers, container_id)
    return (
        containers if position is None else placed(containers, _with(containers[position], enabled=enabled))
    )


def without_customization(containers: list[Customization], removed_id: str) -> list[Customization]:
    """Return the tree without the container with an id; if there is none, without children with it."""
    if find(containers, removed_id) is not None:
        return without(containers, removed_id)
    return [
        container
        if isinstance(container, Unknown) or find(container.children or (), removed_id) is None
        else replace(container, children=without(container.children, removed_id))
        for container in containers
    ]


def _with(container: Customization, *, enabled: bool) -> Customization:
    if isinstance(container, Unknown):
        return UnknownType(extra={**container.raw, "enabled": enabled})
    return replace(container, enabled=enabled)
