// The timeline of a session, as far as it needs no document: its rows, the lines of a diff, a terminal's colours.
import assert from "node:assert/strict";
import { test } from "node:test";

import { sessionHandlers } from "../../../src/serai/web/page/js/ahp/reducers/session.js";
import { folded, linesOf, pairs, unfoldMore, wordsOf } from "../../../src/serai/web/page/js/views/parts/diff_lines.js";
import { piecesOf } from "../../../src/serai/web/page/js/views/session/ansi.js";
import { Rows } from "../../../src/serai/web/page/js/views/session/rows.js";
import { diffLines } from "../../../src/serai/web/page/vendor/diff/diff/line.js";
import { diffWordsWithSpace } from "../../../src/serai/web/page/vendor/diff/diff/word.js";

const said = (id, content = `said ${id}`) => ({ kind: "markdown", id, content });
const call = (id, status = "completed", success = true) => ({ kind: "toolCall", toolCall: { toolCallId: id, status, success } });
const turn = (id, parts) => ({ id, userMessage: { text: id }, responseParts: parts, state: "complete" });
const session = (turns, activeTurn) => ({ summary: { status: 1 }, lifecycle: "ready", turns, ...(activeTurn && { activeTurn }) });
const kinds = (rows) => rows.map((row) => row.kind).join(" ");
const act = (state, action) => sessionHandlers[action.type](state, action, 0);

// -- rows ----------------------------------------------------------------------------------------------------------

test("tool calls in a row are one row, which opens", () => {
  const state = session([turn("a", [said("1"), call("x"), call("y", "completed", false), said("2")])]);
  const rows = new Rows();
  assert.equal(kinds(rows.of(state)), "user markdown group markdown end");
  rows.toggle(rows.of(state)[2]);
  assert.equal(kinds(rows.of(state)), "user markdown group tool tool markdown end");
  rows.toggle(rows.of(state)[2]);
  assert.equal(kinds(rows.of(state)), "user markdown group markdown end");
});

test("a call that runs, asks or was opened is shown though its group is folded", () => {
  const parts = [call("x"), call("y", "running"), call("z", "pending-confirmation")];
  const rows = new Rows();
  const state = session([], { id: "a", userMessage: { text: "" }, responseParts: parts });
  assert.equal(kinds(rows.of(state)), "user group tool tool working");
  rows.toggle(rows.of(state)[2]);
  const ended = act(state, { type: "session/turnComplete", turnId: "a" });
  assert.equal(kinds(rows.of(ended)), "user group tool end");
});

test("parts without text show nothing and part no group", () => {
  const rows = new Rows();
  assert.equal(kinds(rows.of(session([turn("a", [said("0", ""), call("x"), said("1", " \n"), call("y")])]))), "user group end");
});

test("a part of a kind that the page does not know is a row", () => {
  const [, row] = new Rows().of(session([turn("a", [{ kind: "hologram" }])]));
  assert.deepEqual([row.kind, row.name], ["unknown", "hologram"]);
});

test("a delta leaves all rows as they were but the one that grows", () => {
  const rows = new Rows();
  let state = session([turn("a", [said("1"), call("x"), call("y")])]);
  state = act(state, { type: "session/turnStarted", turnId: "b", userMessage: { text: "go" } });
  for (const id of ["1", "2"]) state = act(state, { type: "session/responsePart", turnId: "b", part: said(id) });
  const before = rows.of(state);
  const after = rows.of(act(state, { type: "session/delta", turnId: "b", partId: "2", content: " and more" }));
  assert.deepEqual(after.map((row) => row.key), before.map((row) => row.key));
  const changed = after.filter((row, at) => row !== before[at]);
  assert.deepEqual(changed.map((row) => row.text), ["said 2 and more"]);
});

