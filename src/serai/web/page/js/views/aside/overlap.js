// Which sessions have files in common. Pure.
import { Status } from "../../ahp/reducers/session.js";

/** @import {SessionSummary} from "../../ahp/types.d.ts" */
/** @typedef {{path: string, other: string}} Conflict */

/** Lists of values by their key. @template K, V @param {Iterable<readonly [K, V]>} pairs @returns {Map<K, V[]>} */
export function gathered(pairs) {
  const found = new Map();
  for (const [key, value] of pairs) found.set(key, [...(found.get(key) ?? []), value]);
  return found;
}

/**
 * The sessions that run in a folder where another one runs, too, and changed something: each with its changeset. Most
 * of the time there are none, so that nothing is followed.
 * @param {Iterable<SessionSummary>} summaries
 */
export function shared(summaries) {
  const changed = [...summaries].flatMap(({ resource, status, workingDirectory, changesets }) => {
    const { files, uriTemplate = "" } = changesets?.find((one) => one.uriTemplate.endsWith("/session")) ?? {};
    const isMeant = workingDirectory && status & Status.IN_PROGRESS && files;
    return isMeant ? [/** @type {const} */ ([workingDirectory, /** @type {const} */ ([resource, uriTemplate])])] : [];
  });
  return new Map([...gathered(changed).values()].filter((here) => here.length > 1).flat());
}

/** What each session has in common with others. @param {readonly {uri: string, files: readonly string[]}[]} sessions */
export function between(sessions) {
  const all = sessions.flatMap(({ uri, files }) => files.map((path) => /** @type {const} */ ([path, uri])));
  const pairs = [...gathered(all)].flatMap(([path, uris]) =>
    uris.flatMap((uri) =>
      uris.filter((other) => other !== uri).map((other) => /** @type {const} */ ([uri, { path, other }])),
    ),
  );
  return gathered(pairs);
}
