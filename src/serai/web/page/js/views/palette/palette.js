// Ctrl K: finds anything. Sessions, what was said in them, agents, and what can be done.
import { goTo, isPaletteOpen, page, showAside } from "../../page.js";
import { nameOf } from "../parts/format.js";
import { Dialog } from "../parts/dialog.js";
import { typing } from "../parts/field.js";
import { Icon } from "../parts/icon.js";
import { html, useEffect, useId, useRef, useState } from "../preact.js";
import { useSearch } from "../sessions/search.js";

/** @typedef {{label: string, detail: string, icon: import("../parts/icon.js").IconName, run: () => void}} Choice */

const TABS = ["changes", "files", "terminals", "messages", "deliveries", "agents", "cost", "workflow"];
const MOST = 30;

export function Palette() {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const said = useSearch(words.trim()).map(({ title, text, href, run }) => {
    const go = () => {
      run();
      location.hash = href;
    };
    return choiceOf("chat", text.slice(0, 120), title, go);
  });
  const choices = [...things().filter((choice) => fits(choice, words)), ...said].slice(0, MOST);
  const chosen = Math.min(at, choices.length - 1);
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: "nearest" }), [chosen]);
  const close = () => (isPaletteOpen.value = false);

  /** @param {string} text */
  const write = (text) => {
    setWords(text);
    setAt(0);
  };
  /** @param {Choice | undefined} choice */
  const take = (choice) => {
    if (!choice) return;
    close();
    choice.run();
  };
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((chosen + step + choices.length) % Math.max(1, choices.length));
    else if (event.key === "Enter") take(choices[chosen]);
    else return;
    event.preventDefault();
  };
  return html`<${Dialog} title="Find anything" onClose=${close}>
    <div class="palette stack">
      <input role="combobox" aria-label="Find anything" aria-expanded="true" aria-controls=${id}
        aria-activedescendant=${choices.length ? `${id}-${chosen}` : undefined} value=${words} autofocus
        placeholder="A session, an agent, a word that was said…" onInput=${typing(write)} onKeyDown=${pressed} />
      <div role="listbox" id=${id} aria-label="Found" ref=${list}>
        ${choices.map((choice, index) => html`<div role="option" id=${`${id}-${index}`} class="row"
          aria-selected=${index === chosen} onClick=${() => take(choice)} onPointerMove=${() => setAt(index)}>
          <${Icon} name=${choice.icon} /> <span class="grow cut">${choice.label}</span>
          <span class="small faint cut">${choice.detail}</span>
        </div>`)}
      </div>
      ${choices.length === 0 && html`<p class="empty">Nothing fits.</p>`}
    </div>
  <//>`;
}

/** @param {Choice["icon"]} icon @param {string} label @param {string} detail @param {() => void} run */
const choiceOf = (icon, label, detail, run) => ({ icon, label, detail, run });

/** All that can be gone to or done, without what was said. @returns {Choice[]} */
function things() {
  const sessions = [...page.host.summaries.value.values()].sort((one, other) => other.modifiedAt - one.modifiedAt);
  return [
    ...sessions.map(({ resource, title, provider, workingDirectory }) => {
      const detail = `${provider} · ${nameOf(workingDirectory)}`;
      return choiceOf("chat", title || "New session", detail, () => goTo(resource));
    }),
    choiceOf("add", "New session", "start", () => goTo(null)),
    ...TABS.map((tab) => choiceOf("right", `Show ${tab}`, "at the right", () => showAside(tab))),
  ];
}

/** Whether each word occurs somewhere. @param {Choice} choice @param {string} words */
function fits(choice, words) {
  const text = `${choice.label} ${choice.detail}`.toLowerCase();
  const wanted = words.toLowerCase().split(/\s+/);
  return wanted.every((word) => text.includes(word));
}
