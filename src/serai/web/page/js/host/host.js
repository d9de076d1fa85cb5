// The host as views read it: signals of its connection, its sessions and its channels.
// Exports: Host, ROOT.
//
// Envelopes are reduced at once; signals are set once per frame. Untouched turns and parts are the same objects as
// before, so views may memoise by identity.

/** @import {Action, ChannelState, Commands, Dispatched, Envelope, InitializeResult} from "../ahp/types.d.ts" */
/** @import {ReconnectResult, RootState, SessionSummary, Uri} from "../ahp/types.d.ts" */
/** @import {Peer} from "../ahp/peer.js" */
/** @import {ReadonlySignal, Signal} from "./signals.js" */

import { ClientState, ROOT } from "../ahp/client.js";
import { HostError } from "../ahp/peer.js";
import { Channel } from "./channel.js";
import { Dispatches } from "./dispatches.js";
import { Line } from "./line.js";
import { Routes } from "./routes.js";
import { SessionList } from "./session_list.js";
import { batch, computed, signal } from "./signals.js";

export { ROOT };

const PERMISSION_DENIED = -32009;
const SESSION_NOT_FOUND = -32001;
const MOST_NOTICES = 20;
const NOTICE_STAYS = 12_000; // ms, unless someone closes it

/** Asking these twice does no harm: they are asked again when the connection is lost before the answer. */
const REPEATABLE = new Set([
  ...["ping", "resolveSessionConfig", "sessionConfigCompletions", "completions"],
  ...["resourceRead", "resourceList", "resourceResolve", "serai/agents"],
  ...["createSession", "disposeSession", "createTerminal", "disposeTerminal"],
]);

/** What a repeated request is answered with when the first one had been carried out. @type {Record<string, number>} */
const DONE_ALREADY = {
  createSession: -32003,
  disposeSession: SESSION_NOT_FOUND,
  createTerminal: -32010,
  disposeTerminal: -32008,
};

/** A short message to the person. @typedef {{id: number, text: string}} Notice */

/** The frames of the page; a timer where there are none, as in a page that is hidden. @param {() => void} run */
function nextFrame(run) {
  let isDone = false;
  const once = () => {
    if (!isDone) run();
    isDone = true;
  };
  globalThis.requestAnimationFrame?.(once);
  setTimeout(once, 100);
}

/** One per page. */
export class Host {
  /** The socket alone: connecting, open, lost (and being made again), or refused (for the token). */
  connection;
  /** When the host last said anything, in ms, apart from the socket's state. */
  freshAt;
  /** The state of `ahp-root://`. @type {ReadonlySignal<RootState | null>} */
  root;
  /** All sessions, live, by URI. @type {Signal<ReadonlyMap<Uri, SessionSummary>>} */
  summaries = signal(/** @type {ReadonlyMap<Uri, SessionSummary>} */ (new Map()));
  /** Whether the token may only read and answer. */
  isReading = signal(false);
  /** @type {Signal<readonly Notice[]>} */
  notices = signal(/** @type {readonly Notice[]} */ ([]));
  /** Where sessions work unless they are told otherwise. @type {Signal<Uri | null>} */
  defaultDirectory = signal(/** @type {Uri | null} */ (null));

  #state;
  #dispatches;
  #line;
  #routes;
  #schedule;
  #isKnown = false;
  /** @type {Map<Uri, Channel>} */
  #channels = new Map();
  #list = new SessionList();
  /** @type {Set<Uri>} */
  #dirty = new Set();
  #isListDirty = false;
  #isScheduled = false;
  #lastNotice = 0;

