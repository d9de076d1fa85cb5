// What could stand after `@` or `/`: asked from the host while someone writes.
import { page } from "../../page.js";
import { Icon } from "../parts/icon.js";
import { html, useEffect, useRef, useState } from "../preact.js";

/** @import {CompletionItem} from "../../ahp/types.d.ts" */

/** Whether something is being written that can be completed. The host decides; this only spares it questions. */
const BEGUN = /(?:^|[\s\S])@(?:"[^"\n]*|\S*)$|(?:^|\n)\/[^\n]*$/;
const PAUSE = 60;

/** Offers for what stands before the cursor. @param {string | null} uri the session that is asked; null asks nobody */
export function useCompletion(uri) {
  const [items, setItems] = useState(/** @type {readonly CompletionItem[]} */ ([]));
  const [at, setAt] = useState(0);
  const asked = useRef(0);
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  useEffect(() => () => clearTimeout(timer.current), []);
  const close = () => {
    asked.current += 1;
    clearTimeout(timer.current);
    setItems([]);
  };
  /** @param {string} text @param {number} offset */
  const look = (text, offset) => {
    if (uri === null || !BEGUN.test(text.slice(0, offset))) return close();
    clearTimeout(timer.current);
    const mine = (asked.current += 1);
    const params = { channel: uri, kind: /** @type {const} */ ("userMessage"), text, offset };
    timer.current = setTimeout(async () => {
      const answer = await page.host.request("completions", params).catch(() => null);
      if (mine !== asked.current) return;
      setItems(answer?.items ?? []);
      setAt(0);
    }, PAUSE);
  };
  /** @param {number} step */
  const move = (step) => setAt((now) => (now + step + items.length) % items.length);
  return { items, at, look, close, move };
}

/**
 * The offers, as a list beside the text.
 * @param {{id: string, items: readonly CompletionItem[], at: number, onChoose: (item: CompletionItem) => void}} props
 */
export function Offers({ id, items, at, onChoose }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at, items]);
  return html`<div class="offers popup" role="listbox" id=${id} aria-label="Completions" tabindex="0" ref=${list}
    onMouseDown=${(/** @type {Event} */ event) => event.preventDefault() /* the text keeps the focus */}>
    ${items.map((item, index) => html`<div class="row" role="option" id=${`${id}-${index}`}
      aria-selected=${index === at} onClick=${() => onChoose(item)}>
      <${Icon} name=${iconOf(item)} /> <span class="mono cut">${item.insertText}</span>
      <span class="faint small cut">${descriptionOf(item)}</span>
    </div>`)}
  </div>`;
}

/** @param {CompletionItem} item @returns {import("../parts/icon.js").IconName} */
function iconOf({ attachment, insertText }) {
  const kind = attachment._meta?.["serai.kind"];
  if (kind === "folder") return "folder";
  if (kind === "file") return "file";
  return insertText.startsWith("/") ? "right" : "chat";
}

/** @param {CompletionItem} item */
function descriptionOf({ attachment, insertText }) {
  const told = attachment._meta?.description;
  if (typeof told === "string") return told;
  return insertText.includes(attachment.label) ? "" : attachment.label;
}
