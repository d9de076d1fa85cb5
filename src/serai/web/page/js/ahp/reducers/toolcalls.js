// The life of a tool call: from one state and an action to the next state (`serai.ahp.types.tools` draws it).
// Each function returns the state that it was given when the action does not apply to it. Every step makes a fresh
// state: what the next one does not list is gone.
// Exports: isWaiting, start, grow, ready, confirm, complete, confirmResult, setContent, skip.

/** @import {Actions, CancelledCall, FinishedCall, PendingCall, RunningCall, StreamingCall, ToolCall, ToolCallBase, ToolResult} from '../types.d.ts' */

import { put } from "./fields.js";

/** Whether someone is asked about this call. @param {ToolCall} call */
export function isWaiting(call) {
  return call.status === "pending-confirmation" || call.status === "pending-result-confirmation";
}

/** The first state of a call. @param {Actions['session/toolCallStart']} action @returns {StreamingCall} */
export function start(action) {
  return { status: "streaming", ...base(action) };
}

/** More of the input. @param {ToolCall} call @param {Actions['session/toolCallDelta']} action @returns {ToolCall} */
export function grow(call, action) {
  if (call.status !== "streaming") return call;
  const grown = { ...call, partialInput: (call.partialInput ?? "") + action.content };
  if (action.invocationMessage != null) grown.invocationMessage = action.invocationMessage;
  return grown;
}

/**
 * streaming | running -> running when it is confirmed already, else pending-confirmation.
 * @param {ToolCall} call @param {Actions['session/toolCallReady']} action @returns {ToolCall}
 */
export function ready(call, action) {
  if (call.status !== "streaming" && call.status !== "running") return call;
  const { invocationMessage, toolInput, confirmed, confirmationTitle, edits, editable, options } = action;
  if (confirmed != null) {
    return put(/** @type {RunningCall} */ ({ status: "running", ...base(call), invocationMessage, confirmed }), {
      toolInput,
    });
  }
  return put(/** @type {PendingCall} */ ({ status: "pending-confirmation", ...base(call), invocationMessage }), {
    toolInput,
    confirmationTitle,
    edits,
    editable,
    options,
  });
}

/**
 * pending-confirmation -> running | cancelled.
 * @param {ToolCall} call @param {Actions['session/toolCallConfirmed']} action @returns {ToolCall}
 */
export function confirm(call, action) {
  if (call.status !== "pending-confirmation") return call;
  const { invocationMessage, toolInput } = call;
  const selectedOption = call.options?.find((option) => option.id === action.selectedOptionId);
  if (action.approved) {
    const confirmed = action.confirmed ?? "";
    return put(/** @type {RunningCall} */ ({ status: "running", ...base(call), invocationMessage, confirmed }), {
      toolInput: action.editedToolInput ?? toolInput,
      selectedOption,
    });
  }
  return cancelled(call, action.reason ?? "", {
    invocationMessage,
    toolInput,
    reasonMessage: action.reasonMessage,
    userSuggestion: action.userSuggestion,
    selectedOption,
  });
}

/**
 * running | pending-confirmation -> completed | pending-result-confirmation.
 * @param {ToolCall} call @param {Actions['session/toolCallComplete']} action @returns {ToolCall}
 */
export function complete(call, action) {
  if (call.status !== "running" && call.status !== "pending-confirmation") return call;
  const after = /** @type {FinishedCall} */ ({
    status: action.requiresResultConfirmation ? "pending-result-confirmation" : "completed",
    ...base(call),
    ...result(action.result),
    invocationMessage: call.invocationMessage,
    confirmed: call.status === "running" ? call.confirmed : "not-needed",
  });
  const selectedOption = call.status === "running" ? call.selectedOption : undefined;
  return put(after, { toolInput: call.toolInput, selectedOption });
}

/**
 * pending-result-confirmation -> completed | cancelled.
 * @param {ToolCall} call @param {Actions['session/toolCallResultConfirmed']} action @returns {ToolCall}
 */
export function confirmResult(call, action) {
  if (call.status !== "pending-result-confirmation") return call;
  if (action.approved) return { ...call, status: "completed" };
  const { invocationMessage, toolInput, selectedOption } = call;
  return cancelled(call, "result-denied", { invocationMessage, toolInput, selectedOption });
}

/**
 * Show this while the tool runs.
 * @param {ToolCall} call @param {Actions['session/toolCallContentChanged']} action @returns {ToolCall}
 */
export function setContent(call, action) {
  return call.status === "running" ? { ...call, content: action.content } : call;
}

/** The turn is over: what is not finished is cancelled. @param {ToolCall} call @returns {ToolCall} */
export function skip(call) {
  if (call.status === "streaming") {
    return cancelled(call, "skipped", { invocationMessage: call.invocationMessage ?? "" });
  }
  if (call.status !== "running" && !isWaiting(call)) return call;
  const { invocationMessage, toolInput } = /** @type {RunningCall} */ (call);
  return cancelled(call, "skipped", { invocationMessage, toolInput });
}

// -- what goes from one state into the next ------------------------------------------------------------------------

const RESULT = new Set(["success", "pastTenseMessage", "content", "structuredContent", "error"]);
const OWN = new Set([
  "status",
  "toolCallId",
  "toolName",
  "displayName",
  "toolClientId",
  "_meta",
  "invocationMessage",
  "confirmed",
  "toolInput",
  "selectedOption",
]);

/** @param {ToolCallBase} call @returns {ToolCallBase} */
function base({ toolCallId, toolName, displayName, toolClientId, _meta }) {
  return put(/** @type {ToolCallBase} */ ({ toolCallId, toolName, displayName }), { toolClientId, _meta });
}

/** A result's unknown fields go along, but none may pass for a field that the call has itself. @param {ToolResult} given */
function result(given) {
  const kept = Object.entries(given).filter(([name, value]) => !(OWN.has(name) || (value == null && RESULT.has(name))));
  return /** @type {ToolResult} */ (Object.fromEntries(kept));
}

/** @param {ToolCall} call @param {string} reason @param {Partial<CancelledCall>} fields */
function cancelled(call, reason, fields) {
  return put(/** @type {CancelledCall} */ ({ status: "cancelled", ...base(call), reason }), fields);
}
