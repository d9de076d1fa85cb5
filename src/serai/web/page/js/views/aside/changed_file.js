// One changed file: how much changed, what can be done with it, and when it is opened the changes themselves.
import { preference } from "../../host/preferences.js";
import { page, showAside } from "../../page.js";
import { confirm } from "../parts/dialog.js";
import { Diff } from "../parts/diff.js";
import { plain } from "../parts/format.js";
import { Icon } from "../parts/icon.js";
import { html, memo, useState } from "../preact.js";
import { attempt, useAsked } from "./asked.js";
import { CommentEditor, draftsOf, setDraft } from "./comments.js";
import { contentOf, pathBelow } from "./files.js";
import { placeOf } from "./review.js";
import { Pending } from "./shapes.js";

/** @import {ChangesetFile, ChangesetOperation, Commands} from "../../ahp/types.d.ts" */
/** @import {Comment} from "./review.js" */
/** @typedef {Commands["invokeChangesetOperation"][0]["target"]} Target */
/** @typedef {{before: string, after: string} | {note: string}} Sides */

/** How changes are shown. */
export const diffMode = preference("diff", /** @type {"unified" | "split"} */ ("unified"));

/** What happened to a file, and the letter for it. @type {Record<string, string>} */
const KINDS = { added: "A", modified: "M", deleted: "D", renamed: "R" };

/**
 * The path of a changed file in its folder, and the one that it had before when it was another.
 * @param {ChangesetFile} file
 * @param {string} folder
 */
export function pathsOf(file, folder) {
  const before = pathBelow(file.edit.before?.uri, folder);
  const after = pathBelow(file.edit.after?.uri, folder);
  return { path: after || before || file.id, was: before && after && before !== after ? before : null };
}

/**
 * What can be done with changes: the host says what, and what to ask first.
 * @param {object} props
 * @param {readonly ChangesetOperation[]} props.offered
 * @param {string} props.changeset
 * @param {Target} [props.target] all of it without
 * @param {(said: string | null) => void} props.onSaid
 */
export function Operations({ offered, changeset, target, onSaid }) {
  /** @param {ChangesetOperation} operation */
  const run = async ({ id, label, confirmation }) => {
    if (confirmation && !(await confirm(label, plain(confirmation), { yes: label, danger: true }))) return;
    const params = { channel: changeset, operationId: id, ...(target && { target }) };
    const done = await attempt(page.host.request("invokeChangesetOperation", params));
    if (done?.followUp) showAside("files", done.followUp.content.uri);
    onSaid(done?.message ? plain(done.message) : null);
  };
  return offered.map((one) => {
    const look = `${target ? "quiet" : ""} ${one.id === "discard" ? "danger" : ""}`;
    return html`<button key=${one.id} class=${look} title=${one.description} onClick=${() => run(one)}>
      ${one.id === "undo" && html`<${Icon} name="undo" />`} ${one.label}${target || one.id === "undo" ? "" : " all"}
    </button>`;
  });
}

/**
 * @typedef {object} Props
 * @property {ChangesetFile} file
 * @property {string} changeset
 * @property {string} session
 * @property {string} folder
 * @property {readonly ChangesetOperation[]} operations
 * @property {(said: string | null) => void} onSaid
 */

