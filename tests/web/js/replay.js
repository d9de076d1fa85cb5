// Replays cases of the reducers: a JSON object per line on standard input, `{name, kind, start, actions, now, expected}`.
// Prints the cases whose state came out otherwise, or whose start was changed, and then how many there were.

import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";

import { fold, reduce } from "../../../src/serai/web/page/js/ahp/reduce.js";

let cases = 0;
const failed = [];
for await (const line of createInterface({ input: process.stdin })) {
  const { name, kind, start, actions, now, expected } = JSON.parse(line);
  const before = structuredClone({ start, actions });
  const after = fold(kind, frozen(start), frozen(actions), now);
  let state = start;
  for (const action of actions) state = reduce(kind, state, action, now);
  cases += 1;
  const isUnchanged = isDeepStrictEqual({ start, actions }, before);
  if (!isUnchanged || !isDeepStrictEqual(plain(after), expected) || !isDeepStrictEqual(after, state)) {
    failed.push({ name, start, actions, isUnchanged, expected, after });
  }
}
console.log(JSON.stringify({ cases, failed }));

/** What would go over the wire: fields that are undefined do not. */
function plain(value) {
  return JSON.parse(JSON.stringify(value));
}

function frozen(value) {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}
