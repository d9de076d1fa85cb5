// What can be done with changes: the host says what, and asks first where it must.
import { page, showAside } from "../../page.js";
import { confirm } from "../parts/dialog.js";
import { plain } from "../parts/format.js";

/** @typedef {import("../../ahp/types.d.ts").ChangesetOperation} ChangesetOperation */
/** @typedef {import("../../ahp/types.d.ts").Commands["invokeChangesetOperation"][0]["target"]} Target */

/**
 * Do something with a changeset or a part of it, once the person agreed. Returns what to tell, if anything.
 * @param {string} changeset
 * @param {ChangesetOperation} operation
 * @param {Target} [target]
 * @returns {Promise<string | null>}
 */
export async function runOperation(changeset, operation, target) {
  if (operation.confirmation) {
    const text = plain(operation.confirmation);
    if (!(await confirm(operation.label, text, { yes: operation.label, danger: true }))) return null;
  }
  try {
    const done = await page.host.request("invokeChangesetOperation", {
      channel: changeset,
      operationId: operation.id,
      ...(target && { target }),
    });
    if (done.followUp && !done.followUp.external) showAside("files", done.followUp.content.uri);
    return done.message ? plain(done.message) : null;
  } catch (error) {
    page.host.notify(/** @type {Error} */ (error));
    return null;
  }
}