/** A row, and below it the changes when it is opened. */
export const ChangedFile = memo((/** @type {Props} */ { file, changeset, session, folder, operations, onSaid }) => {
  const [isOpen, setOpen] = useState(false);
  const { path, was } = pathsOf(file, folder);
  const { "serai.kind": kind = "", "serai.conflicted": isConflicted, "serai.binary": isBinary } =
    /** @type {Record<string, any>} */ (file._meta ?? {});
  const cut = path.lastIndexOf("/") + 1;
  const drafts = draftsOf(session).value.filter((comment) => comment.path === path);
  const { added, removed } = file.edit.diff ?? {};
  const offered = operations.filter((one) => one.scopes.includes("resource"));
  const target = { kind: "resource", resource: (file.edit.after ?? file.edit.before)?.uri };
  return html`<li>
    <button
      class="quiet line" aria-expanded=${isOpen} title=${was ? `${was} → ${path}` : path}
      onClick=${() => setOpen(!isOpen)}
    >
      <${Icon} name=${isOpen ? "down" : "right"} size=${12} />
      <span class="letter mono ${kind}" aria-label=${kind}>${KINDS[kind]}</span>
      <span class="grow cut">
        ${path.slice(cut)} <span class="faint small">${was ? `was ${was}` : path.slice(0, cut)}</span>
      </span>
      ${isConflicted && html`<span class="warn small">conflict</span>`}
      ${drafts.length > 0 &&
      html`<span class="small faint" title=${`${drafts.length} comments`}>
        <${Icon} name="chat" size=${12} /> ${drafts.length}
      </span>`}
      <span class="mono small">
        ${Boolean(added) && html`<span class="added">+${added}</span>`}
        ${Boolean(removed) && html` <span class="deleted">−${removed}</span>`}
        ${isBinary && html`<span class="faint">binary</span>`}
      </span>
    </button>
    ${isOpen &&
    html`<div class="opened">
      ${offered.length > 0 &&
      html`<div class="bar row" role="group" aria-label="This file">
        <${Operations} offered=${offered} changeset=${changeset} target=${target} onSaid=${onSaid} />
      </div>`}
      ${isBinary
        ? html`<p class="empty">This file is not text.</p>`
        : html`<${FileChanges} file=${file} path=${path} session=${session} drafts=${drafts} />`}
    </div>`}
  </li>`;
});

/**
 * The changes in a file, with the comments on its lines.
 * @param {{file: ChangesetFile, path: string, session: string, drafts: readonly Comment[]}} props
 */
function FileChanges({ file, path, session, drafts }) {
  // The version changes with the content, so that a file that changes again is another object.
  const { value: sides, problem } = useAsked(() => sidesOf(file), [file]);
  const [writing, setWriting] = useState(/** @type {Comment | null} */ (null));
  if (problem || !sides) return html`<${Pending} problem=${problem} text="Reading…" />`;
  if ("note" in sides) return html`<p class="empty">${sides.note}</p>`;
  /** @type {(side: "before" | "after", start: number, end: number) => void} */
  const begin = (side, start, end) => {
    const quote = sides[side].split("\n").slice(start - 1, end).join("\n");
    // A comment that is just being written goes along to the lines that are chosen now.
    const isNew = writing !== null && !drafts.some((draft) => draft.id === writing.id);
    setWriting({ id: isNew ? writing.id : crypto.randomUUID(), path, side, start, end, quote, text: "" });
  };
  /** @param {Comment} comment */
  const shown = (comment) =>
    comment === writing
      ? html`<${CommentEditor}
          key=${comment.id} place=${placeOf(comment)} text=${comment.text} onLeave=${() => setWriting(null)}
          onKeep=${(/** @type {string} */ text) => {
            setDraft(session, { ...comment, text });
            setWriting(null);
          }}
        />`
      : html`<div class="comment-kept row">
          <span class="grow">${comment.text}</span>
          <button
            class="quiet" aria-label=${`Edit the comment on ${placeOf(comment)}`} onClick=${() => setWriting(comment)}
          >
            Edit
          </button>
        </div>`;
  const comments = [...drafts.filter((comment) => comment.id !== writing?.id), ...(writing ? [writing] : [])];
  return html`<${Diff}
    before=${sides.before} after=${sides.after} path=${path} mode=${diffMode.value}
    onComment=${page.host.isReading.value ? undefined : begin}
    comments=${comments.map((comment) => ({ side: comment.side, line: comment.end, content: shown(comment) }))}
  />`;
}

/** Both sides of a change, as text. @param {ChangesetFile} file @returns {Promise<Sides>} */
async function sidesOf({ edit }) {
  const read = [edit.before, edit.after].map(async (side) => {
    return /** @type {{text: string} | {note: string}} */ (
      side ? await contentOf(side.content.uri, { asText: true }) : { text: "" }
    );
  });
  const [before, after] = /** @type {[any, any]} */ (await Promise.all(read));
  return [before, after].find((side) => "note" in side) ?? { before: before.text, after: after.text };
}