test("however a session grew, its rows are those of the same session opened anew", () => {
  let random = 7;
  const below = (count) => (random = (random * 16_807) % 2_147_483_647) % count;
  for (let run = 0; run < 60; run += 1) {
    const rows = new Rows();
    let state = session([]);
    for (let step = 0; step < 60; step += 1) {
      const active = state.activeTurn;
      const id = `p${step}`;
      if (!active) state = act(state, { type: "session/turnStarted", turnId: `t${step}`, userMessage: { text: id } });
      else {
        const turnId = active.id;
        const calls = active.responseParts.filter((part) => part.kind === "toolCall");
        const some = active.responseParts[below(active.responseParts.length || 1)];
        const choice = below(12);
        if (choice < 3) state = act(state, { type: "session/responsePart", turnId, part: said(id, below(2) ? id : "") });
        else if (choice < 6) state = act(state, { type: "session/toolCallStart", turnId, toolCallId: id, toolName: "x", displayName: "x" });
        else if (choice < 8 && some?.id) state = act(state, { type: "session/delta", turnId, partId: some.id, content: "more" });
        else if (choice < 10 && calls.length) {
          const { toolCallId } = calls[below(calls.length)].toolCall;
          state = act(state, { type: "session/toolCallReady", turnId, toolCallId, invocationMessage: "x", confirmed: "y" });
          state = act(state, { type: "session/toolCallComplete", turnId, toolCallId, result: { success: true, pastTenseMessage: "x" } });
        } else if (choice === 10) state = act(state, { type: "session/turnComplete", turnId });
        else if (step > 50) state = act(state, { type: "session/truncated" });
      }
      assert.deepEqual(rows.of(state), new Rows().of(state));
    }
  }
});

// -- a diff --------------------------------------------------------------------------------------------------------

const text = (lines) => lines.map((line) => `${line}\n`).join("");
const book = Array.from({ length: 40 }, (_, at) => `line ${at}`);

test("lines of a diff have the numbers of both sides, and what is far from a change is folded", () => {
  const after = [...book];
  after.splice(20, 1, "line twenty", "a new one");
  const lines = linesOf(diffLines(text(book), text(after)));
  const shown = folded(lines, new Map());
  assert.deepEqual(shown.map((line) => line.kind).join(" "), "fold same same same removed added added same same same fold");
  const [removed, added] = [shown[4], shown[5]];
  assert.deepEqual([removed.before, removed.after, added.before, added.after], [21, null, null, 21]);
  assert.equal(folded(lines, unfoldMore(new Map(), shown[0].id))[0].before, 1);
});

test("side by side, a line stands beside the one that came in its place", () => {
  const lines = linesOf(diffLines("a\nb\nc\n", "a\nB\nX\nc\n"));
  const sides = pairs(lines).map(({ before, after }) => [before?.text, after?.text]);
  assert.deepEqual(sides, [["a", "a"], ["b", "B"], [undefined, "X"], ["c", "c"]]);
});

test("only the words that changed are marked, and none where little is the same", () => {
  const [removed] = linesOf(diffLines("the old gate is shut\n", "the new gate is shut\n"));
  assert.deepEqual(wordsOf(removed, diffWordsWithSpace).filter((words) => words.isChanged).map((words) => words.text), ["old"]);
  const [other] = linesOf(diffLines("one two three\n", "quite another line\n"));
  assert.deepEqual(wordsOf(other, diffWordsWithSpace), [{ text: "one two three", isChanged: false }]);
});

test("a file that ends without a new line says so where it changed", () => {
  assert.deepEqual(linesOf(diffLines("a\n", "a")).map((line) => line.isUnended), [false, true]);
});

// -- a terminal ----------------------------------------------------------------------------------------------------

test("colours of a terminal become classes, and all other escapes are gone", () => {
  const given = "\x1b[1;31mred\x1b[0m plain \x1b]0;title\x07\x1b[2J\x1b[38;5;200mpink\x1b[32mgreen\x1b[";
  assert.deepEqual(piecesOf(given), [
    { text: "red", class: "ansi-red ansi-bold" },
    { text: " plain pink", class: "" },
    { text: "green", class: "ansi-green" },
  ]);
});

test("what was overwritten in its line is gone", () => {
  assert.equal(piecesOf("10%\r100%\r\nnext\r\n").map((piece) => piece.text).join(""), "100%\nnext\n");
});
