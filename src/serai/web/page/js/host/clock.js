// The time, as signals that tick: for "since when".
// Exports: seconds, halfMinutes: ReadonlySignal<number> (ms). They tick while someone reads them in what is drawn.

/** @import {ReadonlySignal} from "./signals.js" */

import { signal } from "./signals.js";

/** @param {number} every @returns {ReadonlySignal<number>} */
function ticking(every) {
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  const make = /** @type {(initial: number, options: object) => import("./signals.js").Signal<number>} */ (signal);
  const now = make(Date.now(), {
    watched() {
      timer = setInterval(() => (now.value = Date.now()), every);
      /** @type {any} */ (timer).unref?.();
    },
    unwatched: () => clearInterval(timer),
  });
  return now;
}

/** The time, to the second. */
export const seconds = ticking(1000);
/** The time, to the half minute. */
export const halfMinutes = ticking(30_000);
