// The lines of a diff, without a document: what was taken away and added, what is folded, which words changed.

/**
 * A line: of both sides, with its number there, or of one. `other` is the text of the line that it replaces or is
 * replaced by; `isUnended` says that it changed, and its file ends without a new line.
 * @typedef {{kind: "same" | "removed" | "added", before: number | null, after: number | null, text: string,
 *   other?: string, isUnended?: boolean}} Line
 */
/** Lines of both sides that are not shown. @typedef {{kind: "fold", id: number, lines: Line[]}} FoldedLines */
/** A pair of lines side by side. @typedef {{before: Line | null, after: Line | null}} Pair */
/** A piece of a line. @typedef {{text: string, isChanged: boolean}} Words */
/** @import {Change} from "../../../vendor/diff/diff/line.js" */

const CONTEXT = 3;
/** So much is unfolded at once. */
const STEP = 100;
const LONGEST_LINE = 1000;

/** @param {string} text */
function split(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/**
 * All lines, in order; a removed line knows the one that came in its place. @param {readonly Change[]} changes
 * @returns {Line[]}
 */
export function linesOf(changes) {
  /** @type {Line[]} */
  const lines = [];
  let [before, after] = [1, 1];
  changes.forEach((change, at) => {
    const texts = split(change.value);
    const next = changes[at + 1];
    const last = changes[at - 1];
    const others =
      change.removed && next?.added ? split(next.value) : change.added && last?.removed ? split(last.value) : [];
    texts.forEach((text, index) => {
      const other = others[index];
      const isUnended = index === texts.length - 1 && !change.value.endsWith("\n");
      if (change.removed) lines.push({ kind: "removed", before: before++, after: null, text, other, isUnended });
      else if (change.added) lines.push({ kind: "added", before: null, after: after++, text, other, isUnended });
      else lines.push({ kind: "same", before: before++, after: after++, text });
    });
  });
  return lines;
}

/**
 * The lines with what is far from any change folded, as far as nobody has unfolded it. @param {readonly Line[]} lines
 * @param {ReadonlyMap<number, number>} unfolded how many lines of a fold are shown, by the fold's id
 * @returns {(Line | FoldedLines)[]}
 */
export function folded(lines, unfolded) {
  /** @type {(Line | FoldedLines)[]} */
  const shown = [];
  for (let from = 0; from < lines.length;) {
    const line = /** @type {Line} */ (lines[from]);
    if (line.kind !== "same") {
      shown.push(line);
      from += 1;
      continue;
    }
    let to = from;
    while (lines[to]?.kind === "same") to += 1;
    const head = from === 0 ? 0 : CONTEXT;
    const tail = to === lines.length ? 0 : CONTEXT;
    const start = Math.min(to, from + head + (unfolded.get(from) ?? 0));
    const end = Math.max(start, to - tail);
    // A fold of one line would be longer than the line.
    if (end - start <= 1) shown.push(...lines.slice(from, to));
    else {
      shown.push(...lines.slice(from, start), { kind: "fold", id: from, lines: lines.slice(start, end) });
      shown.push(...lines.slice(end, to));
    }
    from = to;
  }
  return shown;
}

/** @param {ReadonlyMap<number, number>} unfolded @param {number} id @returns {Map<number, number>} */
export function unfoldMore(unfolded, id) {
  return new Map(unfolded).set(id, (unfolded.get(id) ?? 0) + STEP);
}

/**
 * Lines side by side: what was removed at the left of what came in its place.
 * @param {readonly (Line | FoldedLines)[]} lines @returns {(Pair | FoldedLines)[]}
 */
export function pairs(lines) {
  /** @type {(Pair | FoldedLines)[]} */
  const made = [];
  /** @type {Line[]} */
  let removed = [];
  let open = 0;
  for (const line of lines) {
    if (line.kind === "removed") {
      removed.push(line);
      made.push({ before: line, after: null });
    } else if (line.kind === "added" && open < removed.length) {
      const pair = /** @type {Pair} */ (made[made.length - removed.length + open]);
      pair.after = line;
      open += 1;
    } else if (line.kind === "added") {
      made.push({ before: null, after: line });
      if (removed.length) [removed, open] = [[], 0];
    } else {
      [removed, open] = [[], 0];
      made.push(line.kind === "fold" ? line : { before: line, after: line });
    }
  }
  return made;
}

/**
 * The words of a line that changed. Lines that have little in common are not marked: all of it is another one.
 * @param {Line} line @param {(before: string, after: string) => Change[]} diffWords @returns {Words[]}
 */
export function wordsOf(line, diffWords) {
  const { text, other, kind } = line;
  if (other === undefined || text.length + other.length > 2 * LONGEST_LINE) return [{ text, isChanged: false }];
  const changes = kind === "removed" ? diffWords(text, other) : diffWords(other, text);
  const own = changes.filter((change) => (kind === "removed" ? !change.added : !change.removed));
  const same = own.reduce((sum, change) => sum + (change.added || change.removed ? 0 : change.value.trim().length), 0);
  if (same * 3 < text.trim().length) return [{ text, isChanged: false }];
  return own.map((change) => ({ text: change.value, isChanged: Boolean(change.added || change.removed) }));
}
