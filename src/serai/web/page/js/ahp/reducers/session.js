// The session channel's reducer: a table of handlers, by type of action.
// Exports: sessionHandlers, Status (the bits of a summary's status).

/** @import {Customization, ErrorInfo, Handlers, PendingMessage, SessionActions} from '../types.d.ts' */
/** @import {SessionState, SessionSummary, ToolCall, Turn} from '../types.d.ts' */

import { merged, put, putAt, setById, withoutAt } from "./fields.js";
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

/**
 * @template {{turnId: string, toolCallId: string}} A @param {(call: ToolCall, action: A) => ToolCall} step
 * @returns {(state: SessionState, action: A) => SessionState}
 */
function changing(step) {
  return (state, action) =>
    inTurn(state, action.turnId, (turn) => turns.changeCall(turn, action.toolCallId, (call) => step(call, action)));
}

/**
 * The same, and the status, even when no call was found: a stray action turns an error into idle, by the protocol.
 * @type {typeof changing}
 */
function stepping(step) {
  const change = changing(step);
  return (state, action) => refreshed(change(state, action));
}

/** @typedef {{turnId: string, error?: ErrorInfo}} Ending */
/** @param {SessionState} state @param {Ending} action @param {number} now @param {string} how @returns {SessionState} */
function ended(state, { turnId, error }, now, how) {
  const active = state.activeTurn;
  if (active?.id !== turnId) return state;
  const { id, userMessage, usage } = active;
  const parts = { id, userMessage, responseParts: turns.finishedParts(active), state: how };
  const turn = put(/** @type {Turn} */ (parts), { usage, error });
  const after = between({ ...state, turns: [...state.turns, turn] }, now);
  return how === "error" ? doing(after, Status.ERROR) : refreshed(after);
}

/** No turn runs. @param {SessionState} state @param {number} now */
function between(state, now) {
  return summarised(put(state, { activeTurn: null, inputRequests: null }), { modifiedAt: now });
}

/** @param {readonly PendingMessage[] | undefined} queue @param {string} id */
function without(queue, id) {
  const left = (queue ?? []).filter((message) => message.id !== id);
  return left.length ? left : null;
}

/**
 * Take out the container with that id; failing that, the first child with that id of each container.
 * @param {readonly Customization[]} containers @param {string} id
 */
function withoutCustomization(containers, id) {
  const at = containers.findIndex((container) => container.id === id);
  if (at >= 0) return withoutAt(containers, at);
  return containers.map((container) => {
    const children = Array.isArray(container.children) ? container.children : [];
    const within = children.findIndex((child) => child?.id === id);
    return within < 0 ? container : { ...container, children: withoutAt(children, within) };
  });
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
  "session/turnComplete": (state, action, now) => ended(state, action, now, "complete"),
  "session/turnCancelled": (state, action, now) => ended(state, action, now, "cancelled"),
  "session/error": (state, action, now) => ended(state, action, now, "error"),
  "session/truncated": (state, { turnId }, now) => {
    const kept = turnId == null ? 0 : state.turns.findIndex((turn) => turn.id === turnId) + 1;
    if (turnId != null && !kept) return state;
    return refreshed(between({ ...state, turns: state.turns.slice(0, kept) }, now));
  },

  // -- tool calls --------------------------------------------------------------------------------------------------

  "session/toolCallStart": (state, action) =>
    inTurn(state, action.turnId, (turn) => turns.append(turn, { kind: "toolCall", toolCall: toolcalls.start(action) })),
  "session/toolCallDelta": changing(toolcalls.grow),
  "session/toolCallReady": stepping(toolcalls.ready),
  "session/toolCallConfirmed": stepping(toolcalls.confirm),
  "session/toolCallComplete": stepping(toolcalls.complete),
  "session/toolCallResultConfirmed": stepping(toolcalls.confirmResult),
  "session/toolCallContentChanged": changing(toolcalls.setContent),

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
  "session/customizationToggled": (state, { id, enabled }) => {
    const containers = state.customizations ?? [];
    const at = containers.findIndex((container) => container.id === id);
    const container = containers[at];
    return container ? { ...state, customizations: putAt(containers, at, { ...container, enabled }) } : state;
  },
  "session/customizationUpdated": (state, { customization }) => {
    const containers = state.customizations ?? [];
    const at = containers.findIndex((container) => container.id === customization.id && customization.id != null);
    return { ...state, customizations: putAt(containers, at < 0 ? containers.length : at, customization) };
  },
  "session/customizationRemoved": (state, { id }) =>
    state.customizations ? { ...state, customizations: withoutCustomization(state.customizations, id) } : state,
  "session/configChanged": (state, action, now) =>
    state.config ? summarised({ ...state, config: merged(state.config, action) }, { modifiedAt: now }) : state,
  "session/metaChanged": (state, { _meta }) => put(state, { _meta }),

  // -- messages that wait ------------------------------------------------------------------------------------------

  "session/pendingMessageSet": (state, { kind, id, userMessage }) => {
    const message = { id, userMessage };
    if (kind === "steering") return { ...state, steeringMessage: message };
    return { ...state, queuedMessages: setById(state.queuedMessages ?? [], message) };
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
