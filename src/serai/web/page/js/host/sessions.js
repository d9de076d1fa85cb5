// The list of sessions: which group each is in, and in which order.
// Exports: GROUPS, groupOf(summary, waiting), grouped(summaries, deliveries, options), isArchived, isUnread, isFailed,
// lines(summary).

/** @import {SessionSummary, Uri} from "../ahp/types.d.ts" */

import { Status } from "../ahp/reducers/session.js";

/** The groups, from the top. */
export const GROUPS = /** @type {const} */ ([
  ["needsYou", "Needs you"],
  ["running", "Running"],
  ["waiting", "Waiting"],
  ["done", "Done"],
]);
/** @typedef {(typeof GROUPS)[number][0]} Group */

/** @param {SessionSummary} summary */
export const isArchived = (summary) => (summary.status & Status.IS_ARCHIVED) !== 0;
/** @param {SessionSummary} summary */
export const isUnread = (summary) => (summary.status & Status.IS_READ) === 0;
/** @param {SessionSummary} summary */
export const isFailed = (summary) => (summary.status & Status.ERROR) !== 0;

/**
 * Where a session belongs. One that failed needs someone until it was looked at.
 * @param {SessionSummary} summary @param {number} [waiting] how many deliveries wait for it @returns {Group}
 */
export function groupOf(summary, waiting = 0) {
  const { status } = summary;
  if ((status & Status.INPUT_NEEDED) === Status.INPUT_NEEDED) return "needsYou";
  if (status & Status.IN_PROGRESS) return "running";
  if (isFailed(summary) && isUnread(summary) && !isArchived(summary)) return "needsYou";
  return waiting > 0 ? "waiting" : "done";
}

/**
 * The sessions to show, by group, the last modified first and pinned ones before all. Empty groups are left out.
 * @param {Iterable<SessionSummary>} summaries
 * @param {ReadonlyMap<Uri, {length: number}>} deliveries what waits, by session
 * @param {{filter?: string, pinned?: readonly Uri[], archived?: boolean}} [options] words that title, agent, folder
 *   or activity have; what is pinned; whether the archived ones are shown, and only those
 * @returns {{group: Group, label: string, sessions: SessionSummary[]}[]}
 */
export function grouped(summaries, deliveries, { filter = "", pinned = [], archived = false } = {}) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const first = new Set(pinned);
  /** @type {Map<Group, SessionSummary[]>} */
  const groups = new Map(GROUPS.map(([group]) => [group, []]));
  for (const summary of summaries) {
    if (isArchived(summary) !== archived || !words.every((word) => textOf(summary).includes(word))) continue;
    groups.get(groupOf(summary, deliveries.get(summary.resource)?.length))?.push(summary);
  }
  return GROUPS.map(([group, label]) => {
    const sessions = groups.get(group) ?? [];
    sessions.sort(
      (one, other) =>
        Number(first.has(other.resource)) - Number(first.has(one.resource)) || other.modifiedAt - one.modifiedAt,
    );
    return { group, label, sessions };
  }).filter(({ sessions }) => sessions.length > 0);
}

/** All that changed in a session's folder since it began. @param {SessionSummary | undefined} summary */
export function sinceBeginning(summary) {
  return summary?.changesets?.find((one) => one.uriTemplate.endsWith("/session"));
}

/** How many lines that is. @param {SessionSummary} summary */
export function lines(summary) {
  const { additions = 0, deletions = 0 } = sinceBeginning(summary) ?? {};
  return { added: additions, removed: deletions };
}

/** @param {SessionSummary} summary */
function textOf({ title, provider, workingDirectory, activity, project }) {
  return [title, provider, workingDirectory, activity, project?.displayName].join(" ").toLowerCase();
}
