// The diff of a text: unified, or side by side, with a place for comments on lines.
import { html, useMemo, useRef, useState } from "../preact.js";
import { folded, linesOf, pairs, unfoldMore, wordsOf } from "./diff_lines.js";
import { useAnswer } from "./field.js";
import { Icon } from "./icon.js";

/** @import {FoldedLines, Line} from "./diff_lines.js" */

/** @typedef {"before" | "after"} Side */
/** Something to show below a line. @typedef {{side: Side, line: number, content: unknown}} LineComment */
/**
 * @typedef {{before: string, after: string, path?: string, mode?: "unified" | "split",
 *   onComment?: (side: Side, fromLine: number, toLine: number) => void, comments?: readonly LineComment[]}} DiffProps
 */

const MOST_BYTES = 500_000;
const MOST_LINES = 1500;
/** Not even those who insist get more: a browser cannot show it. */
const MOST_EVER = 5000;
/** Texts that have so little in common that finding it takes longer are shown as removed and added. */
const LONGEST = 500;

/** @typedef {typeof import("../../../vendor/diff/diff/line.js")} LineDiffer */
/** @typedef {LineDiffer & typeof import("../../../vendor/diff/diff/word.js")} Differ */
/** The vendored `diff`, fetched when the first diff is shown. @returns {Promise<Differ>} */
async function loaded() {
  const [line, word] = await Promise.all([
    import("../../../vendor/diff/diff/line.js"),
    import("../../../vendor/diff/diff/word.js"),
  ]);
  return { ...line, ...word };
}

/** @param {DiffProps} props */
export function Diff(props) {
  const differ = useAnswer(loaded, []).value;
  const [isWanted, setWanted] = useState(false);
  const { before, after, path } = props;
  const isHuge = before.length + after.length > MOST_BYTES;
  if (!differ) return html`<p class="faint small" role="status">Comparing…</p>`;
  if (isHuge && !isWanted) return html`<${TooLarge} path=${path} onShow=${() => setWanted(true)} />`;
  if (before === after) return html`<p class="faint small">${path} has not changed.</p>`;
  return html`<${Compared} ...${props} differ=${differ} />`;
}

/** @param {{path?: string, onShow: () => void}} props */
function TooLarge({ path, onShow }) {
  return html`<div class="diff-large">
    <span class="cut">${path}</span><span class="faint">too large to show</span>
    <button class="more" onClick=${onShow}>Show it</button>
  </div>`;
}