  /**
   * @param {object} options @param {string} options.base the host's address, such as `location.origin`
   * @param {string | null} options.token @param {string} options.clientId how the host knows this window
   * @param {(run: () => void) => void} [options.schedule] when signals are set; by default with the next frame
   */
  constructor({ base, token, clientId, schedule = nextFrame }) {
    this.#state = new ClientState(clientId);
    this.#dispatches = new Dispatches(this.#state);
    this.#routes = new Routes({ base, token });
    this.#schedule = schedule;
    this.#line = new Line({
      ...{ base, token, path: "/ahp" },
      handshake: (peer) => this.#shakeHands(peer),
      notified: (method, params) => this.#notified(method, params),
      ping: (peer) => peer.request("ping", { channel: ROOT }),
    });
    this.connection = this.#line.state;
    this.freshAt = this.#line.freshAt;
    const root = /** @type {Channel<RootState>} */ (this.channel(ROOT));
    root.hold();
    this.root = computed(() => root.state.value);
  }

  /** How the host knows this window. */
  get clientId() {
    return this.#state.clientId;
  }

  /** Connect, and stay connected until `close`. */
  start = () => this.#line.start();

  /** End the connection. Turns go on on the host. */
  close = () => this.#line.close();

  // -- what views do -----------------------------------------------------------------------------------------------

  /**
   * The channel of a URI. It is followed while someone holds it (`useChannel`). @template {ChannelState} [S=any]
   * @param {Uri} uri @returns {Channel<S>}
   */
  channel(uri) {
    let channel = this.#channels.get(uri);
    if (!channel) {
      channel = new Channel(uri, (one) => this.#heldOrLeft(one));
      this.#channels.set(uri, channel);
    }
    return channel;
  }

  /**
   * Ask the host. Waits for the connection if need be. @template {keyof Commands} K @param {K} method
   * @param {Commands[K][0] & {channel?: Uri}} [params] `channel` is the root unless it is said
   * @returns {Promise<Commands[K][1]>} rejects with `HostError`
   */
  async request(method, params) {
    for (let isRepeated = false; ; isRepeated = true) {
      const peer = await this.#line.ready();
      try {
        return await peer.request(method, { channel: ROOT, ...params });
      } catch (error) {
        if (!(error instanceof HostError)) throw error;
        if (isRepeated && error.code === DONE_ALREADY[method]) return /** @type {any} */ (null);
        if (error.code !== "connection_lost" || !REPEATABLE.has(method)) throw error;
      }
    }
  }

  /**
   * Let an action happen. It is shown at once, if its channel is followed; a refusal is told as a notice.
   * @param {Uri} uri @param {Action} action @returns {Promise<boolean>} whether it happened; it never rejects
   */
  async dispatch(uri, action) {
    const peer = this.#line.peer;
    const channel = this.#state.follows(uri) ? this.channel(uri) : null;
    channel?.hold(); // it is not left before the answer is there: who writes without a connection may go elsewhere
    const answer = this.#dispatches.dispatch(uri, action, peer && this.#sender(peer));
    this.#changed(uri);
    // Of a channel that nobody follows only a refusal comes, and before the answer to this.
    if (!channel) this.request("ping").then(() => this.#dispatches.unopposed(uri), () => {});
    const verdict = await answer;
    channel?.release();
    this.#changed(uri);
    if (verdict) this.notify(verdict);
    return verdict === null;
  }

  /** Tell the person something. @param {string | Error} what */
  notify(what) {
    const { message: text, remedy } = /** @type {HostError} */ (what instanceof Error ? what : { message: what });
    this.#lastNotice += 1;
    const notice = { id: this.#lastNotice, text: remedy ? `${text}. ${remedy}` : text };
    this.notices.value = [...this.notices.peek(), notice].slice(-MOST_NOTICES);
    /** @type {any} */ (setTimeout(() => this.dismiss(notice.id), NOTICE_STAYS)).unref?.();
  }

  /** @param {number} id */
  dismiss(id) {
    this.notices.value = this.notices.peek().filter((notice) => notice.id !== id);
  }

  // -- the connection ----------------------------------------------------------------------------------------------

  /** Speak first. What the answer brings is taken up before the next frame. @param {Peer} peer */
  async #shakeHands(peer) {
    if (this.#isKnown) {
      try {
        await peer.request("reconnect", this.#state.reconnect(), (result) => this.#reconnected(peer, result));
        return;
      } catch (error) {
        if (error instanceof HostError && error.code === "connection_lost") throw error;
      }
    }
    await this.#initialize(peer).catch(async (error) => {
      if (error.code !== PERMISSION_DENIED) throw error;
      // The id belongs to another token, one that this browser had before.
      this.#state.clientId = `page-${crypto.randomUUID()}`;
      await this.#initialize(peer);
    });
  }

  /** @param {Peer} peer */
  #initialize(peer) {
    const held = [...this.#channels.values()].filter((channel) => channel.isHeld).map((channel) => channel.uri);
    return peer.request("initialize", this.#state.initialize(held), (result) => this.#initialized(peer, result));
  }

  /** @param {Peer} peer @param {InitializeResult} result */
  #initialized(peer, result) {
    this.#state.initialized(result);
    this.#isKnown = true;
    this.defaultDirectory.value = result.defaultDirectory ?? null;
    this.#dispatches.restart(this.#sender(peer));
    this.#takenUp(peer);
  }

  /** @param {Peer} peer @param {ReconnectResult} result */
  #reconnected(peer, result) {
    // The way that live envelopes go; the state then finds nothing new in them.
    if (result.type === "replay") for (const envelope of result.actions) this.#received(envelope);
    this.#state.reconnected(result, Date.now());
    this.#dispatches.resume(this.#sender(peer));
    this.#takenUp(peer);
  }

  /** @param {Peer} peer */
  #takenUp(peer) {
    this.#line.up(peer);
    for (const channel of this.#channels.values()) {
      this.#changed(channel.uri);
      if (channel.isHeld && !this.#state.follows(channel.uri)) void this.#subscribe(channel, peer);
    }
    void this.#askForList(peer);
    void this.#learnRole();
  }

  /** @param {Peer} peer @returns {(params: Dispatched) => void} */
  #sender(peer) {
    return (params) => peer.notify("dispatchAction", params);
  }

  async #learnRole() {
    const asked = { jsonrpc: "2.0", id: 1, method: "hello", params: {} };
    const answer = await this.#routes.post("/relay", asked).catch(() => null);
    this.isReading.value = ["responder", "observer"].includes(answer?.result?.role);
  }

  // -- channels ----------------------------------------------------------------------------------------------------

  /** @param {Channel} channel */
  #heldOrLeft(channel) {
    const peer = this.#line.peer;
    if (channel.isHeld) {
      this.#channels.set(channel.uri, channel);
      if (peer) void this.#subscribe(channel, peer);
      return;
    }
    const params = this.#state.unsubscribe(channel.uri);
    peer?.notify("unsubscribe", params);
    channel.state.value = null;
    channel.problem.value = null;
    this.#channels.delete(channel.uri);
  }

  /** @param {Channel} channel @param {Peer} peer */
  async #subscribe(channel, peer) {
    const asked = this.#state.subscribe(channel.uri);
    try {
      await peer.request("subscribe", asked, (result) => {
        this.#state.subscribed(result, asked, Date.now());
        channel.problem.value = null;
        this.#changed(channel.uri);
      });
    } catch (error) {
      if (!(error instanceof HostError) || error.code === "connection_lost") return; // the next connection asks again
      this.#gone(channel.uri, error);
    }
  }

  /** @param {Uri} uri @param {HostError} error */
  #gone(uri, error) {
    this.#state.unsubscribe(uri);
    this.#dispatches.fail(uri, error.message);
    const channel = this.#channels.get(uri);
    if (channel) channel.problem.value = error;
    this.#changed(uri);
  }

  /** @param {Uri} uri */
  #changed(uri) {
    if (this.#channels.has(uri)) this.#dirty.add(uri);
    this.#flushSoon();
  }

  #flushSoon() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => this.#flush());
  }

  #flush() {
    this.#isScheduled = false;
    const now = Date.now();
    batch(() => {
      for (const uri of this.#dirty) {
        const channel = this.#channels.get(uri);
        if (channel) channel.state.value = this.#state.state(uri, now);
      }
      if (this.#isListDirty) this.summaries.value = this.#list.snapshot();
    });
    this.#dirty.clear();
    this.#isListDirty = false;
  }

  // -- what the host says ------------------------------------------------------------------------------------------

  /** @param {string} method @param {any} params */
  #notified(method, params) {
    if (method === "action") this.#received(params);
    if (!method.startsWith("root/session")) return;
    this.#list.told(method, params);
    this.#listChanged();
    if (method === "root/sessionAdded") this.#tryAgain(params.summary.resource);
    if (method === "root/sessionRemoved" && this.#channels.has(params.session)) {
      this.#gone(params.session, new HostError(SESSION_NOT_FOUND, "This session was removed"));
    }
  }

  /** @param {Envelope} envelope */
  #received(envelope) {
    this.#state.receive(envelope, Date.now());
    this.#dispatches.heard(envelope);
    this.#changed(envelope.channel);
  }

  /** A channel that someone holds has come to be. @param {Uri} uri */
  #tryAgain(uri) {
    const channel = this.#channels.get(uri);
    if (channel?.isHeld && channel.problem.peek() && this.#line.peer) void this.#subscribe(channel, this.#line.peer);
  }

  /** Ask which sessions there are. @param {Peer} peer */
  async #askForList(peer) {
    const answered = this.#list.asked();
    await peer
      .request("listSessions", { channel: ROOT }, (result) => {
        answered(result);
        this.#listChanged();
      })
      .catch(() => {}); // the next connection asks again
  }

  #listChanged() {
    this.#isListDirty = true;
    this.#flushSoon();
  }
}
