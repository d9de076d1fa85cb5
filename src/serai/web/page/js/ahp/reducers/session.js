// The session channel's reducer: a table of handlers, by type of action.
// Exports: sessionHandlers, Status (the bits of a summary's status).

/** @import {ErrorInfo, Handlers, PendingMessage, SessionActions, SessionState, SessionSummary, ToolCall, Turn} from '../types.d.ts' */

import * as customizations from "./customizations.js";
import { merged, put, putAt } from "./fields.js";
import * as toolcalls from "./toolcalls.js";
import * as turns from "./turn.js";

/** What a session is doing (the low five bits), and two flags of the person's. Ask with `&`. */
export const Status = Object.freeze({
  IDLE: 1,
  ERROR: 2,
  IN_PROGRESS: 8,
  INPUT_NEEDED: 24,
  IS_READ: 32,
  IS_ARCHIVED: 64,
});
const DOING = 31;

// -- what several actions do ---------------------------------------------------------------------------------------

/** @param {SessionState} state @param {Partial<SessionSummary>} fields @returns {SessionState} */
function summarised(state, fields) {
  return { ...state, summary: put(state.summary, fields) };
}

/** @param {SessionState} state @param {number} bit @param {boolean} on */
function flagged(state, bit, on) {
  // Sums, since JavaScript's bit operators would cut a status to 32 bits.
  const { status } = state.summary;
  const isOn = (status & bit) !== 0;
  return isOn === on ? state : summarised(state, { status: status + (on ? bit : -bit) });
}

/** @param {SessionState} state @param {number} doing */
function doing(state, doing) {
  const { status } = state.summary;
  return summarised(state, { status: status - (status & DOING) + doing });
}

/** @param {SessionState} state */
function refreshed(state) {
  const turn = state.activeTurn;
  if (state.inputRequests?.length || (turn && turns.waitsForSomeone(turn))) return doing(state, Status.INPUT_NEEDED);
  return doing(state, turn ? Status.IN_PROGRESS : Status.IDLE);
}

/**
 * @param {SessionState} state @param {string} turnId
 * @param {(turn: NonNullable<SessionState['activeTurn']>) => SessionState['activeTurn']} change @returns {SessionState}
 */
function inTurn(state, turnId, change) {
  const turn = state.activeTurn;
  if (!turn || turn.id !== turnId) return state;
  const activeTurn = change(turn);
  return activeTurn === turn ? state : { ...state, activeTurn };
}

/** @param {SessionState} state @param {{turnId: string, toolCallId: string}} action @param {(call: ToolCall) => ToolCall} step */
function stepped(state, { turnId, toolCallId }, step) {
  // The status also when no call was found: a stray action turns an error into idle. The protocol has it so.
  return refreshed(inTurn(state, turnId, (turn) => turns.changeCall(turn, toolCallId, step)));
}

/** @param {SessionState} state @param {string} turnId @param {string} how @param {number} now @param {ErrorInfo} [error] @returns {SessionState} */
function ended(state, turnId, how, now, error) {
  const active = state.activeTurn;
  if (!active || active.id !== turnId) return state;
  const { id, userMessage, usage } = active;
  const turn = put(/** @type {Turn} */ ({ id, userMessage, responseParts: turns.finishedParts(active), state: how }), {
    usage,
    error,
  });
  const after = summarised(
    put({ ...state, turns: [...state.turns, turn] }, { activeTurn: null, inputRequests: null }),
    { modifiedAt: now },
  );
  return how === "error" ? doing(after, Status.ERROR) : refreshed(after);
}

/** @param {readonly PendingMessage[] | undefined} queue @param {string} id */
function without(queue, id) {
  const left = (queue ?? []).filter((message) => message.id !== id);
  return left.length ? left : null;
}

