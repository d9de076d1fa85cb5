// What a person has begun to write, for each session: it stays when they look elsewhere, and over a reload.
import { signal } from "../preact.js";

/** @import {MessageAttachment, TextPosition} from "../../ahp/types.d.ts" */
/** @import {Signal} from "../preact.js" */

/**
 * Something attached to a draft. `token` is what stands for it in the text; when that is gone, so is the attachment.
 * @typedef {{attachment: MessageAttachment, token?: string}} Attached
 */
/** @typedef {{text: string, attached: Attached[]}} Draft */

const PREFIX = "serai.draft.";
/** Larger drafts are kept in this window only. */
const MOST_KEPT = 200_000;

/** @type {Map<string, Signal<Draft>>} */
const drafts = new Map();

/** The draft of a session, or of the start screen (`start`). @param {string} key @returns {Signal<Draft>} */
export function draftOf(key) {
  let draft = drafts.get(key);
  if (!draft) {
    draft = signal(kept(key));
    drafts.set(key, draft);
  }
  return draft;
}

/** Whether there is nothing to send. @param {Draft} draft */
export const isBlank = ({ text, attached }) => !text.trim() && !attached.length;

/** @param {string} key @param {Draft} draft */
export function setDraft(key, draft) {
  draftOf(key).value = draft;
  const text = draft.text || draft.attached.length ? JSON.stringify(draft) : null;
  try {
    if (text === null || text.length > MOST_KEPT) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, text);
  } catch {
    // There is no room: the draft stays in this window.
  }
}

// -- what was sent, and not answered yet -------------------------------------------------------------------

const SENT = "serai.sent.";
/** The messages that this window has sent, and that the host has not answered, by id. */
export const unanswered = signal(/** @type {ReadonlySet<string>} */ (new Set()));

/**
 * Keep a message until the host has answered: if the page is loaded anew before, it is a draft again.
 * @template T @param {string} key @param {string} id @param {Draft} draft @param {Promise<T>} answer
 */
export async function sent(key, id, draft, answer) {
  const place = `${SENT}${key} ${id}`;
  unanswered.value = new Set([...unanswered.peek(), id]);
  try {
    sessionStorage.setItem(place, JSON.stringify(draft));
  } catch {
    // There is no room: it is in this window alone.
  }
  const answered = await answer;
  sessionStorage.removeItem(place);
  unanswered.value = new Set([...unanswered.peek()].filter((other) => other !== id));
  return answered;
}

/**
 * Make drafts of what was sent before the page was loaded, unless the host has it.
 * @param {string} key @param {(id: string) => boolean} isThere
 */
export function takeBackUnsent(key, isThere) {
  const places = Object.keys(sessionStorage).filter((place) => place.startsWith(`${SENT}${key} `));
  for (const place of places) {
    const id = place.slice(SENT.length + key.length + 1);
    if (unanswered.peek().has(id)) continue;
    const { text, attached } = JSON.parse(sessionStorage.getItem(place) ?? "{}");
    sessionStorage.removeItem(place);
    const now = draftOf(key).peek();
    const joined = [text, now.text].filter(Boolean).join("\n\n");
    if (!isThere(id)) setDraft(key, { text: joined, attached: [...attached, ...now.attached] });
  }
}

/**
 * Put a text into the composer of a session, after what is there, and go to it. @param {string} key
 * @param {string} text @param {readonly MessageAttachment[]} [attachments]
 */
export function putInComposer(key, text, attachments = []) {
  const before = draftOf(key).peek();
  const attached = attachments.map((attachment) => ({ attachment, ...textIn(text, attachment) }));
  const joined = [before.text.trimEnd(), text].filter(Boolean).join("\n\n");
  setDraft(key, { text: joined, attached: [...before.attached, ...attached] });
  document.getElementById("composer")?.focus();
}

/** The message that a draft is. @param {Draft} draft */
export function messageOf({ text, attached }) {
  const attachments = attached.flatMap(({ attachment, token }) => {
    if (token === undefined) return [attachment];
    const at = text.indexOf(token);
    if (at < 0) return []; // the person has deleted what stood for it
    return [{ ...attachment, range: { start: positionAt(text, at), end: positionAt(text, at + token.length) } }];
  });
  return attachments.length ? { text, attachments } : { text };
}

/** @param {string} key @returns {Draft} */
function kept(key) {
  try {
    const { text, attached } = JSON.parse(localStorage.getItem(PREFIX + key) ?? "");
    if (typeof text === "string" && Array.isArray(attached)) return { text, attached };
  } catch {
    // There is none, or it is of another version of the page.
  }
  return { text: "", attached: [] };
}

/** @param {string} text @param {number} offset @returns {TextPosition} */
function positionAt(text, offset) {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
}

/** What stands in a text for an attachment. @param {string} text @param {MessageAttachment} attachment */
function textIn(text, { range }) {
  const lines = text.split("\n");
  /** @param {TextPosition} place */
  const offset = ({ line, character }) => lines.slice(0, line).join("\n").length + Math.min(line, 1) + character;
  const token = range && text.slice(offset(range.start), offset(range.end));
  return token ? { token } : {};
}
