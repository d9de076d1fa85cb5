// What a program writes to a terminal, as text with a few colours. Everything else that an escape can do is left out.

/** @typedef {{text: string, class: string}} Piece */

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const PATTERNS = [
  /\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)/, // strings that a terminal would take as commands
  /\x1b\[([0-9;:?<=>]*)[ -/]*([@-~])/,
  /\x1b\[[0-9;:?<=>]*$/, // one that is not whole yet
  /\x1b[ -/]*[0-~]?/,
  /[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/,
];
const ESCAPES = new RegExp(PATTERNS.map((one) => one.source).join("|"), "g");

/** The pieces of a text that have the same colour. @param {string} given @returns {Piece[]} */
export function piecesOf(given) {
  // As it would look: what was overwritten from the start of its line is gone.
  const text = given.replace(/\r+\n/g, "\n").replace(/[^\n]*\r(?=[^\n])/g, "").replace(/\r/g, "");
  /** @type {Piece[]} */
  const pieces = [];
  const now = { colour: "", isBold: false };
  let from = 0;
  const push = (/** @type {string} */ piece) => {
    if (!piece) return;
    const name = [now.colour && `ansi-${now.colour}`, now.isBold && "ansi-bold"].filter(Boolean).join(" ");
    const last = pieces.at(-1);
    if (last?.class === name) last.text += piece;
    else pieces.push({ text: piece, class: name });
  };
  for (const found of text.matchAll(ESCAPES)) {
    push(text.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] === "m") paint(now, (found[1] ?? "").split(/[;:]/).map(Number));
  }
  push(text.slice(from));
  return pieces;
}

/** @param {{colour: string, isBold: boolean}} now @param {number[]} codes */
function paint(now, codes) {
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) Object.assign(now, { colour: "", isBold: false });
    else if (code === 1) now.isBold = true;
    else if (code === 22) now.isBold = false;
    else if (code === 39) now.colour = "";
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) now.colour = COLOURS[code % 10] ?? "";
    else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4; // colours of a larger palette
  }
}
