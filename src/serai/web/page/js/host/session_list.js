// Which sessions there are: what the host listed, and what it told since.
// Exports: SessionList.

/** @import {SessionSummary, Uri} from "../ahp/types.d.ts" */
/** @typedef {(sessions: Map<Uri, SessionSummary>) => void} Change */

/** All sessions of a host. */
export class SessionList {
  /** @type {Map<Uri, SessionSummary>} */
  #sessions = new Map();
  /** What was told since the list was asked for. @type {Change[] | null} */
  #meanwhile = null;

  /** The sessions, as a value of its own. @returns {ReadonlyMap<Uri, SessionSummary>} */
  snapshot() {
    return new Map(this.#sessions);
  }

  /** The list is being asked for. Returns what takes the answer: what is told before that may be newer than it. */
  asked() {
    /** @type {Change[]} */
    const told = (this.#meanwhile = []);
    return (/** @type {{items: SessionSummary[]}} */ { items }) => {
      if (this.#meanwhile !== told) return; // a later connection has asked again
      this.#meanwhile = null;
      this.#sessions = new Map(items.map((summary) => [summary.resource, summary]));
      for (const change of told) change(this.#sessions);
    };
  }

  /**
   * The host told of a session: that it is new, gone, or changed.
   * @param {string} method @param {{summary: SessionSummary, session: Uri, changes: Partial<SessionSummary>}} params
   */
  told(method, { summary, session, changes }) {
    /** @type {Change} */
    const change = (sessions) => {
      const before = sessions.get(session);
      if (method === "root/sessionAdded") sessions.set(summary.resource, summary);
      else if (method === "root/sessionRemoved") sessions.delete(session);
      else if (before) {
        const after = { ...before, ...changes };
        // Of the fields that can be cleared, an agent is then null, an activity empty.
        if (!after.agent) delete after.agent;
        if (!after.activity) delete after.activity;
        sessions.set(session, after);
      }
    };
    this.#meanwhile?.push(change);
    change(this.#sessions);
  }
}
