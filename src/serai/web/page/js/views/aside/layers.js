// Where the nodes of a graph stand: in layers from top to bottom. No part of it draws.

/**
 * @typedef {{from: string, to: string}} GraphEdge
 * @typedef {{id: string, x: number, y: number}} Placed
 */

/** The size of a node, and how far nodes are apart, in px. */
export const WIDTH = 210;
export const HEIGHT = 52;
const BESIDE = 20;
const BELOW = 34;

/**
 * Where each node stands. Its layer is the longest way to it; within a layer nodes stand below those that they
 * follow. What goes round in a circle is cut where it closes.
 * @param {readonly string[]} ids
 * @param {readonly GraphEdge[]} edges
 * @returns {{placed: Placed[], width: number, height: number}}
 */
export function layered(ids, edges) {
  /** @type {Map<string, string[]>} */
  const before = new Map(ids.map((id) => [id, []]));
  for (const { from, to } of edges) if (before.has(from)) before.get(to)?.push(from);
  /** @type {Map<string, number>} */
  const layers = new Map();
  // A node that is still being looked at is in a circle: it counts as the beginning.
  const layerOf = (/** @type {string} */ id) => {
    const known = layers.get(id);
    if (known !== undefined) return known;
    layers.set(id, 0);
    const layer = Math.max(0, ...(before.get(id) ?? []).map((one) => layerOf(one) + 1));
    layers.set(id, layer);
    return layer;
  };
  /** @type {string[][]} */
  const rows = [];
  for (const id of ids) (rows[layerOf(id)] ??= []).push(id);
  const most = Math.max(1, ...rows.map((row) => row?.length ?? 0));
  const width = most * (WIDTH + BESIDE) - BESIDE;
  /** @type {Map<string, number>} */
  const columns = new Map();
  /** @type {Placed[]} */
  const placed = [];
  rows.forEach((row, layer) => {
    const middle = (/** @type {string} */ id) => {
      const above = (before.get(id) ?? []).flatMap((one) => columns.get(one) ?? []);
      return above.length === 0 ? 0 : above.reduce((sum, x) => sum + x, 0) / above.length;
    };
    const left = (width - (row.length * (WIDTH + BESIDE) - BESIDE)) / 2;
    row
      .toSorted((one, other) => middle(one) - middle(other))
      .forEach((id, index) => {
        const x = left + index * (WIDTH + BESIDE);
        columns.set(id, x);
        placed.push({ id, x, y: layer * (HEIGHT + BELOW) });
      });
  });
  return { placed, width, height: Math.max(0, rows.length * (HEIGHT + BELOW) - BELOW) };
}
