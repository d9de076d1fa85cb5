// Comments on lines: drafts that this browser keeps for each session, until they are sent as one message.
import { preference } from "../../host/preferences.js";
import { page } from "../../page.js";
import { confirm } from "../parts/dialog.js";
import { Icon, IconButton } from "../parts/icon.js";
import { html, useEffect, useRef, useState } from "../preact.js";
import { inOrder, messageOf, placeOf } from "./review.js";

/** @import {Comment} from "./review.js" */

/** The drafts of a session: the same in all windows of this browser. @param {string} uri */
export function draftsOf(uri) {
  return preference(`comments.${uri}`, /** @type {readonly Comment[]} */ ([]));
}

/**
 * Put a comment among the drafts, or in place of the one that has its id. One without text goes away.
 * @param {string} uri
 * @param {Comment} comment
 */
export function setDraft(uri, comment) {
  const others = draftsOf(uri).peek().filter((other) => other.id !== comment.id);
  draftsOf(uri).value = comment.text.trim() ? [...others, comment] : others;
}

/** How many comments there are, and what to do with them. @param {{uri: string, isRunning: boolean}} props */
export function CommentsBar({ uri, isRunning }) {
  const [isOpen, setOpen] = useState(false);
  const [isSending, setSending] = useState(false);
  const drafts = draftsOf(uri);
  const comments = drafts.value;
  if (!comments.length) return null;
  const many = comments.length === 1 ? "1 comment" : `${comments.length} comments`;
  const send = async () => {
    const userMessage = { text: messageOf(comments) };
    const id = crypto.randomUUID();
    setSending(true);
    const hasHappened = await page.host.dispatch(
      uri,
      isRunning
        ? { type: "session/pendingMessageSet", kind: "queued", id, userMessage }
        : { type: "session/turnStarted", turnId: id, userMessage },
    );
    setSending(false);
    // What was written meanwhile stays.
    if (hasHappened) drafts.value = drafts.peek().filter((comment) => !comments.includes(comment));
  };
  const discard = async () => {
    const text = `Throw away ${many} that nobody has read?`;
    if (await confirm("Throw comments away", text, { yes: "Throw away", danger: true })) drafts.value = [];
  };
  return html`<section class="comments-bar" aria-label="Comments">
    ${isOpen &&
    html`<ul>
      ${inOrder(comments).map(
        (comment) => html`<li key=${comment.id}>
          <div class="row">
            <code class="grow cut">${placeOf(comment)}</code>
            <${IconButton}
              name="trash" label=${`Remove the comment on ${placeOf(comment)}`}
              onClick=${() => setDraft(uri, { ...comment, text: "" })}
            />
          </div>
          <p>${comment.text}</p>
        </li>`,
      )}
    </ul>`}
    <div class="row">
      <button class="quiet" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
        <${Icon} name=${isOpen ? "down" : "right"} /> <span role="status">${many}</span>
      </button>
      <span class="grow"></span>
      <${IconButton} name="trash" label="Throw the comments away" onClick=${discard} />
      <button class="main" disabled=${isSending || page.host.isReading.value} onClick=${send}>
        ${isRunning ? "Queue as message" : "Send as message"}
      </button>
    </div>
  </section>`;
}

/**
 * Where one writes a comment. Ctrl Enter keeps it, Escape leaves it.
 * @param {{place: string, text: string, onKeep: (text: string) => void, onLeave: () => void}} props
 */
export function CommentEditor({ place, text, onKeep, onLeave }) {
  const [written, setWritten] = useState(text);
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onKeep(written);
    else if (event.key === "Escape") onLeave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<div class="comment-editor" onKeyDown=${pressed}>
    <label>
      <span class="small faint">Comment on <code>${place}</code></span>
      <textarea
        ref=${field} rows="3" value=${written} onInput=${(/** @type {any} */ event) => setWritten(event.target.value)}
      ></textarea>
    </label>
    <div class="row">
      <span class="grow"></span>
      <button onClick=${onLeave}>Cancel</button>
      <button class="main" disabled=${!written.trim() && !text} onClick=${() => onKeep(written)}>
        ${text && !written.trim() ? "Remove" : "Keep"}
      </button>
    </div>
  </div>`;
}
