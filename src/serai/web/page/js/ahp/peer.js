// JSON-RPC 2.0 over one WebSocket.
// Exports: HostError, Peer.

/** What the host refused, or why it did not answer. `code` is JSON-RPC's number, or a word: `connection_lost`. */
export class HostError extends Error {
  /** @param {number | string} code @param {string} message @param {any} [data] */
  constructor(code, message, data) {
    super(message);
    this.name = "HostError";
    this.code = code;
    this.data = data;
  }

  /** What to do about it, where the host said so. @returns {string | undefined} */
  get remedy() {
    return this.data?.remedy;
  }
}

/**
 * What a connection tells. `notified` is called in order, before the next frame is looked at; `heard` when
 * anything came; `closed` once: requests without an answer are then rejected.
 * @typedef {{opened: () => void, notified: (method: string, params: any) => void, heard?: () => void,
 *   closed: (code: number, reason: string) => void}} Hearing
 */
/** @typedef {(result: any) => void} Take */
/** @typedef {{resolve: Take, reject: (error: HostError) => void, then?: Take}} Waiting */

/** One connection, from its beginning to its end. */
export class Peer {
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  #lastId = 0;
  #isClosed = false;

  /** @param {string} url @param {string[]} protocols @param {Hearing} hearing */
  constructor(url, protocols, hearing) {
    this.#hearing = hearing;
    this.#socket = new WebSocket(url, protocols);
    this.#socket.onopen = () => hearing.opened();
    this.#socket.onmessage = (event) => this.#received(event.data);
    this.#socket.onerror = () => this.#ended(1006, ""); // a close follows, but for some that could not be opened
    this.#socket.onclose = (event) => this.#ended(event.code, event.reason);
  }
  #hearing;
  #socket;

  /**
   * Ask, and wait for the answer. @param {string} method @param {object} params
   * @param {(result: any) => void} [then] called with the result before the next frame: for an answer that the frames
   *   after it build upon @returns {Promise<any>} rejects with `HostError`
   */
  request(method, params, then) {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new HostError("connection_lost", "the connection to the host is lost");
      this.#lastId += 1;
      this.#waiting.set(this.#lastId, { resolve, reject, then });
      this.#send({ jsonrpc: "2.0", id: this.#lastId, method, params });
    });
  }

  /** Tell something that nobody answers. @param {string} method @param {object} params */
  notify(method, params) {
    this.#send({ jsonrpc: "2.0", method, params });
  }

  /** End the connection; `closed` is called at once: a dead network would let us wait for it. */
  close() {
    this.#socket.close();
    this.#ended(1000, "closed by this page");
  }

  /** @param {object} message */
  #send(message) {
    if (this.#socket.readyState === 1) this.#socket.send(JSON.stringify(message));
  }

  /** @param {string} frame */
  #received(frame) {
    if (this.#isClosed) return;
    this.#hearing.heard?.();
    const message = JSON.parse(frame);
    if (message.method === undefined) this.#answered(message);
    else if (message.id === undefined) this.#hearing.notified(message.method, message.params);
    else this.#send({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "this client serves nothing" } });
  }

  /** @param {{id: number, result?: any, error?: {code: number, message: string, data?: any}}} answer */
  #answered({ id, result, error }) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) {
      waiting?.reject(new HostError(error.code, error.message, error.data));
    } else {
      waiting?.then?.(result);
      waiting?.resolve(result);
    }
  }

  /** @param {number} code @param {string} reason */
  #ended(code, reason) {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#hearing.closed(code, reason);
    for (const waiting of this.#waiting.values()) {
      waiting.reject(new HostError("connection_lost", "the connection to the host is lost"));
    }
    this.#waiting.clear();
  }
}
