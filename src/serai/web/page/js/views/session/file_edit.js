// An edit of a file: its two sides are read from the host when someone looks.
import { page } from "../../page.js";
import { Diff } from "../parts/diff.js";
import { pathOf } from "../parts/format.js";
import { html, useEffect, useState } from "../preact.js";

/** @import {FileEdit, FileEditSide} from "../../ahp/types.d.ts" */

/** @param {FileEditSide | undefined} side @returns {Promise<string | null>} null for what is no text */
async function read(side) {
  if (!side) return "";
  const { data, encoding } = await page.host.request("resourceRead", { uri: side.content.uri });
  return encoding === "base64" ? null : data;
}

/** The diff of an edit. @param {{edit: FileEdit, mode?: "unified" | "split"}} props */
export function FileEditView({ edit, mode = "unified" }) {
  const [sides, setSides] = useState(/** @type {(string | null)[] | null} */ (null));
  const [problem, setProblem] = useState("");
  const [before, after] = [edit.before?.content.uri, edit.after?.content.uri];
  useEffect(() => {
    let isGone = false;
    Promise.all([read(edit.before), read(edit.after)]).then(
      (both) => !isGone && setSides(both),
      (error) => !isGone && setProblem(error.message),
    );
    return () => {
      isGone = true;
    };
  }, [before, after]);
  const path = pathOf(edit.after?.uri ?? edit.before?.uri);
  const moved = edit.before && edit.after && edit.before.uri !== edit.after.uri ? pathOf(edit.before.uri) : null;
  if (problem) return html`<p class="problem">${path} cannot be shown: ${problem}</p>`;
  if (!sides) return html`<p class="faint small" role="status">Reading ${path}…</p>`;
  const [was, is] = sides;
  if (was == null || is == null) return html`<p class="faint">${path} is no text.</p>`;
  const name = moved ? `${moved} → ${path}` : path;
  const what = edit.before ? (edit.after ? name : `${name} (deleted)`) : `${name} (new)`;
  return html`<${Diff} before=${was} after=${is} path=${what} mode=${mode} />`;
}
