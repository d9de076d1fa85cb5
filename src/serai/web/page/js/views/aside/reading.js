// What a file has in it, as far as the page shows it, and preferences of the views beside a session.
import { preference } from "../../host/preferences.js";
import { page } from "../../page.js";
import { pathOf } from "../parts/format.js";
import { effect } from "../preact.js";

/** The longest file that is shown, in bytes: a browser lays out no more of it in a bearable time. */
export const MOST_SHOWN = 1_000_000;

/**
 * Content of a file: text; an image, to be shown from a `blob:` address; or why it is not shown.
 * @typedef {{text: string} | {image: Blob} | {note: string}} Content
 */

/**
 * Read a file or recorded content.
 * @param {string} uri
 * @param {{asText?: boolean}} [options] `asText` for an image that is written as text
 * @returns {Promise<Content>} rejects with HostError
 */
export async function contentOf(uri, { asText = false } = {}) {
  // Only files have a size beforehand; recorded content is not of files that are very large.
  const size = uri.startsWith("file:") ? (await page.host.request("resourceResolve", { uri })).size : undefined;
  const isImage = !asText && /\.(png|jpe?g|gif|webp|avif|bmp|ico|svg)$/i.test(uri);
  if ((size ?? 0) > (isImage ? 10 : 1) * MOST_SHOWN) return { note: "This file is too large to be shown here." };
  const read = await page.host.request("resourceRead", { uri, encoding: isImage ? "base64" : "utf-8" });
  if (isImage && read.encoding === "base64") {
    const bytes = Uint8Array.from(atob(read.data), (letter) => letter.charCodeAt(0));
    return { image: new Blob([bytes], { type: read.contentType ?? "image/png" }) };
  }
  if (read.encoding !== "utf-8" || read.data.includes("\0")) return { note: "This file is not text." };
  if (read.data.length > MOST_SHOWN) return { note: "This file is too large to be shown here." };
  return { text: read.data };
}

/**
 * The path of a file in a folder; of one elsewhere the whole path.
 * @param {string | undefined} named a path, or a `file:` URI
 * @param {string} folder
 */
export function pathBelow(named, folder) {
  const path = pathOf(named);
  const base = `${pathOf(folder).replace(/\/+$/, "")}/`;
  return path.startsWith(base) ? path.slice(base.length) : path;
}

/** How changes are shown. */
export const diffMode = preference("diff", /** @type {"unified" | "split"} */ ("unified"));

/** Whether what is beside the session takes half of the page. */
export const isWide = preference("wide", false);
effect(() => {
  document.documentElement.toggleAttribute("data-wide", isWide.value);
});
