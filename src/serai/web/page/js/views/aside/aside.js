// What belongs to a session, at the right, as tabs. Each tab's module is loaded when it is first shown.
import { sinceBeginning } from "../../host/sessions.js";
import { aside, page } from "../../page.js";
import { IconButton } from "../parts/icon.js";
import { html, useEffect, useErrorBoundary, useId, useRef, useState } from "../preact.js";
import { watchConflicts } from "./conflicts.js";
import { isWide } from "./reading.js";

/** @typedef {(props: {uri: any}) => unknown} TabView a tab that `lacks` without a session is shown with one only */

/**
 * @typedef {object} Tab
 * @property {string} label
 * @property {() => Promise<TabView>} load
 * @property {string} [lacks] What it says when no session is open; a tab without it needs none.
 */

/** @type {Record<string, Tab>} */
const TABS = {
  changes: {
    label: "Changes",
    load: async () => (await import("./changes.js")).Changes,
    lacks: "Open a session to see what it changed.",
  },
  files: {
    label: "Files",
    load: async () => (await import("./files.js")).Files,
    lacks: "Open a session to see the files of its folder.",
  },
  terminals: { label: "Terminals", load: async () => (await import("./terminals.js")).Terminals },
  messages: { label: "Messages", load: async () => (await import("./messages.js")).Messages },
  deliveries: { label: "Deliveries", load: async () => (await import("./deliveries.js")).Deliveries },
  agents: { label: "Agents", load: async () => (await import("./agents.js")).Agents },
  cost: { label: "Cost", load: async () => (await import("./cost.js")).Cost },
  workflow: {
    label: "Workflow",
    load: async () => (await import("./workflow.js")).Workflow,
    lacks: "Open a session to see it as a workflow.",
  },
};

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
        ${names.map(
          (name) =>
            html`<button
              key=${name}
              class="quiet"
              role="tab"
              id=${`${id}-${name}`}
              aria-selected=${name === chosen}
              aria-controls=${`${id}-panel`}
              tabindex=${name === chosen ? 0 : -1}
              onClick=${() => (aside.value = { tab: name, at: null })}
            >
              ${TABS[name]?.label}<${Badge} tab=${name} uri=${uri} />
            </button>`,
        )}
      </div>
      <span class="widen">
        <${IconButton}
          name=${isWide.value ? "right" : "back"}
          label=${isWide.value ? "Make this narrower" : "Make this wider"}
          onClick=${() => (isWide.value = !isWide.value)}
        />
      </span>
    </div>
    <div class="panel" role="tabpanel" id=${`${id}-panel`} aria-labelledby=${`${id}-${chosen}`} tabindex="-1">
      <${Panel} key=${`${chosen} ${uri}`} name=${chosen} uri=${uri} />
    </div>
  </div>`;
}

/** How much there is in a tab. @param {{tab: string, uri: string | null}} props */
function Badge({ tab, uri }) {
  const { count, what } = countOf(tab, uri);
  return count > 0 && html`<span class="tally" title=${`${count} ${what}`}>${count}</span>`;
}

/**
 * @param {string} tab
 * @param {string | null} uri
 */
function countOf(tab, uri) {
  if (tab === "changes" && uri) {
    return { count: sinceBeginning(page.host.summaries.value.get(uri))?.files ?? 0, what: "changed files" };
  }
  if (tab === "terminals") {
    const terminals = page.host.root.value?.terminals ?? [];
    return { count: terminals.filter((one) => one.exitCode === undefined).length, what: "running terminals" };
  }
  if (tab === "messages") {
    const { rooms = [], conversations = [] } = page.relay.inbox.value ?? {};
    const count = [...rooms, ...conversations].reduce((sum, one) => sum + (one.unread ?? 0), 0);
    return { count, what: "unread messages" };
  }
  if (tab === "deliveries" && uri) {
    return { count: page.relay.openDeliveries.value.get(uri)?.length ?? 0, what: "messages on their way" };
  }
  return { count: 0, what: "" };
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
    tab.load().then((of) => setView({ of }), setProblem);
  };
  useEffect(() => {
    if (!isLacking) load();
  }, []);
  if (isLacking) return html`<p class="empty">${tab.lacks}</p>`;
  if (problem || fault) {
    return html`<div class="problem" role="alert">
      <p>${tab.label} cannot be shown: ${said(problem ?? fault)}</p>
      <button onClick=${problem ? load : mend}>Try again</button>
    </div>`;
  }
  if (!view) return html`<p class="empty" role="status">Loading…</p>`;
  return html`<${view.of} uri=${uri} />`;
}

/** @param {unknown} problem */
function said(problem) {
  return problem instanceof Error ? problem.message : String(problem);
}
