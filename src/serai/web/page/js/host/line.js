// A connection that is made again when it is lost: the one owner of reconnecting.
// Exports: Line.
//   state: Signal<"connecting" | "open" | "lost" | "refused">   freshAt: Signal<number>
//   start(), close(), wake(), ready(): Promise<Peer>, peer: Peer | null

/** @import {ReadonlySignal, Signal} from "./signals.js" */
/** @typedef {"connecting" | "open" | "lost" | "refused"} Connection */

import { HostError, Peer } from "../ahp/peer.js";
import { signal } from "./signals.js";

const FIRST_DELAY = 500;
const LONGEST_DELAY = 15_000;
const PING_EVERY = 10_000;
/** After a connection that held so long, delays are short again. */
const STEADY = 10_000;
/** So long a host may say nothing after a ping, or in a handshake. */
const PATIENCE = 15_000;
/** The same, where the network may be another one. */
const SHORT_PATIENCE = 5000;
const TOKEN_REVOKED = 4401;

/**
 * Where a host is (`base`, `http://…`, and the `path` of its WebSocket), and how to speak with it. A `handshake` that
 * rejects says that the connection cannot be used.
 * @typedef {{base: string, path: string, token: string | null, handshake: (peer: Peer) => Promise<void>,
 *   notified: (method: string, params: any) => void, ping: (peer: Peer) => Promise<unknown>}} Ends
 */

/** One connection after another, from `start` to `close`. */
export class Line {
  /** @type {Signal<Connection>} */
  state = signal(/** @type {Connection} */ ("connecting"));
  /** When the host last said anything, in ms: to the second, for all who draw it draw again. */
  freshAt = signal(0);
  /** The connection, while it can be used. @type {Peer | null} */
  peer = null;
  /** The connection that is being made, or is there. @type {Peer | null} */
  #trying = null;
  #delay = FIRST_DELAY;
  /** How many frames have come. */
  #heardCount = 0;
  #upAt = Infinity;
  #isClosed = true;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {((peer: Peer | HostError) => void)[]} */
  #waiting = [];
  #ends;

  /** @param {Ends} ends */
  constructor(ends) {
    this.#ends = ends;
  }

  /** Connect, and go on until `close`. */
  start() {
    this.#isClosed = false;
    globalThis.addEventListener?.("online", this.#wake);
    globalThis.document?.addEventListener("visibilitychange", this.#wake);
    this.#connect();
  }

  /** End it. Whoever waits is rejected. */
  close() {
    this.#isClosed = true;
    globalThis.removeEventListener?.("online", this.#wake);
    globalThis.document?.removeEventListener("visibilitychange", this.#wake);
    clearTimeout(this.#timer);
    this.#trying?.close();
    this.#settle(new HostError("connection_lost", "the connection to the host was closed"));
  }

  /** Try now and not later; a connection that is there has to prove it. */
  wake() {
    if (this.peer) void this.#ping(this.peer, SHORT_PATIENCE);
    else if (!this.#trying && !this.#isClosed && this.state.peek() !== "refused") this.#connect();
  }

  #wake = () => {
    if (!globalThis.document?.hidden) this.wake();
  };

  /** The connection, as soon as it is there. Rejects with `HostError` when none will be. @returns {Promise<Peer>} */
  ready() {
    if (this.peer) return Promise.resolve(this.peer);
    if (this.state.peek() === "refused") return Promise.reject(refused());
    return new Promise((resolve, reject) => {
      this.#waiting.push((peer) => (peer instanceof HostError ? reject(peer) : resolve(peer)));
    });
  }

  /** The handshake is done: from this moment on the connection is used. @param {Peer} peer */
  up(peer) {
    this.peer = peer;
    this.#upAt = Date.now();
    this.state.value = "open";
    this.#settle(peer);
    this.#later(PING_EVERY, () => void this.#ping(peer));
  }

  #connect() {
    clearTimeout(this.#timer);
    const { base, path, token, notified } = this.#ends;
    // As a protocol, and not in the address: browsers write that into their console, and proxies into their logs.
    const protocols = token ? ["serai", `serai.tkn.${token}`] : [];
    let wasOpen = false;
    const peer = new Peer(`${base.replace(/^http/, "ws")}${path}`, protocols, {
      opened: () => {
        wasOpen = true;
        this.#ends.handshake(peer).catch(() => peer.close());
      },
      heard: () => this.#heard(),
      notified,
      closed: (code) => void this.#lost(peer, wasOpen, code),
    });
    this.#trying = peer;
    this.#later(PATIENCE, () => {
      if (this.peer !== peer) peer.close();
    });
  }

  #heard() {
    this.#heardCount += 1;
    const now = Date.now();
    if (now - this.freshAt.peek() >= 1000) this.freshAt.value = now;
  }

  /** @param {Peer} peer @param {boolean} wasOpen @param {number} code */
  async #lost(peer, wasOpen, code) {
    if (this.#trying !== peer) return;
    this.#trying = this.peer = null;
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    if (Date.now() - this.#upAt >= STEADY) this.#delay = FIRST_DELAY;
    this.#upAt = Infinity;
    this.state.value = "lost";
    // A browser does not tell why a WebSocket was refused: whether it is for the token, a request tells.
    const isRefused = code === TOKEN_REVOKED || (!wasOpen && (await this.#isTokenRefused()));
    if (this.#isClosed || this.#trying) return;
    if (isRefused) {
      this.state.value = "refused";
      this.#settle(refused());
      return;
    }
    // By chance, so that many windows do not come back at the same moment.
    this.#later(this.#delay * (0.5 + Math.random() / 2), () => this.#connect());
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY);
  }

  async #isTokenRefused() {
    const { base, token } = this.#ends;
    /** @type {Record<string, string>} */
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const answer = await fetch(`${base}/readyz`, { headers, signal: AbortSignal.timeout(5000) }).catch(() => null);
    return answer?.status === 401;
  }

  /** @param {Peer} peer @param {number} [patience] */
  async #ping(peer, patience = PATIENCE) {
    const before = this.#heardCount;
    this.#later(patience, () => {
      if (this.#heardCount === before) peer.close();
      else void this.#ping(peer); // it speaks, and is slow to answer
    });
    await this.#ends.ping(peer).catch(() => {});
    if (this.peer !== peer) return;
    this.freshAt.value = Date.now();
    this.#later(PING_EVERY, () => void this.#ping(peer));
  }

  /** One thing is waited for at a time. @param {number} delay @param {() => void} run */
  #later(delay, run) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, delay);
  }

  /** @param {Peer | HostError} peer */
  #settle(peer) {
    for (const waiting of this.#waiting.splice(0)) waiting(peer);
  }
}

function refused() {
  return new HostError("access_refused", "the host does not know this browser any more");
}
