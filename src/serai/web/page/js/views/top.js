// The top of the page: which session this is, what it runs on, what it has used, and whether all this is fresh.
import { seconds } from "../host/clock.js";
import { theme } from "../host/preferences.js";
import { useChannel } from "../host/use.js";
import { goTo, page, showAside } from "../page.js";
import { conflicts } from "./aside/conflicts.js";
import { focused, typing } from "./parts/field.js";
import { money, moment, nameOf, pathOf, short } from "./parts/format.js";
import { Icon } from "./parts/icon.js";
import { Menu } from "./parts/menu.js";
import { html, useEffect, useState } from "./preact.js";
import { notifies, toggleNotifications } from "./sessions/attention.js";
import { costOf } from "./sessions/costs.js";

/** @typedef {import("../ahp/types.d.ts").SessionState} SessionState */

const STALE = 25_000;
const THEMES = /** @type {const} */ ([
  ["auto", "Colours of the system"],
  ["light", "Light colours"],
  ["dark", "Dark colours"],
]);

/** @param {{uri: string | null}} props */
export function Top({ uri }) {
  useEffect(() => {
    document.documentElement.dataset.theme = theme.value;
  }, [theme.value]);
  const themes = THEMES.map(([name, label]) => ({
    label,
    checked: theme.value === name,
    run: () => (theme.value = name),
  }));
  const label = notifies.value ? "Notifications are on" : "Notify me when an agent waits";
  const notices = { label, checked: notifies.value, run: toggleNotifications };
  return html`<header class="top row">
    <a class="home" href="#/" aria-label="Serai: start"><img src=${ICON} width="20" height="20" alt="" /></a>
    ${uri === null ? html`<h1 class="grow">Serai</h1>` : html`<${Open} key=${uri} uri=${uri} />`}
    <${Signs} />
    <${Menu} label="Settings of the page" icon="cog" items=${[...themes, notices]} />
  </header>`;
}

const ICON = new URL("../../icons/serai.svg", import.meta.url).href;

/** Of the open session. @param {{uri: string}} props */
function Open({ uri }) {
  const state = /** @type {SessionState | null} */ (useChannel(page.host, uri).state.value);
  const summary = state?.summary ?? page.host.summaries.value.get(uri);
  if (!summary) return html`<h1 class="grow">Serai</h1>`;
  const shared = conflicts.value.get(uri) ?? [];
  const files = new Set(shared.map(({ path }) => path)).size;
  const cost = costOf(summary);
  return html`
    <${Title} uri=${uri} title=${summary.title} />
    <span class="small faint cut folder" title=${pathOf(summary.workingDirectory)}>
      <${Icon} name="folder" size=${13} /> ${nameOf(summary.workingDirectory)}
    </span>
    <span class="small faint cut">${summary.provider}${summary.model ? ` · ${summary.model.id}` : ""}</span>
    ${state && html`<${Context} state=${state} />`}
    ${cost !== null && html`<button class="quiet small" onClick=${() => showAside("cost")}>${money(cost)}</button>`}
    ${shared.length > 0 && html`<span class="shared row small" data-colour="needs">
      ${files}
      <${Menu} label=${`${files} changed while another session runs in this folder`} icon="warning"
        items=${shared.map((one) => ({ label: one.path, icon: "warning", run: () => goTo(one.other) }))} />
    </span>`}
  `;
}

/** The title; a click lets a person change it. @param {{uri: string, title: string}} props */
function Title({ uri, title }) {
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  const keep = () => {
    if (draft?.trim() && draft.trim() !== title) {
      page.host.dispatch(uri, { type: "session/titleChanged", title: draft.trim() });
    }
    setDraft(null);
  };
  if (draft === null || page.host.isReading.value) {
    return html`<h1 class="grow cut">
      <button class="quiet title" title="Change the title" onClick=${() => setDraft(title)}>
        <span class="cut">${title || "New session"}</span>
      </button>
    </h1>`;
  }
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.key === "Enter") keep();
    if (event.key === "Escape") setDraft(null);
  };
  return html`<input class="grow" aria-label="Title of the session" value=${draft} ref=${focused}
    onInput=${typing(setDraft)} onBlur=${keep} onKeyDown=${pressed} />`;
}

/** How much of the model's context is used, as far as agent and model say. @param {{state: SessionState}} props */
function Context({ state }) {
  const usage = state.activeTurn?.usage ?? state.turns.findLast((turn) => turn.usage)?.usage;
  const used = usage?.inputTokens;
  if (!used) return null;
  const agent = page.host.root.value?.agents.find((one) => one.provider === state.summary.provider);
  const model = agent?.models.find((one) => one.id === (state.summary.model?.id ?? agent.models[0]?.id));
  const whole = model?.maxContextWindow;
  const text = whole ? `${Math.round((100 * used) / whole)} %` : short(used);
  return html`<span class="small faint" title=${`${used} tokens of context${whole ? ` of ${whole}` : ""}`}>
    ${whole && html`<meter min="0" max=${whole} high=${whole * 0.8} value=${used} aria-label="Context used"></meter>`}
    ${text}
  </span>`;
}

const SOCKET = {
  connecting: ["waiting", "Connecting"],
  open: ["done", "Connected"],
  lost: ["failed", "Connection lost: trying again"],
  refused: ["failed", "Refused"],
};

/** Two signs: whether the socket is open, and how fresh the data is. They differ when a network hangs. */
function Signs() {
  const [colour, words] = SOCKET[page.host.connection.value];
  const since = page.host.freshAt.value;
  const isFresh = seconds.value - since < STALE && page.host.connection.value === "open";
  return html`<span class="signs row small" role="status">
    <span class="row" data-colour=${colour} title=${words}>
      <${Icon} name="plug" size=${13} /><span class=${colour === "done" ? "hidden" : ""}>${words}</span>
    </span>
    <span class="row" data-colour=${isFresh ? "done" : "needs"} title="When the host was last heard of">
      <${Icon} name="clock" size=${13} />${isFresh ? "live" : since ? `as of ${moment(since)}` : "nothing heard yet"}
    </span>
  </span>`;
}
