// What belongs to a session, at the right, as tabs. Each tab's module is loaded when it is first shown.
import { preference } from "../../host/preferences.js";
import { sinceBeginning } from "../../host/sessions.js";
import { aside, page } from "../../page.js";
import { IconButton } from "../parts/icon.js";
import { effect, html, useEffect, useErrorBoundary, useId, useRef, useState } from "../preact.js";
import { watchConflicts } from "./conflicts.js";
import { Pending } from "./shapes.js";

/** @typedef {(props: {uri: any}) => unknown} TabView a tab that `lacks` without a session is shown with one only */
/**
 * @typedef {object} Tab
 * @property {string} label the name of the view, too, in the module of the tab's name
 * @property {string} [lacks] what it says when no session is open; a tab without it needs none
 * @property {(uri: string | null) => number} [count] how much there is in it
 * @property {string} [counted] of what
 */

/** @type {Record<string, Tab>} */
const TABS = {
  changes: {
    label: "Changes",
    lacks: "Open a session to see what it changed.",
    count: (uri) => sinceBeginning(page.host.summaries.value.get(uri ?? ""))?.files ?? 0,
    counted: "changed files",
  },
  files: { label: "Files", lacks: "Open a session to see the files of its folder." },
  terminals: {
    label: "Terminals",
    count: () => (page.host.root.value?.terminals ?? []).filter((one) => one.exitCode === undefined).length,
    counted: "running terminals",
  },
  messages: {
    label: "Messages",
    count: () => {
      const { rooms = [], conversations = [] } = page.relay.inbox.value ?? {};
      return [...rooms, ...conversations].reduce((sum, one) => sum + (one.unread ?? 0), 0);
    },
    counted: "unread messages",
  },
  deliveries: {
    label: "Deliveries",
    count: (uri) => page.relay.openDeliveries.value.get(uri ?? "")?.length ?? 0,
    counted: "messages on their way",
  },
  agents: { label: "Agents" },
  cost: { label: "Cost", lacks: "Open a session to see what it has cost." },
  workflow: { label: "Workflow", lacks: "Open a session to see it as a workflow." },
};

/** Whether what is beside the session takes half of the page. */
const isWide = preference("wide", false);
effect(() => void document.documentElement.toggleAttribute("data-wide", isWide.value));

/** The tabs and the one that is chosen. @param {{uri: string | null}} props */
export function Aside({ uri }) {
  const id = useId();
  const bar = useRef(/** @type {HTMLElement | null} */ (null));
  const names = Object.keys(TABS);
  useEffect(watchConflicts, []);
  const chosen = Object.hasOwn(TABS, aside.value.tab) ? aside.value.tab : "changes";

  /** @param {KeyboardEvent} event */
  const moved = (event) => {
    const at = names.indexOf(chosen);
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + 4, ArrowUp: at - 4, Home: 0, End: -1 };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const index = (next + names.length) % names.length;
    aside.value = { tab: /** @type {string} */ (names[index]), at: null };
    /** @type {HTMLElement | undefined} */ (bar.current?.querySelectorAll("[role=tab]")[index])?.focus();
  };
  return html`<div class="aside">
    <div class="head">
      <div class="tabs" role="tablist" aria-label="Beside the session" ref=${bar} onKeyDown=${moved}>
        ${Object.entries(TABS).map(
          ([name, tab]) => html`<button
            key=${name} class="quiet" role="tab" id=${`${id}-${name}`} aria-selected=${name === chosen}
            aria-controls=${`${id}-panel`} tabindex=${name === chosen ? 0 : -1}
            onClick=${() => (aside.value = { tab: name, at: null })}
          >
            ${tab.label}<${Tally} tab=${tab} uri=${uri} />
          </button>`,
        )}
      </div>
      <span class="widen">
        <${IconButton}
          name=${isWide.value ? "right" : "back"} label=${isWide.value ? "Make this narrower" : "Make this wider"}
          onClick=${() => (isWide.value = !isWide.value)}
        />
      </span>
    </div>
    <div class="panel" role="tabpanel" id=${`${id}-panel`} aria-labelledby=${`${id}-${chosen}`} tabindex="-1">
      <${Panel} key=${`${chosen} ${uri}`} name=${chosen} uri=${uri} />
    </div>
  </div>`;
}

/** @param {{tab: Tab, uri: string | null}} props */
function Tally({ tab, uri }) {
  const count = tab.count?.(uri) ?? 0;
  return count > 0 && html`<span class="tally" title=${`${count} ${tab.counted}`}>${count}</span>`;
}

/** One tab's view, once its module is there. @param {{name: string, uri: string | null}} props */
function Panel({ name, uri }) {
  const tab = /** @type {Tab} */ (TABS[name]);
  const [view, setView] = useState(/** @type {{of: TabView} | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [fault, mend] = useErrorBoundary();
  const isLacking = uri === null && tab.lacks !== undefined;
  const load = () => {
    setProblem(null);
    import(`./${name}.js`).then((module) => setView({ of: module[tab.label] }), setProblem);
  };
  useEffect(() => {
    if (!isLacking) load();
  }, []);
  if (isLacking) return html`<p class="empty">${tab.lacks}</p>`;
  if (problem || fault) {
    return html`<div class="problem" role="alert">
      <p>${tab.label} cannot be shown: ${/** @type {any} */ (problem ?? fault).message}</p>
      <button onClick=${problem ? load : mend}>Try again</button>
    </div>`;
  }
  return view ? html`<${view.of} uri=${uri} />` : html`<${Pending} />`;
}
