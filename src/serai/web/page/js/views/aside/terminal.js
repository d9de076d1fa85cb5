// One terminal, drawn by xterm, which is loaded when the first one opens.
import { useChannel } from "../../host/use.js";
import { page } from "../../page.js";
import { confirm } from "../parts/dialog.js";
import { html, useEffect, useRef, useState } from "../preact.js";
import { Output } from "./terminal_output.js";
import { holderOf } from "./terminals.js";

/** @import {TerminalState} from "../../ahp/types.d.ts" */
/** @typedef {any} Screen xterm's, which has no types here */
/** @typedef {{screen: Screen, fit: any, stop: () => void}} Drawn */

const VENDOR = new URL("../../../vendor/", import.meta.url).href;

/** Keys that a touch screen lacks, and what a terminal sends for them. */
const KEYS = { Esc: "\x1b", Tab: "\t", "Ctrl C": "\x03", "Ctrl D": "\x04", "↑": "\x1b[A", "↓": "\x1b[B" };

/** The page's colours, for xterm. */
const COLOURS = {
  background: "ground", foreground: "ink", cursor: "accent", cursorAccent: "ground", selectionBackground: "chosen",
  black: "ink", red: "failed", green: "done", yellow: "needs", blue: "running", magenta: "code-keyword",
  cyan: "code-type", white: "ink-2", brightBlack: "ink-3", brightRed: "failed", brightGreen: "done",
  brightYellow: "needs", brightBlue: "running", brightMagenta: "code-keyword", brightCyan: "code-type",
  brightWhite: "ink",
};

/** @type {Promise<{Terminal: any, FitAddon: any}> | null} */
let loading = null;

/** xterm and its styles. */
function load() {
  loading ??= (async () => {
    const styles = document.createElement("link");
    const styled = new Promise((done, fail) => {
      styles.onload = done;
      styles.onerror = () => fail(new Error("the styles of the terminal did not load"));
    });
    styles.rel = "stylesheet";
    styles.href = `${VENDOR}xterm.css`;
    document.head.append(styles);
    const modules = [import(`${VENDOR}xterm.js`), import(`${VENDOR}xterm-fit.js`), styled];
    const [{ Terminal }, { FitAddon }] = await Promise.all(modules);
    return { Terminal, FitAddon };
  })();
  loading.catch(() => (loading = null)); // the next one tries again
  return loading;
}

/**
 * Open xterm's screen under the page's policy, which takes style elements only by nonce, and no style attribute that
 * is set as text. All style elements are made here; the attributes are of cells in colours that no class stands for.
 * @param {Screen} screen
 * @param {HTMLElement} element
 */
function openPermitted(screen, element) {
  const nonce = /** @type {HTMLElement | null} */ (document.querySelector("link[nonce]"))?.nonce ?? "";
  const make = Document.prototype.createElement;
  document.createElement = (/** @type {string} */ name, /** @type {any} */ options) => {
    const made = make.call(document, name, options);
    if (name === "style") made.nonce = nonce;
    return made;
  };
  try {
    screen.open(element);
  } finally {
    delete (/** @type {any} */ (document).createElement);
  }
  const rows = screen._core._renderService._renderer.value._rowFactory;
  rows._addStyle = (/** @type {HTMLElement} */ cell, /** @type {string} */ style) => {
    cell.style.cssText += style;
  };
}

