// One changed file: how much changed, what can be done with it, and when it is opened the changes themselves.
import { aside, page } from "../../page.js";
import { Diff } from "../parts/diff.js";
import { Icon } from "../parts/icon.js";
import { html, memo, useEffect, useRef, useState } from "../preact.js";
import { CommentEditor, draftsOf, setDraft } from "./comments.js";
import { runOperation } from "./operations.js";
import { contentOf, diffMode, pathBelow } from "./reading.js";
import { placeOf } from "./review.js";

/** @typedef {import("../../ahp/types.d.ts").ChangesetFile} File */
/** @typedef {import("../../ahp/types.d.ts").ChangesetOperation} ChangesetOperation */
/** @typedef {import("./review.js").Comment} Comment */
/** @typedef {{before: string, after: string} | {note: string}} Sides */

/** What happened to a file, and the letter for it. @type {Record<string, string>} */
const KINDS = { added: "A", modified: "M", deleted: "D", renamed: "R" };

/**
 * The path of a changed file in its folder, and the one that it had before when it was another.
 * @param {File} file
 * @param {string} folder
 */
export function pathsOf(file, folder) {
  const before = pathBelow(file.edit.before?.uri, folder);
  const after = pathBelow(file.edit.after?.uri, folder);
  return { path: after || before || file.id, was: before && after && before !== after ? before : null };
}

/** @param {File} file */
function kindOf(file) {
  const told = file._meta?.["serai.kind"];
  if (typeof told === "string" && told in KINDS) return told;
  if (!file.edit.before) return "added";
  return file.edit.after ? "modified" : "deleted";
}

/**
 * @typedef {object} Props
 * @property {File} file
 * @property {string} changeset
 * @property {string} session
 * @property {string} folder
 * @property {readonly ChangesetOperation[]} operations
 * @property {(said: string | null) => void} onSaid
 */

/** A row, and below it the changes when it is opened. */
export const ChangedFile = memo((/** @type {Props} */ { file, changeset, session, folder, operations, onSaid }) => {
  const [isOpen, setOpen] = useState(false);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const { path, was } = pathsOf(file, folder);
  const at = aside.value.at;
  const isMeant = [at, at?.path, at?.uri].some((one) => typeof one === "string" && pathBelow(one, folder) === path);
  useEffect(() => {
    if (!isMeant) return;
    setOpen(true);
    place.current?.scrollIntoView({ block: "start" });
  }, [isMeant]);
  const kind = kindOf(file);
  const cut = path.lastIndexOf("/") + 1;
  const drafts = draftsOf(session).value.filter((comment) => comment.path === path);
  const { added, removed } = file.edit.diff ?? {};
  return html`<li ref=${place}>
    <button
      class="quiet file"
      aria-expanded=${isOpen}
      title=${was ? `${was} → ${path}` : path}
      onClick=${() => setOpen(!isOpen)}
    >
      <${Icon} name=${isOpen ? "down" : "right"} size=${12} />
      <span class=${`letter ${kind}`} aria-label=${kind}>${KINDS[kind]}</span>
      <span class="path cut">
        ${path.slice(cut)} <span class="faint small">${was ? `was ${was}` : path.slice(0, cut)}</span>
      </span>
      ${Boolean(file._meta?.["serai.conflicted"]) && html`<span class="warn small">conflict</span>`}
      ${drafts.length > 0 &&
      html`<span class="small faint" title=${`${drafts.length} comments`}>
        <${Icon} name="chat" size=${12} /> ${drafts.length}
      </span>`}
      <span class="counts small">
        ${Boolean(added) && html`<span class="added">+${added}</span>`}
        ${Boolean(removed) && html` <span class="removed">−${removed}</span>`}
        ${Boolean(file._meta?.["serai.binary"]) && html`<span class="faint">binary</span>`}
      </span>
    </button>
    ${isOpen &&
    html`<div class="opened">
      <${FileOperations} file=${file} changeset=${changeset} operations=${operations} onSaid=${onSaid} />
      <${FileChanges}
        file=${file}
        path=${path}
        changeset=${changeset}
        session=${session}
        operations=${operations}
        onSaid=${onSaid}
      />
    </div>`}
  </li>`;
});

/**
 * @param {File} file
 * @returns {string}
 */
function resourceOf(file) {
  return file.edit.after?.uri ?? file.edit.before?.uri ?? "";
}

