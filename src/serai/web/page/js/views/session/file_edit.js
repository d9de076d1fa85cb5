// An edit of a file: its two sides are read from the host when someone looks.
import { page } from "../../page.js";
import { Diff } from "../parts/diff.js";
import { useAnswer } from "../parts/field.js";
import { pathOf } from "../parts/format.js";
import { html } from "../preact.js";

/** @import {FileEdit, FileEditSide} from "../../ahp/types.d.ts" */

/** @param {FileEditSide | undefined} side @returns {Promise<string | null>} null for what is no text */
async function read(side) {
  if (!side) return "";
  const { data, encoding } = await page.host.request("resourceRead", { uri: side.content.uri });
  return encoding === "base64" ? null : data;
}

/** The diff of an edit. @param {{edit: FileEdit}} props */
export function FileEditView({ edit }) {
  const ask = () => Promise.all([read(edit.before), read(edit.after)]);
  const { value: sides, problem } = useAnswer(ask, [edit.before?.content.uri, edit.after?.content.uri]);
  const path = pathOf(edit.after?.uri ?? edit.before?.uri);
  if (problem) return html`<p class="problem">${path} cannot be shown: ${problem.message}</p>`;
  if (!sides) return html`<p class="faint small" role="status">Reading ${path}…</p>`;
  const [was, is] = sides;
  if (was == null || is == null) return html`<p class="faint">${path} is no text.</p>`;
  const from = pathOf(edit.before?.uri);
  const name = from && from !== path ? `${from} → ${path}` : path;
  const what = edit.before ? (edit.after ? name : `${name} (deleted)`) : `${name} (new)`;
  return html`<${Diff} before=${was} after=${is} path=${what} />`;
}
