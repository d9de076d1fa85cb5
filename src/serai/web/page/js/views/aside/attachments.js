// What a message carries beside its text. Addresses elsewhere are links: nothing is loaded from there by itself.
import { html } from "../preact.js";

/** @typedef {{type: string, label?: string, [more: string]: any}} Attachment */

const IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/** @param {{attachments: readonly Attachment[]}} props */
export function Attachments({ attachments }) {
  if (attachments.length === 0) return null;
  return html`<ul class="attachments" aria-label="Attachments">
    ${attachments.map((one, index) => html`<li key=${index}><${AttachmentView} attachment=${one} /></li>`)}
  </ul>`;
}

/** @param {{attachment: Attachment}} props */
function AttachmentView({ attachment: one }) {
  const label = one.label ?? one.path ?? one.url ?? one.id ?? one.type;
  if (one.type === "image" && one.data && IMAGES.test(one.mimeType)) {
    return html`<img src=${`data:${one.mimeType};base64,${one.data}`} alt=${one.label ?? "an image"} />`;
  }
  if (one.url) {
    // Whoever wrote it chose the address: only what a browser opens as a page becomes a link.
    if (!/^https?:\/\//i.test(one.url)) return html`<span class="mono">${one.url}</span>`;
    return html`<a href=${one.url} target="_blank" rel="noopener noreferrer nofollow">${label}</a>`;
  }
  if (one.type === "file") return html`<span class="mono">${one.path}${one.line ? `:${one.line}` : ""}</span>`;
  const text = one.type === "json" ? JSON.stringify(one.value, null, 2) : (one.text ?? one.diff);
  if (text === undefined) return html`<span class="mono">${label}</span>`;
  return html`<details>
    <summary>${one.type === "diff" ? `A change${one.path ? ` of ${one.path}` : ""}` : (one.label ?? one.type)}</summary>
    <pre>${text}</pre>
  </details>`;
}