/** @param {DiffProps & {differ: Differ}} props */
function Compared({ differ, before, after, path, mode = "unified", onComment, comments = [] }) {
  const [unfolded, setUnfolded] = useState(/** @type {ReadonlyMap<number, number>} */ (new Map()));
  const [isWanted, setWanted] = useState(false);
  const lines = useMemo(() => {
    const other = [{ value: before, removed: true }, { value: after, added: true }];
    return linesOf(differ.diffLines(before, after, { timeout: LONGEST }) ?? other);
  }, [before, after]);
  const all = useMemo(() => folded(lines, unfolded), [lines, unfolded]);
  const table = useRef(/** @type {HTMLElement | null} */ (null));
  const chosen = useRef(/** @type {{side: Side, line: number} | null} */ (null));
  if (all.length > MOST_LINES && !isWanted) return html`<${TooLarge} path=${path} onShow=${() => setWanted(true)} />`;
  const shown = all.slice(0, MOST_EVER);
  /** @param {Line["kind"]} kind */
  const count = (kind) => lines.filter((line) => line.kind === kind).length;

  /** With Shift all lines from the one before. @param {Side} side @param {number} line @param {boolean} isRange */
  const comment = (side, line, isRange) => {
    const from = isRange && chosen.current?.side === side ? chosen.current.line : line;
    chosen.current = { side, line };
    onComment?.(side, Math.min(from, line), Math.max(from, line));
  };
  // One button is in the order of Tab; arrows go from line to line.
  const moved = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = /** @type {HTMLElement[]} */ ([...(table.current?.querySelectorAll("button.comment") ?? [])]);
    const at = buttons.indexOf(/** @type {HTMLElement} */ (event.target));
    const next = step && at >= 0 ? buttons[at + step] : undefined;
    if (!next) return;
    for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
    next.focus();
    event.preventDefault();
  };
  const unfold = (/** @type {FoldedLines} */ fold) => setUnfolded(unfoldMore(unfolded, fold.id));
  let isFirst = true;
  /** @param {Line | null} line @param {Side} side */
  const gutter = (line, side) => {
    const number = line?.[side] ?? null;
    if (number === null || !onComment) return null;
    const tab = isFirst ? 0 : -1;
    isFirst = false;
    return html`<span class="line-tools">
      <button class="comment" title="Comment (with Shift: all lines from the last one)" tabindex=${tab}
        aria-label=${side === "before" ? `Comment removed line ${number}` : `Comment line ${number}`}
        onClick=${(/** @type {MouseEvent} */ event) => comment(side, number, event.shiftKey)}>
        <${Icon} name="add" size=${12} />
      </button>
    </span>`;
  };
  return html`<figure class=${`diff ${mode}`}>
    <figcaption>
      <span class="cut grow">${path}</span>
      <span class="added">+${count("added")}</span><span class="removed">−${count("removed")}</span>
    </figcaption>
    <div class="diff-scroll" tabindex="0" role="region" aria-label=${`Changes of ${path ?? "a text"}`}>
      <table ref=${table} onKeyDown=${moved}>
        <tbody>
          ${mode === "split"
            ? pairs(shown).map((pair) =>
                "lines" in pair
                  ? html`<${FoldRow} key=${`f${pair.id}`} fold=${pair} span=${4} onUnfold=${unfold} />`
                  : html`<tr key=${`${pair.before?.before}:${pair.after?.after}`}>
                        <${Half} line=${pair.before} side="before" differ=${differ} gutter=${gutter} />
                        <${Half} line=${pair.after} side="after" differ=${differ} gutter=${gutter} />
                      </tr>
                      <${Comments} comments=${comments} before=${pair.before?.before} after=${pair.after?.after}
                        span=${4} />`,
              )
            : shown.map((line) =>
                line.kind === "fold"
                  ? html`<${FoldRow} key=${`f${line.id}`} fold=${line} span=${3} onUnfold=${unfold} />`
                  : html`<tr key=${`${line.before}:${line.after}`} class=${line.kind}>
                        <td class="number">${line.before}</td>
                        <td class="number">
                          ${line.after}${gutter(line, line.kind === "removed" ? "before" : "after")}
                        </td>
                        <td class="text"><${Text} line=${line} differ=${differ} /></td>
                      </tr>
                      <${Comments} comments=${comments} before=${line.before} after=${line.after} span=${3} />`,
              )}
        </tbody>
      </table>
    </div>
    ${shown.length < all.length && html`<p class="faint small">The rest is too much to show.</p>`}
  </figure>`;
}

/** @param {{fold: FoldedLines, span: number, onUnfold: (fold: FoldedLines) => void}} props */
function FoldRow({ fold, span, onUnfold }) {
  return html`<tr class="folded">
    <td colspan=${span}>
      <button class="quiet more" onClick=${() => onUnfold(fold)}>
        <${Icon} name="more" size=${12} />
        Show ${Math.min(100, fold.lines.length)} of ${fold.lines.length} unchanged lines
      </button>
    </td>
  </tr>`;
}

/** @typedef {(line: Line | null, side: Side) => unknown} Gutter */
/** @param {{line: Line | null, side: Side, differ: Differ, gutter: Gutter}} props */
function Half({ line, side, differ, gutter }) {
  const name = line === null ? "none" : line.kind;
  return html`<td class=${`number ${name}`}>${line?.[side]}${gutter(line, side)}</td>
    <td class=${`text ${name}`}>${line && html`<${Text} line=${line} differ=${differ} />`}</td>`;
}

const SIGNS = { same: " ", removed: "-", added: "+" };

/** @param {{line: Line, differ: Differ}} props */
function Text({ line, differ }) {
  const words = useMemo(() => wordsOf(line, differ.diffWordsWithSpace), [line]);
  return html`<span class="sign-of-line">${SIGNS[line.kind]}</span>${words.map((piece) =>
      piece.isChanged ? html`<mark>${piece.text}</mark>` : piece.text,
    )}${line.isUnended && html`<span class="faint"> (no new line at the end)</span>`}`;
}

/** @param {{comments: readonly LineComment[], before?: number | null, after?: number | null, span: number}} props */
function Comments({ comments, before, after, span }) {
  const here = comments.filter(({ side, line }) => line === (side === "before" ? before : after));
  return here.map((one) => html`<tr class="remark">
    <td colspan=${span}>${one.content}</td>
  </tr>`);
}
