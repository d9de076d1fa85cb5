// A client's view of a host: what is confirmed, what is hoped for, and what to do after a gap. No DOM, no socket.
// Exports: ClientState, ROOT, PROTOCOL_VERSIONS.
//
// Per channel there is the *confirmed* state, which is what the host has said, and the *pending* actions, which this
// client has dispatched and the host has not yet answered. What is shown is the confirmed state with the pending
// actions on top. An answer takes its action off the pile: an echo is applied, a rejection not. The host always wins.

/** @import {Action, ChannelState, Dispatched, Envelope, InitializeResult, ReconnectResult} from './types.d.ts' */
/** @import {Snapshot, Uri} from './types.d.ts' */
/** @import {Kind} from './reduce.js' */

import { fold, kindOf, reduce } from "./reduce.js";

/** The root channel, which also stands for the connection in commands that have no channel of their own. */
export const ROOT = "ahp-root://";
export const PROTOCOL_VERSIONS = ["0.2.0"];

/**
 * What came of an envelope: someone else's action (`applied`) or ours (`confirmed`) changed the state; ours was
 * `rejected`; it waits for its channel's snapshot (`buffered`); or it changes nothing (`ignored`).
 * @typedef {'applied' | 'confirmed' | 'rejected' | 'buffered' | 'ignored'} Outcome
 */

/** It adds text to a part. @typedef {Action<"session/delta" | "session/reasoning" | "session/toolCallDelta">} Growth */

/**
 * One channel as this client knows it. `seq` is the number of the last envelope that `confirmed` reflects; `shown` is
 * what was last shown, until something changes; `growth` is text that `confirmed` does not have yet: a turn of many
 * parts is not copied for each word.
 * @typedef {{kind: Kind, confirmed: ChannelState, seq: number, pending: Dispatched[], shown: ChannelState | null,
 *   growth: Growth | null}} Mirror
 */

/** A snapshot that was asked for, and what came meanwhile. @typedef {{asked: object, envelopes: Envelope[]}} Awaited */

/** All channels of one client, and the numbers that tie them to the host's order. */
export class ClientState {
  /** The highest number that has come over this connection: a reconnect begins after it. */
  lastSeenServerSeq = 0;
  #clientSeq = 0;
  /** @type {Map<Uri, Mirror>} */
  #mirrors = new Map();
  /** @type {Map<Uri, Awaited>} */
  #awaited = new Map();

  /** @param {string} clientId how the host knows this client; stable over reconnects */
  constructor(clientId) {
    this.clientId = clientId;
  }

  // -- connecting --------------------------------------------------------------------------------------------------

  /** What to send first on a new connection. @param {Uri[]} subscriptions */
  initialize(subscriptions) {
    this.#awaited.clear();
    return {
      channel: ROOT,
      protocolVersions: PROTOCOL_VERSIONS,
      clientId: this.clientId,
      initialSubscriptions: subscriptions,
    };
  }

  /**
   * Begin anew with what the host has sent: earlier channels and pending actions are forgotten. Our own numbers go
   * on. @param {InitializeResult} result
   */
  initialized(result) {
    this.#mirrors.clear();
    this.lastSeenServerSeq = result.serverSeq;
    for (const snapshot of result.snapshots) this.#adopt(snapshot);
  }

  /** What to send first on a connection that follows a broken one. */
  reconnect() {
    this.#awaited.clear(); // what was asked on the old one is not answered any more
    const { clientId, lastSeenServerSeq, subscriptions } = this;
    return { channel: ROOT, clientId, lastSeenServerSeq, subscriptions };
  }

