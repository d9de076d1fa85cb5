// The whole page: sessions at the left, one session in the middle, what belongs to it at the right.
import { isPaletteOpen, openSession, page, showCentre, shownOnPhone } from "../page.js";
import { Aside } from "./aside/aside.js";
import { Palette } from "./palette/palette.js";
import { Icon, IconButton } from "./parts/icon.js";
import { html, useEffect, useErrorBoundary } from "./preact.js";
import { SessionView } from "./session/session.js";
import { Sessions } from "./sessions/sessions.js";
import { useAttention } from "./sessions/attention.js";
import { Start } from "./start/start.js";
import { Top } from "./top.js";

/** @param {{onForget: () => void}} props */
export function App({ onForget }) {
  const [fault, mend] = useErrorBoundary();
  const uri = openSession.value;
  useAttention();
  useEffect(() => {
    if (uri !== null) showCentre();
  }, [uri]);
  useEffect(() => {
    /** @param {KeyboardEvent} event */
    const pressed = (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        isPaletteOpen.value = !isPaletteOpen.value;
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  if (fault) return html`<${Broken} fault=${fault} onRetry=${mend} />`;
  if (page.host.connection.value === "refused") return html`<${Refused} onForget=${onForget} />`;
  return html`<div class="app" data-phone=${shownOnPhone.value}>
    <a class="skip" href="#composer">To the composer</a>
    <${Top} uri=${uri} />
    <nav class="left" aria-label="Sessions"><${Sessions} /></nav>
    <main class="centre">${uri === null ? html`<${Start} />` : html`<${SessionView} key=${uri} uri=${uri} />`}</main>
    <aside class="right" aria-label="Beside the session"><${Aside} uri=${uri} /></aside>
    <${PhoneTabs} hasSession=${uri !== null} />
    <${Notices} />
    ${isPaletteOpen.value && html`<${Palette} />`}
  </div>`;
}

/** What is on screen, on a phone. @param {{hasSession: boolean}} props */
function PhoneTabs({ hasSession }) {
  const tabs = /** @type {const} */ ([
    ["sessions", "Sessions", "inbox"],
    ["session", hasSession ? "Session" : "New", "chat"],
    ["aside", "Details", "diff"],
  ]);
  return html`<div class="phone-tabs">
    ${tabs.map(([name, label, icon]) => html`<button class="quiet" aria-pressed=${shownOnPhone.value === name}
      onClick=${() => (shownOnPhone.value = name)}>
      <${Icon} name=${icon} /> ${label}
    </button>`)}
  </div>`;
}

/** The notices of the host, newest last, until someone closes them. */
function Notices() {
  return html`<div class="notices stack" role="log" aria-live="polite" aria-label="Notices">
    ${page.host.notices.value.map(
      (notice) => html`<div class="notice card row" key=${notice.id}>
        <span class="grow">${notice.text}</span>
        <${IconButton} name="close" label="Close" onClick=${() => page.host.dismiss(notice.id)} />
      </div>`,
    )}
  </div>`;
}

/** @param {{onForget: () => void}} props */
function Refused({ onForget }) {
  return html`<main class="enter stack">
    <h1>The host does not know this browser any more</h1>
    <p>Its key was revoked, or the host was set up anew.</p>
    <button class="main" onClick=${onForget}>Use another link</button>
  </main>`;
}

/** @param {{fault: any, onRetry: () => void}} props */
function Broken({ fault, onRetry }) {
  return html`<main class="enter stack" role="alert">
    <h1>The page has a fault</h1>
    <p>Nothing is lost: all of it is on the host.</p>
    <pre class="problem">${String(fault?.stack ?? fault)}</pre>
    <button class="main" onClick=${onRetry}>Try again</button>
  </main>`;
}
