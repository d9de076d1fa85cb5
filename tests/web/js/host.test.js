// The model of the page against real hosts.

import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { Line } from "../../../src/serai/web/page/js/host/line.js";
import { Relay } from "../../../src/serai/web/page/js/host/relay.js";
import { Routes } from "../../../src/serai/web/page/js/host/routes.js";
import { Status } from "../../../src/serai/web/page/js/ahp/reducers/session.js";
import { grouped } from "../../../src/serai/web/page/js/host/sessions.js";
import { HostProcess, demoSession, followed, say, textOf, until } from "./hosting.js";

/** A state but for the times that each side reads off its own clock. */
function timeless({ summary, ...state }) {
  return { ...state, summary: { ...summary, modifiedAt: 0 } };
}

/** What another client is told that comes now. */
async function afresh(host, uri) {
  const other = await host.client();
  return timeless((await followed(other, uri)).state.value);
}

describe("a host", () => {
  /** @type {HostProcess} */
  let host;
  before(async () => void (host = await HostProcess.start()));
  after(() => host.close());

  it("tells which agents it has, and where sessions work", async () => {
    const client = await host.client();
    assert.equal(client.connection.value, "open");
    assert.ok(client.root.value.agents.some((agent) => agent.provider === "demo"));
    assert.match(client.defaultDirectory.value, /^file:/);
    assert.equal(client.isReading.value, false);
  });

  it("shows sessions of others live in the list, in the group of what they do", async () => {
    const [watcher, worker] = [await host.client(), await host.client()];
    const { uri } = await demoSession(worker);
    const groupNow = () =>
      grouped(watcher.summaries.value.values(), new Map()).find(({ sessions }) =>
        sessions.some((one) => one.resource === uri),
      )?.group;
    await until(() => groupNow() === "done");
    await say(worker, uri, "tool");
    await until(() => groupNow() === "needsYou");
    await watcher.dispatch(uri, { type: "session/isArchivedChanged", isArchived: true });
    await until(() => groupNow() === undefined);
    await worker.request("disposeSession", { channel: uri });
    await until(() => !watcher.summaries.value.has(uri));
    assert.equal(worker.channel(uri).problem.value.code, -32001);
  });

  it("streams a turn, and leaves untouched turns and parts the same objects", async () => {
    const client = await host.client();
    const session = await demoSession(client);
    await say(client, session.uri, "hello");
    const first = await until(() => session.state.value.turns[0]);
    await say(client, session.uri, "think about tea; write 120");
    const reasoning = await until(
      () =>
        session.state.value.activeTurn?.responseParts.find((p) => p.kind === "markdown") &&
        session.state.value.activeTurn.responseParts[0],
    );
    const lengths = new Set();
    await until(() => {
      const { activeTurn } = session.state.value;
      if (activeTurn) lengths.add(textOf(activeTurn).length);
      return !activeTurn;
    });
    assert.ok(lengths.size > 10, `it was drawn ${lengths.size} times`);
    assert.equal(session.state.value.turns[0], first);
    assert.equal(session.state.value.turns[1].responseParts[0], reasoning);
    assert.deepEqual(timeless(session.state.value), await afresh(host, session.uri));
  });

  it("shows what was dispatched at once, and takes it back when the host refuses", async () => {
    const client = await host.client();
    const session = await demoSession(client);
    const titled = client.dispatch(session.uri, { type: "session/titleChanged", title: "Mine" });
    await until(() => session.state.value.summary.title === "Mine");
    assert.equal(await titled, true);
    await say(client, session.uri, "tool");
    await until(() => session.state.value.summary.status & Status.IN_PROGRESS);
    const turnId = crypto.randomUUID();
    const refused = client.dispatch(session.uri, { type: "session/turnStarted", turnId, userMessage: { text: "no" } });
    await until(() => session.state.value.activeTurn?.id === turnId);
    assert.equal(await refused, false);
    await until(() => session.state.value.activeTurn?.id !== turnId);
    await until(() => client.notices.value.length === 1);
    client.dismiss(client.notices.value[0].id);
    assert.deepEqual(client.notices.value, []);
  });

  it("tells of a refusal on a session that is not open, too", async () => {
    const client = await host.client();
    const { uri } = await demoSession(client);
    const other = await host.client();
    assert.equal(await other.dispatch(uri, { type: "session/turnCancelled", turnId: "none" }), false);
    assert.equal(other.notices.value.length, 1);
  });

  it("lets one window approve with another input what a second one sees, and both agree", async () => {
    const [one, two] = [await host.client(), await host.client()];
    const here = await demoSession(one);
    const other = await followed(two, here.uri);
    await say(one, here.uri, "tool echo before");
    const pending = (channel) =>
      until(() => {
        const parts = channel.state.value.activeTurn?.responseParts ?? [];
        return parts.find((part) => part.toolCall?.status === "pending-confirmation")?.toolCall;
      });
    const { toolCallId, toolInput } = await pending(other);
    const { id: turnId } = other.state.value.activeTurn;
    const editedToolInput = toolInput.replace("before", "afterwards");
    await two.dispatch(here.uri, {
      type: "session/toolCallConfirmed",
      ...{ turnId, toolCallId, approved: true, confirmed: "user-action", editedToolInput },
    });
    for (const channel of [here, other]) await until(() => channel.state.value.turns.length === 1);
    assert.match(JSON.stringify(here.state.value.turns[0]), /afterwards/);
    assert.deepEqual(timeless(here.state.value), timeless(other.state.value));
  });

  it("says why a channel is not there, and follows it when it comes to be", async () => {
    const client = await host.client();
    const channel = client.channel(`ahp-session:/${crypto.randomUUID()}`);
    channel.hold();
    await until(() => channel.problem.value);
    await client.request("createSession", { channel: channel.uri, provider: "demo" });
    await until(() => channel.state.value && !channel.problem.value);
  });

  it("rejects a request with the host's error", async () => {
    const client = await host.client();
    const asked = client.request("createSession", { channel: "ahp-session:/x", provider: "nobody" });
    await assert.rejects(asked, { name: "HostError", code: -32002 });
  });

  it("refuses a token that it does not know, and is not asked again", async () => {
    const client = await host.client("not-the-token");
    await until(() => client.connection.value === "refused");
    await assert.rejects(client.request("ping"), { code: "access_refused" });
  });

  it("answers over HTTP, and its errors have its own words", async () => {
    const routes = new Routes(host);
    assert.equal((await routes.get("/readyz")).status, "ready");
    await assert.rejects(
      routes.get("/sessions/nobody/cost"),
      (error) => error.code !== "error" && error.data.status >= 400,
    );
    await assert.rejects(new Routes({ ...host, token: "wrong" }).get("/readyz"), (error) => error.data.status === 401);
  });

  it("brings the relay's events and what they change", async () => {
    const relay = new Relay(host);
    relay.start();
    try {
      await until(() => relay.identity.value && relay.inbox.value);
      const heard = new Promise((resolve) => relay.on("room.*", resolve));
      await relay.call("rooms.create", { name: "ops" });
      assert.equal((await heard).type, "room.created");
      await assert.rejects(relay.call("rooms.get", { room: "#nowhere" }), { code: "unknown_room" });
    } finally {
      relay.close();
    }
  });
});

