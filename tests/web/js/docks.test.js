// What stands above the composer, as far as it is pure: answers to questions, and the input of tool calls.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { answerOf, entryOf, problemOf, valueOf } from "../../../src/serai/web/page/js/views/docks/answers.js";
import { editedInput, isDestructive, readInput } from "../../../src/serai/web/page/js/views/docks/input.js";

const entry = (text = "", ...chosen) => ({ text, chosen });
const question = (kind, more = {}) => ({ id: "q", message: "?", kind, ...more });
const options = [
  { id: "a", label: "A" },
  { id: "b", label: "B" },
];

describe("answers", () => {
  test("what a field holds is an answer of the question's kind", () => {
    assert.deepEqual(valueOf(question("text"), entry("hi")), { kind: "text", value: "hi" });
    assert.deepEqual(valueOf(question("number"), entry(" 1,5 ")), { kind: "number", value: 1.5 });
    assert.deepEqual(valueOf(question("boolean"), entry("", "no")), { kind: "boolean", value: false });
    assert.deepEqual(valueOf(question("single-select", { options }), entry("", "b")), { kind: "selected", value: "b" });
    const many = { kind: "selected-many", value: ["a"], freeformValues: ["x", "y"] };
    assert.deepEqual(valueOf(question("multi-select", { options }), entry("x\n\n y ", "a")), many);
  });

  test("an answer that another window gave fills the same fields", () => {
    for (const [kind, given] of [
      ["text", entry("hi")],
      ["integer", entry("3")],
      ["boolean", entry("", "yes")],
    ]) {
      const value = valueOf(question(kind), given);
      assert.deepEqual(entryOf(question(kind), { state: "draft", value }), given);
    }
    assert.equal(entryOf(question("text"), { state: "skipped" }).isSkipped, true);
    assert.deepEqual(entryOf(question("integer", { defaultValue: 2 }), undefined), entry("2"));
  });

  test("what is empty is skipped, unless it is required", () => {
    assert.deepEqual(answerOf(question("number"), entry()), { state: "skipped" });
    assert.equal(problemOf(question("number"), entry()), null);
    assert.ok(problemOf(question("number", { required: true }), entry()));
  });

  test("bounds, whole numbers and formats are kept", () => {
    const wrong = [
      [question("text", { min: 2 }), entry("𝒳")],
      [question("text", { format: "email" }), entry("nobody")],
      [question("text", { format: "date" }), entry("2001-02-30")],
      [question("integer"), entry("1.5")],
      [question("number", { max: 3 }), entry("4")],
      [question("number"), entry("many")],
      [question("multi-select", { options, max: 1 }), entry("x", "a")],
    ];
    for (const [asked, given] of wrong) assert.ok(problemOf(asked, given), JSON.stringify(asked));
    assert.equal(problemOf(question("text", { format: "email" }), entry("a@b.c")), null);
  });
});

describe("the input of a tool call", () => {
  test("a command is shown as it would be typed, and the rest beside it", () => {
    assert.deepEqual(readInput('{"command": "ls -l"}'), { command: "ls -l", rest: "" });
    assert.equal(readInput('{"command": ["echo", "a b"]}').command, "echo 'a b'");
    assert.match(readInput('{"command": "ls", "timeout": 1}').rest, /timeout/);
    assert.deepEqual(readInput("not json"), { command: "", rest: "not json" });
  });

  test("what was edited is sent only if it is different, and still JSON", () => {
    const input = '{"command": "ls"}';
    assert.deepEqual(editedInput(input, null), { problem: null });
    assert.deepEqual(editedInput(input, '{\n  "command": "ls"\n}'), { problem: null });
    assert.deepEqual(editedInput(input, '{"command": "pwd"}'), { input: '{"command":"pwd"}', problem: null });
    assert.ok(editedInput(input, "{").problem);
    assert.deepEqual(editedInput("plain", "other"), { input: "other", problem: null });
  });

  test("commands, deletions and what says so can destroy something", () => {
    const of = (more) => ({ toolName: "edit", toolInput: '{"path": "x"}', ...more });
    assert.equal(isDestructive(of({}), {}), false);
    assert.equal(isDestructive(of({ toolInput: '{"command": "rm x"}' }), {}), true);
    assert.equal(isDestructive(of({ edits: { items: [{ before: { uri: "file:///x" } }] } }), {}), true);
    const serverTools = [{ name: "edit", annotations: { destructiveHint: true } }];
    assert.equal(isDestructive(of({}), { serverTools }), true);
  });
});
