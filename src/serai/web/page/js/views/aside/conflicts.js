// Files that changed while two sessions were at work in one folder: one may undo what the other does.
import { page } from "../../page.js";
import { pathOf } from "../parts/format.js";
import { effect, signal } from "../preact.js";
import { between, shared } from "./overlap.js";

/** @typedef {import("../../ahp/types.d.ts").ChangesetState} ChangesetState */
/** @typedef {import("../../host/channel.js").Channel<ChangesetState>} ChangesetChannel */
/** @typedef {import("./overlap.js").Conflict} Conflict */

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
