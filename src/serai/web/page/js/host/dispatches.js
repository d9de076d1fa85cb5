// Actions on their way: sent again after a gap, and settled when the host has answered.
// Exports: Dispatches, isDone(session, action).

/** @import {Action, Dispatched, Envelope, SessionState, ToolCall, Uri} from "../ahp/types.d.ts" */
/** @import {ClientState} from "../ahp/client.js" */

import { kindOf } from "../ahp/reduce.js";

/**
 * Whether an action has had its effect, whoever's it was; undefined where the state does not tell.
 * @param {SessionState} session @param {Action} action @returns {boolean | undefined}
 */
export function isDone(session, action) {
  const turn = session.activeTurn;
  switch (action.type) {
    case "session/turnStarted":
      return turn?.id === action.turnId || session.turns.some((one) => one.id === action.turnId);
    case "session/turnCancelled":
      return turn?.id !== action.turnId;
    case "session/toolCallConfirmed":
    case "session/toolCallResultConfirmed": {
      const asked =
        action.type === "session/toolCallConfirmed" ? "pending-confirmation" : "pending-result-confirmation";
      return (turn?.id === action.turnId ? callOf(session, action.toolCallId) : undefined)?.status !== asked;
    }
    case "session/inputCompleted":
      return !session.inputRequests?.some((request) => request.id === action.requestId);
    case "session/pendingMessageSet": {
      const waiting = [...(session.queuedMessages ?? []), session.steeringMessage];
      // Where it is not, it may have been taken already.
      return waiting.some((message) => message?.id === action.id) || undefined;
    }
    default:
      return undefined;
  }
}

/** @param {SessionState} session @param {string} id @returns {ToolCall | undefined} */
function callOf(session, id) {
  for (const part of session.activeTurn?.responseParts ?? []) {
    if (part.kind === "toolCall" && part.toolCall.toolCallId === id) return part.toolCall;
  }
  return undefined;
}

/**
 * What became of an action: it happened (null), or why it did not.
 * @typedef {string | null} Verdict
 * @typedef {{params: Dispatched, wasSent: boolean, settle: (verdict: Verdict) => void}} Waiting
 * @typedef {(params: Dispatched) => void} Send
 */

/** All actions that wait for the host's answer. */
export class Dispatches {
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  #state;

  /** @param {ClientState} state */
  constructor(state) {
    this.#state = state;
  }

  /**
   * Show an action and send it; without a connection it is sent when there is one.
   * @param {Uri} uri @param {Action} action @param {Send | null} send @returns {Promise<Verdict>} never rejects
   */
  dispatch(uri, action, send) {
    const params = this.#state.dispatch(uri, action);
    return new Promise((settle) => {
      this.#waiting.set(params.clientSeq, { params, wasSent: send !== null, settle });
      send?.(params);
    });
  }

  /** An envelope came. If it answers an action of ours, that one is settled. @param {Envelope} envelope */
  heard(envelope) {
    if (envelope.origin?.clientId !== this.#state.clientId) return;
    const waiting = this.#waiting.get(envelope.origin.clientSeq);
    if (waiting?.params.channel !== envelope.channel) return;
    const reason = envelope.rejectionReason;
    // A duplicate: the host had taken it, and the answer got lost.
    const isDone = reason == null || (reason === "duplicate" && this.#isDone(waiting.params) !== false);
    this.#settle(waiting, isDone ? null : words(reason));
  }

  /** What was sent on a channel that nobody follows has been dealt with: only a no would have come. @param {Uri} uri */
  unopposed(uri) {
    if (this.#state.follows(uri)) return;
    for (const waiting of this.#of(uri)) if (waiting.wasSent) this.#settle(waiting, null);
  }

  /** After a reconnect: send what was not answered, but for what the state shows as done. @param {Send} send */
  resume(send) {
    for (const waiting of this.#of()) {
      if (waiting.wasSent && this.#isDone(waiting.params)) {
        this.#settle(waiting, null);
      } else {
        waiting.wasSent = true;
        send(waiting.params); // the host knows the numbers that it has seen, and does nothing twice
      }
    }
  }

  /** After a host that forgot this client: send what was never sent. The rest cannot be known. @param {Send} send */
  restart(send) {
    const before = this.#of();
    this.#waiting.clear();
    for (const waiting of before) {
      const { channel, action } = waiting.params;
      if (this.#isDone(waiting.params)) {
        this.#settle(waiting, null);
      } else if (waiting.wasSent) {
        this.#settle(waiting, "The host started again before it answered. Look, and do it again if need be.");
      } else {
        const params = this.#state.dispatch(channel, action); // under a new number: the host counts anew
        this.#waiting.set(params.clientSeq, { ...waiting, params, wasSent: true });
        send(params);
      }
    }
  }

  /** No answers will come any more from a channel. @param {Uri} uri @param {Verdict} verdict */
  fail(uri, verdict) {
    for (const waiting of this.#of(uri)) this.#settle(waiting, verdict);
  }

  /** @param {Uri} [uri] */
  #of(uri) {
    return [...this.#waiting.values()].filter((waiting) => uri === undefined || waiting.params.channel === uri);
  }

  /** @param {Dispatched} params */
  #isDone({ channel, action }) {
    const session = kindOf(channel) === "session" ? this.#state.confirmed(channel) : null;
    return session ? isDone(/** @type {SessionState} */ (session), action) : undefined;
  }

  /** @param {Waiting} waiting @param {Verdict} verdict */
  #settle(waiting, verdict) {
    this.#waiting.delete(waiting.params.clientSeq);
    this.#state.withdraw(waiting.params);
    waiting.settle(verdict);
  }
}

/** @param {string} reason `code: what happened`, or only one of the two */
function words(reason) {
  return /^[a-z_]+: (.*)$/s.exec(reason)?.[1] ?? reason.replaceAll("_", " ");
}