describe("a host that says nothing any more", () => {
  it("is lost, though its socket is open, and found again when it speaks", async () => {
    const host = await HostProcess.start();
    const line = new Line({
      ...{ base: host.base, path: "/relay", token: host.token, notified: () => {} },
      handshake: async (peer) => line.up((await peer.request("hello", {}), peer)),
      ping: (peer) => peer.request("hello", {}),
    });
    try {
      line.start();
      await until(() => line.state.value === "open");
      host.signal("SIGSTOP");
      line.wake();
      await until(() => line.state.value === "lost");
      host.signal("SIGCONT");
      await until(() => line.state.value === "open");
      assert.ok(line.freshAt.value > 0);
    } finally {
      line.close();
      await host.close();
    }
  });
});

describe("a host that is killed in mid-turn and started again", () => {
  /** @type {HostProcess} */
  let host;
  before(async () => void (host = await HostProcess.start()));
  after(() => host.close());

  it("is found again: what is shown is what a new client is told, and what was said meanwhile is sent", async () => {
    const client = await host.client();
    const session = await demoSession(client);
    await say(client, session.uri, "write 2000");
    await until(() => session.state.value.activeTurn && textOf(session.state.value.activeTurn).length > 200);
    await host.kill();
    await until(() => client.connection.value === "lost");
    const titled = client.dispatch(session.uri, { type: "session/titleChanged", title: "Said meanwhile" });
    await until(() => session.state.value.summary.title === "Said meanwhile");
    await host.run();
    client.request("ping"); // waits for the connection
    await until(() => client.connection.value === "open" && !session.state.value.activeTurn);
    assert.equal(await titled, true);
    assert.deepEqual(timeless(session.state.value), await afresh(host, session.uri));
    await say(client, session.uri, "hello again");
    await until(() => session.state.value.turns.at(-1)?.userMessage.text === "hello again");
    assert.deepEqual(timeless(session.state.value), await afresh(host, session.uri));
  });

  it("sends what was written without a connection, even if the person has gone elsewhere", async () => {
    const client = await host.client();
    const session = await demoSession(client);
    await host.kill();
    await until(() => client.connection.value === "lost");
    const queued = say(client, session.uri, "written meanwhile");
    session.release();
    await host.run();
    await queued;
    const again = await followed(await host.client(), session.uri);
    await until(() => again.state.value.turns.at(-1)?.userMessage.text === "written meanwhile");
  });

  it("is begun with anew when it has lost everything", async () => {
    const client = await host.client();
    const session = await demoSession(client);
    await host.kill();
    for (const name of await readdir(host.home)) {
      if (name.startsWith("history.db")) await rm(join(host.home, name));
    }
    await host.run();
    await until(() => session.problem.value);
    assert.equal(client.connection.value, "open");
    await until(() => client.summaries.value.size === 0);
    const other = await demoSession(client);
    await say(client, other.uri, "hello");
    await until(() => other.state.value.turns.length === 1);
  });
});
