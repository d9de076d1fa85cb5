// Code with colours, which a worker finds out: for what is on screen, and does not grow any more.
import { html, useEffect, useRef, useState } from "../preact.js";
import { Icon } from "./icon.js";
import DOMPurify from "../../../vendor/purify.js";

/** What is longer has no colours: they would cost more than they help. */
const MOST = 100_000;
const LONGEST_LINE = 2000;
const KEPT = 300;

// -- the worker ----------------------------------------------------------------------------------------------------

/** @type {Worker | null} */
let worker = null;
let count = 0;
/** @type {Map<number, (made: string | null) => void>} */
const waiting = new Map();
/** What was highlighted lately, so that scrolling back shows it at once. @type {Map<string, string | null>} */
const known = new Map();
const purify = DOMPurify(window);

/** @param {string} text @param {string | undefined} language */
function keyOf(text, language) {
  return `${language ?? ""}\n${text}`;
}

/** @param {string} text @param {string | undefined} language */
function isFit(text, language) {
  return Boolean(language) && text.length <= MOST && text.split("\n").every((line) => line.length <= LONGEST_LINE);
}

/**
 * The code as clean HTML with classes, or null if it stays as it is. @param {string} text
 * @param {string | undefined} language @returns {Promise<string | null>}
 */
export function highlight(text, language) {
  const key = keyOf(text, language);
  const found = known.get(key);
  if (found !== undefined) return Promise.resolve(found);
  if (!isFit(text, language)) return Promise.resolve(null);
  if (worker === null) {
    worker = new Worker(new URL("../../workers/highlight.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => {
      waiting.get(data.id)?.(data.made);
      waiting.delete(data.id);
    };
    // Without the worker all code is plain.
    worker.onerror = () => {
      for (const answer of waiting.values()) answer(null);
      waiting.clear();
    };
  }
  const id = (count += 1);
  worker.postMessage({ id, text, language });
  return new Promise((resolve) => {
    waiting.set(id, (made) => {
      const clean = made === null ? null : purify.sanitize(made, { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"] });
      if (known.size >= KEPT) known.delete(/** @type {string} */ (known.keys().next().value));
      known.set(key, clean);
      resolve(clean);
    });
  });
}

// -- what is on screen ----------------------------------------------------------------------------------------------

/** @type {WeakMap<Element, () => void>} */
const watched = new WeakMap();
const onScreen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) watched.get(entry.target)?.();
});

/**
 * A block of code, with a button to copy it.
 * @param {{text: string, language?: string, isSettled?: boolean, label?: string}} props
 */
export function Code({ text, language, isSettled = true, label }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [made, setMade] = useState(/** @type {{text: string, html: string} | null} */ (null));
  useEffect(() => {
    const element = place.current;
    if (!isSettled || !element || !isFit(text, language)) return undefined;
    let isGone = false;
    watched.set(element, () => {
      onScreen.unobserve(element);
      void highlight(text, language).then((clean) => {
        if (clean !== null && !isGone) setMade({ text, html: clean });
      });
    });
    onScreen.observe(element);
    return () => {
      isGone = true;
      onScreen.unobserve(element);
    };
  }, [text, language, isSettled]);
  // What was highlighted before is there from the first frame on: nothing flickers while someone scrolls.
  const clean = made?.text === text ? made.html : isSettled ? known.get(keyOf(text, language)) : null;
  const name = label ?? language ?? "";
  return html`<div class="code" ref=${place}>
    <div class="code-head row small faint"><span class="cut">${name}</span><${Copy} text=${text} /></div>
    <pre tabindex="0" aria-label=${name ? `Code: ${name}` : "Code"}>
${clean
        ? html`<code key="made" dangerouslySetInnerHTML=${{ __html: clean }} />`
        : html`<code key="plain">${text}</code>`
    }</pre>
</div>`;}

/** A button that copies a text. @param {{text: string, label?: string}} props */
export function Copy({ text, label = "Copy" }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await copied(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button class="quiet copy" onClick=${copy}>
    ${isDone && html`<${Icon} name="check" size=${12} />`}<span aria-live="polite">${isDone ? "Copied" : label}</span>
  </button>`;
}

/**
 * Put a text into the clipboard. Outside of secure contexts, as on a phone without TLS, only the old way works.
 * @param {string} text
 */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "hidden";
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}