  /**
   * Take up where the host says we are: replay what was missed, or begin from snapshots. Snapshots do not tell which
   * of our actions they hold, so all that is pending stays on top: whoever can tell from the state withdraws it.
   * @param {ReconnectResult} result @param {number} now
   * @returns {{resend: Dispatched[], lost: Uri[]}} actions that the host has not answered, and channels that are gone
   */
  reconnected(result, now) {
    /** @type {Uri[]} */
    let lost;
    if (result.type === "replay") {
      for (const envelope of result.actions) this.receive(envelope, now);
      lost = result.missing.filter((uri) => this.#mirrors.has(uri));
    } else {
      const known = result.snapshots.filter((snapshot) => this.#mirrors.has(snapshot.resource));
      for (const snapshot of known) this.#adopt(snapshot);
      // Not the higher of the two: a host that lost its log begins below what we have seen.
      if (result.snapshots.length) this.lastSeenServerSeq = Math.max(...result.snapshots.map((one) => one.fromSeq));
      const kept = new Set(result.snapshots.map((snapshot) => snapshot.resource));
      lost = this.subscriptions.filter((uri) => !kept.has(uri));
    }
    for (const uri of lost) this.unsubscribe(uri);
    return { resend: this.pending, lost };
  }

  // -- channels ----------------------------------------------------------------------------------------------------

  /** The channels that this client follows. */
  get subscriptions() {
    return [...this.#mirrors.keys()];
  }

  /** @param {Uri} uri */
  follows(uri) {
    return this.#mirrors.has(uri);
  }

  /** What to send to follow a channel. From now on its envelopes are kept for the snapshot. @param {Uri} uri */
  subscribe(uri) {
    const asked = { channel: uri };
    const awaited = this.#awaited.get(uri);
    if (awaited) awaited.asked = asked;
    else this.#awaited.set(uri, { asked, envelopes: [] });
    return asked;
  }

  /**
   * The host has answered: begin with the snapshot, then with what came in the meantime.
   * @param {{snapshot?: Snapshot}} result @param {{channel: Uri}} asked what `subscribe` gave: an answer to an
   *   earlier request is passed over @param {number} now
   */
  subscribed(result, asked, now) {
    const awaited = this.#awaited.get(asked.channel);
    if (awaited?.asked !== asked) return; // unsubscribed in the meantime
    this.#awaited.delete(asked.channel);
    if (!result.snapshot) return;
    this.#adopt(result.snapshot);
    for (const envelope of awaited.envelopes) this.receive(envelope, now);
  }

  /** What to send in order to follow a channel no more. Its state is forgotten at once. @param {Uri} uri */
  unsubscribe(uri) {
    this.#mirrors.delete(uri);
    this.#awaited.delete(uri);
    return { channel: uri };
  }

  // -- state -------------------------------------------------------------------------------------------------------

  /**
   * What to show: the confirmed state with our pending actions on top; null if not followed. A terminal shows only
   * what the host has said. @param {Uri} uri @param {number} now
   */
  state(uri, now) {
    const mirror = this.#mirrors.get(uri);
    if (!mirror) return null;
    const confirmed = settled(mirror);
    if (mirror.kind === "terminal" || !mirror.pending.length) return confirmed;
    const hopes = mirror.pending.map((dispatched) => dispatched.action);
    mirror.shown ??= fold(mirror.kind, confirmed, hopes, now);
    return mirror.shown;
  }

  /** What the host has said, without our hopes; null if not followed. @param {Uri} uri */
  confirmed(uri) {
    const mirror = this.#mirrors.get(uri);
    return mirror ? settled(mirror) : null;
  }

  /** What the host has not answered yet, in the order of dispatch. */
  get pending() {
    const everything = [...this.#mirrors.values()].flatMap((mirror) => mirror.pending);
    return everything.sort((one, other) => one.clientSeq - other.clientSeq);
  }

  // -- actions -----------------------------------------------------------------------------------------------------

  /**
   * What to send in order to make something happen; it is shown at once. On a channel that is not followed nothing is
   * shown, and only a rejection will come. @param {Uri} uri @param {Action} action @returns {Dispatched}
   */
  dispatch(uri, action) {
    this.#clientSeq += 1;
    const dispatched = { channel: uri, clientSeq: this.#clientSeq, action };
    const mirror = this.#mirrors.get(uri);
    if (mirror) {
      mirror.pending = [...mirror.pending, dispatched];
      mirror.shown = null;
    }
    return dispatched;
  }

  /**
   * Take in an envelope, live or replayed. One that was seen before changes nothing.
   * @param {Envelope} envelope @param {number} now @returns {Outcome}
   */
  receive(envelope, now) {
    const { channel, serverSeq, origin } = envelope;
    this.lastSeenServerSeq = Math.max(this.lastSeenServerSeq, serverSeq);
    const awaited = this.#awaited.get(channel);
    awaited?.envelopes.push(envelope);
    const mirror = this.#mirrors.get(channel);
    if (!mirror) return awaited ? "buffered" : "ignored";
    const isOurs = origin?.clientId === this.clientId && take(mirror, origin.clientSeq);
    /** @type {Outcome} */
    let outcome = isOurs ? "confirmed" : "applied";
    if (envelope.rejectionReason != null) {
      outcome = isOurs ? "rejected" : "ignored";
    } else if (serverSeq <= mirror.seq) {
      outcome = isOurs ? "confirmed" : "ignored"; // the snapshot, or an earlier copy, has brought it already
    } else {
      apply(mirror, envelope.action, now);
      mirror.shown = null;
    }
    mirror.seq = Math.max(mirror.seq, serverSeq);
    return outcome;
  }

  /** Show an action of ours no longer: not an envelope has answered it. @param {Dispatched} dispatched */
  withdraw(dispatched) {
    const mirror = this.#mirrors.get(dispatched.channel);
    if (mirror) take(mirror, dispatched.clientSeq);
  }

  /** @param {Snapshot} snapshot */
  #adopt({ resource, state, fromSeq }) {
    const kind = kindOf(resource);
    if (!kind) return;
    const pending = this.#mirrors.get(resource)?.pending ?? [];
    this.#mirrors.set(resource, { kind, confirmed: state, seq: fromSeq, pending, shown: null, growth: null });
  }
}

/** Take an action off the pile. Returns whether it was there. @param {Mirror} mirror @param {number} clientSeq */
function take(mirror, clientSeq) {
  const left = mirror.pending.filter((waiting) => waiting.clientSeq !== clientSeq);
  if (left.length === mirror.pending.length) return false;
  mirror.pending = left;
  mirror.shown = null;
  return true;
}

/** @param {Mirror} mirror @param {Action} action @param {number} now */
function apply(mirror, action, now) {
  const { growth } = mirror;
  if (growth && isMore(growth, action)) {
    mirror.growth = { ...growth, content: growth.content + action.content };
    return;
  }
  mirror.confirmed = settled(mirror);
  if (GROWING.has(action.type)) mirror.growth = /** @type {Growth} */ (action);
  else mirror.confirmed = reduce(mirror.kind, mirror.confirmed, action, now);
}

const GROWING = new Set(["session/delta", "session/reasoning", "session/toolCallDelta"]);

/** Whether it adds to the same text. @param {Growth} growth @param {Action} action @returns {action is Growth} */
function isMore(growth, action) {
  if (action.type !== growth.type || action.turnId !== growth.turnId) return false;
  if (action.type !== "session/toolCallDelta") return action.partId === /** @type {typeof action} */ (growth).partId;
  const isSame = action.toolCallId === /** @type {typeof action} */ (growth).toolCallId;
  return isSame && action.invocationMessage === undefined;
}

/** The confirmed state, with the text that has grown. No time is needed: text changes none. @param {Mirror} mirror */
function settled(mirror) {
  const { growth } = mirror;
  mirror.growth = null;
  if (growth) mirror.confirmed = reduce(mirror.kind, mirror.confirmed, growth, 0);
  return mirror.confirmed;
}
