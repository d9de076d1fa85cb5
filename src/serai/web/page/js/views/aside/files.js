// The files of a session's folder: a tree that is read as it is opened, and what is in a file.
import { aside, page, shownOnPhone } from "../../page.js";
import { draftOf, setDraft } from "../composer/drafts.js";
import { Code } from "../parts/code.js";
import { nameOf } from "../parts/format.js";
import { Icon, IconButton } from "../parts/icon.js";
import { html, useEffect, useMemo, useRef, useState } from "../preact.js";
import { contentOf, pathBelow } from "./reading.js";

/** @typedef {import("./reading.js").Content} Content */
/** @typedef {{name: string, type: string}} Entry */

/** So many entries of one folder are shown. */
const MOST_ENTRIES = 2000;
/** How long one may type before the host is asked. */
const PAUSE = 150;

/** The tab. @param {{uri: string}} props */
export function Files({ uri }) {
  const summary = page.host.summaries.value.get(uri);
  const root = summary?.workingDirectory?.replace(/\/+$/, "");
  const [opened, setOpened] = useState(/** @type {string | null} */ (null));
  const [filter, setFilter] = useState("");
  const [version, setVersion] = useState(0);
  const at = aside.value.at;
  useEffect(() => {
    const meant = typeof at === "string" ? at : (at?.uri ?? at?.path);
    if (typeof meant === "string" && root) setOpened(meant.includes(":/") ? meant : uriOf(meant, root));
  }, [at, root]);
  // When other files changed than before, folders have other entries, perhaps.
  const told = summary?.changesets;
  useEffect(() => setVersion((before) => before + 1), [told]);
  if (!root) return html`<p class="empty">This session works in no folder.</p>`;
  if (opened) {
    const back = () => setOpened(null);
    return html`<${Opened} key=${opened} uri=${opened} session=${uri} root=${root} onBack=${back} />`;
  }
  return html`<div class="files-tab">
    <div class="bar row">
      <input
        type="search"
        class="grow"
        aria-label="Find a file by its path"
        placeholder="Find a file"
        value=${filter}
        onInput=${(/** @type {any} */ event) => setFilter(event.target.value)}
      />
      <${IconButton} name="retry" label="Read the folders again" onClick=${() => setVersion(version + 1)} />
    </div>
    ${filter.trim()
      ? html`<${Found} session=${uri} root=${root} text=${filter.trim()} onOpen=${setOpened} />`
      : html`<ul class="tree" role="tree" aria-label=${nameOf(root)} onKeyDown=${movedInTree}>
          <${Folder} uri=${root} depth=${0} version=${version} onOpen=${setOpened} />
        </ul>`}
  </div>`;
}

/**
 * @param {string} path below the folder, or absolute
 * @param {string} root
 */
function uriOf(path, root) {
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  return path.startsWith("/") ? `file://${escaped}` : `${root}/${escaped}`;
}

/**
 * What is in a folder.
 * @param {{uri: string, depth: number, version: number, onOpen: (uri: string) => void}} props
 */
function Folder({ uri, depth, version, onOpen }) {
  const [entries, setEntries] = useState(/** @type {Entry[] | null} */ (null));
  const [problem, setProblem] = useState(/** @type {string | null} */ (null));
  useEffect(() => {
    let isGone = false;
    page.host.request("resourceList", { uri }).then(
      (read) => {
        if (isGone) return;
        setEntries(read.entries.filter(({ name }) => name !== ".git").sort(foldersFirst));
        setProblem(null);
      },
      (error) => isGone || setProblem(error.message),
    );
    return () => {
      isGone = true;
    };
  }, [uri, version]);
  if (problem) return html`<${Said} depth=${depth} text=${problem} isProblem />`;
  if (!entries) return html`<${Said} depth=${depth} text="Reading…" />`;
  if (!entries.length) return html`<${Said} depth=${depth} text="Empty" />`;
  const more = entries.length - MOST_ENTRIES;
  return html`${entries.slice(0, MOST_ENTRIES).map(
    (entry) =>
      html`<${Row}
        key=${entry.name}
        entry=${entry}
        uri=${`${uri}/${encodeURIComponent(entry.name)}`}
        depth=${depth}
        version=${version}
        onOpen=${onOpen}
      />`,
  )}
  ${more > 0 && html`<${Said} depth=${depth} text=${`and ${more} more`} />`}`;
}

/** What there is to say in place of entries. @param {{depth: number, text: string, isProblem?: boolean}} props */
function Said({ depth, text, isProblem = false }) {
  const look = isProblem ? "problem small" : "faint small wait";
  return html`<li role="treeitem" aria-disabled="true" class=${look} style=${indent(depth)}>${text}</li>`;
}

/** @param {number} depth */
function indent(depth) {
  return { "--depth": depth };
}

/**
 * @param {Entry} one
 * @param {Entry} other
 */
function foldersFirst(one, other) {
  const step = Number(other.type === "directory") - Number(one.type === "directory");
  return step || one.name.localeCompare(other.name);
}

/** @param {{entry: Entry, uri: string, depth: number, version: number, onOpen: (uri: string) => void}} props */
function Row({ entry, uri, depth, version, onOpen }) {
  const [isOpen, setOpen] = useState(false);
  const isFolder = entry.type === "directory";
  return html`<li role="none">
    <button
      class="quiet entry"
      role="treeitem"
      aria-level=${depth + 1}
      aria-expanded=${isFolder ? isOpen : undefined}
      style=${indent(depth)}
      onClick=${() => (isFolder ? setOpen(!isOpen) : onOpen(uri))}
    >
      <${Icon} name=${isFolder ? (isOpen ? "down" : "right") : "file"} size=${14} />
      <span class="cut">${entry.name}</span>
    </button>
    ${isOpen &&
    html`<ul role="group"><${Folder} uri=${uri} depth=${depth + 1} version=${version} onOpen=${onOpen} /></ul>`}
  </li>`;
}

