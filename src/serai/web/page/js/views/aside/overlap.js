// Which sessions have files in common. Pure.
import { Status } from "../../ahp/reducers/session.js";

/** @typedef {import("../../ahp/types.d.ts").SessionSummary} SessionSummary */
/** @typedef {{path: string, other: string}} Conflict */

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
    if (!workingDirectory || !(status & Status.IN_PROGRESS) || !changed?.files) continue;
    const here = folders.get(workingDirectory) ?? [];
    folders.set(workingDirectory, [...here, [resource, changed.uriTemplate]]);
  }
  return new Map([...folders.values()].filter((here) => here.length > 1).flat());
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
