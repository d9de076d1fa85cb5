// The files of a session's folder: a tree that is read as it is opened, and what is in a file.
import { aside, page } from "../../page.js";
import { Code } from "../parts/code.js";
import { nameOf, pathOf } from "../parts/format.js";
import { Icon } from "../parts/icon.js";
import { html, useEffect, useMemo, useState } from "../preact.js";
import { useAsked } from "./asked.js";
import { Head, Pending } from "./shapes.js";

/**
 * Content of a file: text; an image, to be shown from a `blob:` address; or why it is not shown.
 * @typedef {{text: string} | {image: Blob} | {note: string}} Content
 */

/** So many entries of one folder are shown. */
const MOST_ENTRIES = 2000;
/** The longest file that is shown, in bytes: a browser lays out no more of it in a bearable time. */
const MOST_SHOWN = 1_000_000;
/** How long one may type before the host is asked. */
const PAUSE = 150;

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
 * @param {string | undefined} uri
 * @param {string} folder
 */
export function pathBelow(uri, folder) {
  const path = pathOf(uri);
  const base = `${pathOf(folder).replace(/\/+$/, "")}/`;
  return path.startsWith(base) ? path.slice(base.length) : path;
}

/** The tab. @param {{uri: string}} props */
export function Files({ uri }) {
  const summary = page.host.summaries.value.get(uri);
  const root = summary?.workingDirectory?.replace(/\/+$/, "");
  const [opened, setOpened] = useState(/** @type {string | null} */ (null));
  const [filter, setFilter] = useState("");
  const at = aside.value.at;
  useEffect(() => {
    if (typeof at === "string") setOpened(at);
  }, [at]);
  if (!root) return html`<p class="empty">This session works in no folder.</p>`;
  // When other files changed than before, folders have other entries, perhaps, and files another content.
  const version = summary?.changesets;
  if (opened) {
    const path = opened.startsWith("file:") ? pathBelow(opened, root) : recordedPath(opened);
    return html`<div class="files-tab">
      <${Head} title=${path} back="Back to the files" onBack=${() => setOpened(null)} />
      <${Opened} key=${opened} uri=${opened} path=${path} version=${version} />
    </div>`;
  }
  return html`<div class="files-tab">
    <div class="bar row">
      <input
        type="search" class="grow" aria-label="Find a file by its path" placeholder="Find a file" value=${filter}
        onInput=${(/** @type {any} */ event) => setFilter(event.target.value)}
      />
    </div>
    ${filter.trim()
      ? html`<${Found} session=${uri} root=${root} text=${filter.trim()} onOpen=${setOpened} />`
      : html`<${Folder} uri=${root} version=${version} onOpen=${setOpened} />`}
  </div>`;
}

/** The path in the URI of recorded content. @param {string} uri */
function recordedPath(uri) {
  try {
    return decodeURIComponent(uri.split("/").slice(3).join("/")) || uri;
  } catch {
    return uri;
  }
}

/** What is in a folder. @param {{uri: string, version: unknown, onOpen: (uri: string) => void}} props */
function Folder({ uri, version, onOpen }) {
  const listed = useAsked(() => page.host.request("resourceList", { uri }), [uri, version]);
  const [unfolded, setUnfolded] = useState(/** @type {readonly string[]} */ ([]));
  if (!listed.value) return html`<${Pending} problem=${listed.problem} text="Reading…" />`;
  const isFolder = (/** @type {{type: string}} */ entry) => entry.type === "directory";
  const entries = listed.value.entries
    .filter(({ name }) => name !== ".git")
    .sort((one, other) => Number(isFolder(other)) - Number(isFolder(one)) || one.name.localeCompare(other.name));
  const more = entries.length - MOST_ENTRIES;
  return html`<ul class="tree" aria-label=${nameOf(uri)}>
    ${entries.length === 0 && html`<li class="faint small">Empty</li>`}
    ${entries.slice(0, MOST_ENTRIES).map((entry) => {
      const { name } = entry;
      const path = `${uri}/${encodeURIComponent(name)}`;
      const open = () => onOpen(path);
      if (!isFolder(entry)) return html`<${Entry} key=${name} icon="file" name=${name} onClick=${open} />`;
      const isOpen = unfolded.includes(name);
      const others = unfolded.filter((one) => one !== name);
      const toggle = () => setUnfolded(isOpen ? others : [...others, name]);
      const icon = isOpen ? "down" : "right";
      return html`<${Entry} key=${name} icon=${icon} name=${name} isOpen=${isOpen} onClick=${toggle}>
        ${isOpen && html`<${Folder} uri=${path} version=${version} onOpen=${onOpen} />`}
      <//>`;
    })}
    ${more > 0 && html`<li class="faint small">and ${more} more</li>`}
  </ul>`;
}

/** @param {{icon: string, name: string, isOpen?: boolean, onClick: () => void, children?: unknown}} props */
function Entry({ icon, name, isOpen, onClick, children }) {
  return html`<li>
    <button class="quiet line" aria-expanded=${isOpen} onClick=${onClick}>
      <${Icon} name=${icon} size=${14} /><span class="cut">${name}</span>
    </button>
    ${children}
  </li>`;
}

/**
 * Files that fit what was typed: those that the host would complete.
 * @param {{session: string, root: string, text: string, onOpen: (uri: string) => void}} props
 */
function Found({ session, root, text, onOpen }) {
  const [wanted, setWanted] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setWanted(`@${text.replaceAll(/\s/g, "")}`), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  const asked = useAsked(async () => {
    if (!wanted) return null;
    const params = /** @type {const} */ ({ kind: "userMessage", text: wanted, offset: wanted.length });
    const { items } = await page.host.request("completions", { channel: session, ...params });
    const uris = items.map(({ attachment }) => (attachment.type === "resource" ? attachment.uri : ""));
    // Folders are completed, too, but there is nothing in them to show.
    return uris.filter((uri) => uri.startsWith("file:") && !uri.endsWith("/"));
  }, [wanted]);
  if (!asked.value) return html`<${Pending} problem=${asked.problem} text="Looking…" />`;
  if (!asked.value.length) return html`<p class="empty" role="status">No file fits.</p>`;
  return html`<ul class="tree" aria-label="Files found">
    ${asked.value.map(
      (uri) => html`<${Entry} key=${uri} icon="file" name=${pathBelow(uri, root)} onClick=${() => onOpen(uri)} />`,
    )}
  </ul>`;
}

/** What is in a file. @param {{uri: string, path: string, version: unknown}} props */
function Opened({ uri, path, version }) {
  const { value: content, problem } = useAsked(() => contentOf(uri), [version]);
  const image = content && "image" in content ? content.image : null;
  const address = useMemo(() => image && URL.createObjectURL(image), [image]);
  useEffect(() => () => void (address && URL.revokeObjectURL(address)), [address]);
  if (problem || !content) return html`<${Pending} problem=${problem} text="Reading…" />`;
  if (address) return html`<div class="picture"><img src=${address} alt=${nameOf(path)} /></div>`;
  if ("note" in content) return html`<p class="empty">${content.note}</p>`;
  const { text } = /** @type {{text: string}} */ (content);
  if (!text) return html`<p class="empty">This file is empty.</p>`;
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase();
  return html`<${Code} text=${text} language=${ending} label=${nameOf(path)} />`;
}
