// What sessions have cost, asked for once per change of a session.
import { page } from "../../page.js";
import { signal } from "../preact.js";

/** @typedef {import("../../ahp/types.d.ts").SessionSummary} SessionSummary */

const MICROCENTS = 1e8;
/** @type {Map<string, {at: number, cost: import("../preact.js").Signal<number | null>}>} */
const kept = new Map();
/** Asked one after the other: when many sessions change at once, to ask about all of them takes longer than a frame. */
let asked = Promise.resolve();

/**
 * Dollars that a session has cost, as far as that is known now; null while nobody knows.
 * @param {SessionSummary} summary
 */
export function costOf(summary) {
  let known = kept.get(summary.resource);
  if (!known) kept.set(summary.resource, (known = { at: 0, cost: signal(null) }));
  // While a turn runs, its summary changes all the time: every half a minute is enough.
  if (summary.modifiedAt - known.at > 30_000 || (known.at < summary.modifiedAt && !(summary.status & 8))) {
    known.at = summary.modifiedAt;
    const { cost } = known;
    asked = asked
      .then(() => page.routes.get(`/sessions/${encodeURIComponent(summary.resource)}/cost`))
      .then((told) => void (cost.value = told.spentMicrocents ? told.spentMicrocents / MICROCENTS : null))
      .catch(() => {}); // a host that is away: the figure stays
  }
  return known.cost.value;
}
