// Comments on lines, as the message that they become. Pure.

/**
 * A comment on lines of a changed file.
 * @typedef {object} Comment
 * @property {string} id
 * @property {string} path as the person sees it
 * @property {"before" | "after"} side which of the two files the lines are of
 * @property {number} start the first line, counted from 1
 * @property {number} end the last one
 * @property {string} quote the lines themselves
 * @property {string} text
 */

/**
 * Where a comment is: `path:12`, or `path:12-14`.
 * @param {Comment} comment
 */
export function placeOf({ path, side, start, end }) {
  const lines = start === end ? `${start}` : `${start}-${end}`;
  return `${path}:${lines}${side === "before" ? " (before the change)" : ""}`;
}

/**
 * All comments as one message: for each, where it is, the lines, and what was said.
 * @param {readonly Comment[]} comments
 */
export function messageOf(comments) {
  const blocks = inOrder(comments).map((comment) => {
    const fence = "`".repeat(Math.max(3, ...[...comment.quote.matchAll(/`+/g)].map((run) => run[0].length + 1)));
    return `${placeOf(comment)}\n${fence}\n${comment.quote}\n${fence}\n${comment.text.trim()}`;
  });
  return [comments.length === 1 ? "A comment on the changes:" : "Comments on the changes:", ...blocks].join("\n\n");
}

/**
 * Comments as one reads the files: by path, then by line.
 * @param {readonly Comment[]} comments
 */
export function inOrder(comments) {
  return [...comments].sort((one, other) =>
    one.path === other.path ? one.start - other.start : one.path < other.path ? -1 : 1,
  );
}
