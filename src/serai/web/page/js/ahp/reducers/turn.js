// The running turn. Parts are found by id without a search, so that a delta costs the same whatever came before it.
// Exports: append(turn, part), growText(turn, partId, kind, content), changeCall(turn, callId, step),
// waitsForSomeone(turn), finishedParts(turn).

/** @import {ActiveTurn, ResponsePart, ToolCall} from '../types.d.ts' */

import { putAt } from "./fields.js";
import * as toolcalls from "./toolcalls.js";

/**
 * Where parts are. It is shared by all versions of a list that only grew: what it knows beyond a version's length is
 * not there for that version.
 * @typedef {{length: number, first: Map<string, number>, calls: Map<string, number[]>}} Index
 */

/** @type {WeakMap<readonly ResponsePart[], Index>} */
const indexes = new WeakMap();

/** @param {ResponsePart} part @returns {unknown} */
function idOf(part) {
  return part.kind === "toolCall" ? part.toolCall?.toolCallId : /** @type {{id?: unknown}} */ (part).id;
}

/** @param {Index} index @param {ResponsePart} part */
function add(index, part) {
  const id = idOf(part);
  if (typeof id === "string") {
    if (!index.first.has(id)) index.first.set(id, index.length);
    if (part.kind === "toolCall") index.calls.set(id, [...(index.calls.get(id) ?? []), index.length]);
  }
  index.length += 1;
}

/** @param {readonly ResponsePart[]} parts */
function indexOf(parts) {
  let index = indexes.get(parts);
  if (!index) {
    index = { length: 0, first: new Map(), calls: new Map() };
    for (const part of parts) add(index, part);
    indexes.set(parts, index);
  }
  return index;
}

/** @param {ActiveTurn} turn @param {ResponsePart[]} parts @param {Index} index @returns {ActiveTurn} */
function withParts(turn, parts, index) {
  indexes.set(parts, index);
  return { ...turn, responseParts: parts };
}

/** Add a part at the end. @param {ActiveTurn} turn @param {ResponsePart} part @returns {ActiveTurn} */
export function append(turn, part) {
  const parts = [...turn.responseParts, part];
  const index = indexOf(turn.responseParts);
  // Another version grew first.
  if (index.length !== turn.responseParts.length) return { ...turn, responseParts: parts };
  add(index, part);
  return withParts(turn, parts, index);
}

/**
 * Add text to the first part of that id, if it is of that kind.
 * @param {ActiveTurn} turn @param {string} partId @param {'markdown' | 'reasoning'} kind @param {string} content
 * @returns {ActiveTurn}
 */
export function growText(turn, partId, kind, content) {
  const parts = turn.responseParts;
  const index = indexOf(parts);
  const at = index.first.get(partId);
  const part = at === undefined ? undefined : parts[at];
  if (at === undefined || part?.kind !== kind) return turn;
  return withParts(turn, putAt(parts, at, { ...part, content: part.content + content }), index);
}

/**
 * Take every part of that call one step further.
 * @param {ActiveTurn} turn @param {string} callId @param {(call: ToolCall) => ToolCall} step @returns {ActiveTurn}
 */
export function changeCall(turn, callId, step) {
  const parts = turn.responseParts;
  const index = indexOf(parts);
  /** @type {ResponsePart[] | undefined} */
  let after;
  for (const at of index.calls.get(callId) ?? []) {
    const part = parts[at];
    if (part?.kind !== "toolCall") continue;
    const toolCall = step(part.toolCall);
    if (toolCall === part.toolCall) continue;
    after ??= parts.slice();
    after[at] = { ...part, toolCall };
  }
  return after ? withParts(turn, after, index) : turn;
}

/** Whether a tool call waits for a confirmation. @param {ActiveTurn} turn */
export function waitsForSomeone(turn) {
  return turn.responseParts.some((part) => part.kind === "toolCall" && toolcalls.isWaiting(part.toolCall));
}

/** All parts as they are when the turn ends: no call is left open. @param {ActiveTurn} turn */
export function finishedParts(turn) {
  return turn.responseParts.map((part) => {
    const toolCall = part.kind === "toolCall" ? toolcalls.skip(part.toolCall) : undefined;
    return part.kind === "toolCall" && toolCall && toolCall !== part.toolCall ? { ...part, toolCall } : part;
  });
}