/** @param {Pick<Props, "file" | "changeset" | "operations" | "onSaid">} props */
function FileOperations({ file, changeset, operations, onSaid }) {
  const offered = operations.filter((one) => one.scopes.includes("resource"));
  if (!offered.length) return null;
  return html`<div class="bar row" role="group" aria-label="This file">
    ${offered.map(
      (operation) =>
        html`<button
          key=${operation.id}
          class=${operation.id === "discard" ? "quiet danger" : "quiet"}
          title=${operation.description}
          onClick=${async () =>
            onSaid(await runOperation(changeset, operation, { kind: "resource", resource: resourceOf(file) }))}
        >
          ${operation.label}
        </button>`,
    )}
  </div>`;
}

/**
 * The changes in a file, with the comments on its lines.
 * @param {Pick<Props, "file" | "changeset" | "session" | "operations" | "onSaid"> & {path: string}} props
 */
function FileChanges({ file, path, changeset, session, operations, onSaid }) {
  const [sides, setSides] = useState(/** @type {Sides | null} */ (null));
  const [writing, setWriting] = useState(/** @type {Comment | null} */ (null));
  useEffect(() => {
    let isGone = false;
    sidesOf(file)
      .catch((error) => ({ note: String(error.message) }))
      .then((read) => isGone || setSides(read));
    return () => {
      isGone = true;
    };
    // The version changes with the content, so that a file that changes again is another object.
  }, [file]);
  const drafts = draftsOf(session).value.filter((comment) => comment.path === path);
  if (!sides) return html`<p class="empty" role="status">Reading…</p>`;
  if ("note" in sides) return html`<p class="empty">${sides.note}</p>`;
  /** @type {(side: "before" | "after", start: number, end: number) => void} */
  const begin = (side, start, end) => {
    const quote = sides[side].split("\n").slice(start - 1, end).join("\n");
    // A comment that is just being written goes along to the lines that are chosen now.
    const isNew = writing !== null && !drafts.some((draft) => draft.id === writing.id);
    setWriting({ id: isNew ? writing.id : crypto.randomUUID(), path, side, start, end, quote, text: "" });
  };
  const ranged = operations.filter((one) => one.scopes.includes("range"));
  /** @param {Comment} comment */
  const editor = (comment) => html`<${CommentEditor}
    key=${comment.id}
    place=${placeOf(comment)}
    text=${comment.text}
    onKeep=${(/** @type {string} */ text) => {
      setDraft(session, { ...comment, text });
      setWriting(null);
    }}
    onLeave=${() => setWriting(null)}
  >
    ${ranged.map(
      (operation) =>
        html`<button
          title=${operation.description}
          onClick=${async () => onSaid(await runOperation(changeset, operation, rangeOf(file, comment)))}
        >
          ${operation.label}
        </button>`,
    )}
  <//>`;
  const shown = [...drafts.filter((comment) => comment.id !== writing?.id), ...(writing ? [writing] : [])];
  return html`<${Diff}
    before=${sides.before}
    after=${sides.after}
    path=${path}
    mode=${diffMode.value}
    onComment=${page.host.isReading.value ? undefined : begin}
    comments=${shown.map((comment) => ({
      side: comment.side,
      line: comment.end,
      content:
        comment.id === writing?.id
          ? editor(comment)
          : html`<${Kept} comment=${comment} onEdit=${() => setWriting(comment)} />`,
    }))}
  />`;
}

/** A comment that waits to be sent. @param {{comment: Comment, onEdit: () => void}} props */
function Kept({ comment, onEdit }) {
  return html`<div class="comment-kept">
    <span class="grow">${comment.text}</span>
    <button class="quiet" onClick=${onEdit} aria-label=${`Edit the comment on ${placeOf(comment)}`}>Edit</button>
  </div>`;
}

/**
 * @param {File} file
 * @param {Comment} comment
 */
function rangeOf(file, { side, start, end }) {
  const range = { start: { line: start - 1, character: 0 }, end: { line: end, character: 0 } };
  return /** @type {const} */ ({ kind: "range", resource: resourceOf(file), range, side });
}

/**
 * Both sides of a change, as text.
 * @param {File} file
 * @returns {Promise<Sides>}
 */
async function sidesOf({ edit, _meta }) {
  if (_meta?.["serai.binary"]) return { note: "This file is not text." };
  const [before, after] = await Promise.all(
    [edit.before, edit.after].map((side) => (side ? contentOf(side.content.uri, { asText: true }) : { text: "" })),
  );
  for (const side of [before, after]) if (side && "note" in side) return side;
  if (!before || !after || !("text" in before) || !("text" in after)) return { note: "This file is not text." };
  return { before: before.text, after: after.text };
}
