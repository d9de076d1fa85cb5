// The relay as views read it: rooms, messages, deliveries and agents, over the WebSocket `/relay`.
// Exports: Relay.
//   call(method, params): Promise<result>            on(types, listener): () => void
//   identity, agents, inbox, openDeliveries: signals that are kept up to date from `start` to `close`

/** @import {Peer} from "../ahp/peer.js" */

import { HostError } from "../ahp/peer.js";
import { Line } from "./line.js";
import { batch, signal } from "./signals.js";

/**
 * @typedef {{id: string, name: string, handle: string, displayName?: string, kind?: string}} Identity
 * @typedef {{identity: Identity, session?: string, status?: string, capabilities?: any, waiting?: number}} Agent
 * @typedef {{id: string, messageId: string, agent: string, state: string, mode: string, waitsFor?: string,
 *   error?: string, attempts?: number, receipts?: {at: string, receipt: any}[], createdAt: string, updatedAt: string,
 *   [more: string]: any}} Delivery
 * @typedef {{id: string, type: string, at: string, actor?: string, subject?: string, data: any}} RelayEvent
 */

const HEARD = ["message.*", "room.*", "agent.*", "delivery.*", "action.*"];
const OPEN = ["created", "accepted", "deferred", "handing"];
const MOST = 500;
/** Many events come together: what they change is asked for once. */
const GATHER = 250;

/** One per page. */
export class Relay {
  /** Who this page speaks as; null for who only reads. */
  identity = signal(/** @type {Identity | null} */ (null));
  /** Everyone who takes part. */
  agents = signal(/** @type {readonly Agent[]} */ ([]));
  /** What waits for the person, as `inbox.get` tells it; looking does not receive it. */
  inbox = signal(/** @type {any} */ (null));
  /** What has not been delivered yet, by the URI of the session that it is for. */
  openDeliveries = signal(/** @type {ReadonlyMap<string, readonly Delivery[]>} */ (new Map()));

  #line;
  /** @type {Set<{types: RegExp, listener: (event: RelayEvent) => void}>} */
  #listeners = new Set();
  /** The last event that was heard. @type {string | undefined} */
  #last;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {{base: string, token: string | null}} options */
  constructor({ base, token }) {
    this.#line = new Line({
      ...{ base, token, path: "/relay" },
      handshake: (peer) => this.#greet(peer),
      notified: (_method, { event }) => this.#heard(event),
      ping: (peer) => peer.request("hello", {}),
    });
    this.connection = this.#line.state;
  }

  /** Connect, and stay connected until `close`. */
  start = () => this.#line.start();

  /** End the connection. */
  close() {
    clearTimeout(this.#timer);
    this.#line.close();
  }

  /**
   * Call a method of the relay, such as `messages.send`. Waits for the connection if need be.
   * @param {string} method @param {object} [params]
   * @returns {Promise<any>} rejects with `HostError`, whose `code` is the relay's word for it
   */
  async call(method, params = {}) {
    const peer = await this.#line.ready();
    return peer.request(method, params).catch((error) => {
      throw new HostError(error.data?.code ?? error.code, error.data?.message ?? error.message, error.data);
    });
  }

  /**
   * Hear of events from now on: messages, rooms, agents, deliveries and actions.
   * @param {string} types a type, `delivery.*`, or `*` @param {(event: RelayEvent) => void} listener
   * @returns {() => void} ends it
   */
  on(types, listener) {
    const pattern = types.replaceAll(".", "\\.").replaceAll("*", ".*");
    const entry = { types: new RegExp(`^${pattern}$`), listener };
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** @param {Peer} peer */
  async #greet(peer) {
    const hello = await peer.request("hello", {});
    this.identity.value = hello.identity ?? null;
    // What was missed comes again. What is no longer there is made up for by asking anew, as all views do.
    await peer.request("events.subscribe", { types: HEARD, after: this.#last ?? hello.lastEventId });
    this.#line.up(peer);
    void this.#refresh();
  }

  /** @param {RelayEvent} event */
  #heard(event) {
    this.#last = event.id;
    for (const { types, listener } of this.#listeners) if (types.test(event.type)) listener(event);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#refresh(), GATHER);
  }

  async #refresh() {
    // What this token may not read, and what a lost connection does not bring, stays as it was.
    /** @param {string} method @param {object} params */
    const ask = (method, params) => this.call(method, params).catch(() => null);
    const [told, inbox, ...open] = await Promise.all([
      ask("agents.list", {}),
      ask("inbox.get", { peek: true }),
      ...OPEN.map((state) => ask("deliveries.list", { state, limit: MOST })),
    ]);
    const agents = told?.agents ?? this.agents.peek();
    const sessions = new Map(agents.map((/** @type {Agent} */ agent) => [agent.identity.handle, agent.session]));
    /** @type {Map<string, Delivery[]>} */
    const bySession = new Map();
    for (const delivery of open.flatMap((/** @type {{deliveries: Delivery[]}} */ one) => one?.deliveries ?? [])) {
      const session = sessions.get(delivery.agent);
      if (session) bySession.set(session, [...(bySession.get(session) ?? []), delivery]);
    }
    batch(() => {
      this.agents.value = agents;
      this.inbox.value = inbox ?? this.inbox.peek();
      if (open.every(Boolean)) this.openDeliveries.value = bySession;
    });
  }
}
