// Real hosts for the tests: each is a process of its own that can be killed and started again on the same port.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Host } from "../../../src/serai/web/page/js/host/host.js";
import { effect } from "../../../src/serai/web/page/js/host/signals.js";

const WITHIN = 30_000;

/** Waits until a function of signals gives something true, and returns it. */
export function until(what, name = String(what)) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(() => reject(new Error(`it did not happen: ${name}`))), WITHIN);
    let stop;
    const end = (then) => {
      clearTimeout(timer);
      setImmediate(() => stop());
      then();
    };
    stop = effect(() => {
      const found = what();
      if (found) end(() => resolve(found));
    });
  });
}

/** A host on a new home; `close` ends it, and every client that was made of it. */
export class HostProcess {
  #clients = [];
  #process = null;

  static async start() {
    const host = new HostProcess();
    host.home = await mkdtemp(join(tmpdir(), "serai-"));
    host.port = await freePort();
    host.base = `http://127.0.0.1:${host.port}`;
    await host.run();
    host.token = (await readFile(join(host.home, "token"), "utf-8")).trim();
    return host;
  }

  /** Start it, and wait until clients can connect. */
  async run() {
    const words = ["-m", "serai", "serve", "--home", this.home, "--port", String(this.port)];
    const process_ = spawn(process.env.PYTHON ?? "python3", words, { stdio: ["ignore", "pipe", "inherit"] });
    this.#process = process_;
    await new Promise((resolve, reject) => {
      let said = "";
      process_.stdout.on("data", (data) => {
        said += data;
        if (said.includes("is ready")) resolve();
      });
      process_.once("exit", (code) => reject(new Error(`the host ended with ${code}: ${said}`)));
    });
  }

  /** Kill it as `kill -9` does, and wait until it is gone. */
  kill() {
    return new Promise((resolve) => {
      this.#process.once("exit", resolve);
      this.#process.kill("SIGKILL");
    });
  }

  signal(name) {
    this.#process.kill(name);
  }

  /** A client that is connected. */
  async client(token = this.token) {
    const clientId = `test-${crypto.randomUUID()}`;
    const client = new Host({ base: this.base, token, clientId, schedule: setImmediate });
    this.#clients.push(client);
    client.start();
    if (token === this.token) await until(() => client.root.value);
    return client;
  }

  async close() {
    for (const client of this.#clients) client.close();
    await this.kill();
    await rm(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A new session of the demo agent that `client` follows: its channel, once it is ready. */
export async function demoSession(client) {
  const uri = `ahp-session:/${crypto.randomUUID()}`;
  await client.request("createSession", { channel: uri, provider: "demo" });
  return followed(client, uri);
}

/** The channel of a session, once it is ready. */
export async function followed(client, uri) {
  const channel = client.channel(uri);
  channel.hold();
  await until(() => channel.state.value?.lifecycle === "ready");
  return channel;
}

/** Says something to a session, and returns the turn's id. */
export async function say(client, uri, text) {
  const turnId = crypto.randomUUID();
  await client.dispatch(uri, { type: "session/turnStarted", turnId, userMessage: { text } });
  return turnId;
}

/** All text of a turn's answer. */
export function textOf(turn) {
  return turn.responseParts.map((part) => (part.kind === "markdown" ? part.content : "")).join("");
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
