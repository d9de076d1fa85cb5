// From a session's state to the rows of its timeline. What has not changed is the same row as before, so that a
// piece of text costs the same whatever came before it.

/** @import {ActiveTurn, ErrorInfo, NotificationPart, ResourcePart, ResponsePart} from "../../ahp/types.d.ts" */
/** @import {SessionState, ToolCall, Turn, UserMessage} from "../../ahp/types.d.ts" */

/**
 * @typedef {{key: string, turnId: string}} RowBase
 * @typedef {RowBase & {kind: "markdown" | "reasoning", text: string, isLive: boolean}} TextRow
 * @typedef {TextRow | (RowBase & ({kind: "user", message: UserMessage}
 *   | {kind: "tool", call: ToolCall, isInGroup: boolean}
 *   | {kind: "group", calls: readonly ToolCall[], isOpen: boolean} | {kind: "notice", part: NotificationPart}
 *   | {kind: "resource", part: ResourcePart} | {kind: "unknown", name: string} | {kind: "end", turn: Turn}
 *   | {kind: "working" | "starting"} | {kind: "failed", error: ErrorInfo | undefined}))} Row
 */

/** Parts from..to of a turn have rows from `at` on. @typedef {{from: number, to: number, at: number}} Span */
/**
 * @typedef {{turn: Turn | ActiveTurn, isActive: boolean, parts: readonly ResponsePart[], spans: Span[],
 *   rows: Row[]}} Entry
 */

/** Whether a call has not ended: it runs, or someone is asked about it. @param {ToolCall} call */
export function isOpenCall(call) {
  return call.status !== "completed" && call.status !== "cancelled";
}

/** @param {ToolCall} call */
export function hasFailed(call) {
  return call.status === "completed" && !call.success;
}

/** The rows of one session, from one state to the next. */
export class Rows {
  /** Keys of what the person has opened. @type {Set<string>} */
  #open = new Set();
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  /** The rows of parts that were drawn before. @type {WeakMap<object, Row>} */
  #known = new WeakMap();
  /** @type {readonly Turn[] | null} */
  #turns = null;
  /** @type {Row[]} */
  #ended = [];

  /** @param {string} key */
  isOpen(key) {
    return this.#open.has(key);
  }

