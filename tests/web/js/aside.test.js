// What is beside a session: its pure parts.
import assert from "node:assert/strict";
import { test } from "node:test";

import { between, shared } from "../../../src/serai/web/page/js/views/aside/overlap.js";
import { messageOf } from "../../../src/serai/web/page/js/views/aside/review.js";
import { Output } from "../../../src/serai/web/page/js/views/aside/terminal_output.js";

const comment = { id: "1", path: "a.py", side: "after", start: 3, end: 4, quote: "x = 1\ny = 2", text: " Why? " };

test("comments become one message: each with its place, its lines and its text, as one reads the files", () => {
  const earlier = { ...comment, id: "2", side: "before", start: 1, end: 1, quote: "import os", text: "Unused." };
  assert.equal(
    messageOf([comment, earlier]),
    "Comments on the changes:\n\na.py:1 (before the change)\n```\nimport os\n```\nUnused.\n\n" +
      "a.py:3-4\n```\nx = 1\ny = 2\n```\nWhy?",
  );
});

test("lines that have a fence in them do not end their quote", () => {
  assert.match(messageOf([{ ...comment, quote: "````\ncode" }]), /\n`````\n````\ncode\n`````\n/);
});

const part = (value) => ({ type: "unclassified", value });

test("a terminal is written on as it grows, and a command that ends writes nothing", () => {
  const output = new Output();
  const command = { type: "command", commandId: "1", commandLine: "ls", output: "", timestamp: 0, isComplete: false };
  assert.deepEqual(output.next([part("$ ")]), { text: "$ ", isAnew: true });
  assert.deepEqual(output.next([part("$ ls\r\n")]), { text: "ls\r\n", isAnew: false });
  assert.deepEqual(output.next([part("$ ls\r\n"), { ...command, output: "a" }]), { text: "a", isAnew: false });
  const ended = { ...command, output: "ab", isComplete: true };
  assert.deepEqual(output.next([part("$ ls\r\n"), ended, part("$ ")]), { text: "b$ ", isAnew: false });
});

test("a terminal that was cleared, or of which too much was missed, is written anew", () => {
  const output = new Output();
  output.next([part("one"), part("two")]);
  assert.deepEqual(output.next([part("other")]), { text: "other", isAnew: true });
  assert.deepEqual(output.next([]), { text: "", isAnew: true });
});

test("questions of a program are answered when they are asked, and not again by who looks later", () => {
  const output = new Output();
  assert.equal(output.next([part("a\x1b[c\x1b]11;?\x07b")]).text, "ab");
  assert.equal(output.next([part("a\x1b[c\x1b]11;?\x07b\x1b[6n")]).text, "\x1b[6n");
});

const session = (name, more) => ({
  resource: name,
  status: 8,
  workingDirectory: "file:///w",
  changesets: [{ label: "", uriTemplate: `ahp-changeset:/${name}/session`, files: 1 }],
  ...more,
});

test("only sessions that run, in one folder, and changed something are looked at", () => {
  const alone = session("d", { workingDirectory: "file:///other" });
  const idle = session("c", { status: 1 });
  assert.deepEqual([...shared([session("a"), session("b"), idle, alone]).keys()], ["a", "b"]);
  assert.equal(shared([session("a"), idle, alone]).size, 0);
});

test("a file that two sessions have changed is told to both, with the other one", () => {
  const found = between([
    { uri: "a", files: ["/w/x", "/w/y"] },
    { uri: "b", files: ["/w/x"] },
  ]);
  assert.deepEqual([...found], [["a", [{ path: "/w/x", other: "b" }]], ["b", [{ path: "/w/x", other: "a" }]]]);
});
