// Files that changed while two sessions were at work in one folder: one may undo what the other does.
import { page } from "../../page.js";
import { pathOf } from "../parts/format.js";
import { effect, signal } from "../preact.js";
import { between, shared } from "./overlap.js";

/** @import {ChangesetState} from "../../ahp/types.d.ts" */
/** @import {Channel} from "../../host/channel.js" */
/** @import {Conflict} from "./overlap.js" */

/** By session: the files that it has in common with another session, and which one that is. */
export const conflicts = signal(/** @type {ReadonlyMap<string, readonly Conflict[]>} */ (new Map()));

/** The changesets that are followed for this, by session. */
const followed = signal(/** @type {ReadonlyMap<string, Channel<ChangesetState>>} */ (new Map()));

/** Watch for conflicts, from when the page has a host. Returns what ends it. */
export function watchConflicts() {
  const stopFollowing = effect(() => follow(shared(page.host.summaries.value.values())));
  const stopLooking = effect(() => {
    const sessions = [...followed.value].map(([uri, { state }]) => {
      const files = state.value?.files ?? [];
      return { uri, files: files.map(({ edit }) => pathOf((edit.after ?? edit.before)?.uri)) };
    });
    const found = between(sessions);
    if (found.size || conflicts.peek().size) conflicts.value = found;
  });
  return () => {
    stopFollowing();
    stopLooking();
    follow(new Map());
  };
}

/** Follow these changesets and no others. @param {ReadonlyMap<string, string>} wanted */
function follow(wanted) {
  const before = followed.peek();
  if (!wanted.size && !before.size) return;
  const next = new Map([...wanted].map(([uri, changeset]) => [uri, page.host.channel(changeset)]));
  for (const channel of next.values()) channel.hold();
  for (const channel of before.values()) channel.release();
  followed.value = next;
}