  /** Open or close a row. @param {Row} row */
  toggle(row) {
    if (!this.#open.delete(row.key)) this.#open.add(row.key);
    else if (row.kind === "group") {
      const prefix = row.key.slice(0, -1); // a call that was opened inside closes along with its group
      for (const key of this.#open) if (key.startsWith(prefix)) this.#open.delete(key);
    }
    const entry = this.#entries.get(row.turnId);
    if (entry) this.#entries.set(row.turnId, { ...entry, parts: [], spans: [], rows: entry.rows.slice(0, 1) });
    this.#turns = null;
  }

  /** All rows of a state. @param {SessionState} state @returns {readonly Row[]} */
  of(state) {
    if (this.#turns !== state.turns) {
      this.#ended = state.turns.flatMap((turn) => this.#turn(turn, false));
      this.#turns = state.turns;
      this.#forget(state);
    }
    const { activeTurn } = state;
    const rows = activeTurn ? this.#ended.concat(this.#turn(activeTurn, true)) : this.#ended;
    if (state.lifecycle === "creating") return [...rows, { key: "starting", turnId: "", kind: "starting" }];
    if (state.lifecycle !== "creationFailed") return rows;
    return [...rows, { key: "failed", turnId: "", kind: "failed", error: state.creationError }];
  }

  /** Turns that were truncated need no rows. @param {SessionState} state */
  #forget(state) {
    if (this.#entries.size <= state.turns.length + 1) return;
    const there = new Set(state.turns.map((turn) => turn.id));
    if (state.activeTurn) there.add(state.activeTurn.id);
    for (const id of this.#entries.keys()) if (!there.has(id)) this.#entries.delete(id);
  }

  /** @param {Turn | ActiveTurn} turn @param {boolean} isActive @returns {Row[]} */
  #turn(turn, isActive) {
    const before = this.#entries.get(turn.id);
    if (before && before.turn === turn && before.isActive === isActive && before.spans.length) return before.rows;
    const parts = turn.responseParts;
    const { spans, rows } = this.#kept(turn, before, isActive);
    for (let from = spans.at(-1)?.to ?? skipBlank(parts, 0); from < parts.length;) {
      const at = rows.length;
      const to = this.#add(rows, turn.id, parts, from, isActive);
      spans.push({ from, to, at });
      from = to;
    }
    if (isActive) rows.push(this.#row(turn.userMessage, { key: `${turn.id}:w`, turnId: turn.id, kind: "working" }));
    else rows.push({ key: `${turn.id}:e`, turnId: turn.id, kind: "end", turn: /** @type {Turn} */ (turn) });
    this.#entries.set(turn.id, { turn, isActive, parts, spans, rows });
    return rows;
  }

  /**
   * The rows that can stay: those before the first part that is another one. The last of them goes as well, since
   * what comes after it may belong to it.
   * @param {Turn | ActiveTurn} turn @param {Entry | undefined} before @param {boolean} isActive
   * @returns {{spans: Span[], rows: Row[]}}
   */
  #kept(turn, before, isActive) {
    const { id, userMessage, responseParts: parts } = turn;
    const first = before?.rows[0];
    const user =
      first?.kind === "user" && first.message === userMessage
        ? first
        : /** @type {Row} */ ({ key: `${id}:u`, turnId: id, kind: "user", message: userMessage });
    if (!before || user !== first) return { spans: [], rows: [user] };
    let same = 0;
    const most = Math.min(parts.length, before.parts.length);
    while (same < most && parts[same] === before.parts[same]) same += 1;
    // The last row of a turn that ends is no longer growing.
    if (!isActive) same = Math.min(same, parts.length - 1);
    let count = before.spans.length;
    while (count > 0 && /** @type {Span} */ (before.spans[count - 1]).to >= same) count -= 1;
    const cut = before.spans[count]?.at ?? 1;
    return { spans: before.spans.slice(0, count), rows: before.rows.slice(0, count ? cut : 1) };
  }

  /**
   * Add the rows of the part at `from`, and of those that belong to it.
   * @param {Row[]} rows @param {string} turnId @param {readonly ResponsePart[]} parts @param {number} from
   * @param {boolean} isActive @returns {number} where the next one begins
   */
  #add(rows, turnId, parts, from, isActive) {
    const part = /** @type {ResponsePart} */ (parts[from]);
    let to = skipBlank(parts, from + 1);
    if (part.kind !== "toolCall") {
      const base = { key: `${turnId}:${from}`, turnId };
      rows.push(this.#row(part, rowOf(part, base, isActive && to >= parts.length)));
      return to;
    }
    const calls = [{ part, at: from }];
    for (let next = parts[to]; next?.kind === "toolCall"; next = parts[to]) {
      calls.push({ part: next, at: to });
      to = skipBlank(parts, to + 1);
    }
    const group = `${turnId}:${from}/g`;
    const isInGroup = calls.length > 1;
    const isOpen = !isInGroup || this.#open.has(group);
    if (isInGroup) {
      rows.push({ key: group, turnId, kind: "group", calls: calls.map((one) => one.part.toolCall), isOpen });
    }
    for (const { part: one, at } of calls) {
      const key = `${turnId}:${from}/${at}`;
      const call = one.toolCall;
      // One that runs or asks is shown, and one that somebody has opened stays.
      if (!isOpen && !isOpenCall(call) && !this.#open.has(key)) continue;
      rows.push(this.#row(one, { key, turnId, kind: "tool", call, isInGroup }));
    }
    return to;
  }

  /** The row of a part: the one from before, if it says the same. @param {object} part @param {Row} row */
  #row(part, row) {
    const known = this.#known.get(part);
    const names = /** @type {(keyof Row)[]} */ (Object.keys(row));
    if (known && names.every((name) => known[name] === row[name])) return known;
    this.#known.set(part, row);
    return row;
  }
}

/** @param {ResponsePart} part @param {RowBase} base @param {boolean} isLive @returns {Row} */
function rowOf(part, base, isLive) {
  switch (part.kind) {
    case "markdown":
    case "reasoning":
      return { ...base, kind: part.kind, text: part.content, isLive };
    case "systemNotification":
      return { ...base, kind: "notice", part };
    case "contentRef":
      return { ...base, kind: "resource", part };
    default: // newer than this page
      return { ...base, kind: "unknown", name: String(/** @type {any} */ (part).kind) };
  }
}

/** Where the next part is that shows something. @param {readonly ResponsePart[]} parts @param {number} from */
function skipBlank(parts, from) {
  let at = from;
  for (; at < parts.length; at += 1) {
    const part = parts[at];
    if ((part?.kind !== "markdown" && part?.kind !== "reasoning") || part.content.trim()) break;
  }
  return at;
}

/** How high a row may be that was not drawn yet, in pixels. @param {Row} row */
export function heightOf(row) {
  if (row.kind === "user") return 64 + 21 * Math.ceil(row.message.text.length / 90);
  return row.kind === "markdown" ? 16 + 22 * Math.ceil(row.text.length / 85) : 36;
}
