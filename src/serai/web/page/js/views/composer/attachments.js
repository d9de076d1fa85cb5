// Images and files that are pasted, dropped or chosen.
import { page } from "../../page.js";
import { size } from "../parts/format.js";
import { Icon, IconButton } from "../parts/icon.js";
import { html } from "../preact.js";

/** @import {Attached} from "./drafts.js" */

/** The host takes messages of 16 MB, and base64 makes a third more of it. */
const MOST_BYTES = 5_000_000;
const MOST_IN_ALL = 10_000_000;

/**
 * Files as attachments. What is too large is said to the person. @param {Iterable<File>} files
 * @param {readonly Attached[]} before what is attached already @returns {Promise<Attached[]>}
 */
export async function readFiles(files, before) {
  /** @type {Attached[]} */
  const read = [];
  let sum = before.reduce((all, { attachment }) => all + bytesOf(attachment), 0);
  for (const file of files) {
    if (file.size > MOST_BYTES || sum + file.size > MOST_IN_ALL) {
      const limit = file.size > MOST_BYTES ? MOST_BYTES : MOST_IN_ALL;
      page.host.notify(`${file.name} is too large to attach (${size(file.size)}; at most ${size(limit)}).`);
      continue;
    }
    sum += file.size;
    const contentType = file.type || "application/octet-stream";
    const isImage = contentType.startsWith("image/");
    read.push({
      attachment: {
        type: "embeddedResource",
        label: file.name || (isImage ? "image" : "file"),
        data: await base64Of(file),
        contentType,
        ...(isImage && { displayKind: "image" }),
      },
    });
  }
  return read;
}

/** @param {Attached["attachment"]} attachment */
function bytesOf(attachment) {
  return attachment.type === "embeddedResource" ? Math.round(attachment.data.length * 0.75) : 0;
}

/** @param {Blob} blob @returns {Promise<string>} */
function base64Of(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/**
 * What is attached, each with a button that takes it away.
 * @param {{attached: readonly Attached[], onRemove: (one: Attached) => void}} props
 */
export function Chips({ attached, onRemove }) {
  if (!attached.length) return null;
  return html`<ul class="chips row wrap bare" aria-label="Attached">
    ${attached.map((one) => {
      const { attachment } = one;
      const isImage = attachment.type === "embeddedResource" && attachment.contentType.startsWith("image/");
      return html`<li class="chip card" key=${one}>
        ${isImage
          ? html`<img src=${`data:${attachment.contentType};base64,${attachment.data}`} alt="" />`
          : html`<${Icon} name="file" />`}
        <span class="cut">${attachment.label}</span>
        ${bytesOf(attachment) > 0 && html`<span class="faint">${size(bytesOf(attachment))}</span>`}
        <${IconButton} name="close" label=${`Take ${attachment.label} away`} onClick=${() => onRemove(one)} />
      </li>`;
    })}
  </ul>`;
}
