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
 */
export function layered(ids, edges) {
  const before = new Map(ids.map((id) => [id, /** @type {string[]} */ ([])]));
  for (const { from, to } of edges) if (before.has(from)) before.get(to)?.push(from);
  const above = (/** @type {string} */ id) => before.get(id) ?? [];
  /** @type {Map<string, number>} */
  const layers = new Map();
  // A node that is still being looked at is in a circle: it counts as the beginning.
  const layerOf = (/** @type {string} */ id) => {
    if (!layers.has(id)) {
      layers.set(id, 0);
      layers.set(id, Math.max(0, ...above(id).map((one) => layerOf(one) + 1)));
    }
    return layers.get(id) ?? 0;
  };
  /** @type {string[][]} */
  const rows = [];
  for (const id of ids) (rows[layerOf(id)] ??= []).push(id);
  const widthOf = (/** @type {number} */ count) => count * (WIDTH + BESIDE) - BESIDE;
  const width = widthOf(Math.max(1, ...rows.map((row) => row.length)));
  /** @type {Map<string, Placed>} */
  const placed = new Map();
  rows.forEach((row, layer) => {
    const middle = (/** @type {string} */ id) => {
      const xs = above(id).flatMap((one) => placed.get(one)?.x ?? []);
      return xs.reduce((sum, x) => sum + x, 0) / (xs.length || 1);
    };
    const left = (width - widthOf(row.length)) / 2;
    row
      .sort((one, other) => middle(one) - middle(other))
      .forEach((id, at) => placed.set(id, { id, x: left + at * (WIDTH + BESIDE), y: layer * (HEIGHT + BELOW) }));
  });
  return { placed: [...placed.values()], width, height: Math.max(0, rows.length * (HEIGHT + BELOW) - BELOW) };
}
