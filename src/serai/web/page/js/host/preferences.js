// What a person chose in this browser: signals that are kept in its storage, and are the same in all of its windows.
// Exports: preference(name, initial): Signal, theme, pinned, togglePinned(uri).

/** @import {Signal} from "./signals.js" */

import { effect, signal } from "./signals.js";

/** @type {Map<string, Signal<any>>} */
const all = new Map();

/**
 * The signal of a preference. The same name gives the same signal. @template T
 * @param {string} name @param {T} initial @returns {Signal<T>}
 */
export function preference(name, initial) {
  let found = all.get(name);
  if (!found) {
    const key = `serai.${name}`;
    const chosen = (found = signal(read(globalThis.localStorage?.getItem(key), initial)));
    all.set(name, chosen);
    let isFirst = true;
    effect(() => {
      const text = JSON.stringify(chosen.value);
      if (!isFirst) globalThis.localStorage?.setItem(key, text);
      isFirst = false;
    });
    globalThis.addEventListener?.("storage", (event) => {
      if (event.key === key) chosen.value = read(event.newValue, initial);
    });
  }
  return found;
}

/** @param {string | null | undefined} text @param {any} initial */
function read(text, initial) {
  try {
    return text == null ? initial : JSON.parse(text);
  } catch {
    return initial;
  }
}

/** Light, dark, or as the system has it. */
export const theme = preference("theme", /** @type {"auto" | "light" | "dark"} */ ("auto"));

/** The sessions that stay at the top, by URI. */
export const pinned = preference("pinned", /** @type {readonly string[]} */ ([]));

/** Pin a session, or no longer. @param {string} uri */
export function togglePinned(uri) {
  const others = pinned.peek().filter((one) => one !== uri);
  pinned.value = others.length < pinned.peek().length ? others : [...others, uri];
}
