// What a tool call is going to change, file by file, as diffs.
import { page } from "../../page.js";
import { Diff } from "../parts/diff.js";
import { nameOf, pathOf, size } from "../parts/format.js";
import { html, useEffect, useState } from "../preact.js";

/** @import {FileEdit, FileEditSide} from "../../ahp/types.d.ts" */

/** @param {{edits: readonly FileEdit[]}} props */
export function Edits({ edits }) {
  return html`<div class="edits">
    ${edits.map((edit, at) => html`<${Edit} key=${edit.after?.content.uri ?? at} edit=${edit} />`)}
  </div>`;
}

/** @param {{edit: FileEdit}} props */
function Edit({ edit }) {
  const { before, after } = edit;
  const path = pathOf((after ?? before)?.uri);
  const from = before && after && before.uri !== after.uri ? pathOf(before.uri) : null;
  const sides = useSides(edit);
  const what = !before ? "New file" : !after ? "Deletes the file" : from ? `Moved from ${from}` : "";
  return html`<article class="edit" aria-label=${`Change of ${nameOf(path)}`}>
    <header class="row small">
      <span class="mono grow path">${path}</span>
      ${what && html`<span class=${after ? "faint" : "deletes"}>${what}</span>`}
      ${
        edit.diff &&
        html`<span class="counts"
          ><span class="added">+${edit.diff.added ?? 0}</span> <span class="removed">−${edit.diff.removed ?? 0}</span></span
        >`
      }
    </header>
    ${
      sides === null
        ? html`<p class="faint small" role="status">Reading the file…</p>`
        : typeof sides === "string"
          ? html`<p class="problem small">${sides}</p>`
          : html`<${Diff} before=${sides.before} after=${sides.after} path=${path} mode="unified" />`
    }
  </article>`;
}

/**
 * The text before and after; null while it is read, or why it cannot be shown.
 * @param {FileEdit} edit
 */
function useSides(edit) {
  const [sides, setSides] = useState(/** @type {{before: string, after: string} | string | null} */ (null));
  const uris = [edit.before?.content.uri, edit.after?.content.uri];
  useEffect(() => {
    let isWanted = true;
    Promise.all([textOf(edit.before), textOf(edit.after)]).then(
      ([before, after]) => isWanted && setSides({ before, after }),
      (/** @type {Error} */ error) => isWanted && setSides(error.message),
    );
    return () => {
      isWanted = false;
    };
  }, uris);
  return sides;
}

/** @param {FileEditSide | undefined} side */
async function textOf(side) {
  if (!side) return "";
  const read = await page.host.request("resourceRead", { uri: side.content.uri, encoding: "utf-8" });
  if (read.encoding === "utf-8") return read.data;
  throw new Error(`This is no text (${side.content.contentType ?? "binary"}, ${size(side.content.sizeHint ?? 0)})`);
}