/** Arrows move between rows; right opens a folder, left closes it. @param {KeyboardEvent} event */
function movedInTree(event) {
  const row = /** @type {HTMLElement} */ (event.target);
  if (row.role !== "treeitem" && row.getAttribute("role") !== "treeitem") return;
  const tree = /** @type {HTMLElement} */ (event.currentTarget);
  const rows = /** @type {HTMLElement[]} */ ([...tree.querySelectorAll("button[role=treeitem]")]);
  const isExpanded = row.getAttribute("aria-expanded");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) rows[rows.indexOf(row) + step]?.focus();
  else if (event.key === "ArrowRight" && isExpanded === "false") row.click();
  else if (event.key === "ArrowLeft" && isExpanded === "true") row.click();
  else if (event.key === "ArrowLeft") {
    /** @type {HTMLElement | null | undefined} */ (
      row.closest("ul[role=group]")?.parentElement?.querySelector("[role=treeitem]")
    )?.focus();
  } else return;
  event.preventDefault();
}

/**
 * Files that fit what was typed: those that the host would complete.
 * @param {{session: string, root: string, text: string, onOpen: (uri: string) => void}} props
 */
function Found({ session, root, text, onOpen }) {
  const [found, setFound] = useState(/** @type {string[] | null} */ (null));
  useEffect(() => {
    let isGone = false;
    const timer = setTimeout(async () => {
      const asked = `@${text.replaceAll(/\s/g, "")}`;
      const params = /** @type {const} */ ({ kind: "userMessage", text: asked, offset: asked.length });
      const asking = page.host.request("completions", { channel: session, ...params });
      const { items } = await asking.catch(() => ({ items: [] }));
      const uris = items.map(({ attachment }) => (attachment.type === "resource" ? attachment.uri : ""));
      // Folders are completed, too, but there is nothing in them to show.
      if (!isGone) setFound(uris.filter((uri) => uri.startsWith("file:") && !uri.endsWith("/")));
    }, PAUSE);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [text, session]);
  if (!found) return html`<p class="empty" role="status">Looking…</p>`;
  if (!found.length) return html`<p class="empty" role="status">No file fits.</p>`;
  return html`<ul class="tree" aria-label="Files found">
    ${found.map(
      (uri) =>
        html`<li key=${uri}>
          <button class="quiet entry" onClick=${() => onOpen(uri)}>
            <${Icon} name="file" size=${14} /><span class="cut">${pathBelow(uri, root)}</span>
          </button>
        </li>`,
    )}
  </ul>`;
}

/** A file. @param {{uri: string, session: string, root: string, onBack: () => void}} props */
function Opened({ uri, session, root, onBack }) {
  const [content, setContent] = useState(/** @type {Content | null} */ (null));
  const [problem, setProblem] = useState(/** @type {string | null} */ (null));
  const isGone = useRef(false);
  const path = uri.startsWith("file:") ? pathBelow(uri, root) : recordedPath(uri);
  const read = () => {
    setProblem(null);
    contentOf(uri).then(
      (one) => isGone.current || setContent(one),
      (error) => isGone.current || setProblem(error.message),
    );
  };
  useEffect(() => {
    read();
    return () => {
      isGone.current = true;
    };
  }, []);
  const mention = () => {
    const { text, attached } = draftOf(session).peek();
    const token = /\s/.test(path) ? `@"${path}"` : `@${path}`;
    const attachment = /** @type {const} */ ({ type: "resource", uri, label: path });
    setDraft(session, {
      text: `${text}${/\S$/.test(text) ? " " : ""}${token} `,
      attached: [...attached.filter((other) => other.token !== token), { attachment, token }],
    });
    shownOnPhone.value = "session";
    requestAnimationFrame(() => document.getElementById("composer")?.focus());
  };
  return html`<div class="files-tab">
    <div class="bar row">
      <${IconButton} name="back" label="Back to the files" onClick=${onBack} />
      <span class="grow cut mono" title=${path}>${path}</span>
      ${uri.startsWith("file:") &&
      !page.host.isReading.value &&
      html`<button class="quiet" onClick=${mention} title="Name this file in the composer">@ Mention</button>`}
      <${IconButton} name="retry" label="Read it again" onClick=${read} />
    </div>
    ${problem
      ? html`<p class="problem" role="alert">${problem}</p>`
      : content
        ? html`<${Shown} content=${content} path=${path} />`
        : html`<p class="empty" role="status">Reading…</p>`}
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

/** @param {{content: Content, path: string}} props */
function Shown({ content, path }) {
  const address = useMemo(() => ("image" in content ? URL.createObjectURL(content.image) : null), [content]);
  useEffect(() => () => void (address && URL.revokeObjectURL(address)), [address]);
  if (address) return html`<div class="picture"><img src=${address} alt=${nameOf(path)} /></div>`;
  if ("note" in content) return html`<p class="empty">${content.note}</p>`;
  const text = /** @type {{text: string}} */ (content).text;
  if (!text) return html`<p class="empty">This file is empty.</p>`;
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase();
  return html`<${Code} text=${text} language=${ending} label=${nameOf(path)} />`;
}
