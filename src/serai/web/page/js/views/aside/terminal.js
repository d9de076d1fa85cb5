// One terminal, drawn by xterm, which is loaded when the first one opens.
import { useChannel } from "../../host/use.js";
import { page } from "../../page.js";
import { confirm } from "../parts/dialog.js";
import { html, useEffect, useRef, useSignalEffect, useState } from "../preact.js";
import { Output } from "./terminal_output.js";
import { holderOf } from "./terminals.js";

/** @typedef {import("../../ahp/types.d.ts").TerminalState} TerminalState */
/**
 * The part of xterm that is used here.
 * @typedef {object} Screen
 * @property {number} cols
 * @property {number} rows
 * @property {{theme: object, disableStdin: boolean}} options
 * @property {(element: HTMLElement) => void} open
 * @property {(text: string) => void} write
 * @property {() => void} reset
 * @property {() => void} focus
 * @property {() => void} dispose
 * @property {(cols: number, rows: number) => void} resize
 * @property {(addon: object) => void} loadAddon
 * @property {(listener: (data: string) => void) => void} onData
 * @property {(listener: (data: string) => void) => void} onBinary
 * @property {(handler: (event: KeyboardEvent) => boolean) => void} attachCustomKeyEventHandler
 * @property {any} _core what is not for others; only `openPermitted` looks there
 */
/** @typedef {{proposeDimensions: () => {cols: number, rows: number} | undefined}} Fit */
/** @typedef {{screen: Screen, fit: Fit, stop: () => void}} Drawn */

/** Keys that a touch screen lacks, and what a terminal sends for them. @type {[label: string, data: string][]} */
const KEYS = [
  ["Esc", "\x1b"],
  ["Tab", "\t"],
  ["Ctrl C", "\x03"],
  ["Ctrl D", "\x04"],
  ["↑", "\x1b[A"],
  ["↓", "\x1b[B"],
];

const VENDOR = new URL("../../../vendor/", import.meta.url).href;

/** @type {Promise<{Terminal: any, FitAddon: any}> | null} */
let loading = null;

/** xterm, its way to fit and its styles. */
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
    const [{ Terminal }, { FitAddon }] = await Promise.all([
      import(`${VENDOR}xterm.js`),
      import(`${VENDOR}xterm-fit.js`),
      styled,
    ]);
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

/** The page's colours, for xterm. @param {HTMLElement} place */
function themeOf(place) {
  const probe = document.createElement("span");
  place.append(probe);
  /** @param {string} name */
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const theme = {
    ...{ background: colour("ground"), foreground: colour("ink"), cursor: colour("accent") },
    ...{ cursorAccent: colour("ground"), selectionBackground: colour("chosen") },
    ...{ black: colour("ink"), red: colour("failed"), green: colour("done"), yellow: colour("needs") },
    ...{ blue: colour("running"), magenta: colour("code-keyword"), cyan: colour("code-type"), white: colour("ink-2") },
    ...{ brightBlack: colour("ink-3"), brightRed: colour("failed"), brightGreen: colour("done") },
    ...{ brightYellow: colour("needs"), brightBlue: colour("running"), brightMagenta: colour("code-keyword") },
    ...{ brightCyan: colour("code-type"), brightWhite: colour("ink") },
  };
  probe.remove();
  return theme;
}