/** @param {HTMLElement} place */
function themeOf(place) {
  const probe = document.createElement("span");
  place.append(probe);
  const colours = Object.entries(COLOURS).map(([name, colour]) => {
    probe.style.color = `var(--${colour})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(colours);
}

/** Open a link that a program wrote, if the person wants to. @param {MouseEvent} _event @param {string} address */
async function openLink(_event, address) {
  if (!/^https?:\/\//i.test(address)) return;
  if (await confirm("Open a link", address, { yes: "Open" })) open(address, "_blank", "noopener,noreferrer");
}

/**
 * The terminal. Who holds it types and gives it its size; others look.
 * @param {{uri: string, session: string | null}} props
 */
export function TerminalView({ uri, session }) {
  const channel = useChannel(page.host, uri);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const output = useRef(new Output());
  const [drawn, setDrawn] = useState(/** @type {Drawn | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const state = /** @type {TerminalState | null} */ (channel.state.value);
  const isReading = page.host.isReading.value;
  const hasEnded = state?.exitCode !== undefined;
  const isOurs =
    state?.claim.kind === "session" ? state.claim.session === session : state?.claim.clientId === page.host.clientId;
  const mayType = isOurs && !isReading && !hasEnded;
  const type = useRef((/** @type {string} */ _data) => {});
  type.current = (data) => {
    if (mayType) void page.host.dispatch(uri, { type: "terminal/input", data });
  };
  useEffect(() => {
    let stop = () => {};
    let isGone = false;
    load().then((vendor) => {
      if (isGone) return;
      const made = draw(vendor, /** @type {HTMLElement} */ (place.current), (data) => type.current(data));
      stop = made.stop;
      setDrawn(made);
    }, setProblem);
    return () => {
      isGone = true;
      stop();
    };
  }, []);

  // Its size: the holder's window decides.
  const { cols, rows } = state ?? {};
  useEffect(() => {
    const screen = drawn?.screen;
    if (screen && cols && rows && (screen.cols !== cols || screen.rows !== rows)) screen.resize(cols, rows);
  }, [drawn, cols, rows]);
  useEffect(() => {
    if (!drawn || !state) return;
    const { text, isAnew } = output.current.next(state.content);
    if (isAnew) drawn.screen.reset();
    if (text) drawn.screen.write(text);
  }, [drawn, state?.content]);
  useEffect(() => {
    if (!drawn) return undefined;
    drawn.screen.options.disableStdin = !mayType;
    if (!mayType) return undefined;
    const observer = new ResizeObserver(() => {
      const size = drawn.fit.proposeDimensions();
      const now = channel.state.peek();
      if (!size?.cols || !size.rows || !now || (size.cols === now.cols && size.rows === now.rows)) return;
      void page.host.dispatch(uri, { type: "terminal/resized", cols: size.cols, rows: size.rows });
    });
    observer.observe(/** @type {HTMLElement} */ (place.current));
    drawn.screen.focus();
    return () => observer.disconnect();
  }, [drawn, mayType]);

  const claim = () =>
    void page.host.dispatch(uri, { type: "terminal/claimed", claim: { kind: "client", clientId: page.host.clientId } });
  const press = (/** @type {string} */ data) => {
    type.current(data);
    drawn?.screen.focus();
  };
  const failure = problem ?? channel.problem.value;
  return html`<section class="terminal" aria-label=${state?.title || "Terminal"}>
    ${failure && html`<p class="problem" role="alert">${failure.message}</p>`}
    ${state && !hasEnded && !mayType &&
    html`<div class="bar row small">
      <span class="grow warn">Held by ${holderOf(state.claim, session)}: you can look.</span>
      ${!isReading && html`<button onClick=${claim}>Take over</button>`}
    </div>`}
    ${hasEnded && html`<p class="note small" role="status">It has ended with ${state?.exitCode}.</p>`}
    ${!drawn && !failure && html`<p class="empty" role="status">Opening…</p>`}
    <div class="screen" ref=${place} onKeyDown=${(/** @type {Event} */ event) => event.stopPropagation()}></div>
    ${drawn && mayType &&
    html`<div class="keys bar row" role="group" aria-label="Keys that a touch screen lacks">
      ${Object.entries(KEYS).map(
        ([label, data]) => html`<button key=${label} onClick=${() => press(data)}>${label}</button>`,
      )}
    </div>`}
  </section>`;
}

/**
 * Begin to draw a terminal in an element.
 * @param {{Terminal: any, FitAddon: any}} vendor
 * @param {HTMLElement} element
 * @param {(data: string) => void} onTyped
 * @returns {Drawn}
 */
function draw({ Terminal, FitAddon }, element, onTyped) {
  const { fontFamily, fontSize } = getComputedStyle(element);
  const screen = new Terminal({
    fontFamily,
    fontSize: Math.round(parseFloat(fontSize)),
    linkHandler: { activate: openLink },
    minimumContrastRatio: 4.5,
    scrollback: 5000,
    theme: themeOf(element),
  });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  openPermitted(screen, element);
  screen.onData(onTyped);
  screen.onBinary(onTyped);
  // A way out for those who have only a keyboard: the same key as in `serai terminals attach`.
  screen.attachCustomKeyEventHandler((/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "]" || !event.ctrlKey) return true;
    event.preventDefault();
    element.closest(".terminals")?.querySelector("button")?.focus();
    return false;
  });
  const recolour = () => (screen.options.theme = themeOf(element));
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const themes = new MutationObserver(recolour);
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  scheme.addEventListener("change", recolour);
  const stop = () => {
    themes.disconnect();
    scheme.removeEventListener("change", recolour);
    screen.dispose();
  };
  return { screen, fit, stop };
}
