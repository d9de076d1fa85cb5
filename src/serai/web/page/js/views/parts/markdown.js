// Markdown that may still be growing: it is split into blocks, and a piece of text costs only the last block.
import { html, memo, useEffect, useMemo, useRef, useState } from "../preact.js";
import { Code, highlight } from "./code.js";
import { Marked } from "../../../vendor/marked.js";
import DOMPurify from "../../../vendor/purify.js";
import remend from "../../../vendor/remend.js";

/** @import {Token} from "../../../vendor/marked.js" */

/**
 * A block of markdown: code, or HTML that is clean.
 * @typedef {{raw: string, code?: string, language?: string, html?: string}} Block
 */

/** A text longer than this is cut until someone wants all of it. */
const MOST = 100_000;

// -- from markdown to clean HTML --------------------------------------------------------------------------------

const BARE =
  /<\/?(?:b|blockquote|br|code|del|details|em|hr|i|kbd|li|ol|p|pre|s|strong|sub|summary|sup|ul)\s*\/?>|[<>"']/gi;
const marked = new Marked({
  gfm: true,
  renderer: {
    // An image that is elsewhere is a link: showing it would tell others that someone reads this.
    image({ href, text }) {
      const label = escaped(text || "image");
      return /^data:image\//i.test(href)
        ? `<img src="${escaped(href)}" alt="${label}">`
        : `<a href="${escaped(href)}">${label}</a>`;
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    // A few tags are of use, bare as they are. The rest of what was written as HTML is shown as it was written.
    html: ({ text }) => {
      const bare = /** @param {string} found */ (found) => (found.length > 1 ? found : escaped(found));
      return text.replace(/<!--.*?-->/gs, "").replace(BARE, bare);
    },
  },
});

const purify = DOMPurify(window);
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  // Classes are the page's own: what an agent writes must not look like a part of it.
  if (!/^language-[\w+#.-]+$/.test(node.className)) node.removeAttribute("class");
});
const TAGS = (
  "a b blockquote br code del details div em h1 h2 h3 h4 h5 h6 hr i img kbd li ol p pre s span strong sub summary " +
  "sup table tbody td th thead tr ul"
).split(" ");
const ALLOWED = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ["align", "alt", "class", "colspan", "href", "open", "rowspan", "src", "start", "title"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

/** @param {string} text */
function escaped(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** @param {Token} token @returns {Block} */
function blockOf(token) {
  if (token.type === "code") return { raw: token.raw, code: token.text ?? "", language: token.lang?.split(/\s/)[0] };
  return { raw: token.raw, html: purify.sanitize(marked.parser([token]), ALLOWED) };
}

/** @param {Block[]} blocks */
function lengthOf(blocks) {
  return blocks.reduce((sum, block) => sum + block.raw.length, 0);
}

/**
 * The blocks of a text. Those of `before` are taken over where the text has only grown, but for the last one, which
 * may have become something else. @param {string} text @param {boolean} isSettled
 * @param {{text: string, blocks: Block[]} | null} before @returns {Block[]}
 */
export function blocksOf(text, isSettled, before) {
  const blocks = before && !isSettled && text.startsWith(before.text) ? before.blocks.slice(0, -1) : [];
  const done = lengthOf(blocks);
  // What cannot be put together from its blocks again is parsed as a whole.
  if (done > 0 && before && lengthOf(before.blocks) !== before.text.length) return blocksOf(text, isSettled, null);
  const tokens = marked.lexer(text.slice(done));
  // Empty lines belong to the block before them, so that the lengths add up.
  /** @type {Token[]} */
  const whole = [];
  for (const token of tokens) {
    const last = whole.at(-1);
    if (token.type === "space" && last) last.raw += token.raw;
    else whole.push(token);
  }
  whole.forEach((token, at) => {
    const isOpen = !isSettled && at === whole.length - 1 && token.type !== "code";
    if (!isOpen) return blocks.push(blockOf(token));
    // Marks that are not closed yet are closed for now.
    const made = marked.parser(marked.lexer(remend(token.raw)));
    return blocks.push({ raw: token.raw, html: purify.sanitize(made, ALLOWED) });
  });
  return blocks;
}

// -- drawing --------------------------------------------------------------------------------------------------

/** Markdown, drawn. `isSettled` says that no more of it comes. @param {{text: string, isSettled?: boolean}} props */
export function Markdown({ text, isSettled = true }) {
  const [isWhole, setWhole] = useState(false);
  const before = useRef(/** @type {{text: string, blocks: Block[]} | null} */ (null));
  const isCut = !isWhole && text.length > MOST;
  const shown = (isCut ? text.slice(0, MOST) : text).replace(/\r\n?/g, "\n");
  const blocks = useMemo(() => blocksOf(shown, isSettled, before.current), [shown, isSettled]);
  before.current = { text: shown, blocks };
  return html`<div class="markdown">
    ${blocks.map((block, at) =>
      block.code === undefined
        ? html`<${Prose} key=${at} html=${block.html} isSettled=${isSettled || at < blocks.length - 1} />`
        : html`<${Code} key=${at} text=${block.code} language=${block.language}
            isSettled=${isSettled || at < blocks.length - 1} />`,
    )}
    ${isCut && html`<button class="more" onClick=${() => setWhole(true)}>
      Show all (${text.length.toLocaleString()} characters)
    </button>`}
  </div>`;
}

/** A block that is not code. Code inside of it, as in lists, is highlighted where it stands. */
const Prose = memo(
  /** @param {{html: string, isSettled: boolean}} props */ ({ html: clean, isSettled }) => {
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    useEffect(() => {
      if (!isSettled) return;
      for (const code of place.current?.querySelectorAll("pre > code[class^=language-]") ?? []) {
        void highlight(code.textContent ?? "", code.className.slice("language-".length)).then((made) => {
          if (made !== null) code.innerHTML = made;
        });
      }
    }, [clean, isSettled]);
    return html`<div class="prose" ref=${place} dangerouslySetInnerHTML=${{ __html: clean }} />`;
  },
);

/** A short text with `code` in it, as names of tools have it: no other markdown. @param {{text: string}} props */
export function Inline({ text }) {
  return text.split(/`([^`]+)`/).map((piece, at) => (at % 2 ? html`<code>${piece}</code>` : piece));
}

/** Text as it is, or Markdown where it says so. @param {{text: import("../../ahp/types.d.ts").Text}} props */
export function Said({ text }) {
  if (typeof text !== "string") return html`<${Markdown} text=${text.markdown} />`;
  return html`<p><${Inline} text=${text} /></p>`;
}
