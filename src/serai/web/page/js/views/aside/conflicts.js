// Files that changed while two sessions were at work in one folder: one may undo what the other does.
import { effect, signal } from "../preact.js";
import { page } from "../../page.js";
import { pathOf } from "../parts/format.js";

/** @typedef {import("../../ahp/types.d.ts").SessionSummary} SessionSummary */
/** @typedef {import("../../ahp/types.d.ts").ChangesetState} ChangesetState */
/** @typedef {import("../../host/channel.js").Channel<ChangesetState>} ChangesetChannel */
/** @typedef {{path: string, other: string}} Conflict */

const IN_PROGRESS = 8;

/** By session: the files that it has in common with another session, and which one that is. */
export const conflicts = signal(/** @type {ReadonlyMap<string, readonly Conflict[]>} */ (new Map()));

/** Which changesets are followed for this, by session. @type {Map<string, ChangesetChannel>} */
const followed = new Map();

/** Watch for conflicts, from when the page has a host. Returns what ends it. */
export function watchConflicts() {
  const count = signal(0); // of times that other sessions began to be followed
  const stopFollowing = effect(() => {
    if (follow(shared(page.host.summaries.value.values()))) count.value = count.peek() + 1;
  });
  const stopLooking = effect(() => {
    count.value;
    const found = between([...followed].map(([uri, channel]) => ({ uri, files: filesOf(channel.state.value) })));
    if (found.size || conflicts.peek().size) conflicts.value = found;
  });
  return () => {
    stopFollowing();
    stopLooking();
    follow(new Map());
  };
}

/**
 * The sessions that run in a folder where another one runs, too, and changed something: each with its changeset. Most
 * of the time there are none, so that nothing is followed.
 * @param {Iterable<SessionSummary>} summaries
 */
export function shared(summaries) {
  /** @type {Map<string, [string, string][]>} */
  const folders = new Map();
  for (const { resource, status, workingDirectory, changesets } of summaries) {
    const changed = changesets?.find((one) => one.uriTemplate.endsWith("/session"));
    if (!workingDirectory || !(status & IN_PROGRESS) || !changed?.files) continue;
    const here = folders.get(workingDirectory) ?? [];
    folders.set(workingDirectory, [...here, [resource, changed.uriTemplate]]);
  }
  return new Map([...folders.values()].filter((here) => here.length > 1).flat());
}

/**
 * Follow these changesets and no others. Returns whether they are others than before.
 * @param {ReadonlyMap<string, string>} wanted
 */
function follow(wanted) {
  let isOther = false;
  for (const [uri, channel] of followed) {
    if (wanted.has(uri)) continue;
    followed.delete(uri);
    channel.release();
    isOther = true;
  }
  for (const [uri, changeset] of wanted) {
    if (followed.has(uri)) continue;
    const channel = /** @type {ChangesetChannel} */ (page.host.channel(changeset));
    channel.hold();
    followed.set(uri, channel);
    isOther = true;
  }
  return isOther;
}

/** @param {ChangesetState | null} state */
function filesOf(state) {
  return (state?.files ?? []).map(({ edit }) => pathOf((edit.after ?? edit.before)?.uri));
}

/**
 * What each session has in common with others.
 * @param {readonly {uri: string, files: readonly string[]}[]} sessions
 */
export function between(sessions) {
  /** @type {Map<string, string[]>} */
  const byFile = new Map();
  for (const { uri, files } of sessions) for (const path of files) byFile.set(path, [...(byFile.get(path) ?? []), uri]);
  /** @type {Map<string, Conflict[]>} */
  const found = new Map();
  for (const [path, uris] of byFile) {
    for (const uri of uris) {
      const others = uris.filter((other) => other !== uri).map((other) => ({ path, other }));
      if (others.length) found.set(uri, [...(found.get(uri) ?? []), ...others]);
    }
  }
  return found;
}