/** @type {Handlers<SessionState, SessionActions>} */
export const sessionHandlers = {
  "session/ready": (state) => ({ ...state, lifecycle: "ready" }),
  "session/creationFailed": (state, { error }) => ({ ...state, lifecycle: "creationFailed", creationError: error }),

  // -- a turn ------------------------------------------------------------------------------------------------------

  "session/turnStarted": (state, { turnId, userMessage, queuedMessageId }, now) => {
    let after = { ...state, activeTurn: { id: turnId, userMessage, responseParts: [] } };
    if (queuedMessageId != null) {
      after = put(after, { queuedMessages: without(state.queuedMessages, queuedMessageId) });
      if (state.steeringMessage?.id === queuedMessageId) delete after.steeringMessage;
    }
    return flagged(refreshed(summarised(after, { modifiedAt: now })), Status.IS_READ, false);
  },
  "session/delta": (state, { turnId, partId, content }) =>
    inTurn(state, turnId, (turn) => turns.growText(turn, partId, "markdown", content)),
  "session/reasoning": (state, { turnId, partId, content }) =>
    inTurn(state, turnId, (turn) => turns.growText(turn, partId, "reasoning", content)),
  "session/responsePart": (state, { turnId, part }) => inTurn(state, turnId, (turn) => turns.append(turn, part)),
  "session/usage": (state, { turnId, usage }) => inTurn(state, turnId, (turn) => ({ ...turn, usage })),
  "session/turnComplete": (state, { turnId }, now) => ended(state, turnId, "complete", now),
  "session/turnCancelled": (state, { turnId }, now) => ended(state, turnId, "cancelled", now),
  "session/error": (state, { turnId, error }, now) => ended(state, turnId, "error", now, error),
  "session/truncated": (state, { turnId }, now) => {
    const kept = turnId == null ? 0 : state.turns.findIndex((turn) => turn.id === turnId) + 1;
    if (turnId != null && !kept) return state;
    const after = put({ ...state, turns: state.turns.slice(0, kept) }, { activeTurn: null, inputRequests: null });
    return refreshed(summarised(after, { modifiedAt: now }));
  },

  // -- tool calls --------------------------------------------------------------------------------------------------

  "session/toolCallStart": (state, action) =>
    inTurn(state, action.turnId, (turn) => turns.append(turn, { kind: "toolCall", toolCall: toolcalls.start(action) })),
  "session/toolCallDelta": (state, action) =>
    inTurn(state, action.turnId, (turn) =>
      turns.changeCall(turn, action.toolCallId, (call) => toolcalls.grow(call, action)),
    ),
  "session/toolCallReady": (state, action) => stepped(state, action, (call) => toolcalls.ready(call, action)),
  "session/toolCallConfirmed": (state, action) => stepped(state, action, (call) => toolcalls.confirm(call, action)),
  "session/toolCallComplete": (state, action) => stepped(state, action, (call) => toolcalls.complete(call, action)),
  "session/toolCallResultConfirmed": (state, action) =>
    stepped(state, action, (call) => toolcalls.confirmResult(call, action)),
  "session/toolCallContentChanged": (state, action) =>
    inTurn(state, action.turnId, (turn) =>
      turns.changeCall(turn, action.toolCallId, (call) => toolcalls.setContent(call, action)),
    ),

  // -- the summary -------------------------------------------------------------------------------------------------

  "session/titleChanged": (state, { title }, now) => summarised(state, { title, modifiedAt: now }),
  "session/modelChanged": (state, { model }, now) => summarised(state, { model, modifiedAt: now }),
  "session/agentChanged": (state, { agent }, now) => summarised(state, { agent, modifiedAt: now }),
  "session/isReadChanged": (state, { isRead }) => flagged(state, Status.IS_READ, isRead),
  "session/isArchivedChanged": (state, { isArchived }) => flagged(state, Status.IS_ARCHIVED, isArchived),
  "session/activityChanged": (state, { activity }) => summarised(state, { activity }),
  "session/changesetsChanged": (state, { changesets }) => summarised(state, { changesets }),

  // -- tools, clients, customisations, settings --------------------------------------------------------------------

  "session/serverToolsChanged": (state, { tools }) => ({ ...state, serverTools: tools }),
  "session/activeClientChanged": (state, { activeClient }) => put(state, { activeClient }),
  "session/activeClientToolsChanged": (state, { tools }) =>
    state.activeClient ? { ...state, activeClient: { ...state.activeClient, tools } } : state,
  "session/customizationsChanged": (state, action) => ({ ...state, customizations: action.customizations }),
  "session/customizationToggled": (state, { id, enabled }) =>
    state.customizations
      ? { ...state, customizations: customizations.toggle(state.customizations, id, enabled) }
      : state,
  "session/customizationUpdated": (state, { customization }) => ({
    ...state,
    customizations: customizations.update(state.customizations ?? [], customization),
  }),
  "session/customizationRemoved": (state, { id }) =>
    state.customizations ? { ...state, customizations: customizations.remove(state.customizations, id) } : state,
  "session/configChanged": (state, action, now) =>
    state.config ? summarised({ ...state, config: merged(state.config, action) }, { modifiedAt: now }) : state,
  "session/metaChanged": (state, { _meta }) => put(state, { _meta }),

  // -- messages that wait ------------------------------------------------------------------------------------------

  "session/pendingMessageSet": (state, { kind, id, userMessage }) => {
    const message = { id, userMessage };
    if (kind === "steering") return { ...state, steeringMessage: message };
    const queue = state.queuedMessages ?? [];
    const isThere = queue.some((queued) => queued.id === id);
    const queuedMessages = isThere ? queue.map((queued) => (queued.id === id ? message : queued)) : [...queue, message];
    return { ...state, queuedMessages };
  },
  "session/pendingMessageRemoved": (state, { kind, id }) => {
    if (kind !== "steering") return put(state, { queuedMessages: without(state.queuedMessages, id) });
    return state.steeringMessage?.id === id ? put(state, { steeringMessage: null }) : state;
  },
  "session/queuedMessagesReordered": (state, { order }) => {
    const queue = state.queuedMessages;
    if (!queue?.length) return state;
    const waiting = new Map(queue.map((message) => [message.id, message]));
    const named = order.flatMap((id) => {
      const message = waiting.get(id);
      waiting.delete(id);
      return message ? [message] : [];
    });
    return { ...state, queuedMessages: [...named, ...queue.filter((message) => waiting.has(message.id))] };
  },

  // -- questions ---------------------------------------------------------------------------------------------------

  "session/inputRequested": (state, { request }, now) => {
    const requests = state.inputRequests ?? [];
    const at = requests.findIndex((other) => other.id === request.id);
    const merging = at < 0 ? request : put(request, { answers: request.answers ?? requests[at]?.answers });
    const inputRequests = at < 0 ? [...requests, merging] : putAt(requests, at, merging);
    const after = refreshed(summarised({ ...state, inputRequests }, { modifiedAt: now }));
    return flagged(after, Status.IS_READ, false);
  },
  "session/inputAnswerChanged": (state, { requestId, questionId, answer }, now) => {
    const requests = state.inputRequests ?? [];
    const at = requests.findIndex((request) => request.id === requestId);
    const request = requests[at];
    if (!request) return state;
    const { [questionId]: _, ...others } = request.answers ?? {};
    const answers = answer == null ? others : { ...others, [questionId]: answer };
    const answered = put(request, { answers: Object.keys(answers).length ? answers : null });
    return summarised({ ...state, inputRequests: putAt(requests, at, answered) }, { modifiedAt: now });
  },
  "session/inputCompleted": (state, { requestId }, now) => {
    const requests = state.inputRequests ?? [];
    const left = requests.filter((request) => request.id !== requestId);
    if (left.length === requests.length) return state;
    const after = put(state, { inputRequests: left.length ? left : null });
    return refreshed(summarised(after, { modifiedAt: now }));
  },
};
