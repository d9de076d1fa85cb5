// What the reducers have in common.
// Exports: put(object, fields), putAt(items, at, item), withoutAt(items, at), setById(items, item),
// merged(config, action).

/** @import {ConfigState, FreeForm} from '../types.d.ts' */

/**
 * The same object with other fields; one that is null or undefined is gone. @template {object} T @param {T} object
 * @param {{[K in keyof T]?: T[K] | null}} fields @returns {T}
 */
export function put(object, fields) {
  const after = { ...object };
  for (const name of /** @type {(keyof T)[]} */ (Object.keys(fields))) {
    const value = fields[name];
    if (value == null) delete after[name];
    else after[name] = /** @type {any} */ (value);
  }
  return after;
}

/**
 * The same list with another item at one place.
 * @template T @param {readonly T[]} items @param {number} at @param {T} item @returns {T[]}
 */
export function putAt(items, at, item) {
  const after = items.slice();
  after[at] = item;
  return after;
}

/** The same list without one place. @template T @param {readonly T[]} items @param {number} at @returns {T[]} */
export function withoutAt(items, at) {
  return [...items.slice(0, at), ...items.slice(at + 1)];
}

/**
 * Put an item where the one with its id is, or at the end.
 * @template {{id: unknown}} T @param {readonly T[]} items @param {T} item @returns {T[]}
 */
export function setById(items, item) {
  const isThere = items.some((other) => other.id === item.id);
  return isThere ? items.map((other) => (other.id === item.id ? item : other)) : [...items, item];
}

/**
 * The settings after a change: the new values over the old ones, or instead of them.
 * @param {ConfigState} config @param {{config: FreeForm, replace?: boolean}} action @returns {ConfigState}
 */
export function merged(config, action) {
  return { ...config, values: action.replace ? action.config : { ...config.values, ...action.config } };
}
