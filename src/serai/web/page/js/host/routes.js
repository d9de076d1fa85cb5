// What is asked over HTTP, with the token.
// Exports: Routes { get(path), post(path, body) }: JSON in and out; rejects with HostError, whose `code`
// is the host's word for what happened, and whose `data` is the host's whole answer with its `status`.

import { HostError } from "../ahp/peer.js";

/** The HTTP routes of a host. */
export class Routes {
  #base;
  #token;

  /** @param {{base: string, token: string | null}} options */
  constructor({ base, token }) {
    this.#base = base;
    this.#token = token;
  }

  /** @param {string} path */
  get = (path) => this.#ask("GET", path);
  /** @param {string} path @param {unknown} body */
  post = (path, body) => this.#ask("POST", path, body);

  /** @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<any>} */
  async #ask(method, path, body) {
    /** @type {Record<string, string>} */
    const headers = this.#token ? { Authorization: `Bearer ${this.#token}` } : {};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const asked = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    const answer = await fetch(this.#base + path, asked).catch(() => {
      throw new HostError("connection_lost", "the host does not answer");
    });
    const isJson = answer.headers.get("Content-Type")?.startsWith("application/json");
    const told = isJson ? await answer.json() : await answer.text();
    if (answer.ok) return told;
    const { code = "error", message = `the host answers ${answer.status}`, ...rest } = isJson ? told : {};
    throw new HostError(code, message, { ...rest, status: answer.status });
  }
}