/**
 * Open a link that a program wrote, if the person wants to.
 * @param {MouseEvent} _event
 * @param {string} address
 */
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
  const drawn = useRef(/** @type {Drawn | null} */ (null));
  const output = useRef(new Output());
  const [isReady, setReady] = useState(false);
  const [problem, setProblem] = useState(/** @type {string | null} */ (null));
  const state = /** @type {TerminalState | null} */ (channel.state.value);
  const hasEnded = state?.exitCode !== undefined;
  const isOurs =
    !page.host.isReading.value &&
    (state?.claim.kind === "session" ? state.claim.session === session : state?.claim.clientId === page.host.clientId);
  const mayType = useRef(false);
  mayType.current = isOurs && !hasEnded;

  useEffect(() => {
    const element = /** @type {HTMLElement} */ (place.current);
    let isGone = false;
    load().then(
      (vendor) => {
        if (isGone) return;
        drawn.current = draw(vendor, element, (data) => {
          if (mayType.current) void page.host.dispatch(uri, { type: "terminal/input", data });
        });
        setReady(true);
      },
      (error) => isGone || setProblem(error.message),
    );
    return () => {
      isGone = true;
      drawn.current?.stop();
      drawn.current = null;
    };
  }, []);

  // What is on it, as it comes.
  useSignalEffect(() => {
    const content = channel.state.value?.content;
    if (isReady && content) show(content);
  });
  /** @param {TerminalState["content"]} content */
  const show = (content) => {
    const { text, isAnew } = output.current.next(content);
    if (isAnew) drawn.current?.screen.reset();
    if (text) drawn.current?.screen.write(text);
  };
  useEffect(() => {
    if (isReady && state) show(state.content);
  }, [isReady]);

  // Its size: the holder's window decides.
  const { cols, rows } = state ?? {};
  useEffect(() => {
    const screen = drawn.current?.screen;
    if (screen && cols && rows && (screen.cols !== cols || screen.rows !== rows)) screen.resize(cols, rows);
  }, [isReady, cols, rows]);
  useEffect(() => {
    if (!isReady || !isOurs || hasEnded) return undefined;
    const observer = new ResizeObserver(() => {
      const size = drawn.current?.fit.proposeDimensions();
      const now = channel.state.peek();
      if (!size?.cols || !size.rows || !now || (size.cols === now.cols && size.rows === now.rows)) return;
      void page.host.dispatch(uri, { type: "terminal/resized", cols: size.cols, rows: size.rows });
    });
    observer.observe(/** @type {HTMLElement} */ (place.current));
    drawn.current?.screen.focus();
    return () => observer.disconnect();
  }, [isReady, isOurs, hasEnded]);
  useEffect(() => {
    if (drawn.current) drawn.current.screen.options.disableStdin = !isOurs || hasEnded;
  }, [isReady, isOurs, hasEnded]);

  const claim = () =>
    void page.host.dispatch(uri, { type: "terminal/claimed", claim: { kind: "client", clientId: page.host.clientId } });
  const failure = problem ?? channel.problem.value?.message;
  return html`<section class="terminal" aria-label=${state?.title || "Terminal"}>
    ${failure && html`<p class="problem" role="alert">${failure}</p>`}
    ${state &&
    !isOurs &&
    !hasEnded &&
    html`<div class="bar row small">
      <span class="grow">Held by ${holderOf(state.claim, session)}: you can look.</span>
      ${!page.host.isReading.value && html`<button onClick=${claim}>Take over</button>`}
    </div>`}
    ${hasEnded && html`<p class="note small" role="status">It has ended with ${state?.exitCode}.</p>`}
    ${!isReady && !failure && html`<p class="empty" role="status">Opening…</p>`}
    <div
      class="screen"
      ref=${place}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.stopPropagation()}
    ></div>
    ${isReady &&
    isOurs &&
    !hasEnded &&
    html`<div class="keys bar row" role="group" aria-label="Keys that a touch screen lacks">
      ${KEYS.map(
        ([label, data]) =>
          html`<button
            key=${label}
            onClick=${() => {
              void page.host.dispatch(uri, { type: "terminal/input", data });
              drawn.current?.screen.focus();
            }}
          >
            ${label}
          </button>`,
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
  const look = getComputedStyle(element);
  const screen = /** @type {Screen} */ (
    new Terminal({
      fontFamily: look.fontFamily,
      fontSize: Math.round(parseFloat(look.fontSize)),
      linkHandler: { activate: openLink },
      minimumContrastRatio: 4.5,
      scrollback: 5000,
      theme: themeOf(element),
    })
  );
  const fit = new FitAddon();
  screen.loadAddon(fit);
  openPermitted(screen, element);
  screen.onData(onTyped);
  screen.onBinary(onTyped);
  // A way out for those who have only a keyboard: the same key as in `serai terminals attach`.
  screen.attachCustomKeyEventHandler((event) => {
    if (event.key !== "]" || !event.ctrlKey) return true;
    event.preventDefault();
    /** @type {HTMLElement | null} */ (element.closest(".terminals")?.querySelector("button") ?? null)?.focus();
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
