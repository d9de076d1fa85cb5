// The life of a tool call: from one state and an action to the next state (`serai.ahp.types.tools` draws it).
// Each function returns the state that it was given when the action does not apply to it. Every step makes a fresh
// state: what the next one does not list is gone.
// Exports: isWaiting, start, grow, ready, confirm, complete, confirmResult, setContent, skip.

/** @import {Actions, RunningCall, ToolCall, ToolCallBase, ToolResult} from '../types.d.ts' */

import { put } from "./fields.js";

/** Whether someone is asked about this call. @param {ToolCall} call */
export function isWaiting(call) {
  return call.status === "pending-confirmation" || call.status === "pending-result-confirmation";
}

/** The first state of a call. @param {Actions['session/toolCallStart']} action @returns {ToolCall} */
export function start(action) {
  return become("streaming", action, {});
}

/** More of the input. @param {ToolCall} call @param {Actions['session/toolCallDelta']} action @returns {ToolCall} */
export function grow(call, { content, invocationMessage }) {
  if (call.status !== "streaming") return call;
  const partialInput = (call.partialInput ?? "") + content;
  return { ...call, partialInput, ...(invocationMessage != null && { invocationMessage }) };
}

/**
 * streaming | running -> running when it is confirmed already, else pending-confirmation.
 * @param {ToolCall} call @param {Actions['session/toolCallReady']} action @returns {ToolCall}
 */
export function ready(call, action) {
  if (call.status !== "streaming" && call.status !== "running") return call;
  const { invocationMessage, toolInput, confirmed, confirmationTitle, edits, editable, options } = action;
  if (confirmed != null) return become("running", call, { invocationMessage, toolInput, confirmed });
  const fields = { invocationMessage, toolInput, confirmationTitle, edits, editable, options };
  return become("pending-confirmation", call, fields);
}

/**
 * pending-confirmation -> running | cancelled.
 * @param {ToolCall} call @param {Actions['session/toolCallConfirmed']} action @returns {ToolCall}
 */
export function confirm(call, action) {
  if (call.status !== "pending-confirmation") return call;
  const { invocationMessage, toolInput } = call;
  const { approved, confirmed = "", editedToolInput, reason = "", reasonMessage, userSuggestion } = action;
  const selectedOption = call.options?.find((option) => option.id === action.selectedOptionId);
  const kept = { invocationMessage, toolInput, selectedOption };
  if (approved) return become("running", call, { ...kept, toolInput: editedToolInput ?? toolInput, confirmed });
  return become("cancelled", call, { ...kept, reason, reasonMessage, userSuggestion });
}

/**
 * running | pending-confirmation -> completed | pending-result-confirmation.
 * @param {ToolCall} call @param {Actions['session/toolCallComplete']} action @returns {ToolCall}
 */
export function complete(call, { result, requiresResultConfirmation }) {
  if (call.status !== "running" && call.status !== "pending-confirmation") return call;
  const { confirmed, selectedOption } = call.status === "running" ? call : { confirmed: "not-needed" };
  const { invocationMessage, toolInput } = call;
  return become(requiresResultConfirmation ? "pending-result-confirmation" : "completed", call, {
    ...without(result),
    ...{ invocationMessage, toolInput, confirmed, selectedOption },
  });
}

/**
 * pending-result-confirmation -> completed | cancelled.
 * @param {ToolCall} call @param {Actions['session/toolCallResultConfirmed']} action @returns {ToolCall}
 */
export function confirmResult(call, action) {
  if (call.status !== "pending-result-confirmation") return call;
  if (action.approved) return { ...call, status: "completed" };
  const { invocationMessage, toolInput, selectedOption } = call;
  return become("cancelled", call, { reason: "result-denied", invocationMessage, toolInput, selectedOption });
}

/**
 * Show this while the tool runs.
 * @param {ToolCall} call @param {Actions['session/toolCallContentChanged']} action @returns {ToolCall}
 */
export function setContent(call, { content }) {
  return call.status === "running" ? { ...call, content } : call;
}

/** The turn is over: what is not finished is cancelled. @param {ToolCall} call @returns {ToolCall} */
export function skip(call) {
  if (call.status !== "streaming" && call.status !== "running" && !isWaiting(call)) return call;
  const { invocationMessage = "", toolInput } = /** @type {RunningCall} */ (call);
  return become("cancelled", call, { reason: "skipped", invocationMessage, toolInput });
}

// -- what goes from one state into the next ------------------------------------------------------------------------

/**
 * The next state of a call. What is null or undefined is left out.
 * @param {ToolCall["status"]} status @param {ToolCallBase} call @param {object} fields @returns {ToolCall}
 */
function become(status, { toolCallId, toolName, displayName, toolClientId, _meta }, fields) {
  const base = put(/** @type {any} */ ({ status, toolCallId, toolName, displayName }), { toolClientId, _meta });
  return put(base, fields);
}

const OWN = new Set(["status", "toolCallId", "toolName", "displayName", "toolClientId", "_meta"]);

/** A result's unknown fields go along; none may pass for one that the call has itself. @param {ToolResult} result */
function without(result) {
  return Object.fromEntries(Object.entries(result).filter(([name]) => !OWN.has(name)));
}
