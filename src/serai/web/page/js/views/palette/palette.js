// Ctrl K: finds anything. Sessions, what was said in them, agents, and what can be done.
import { goTo, isPaletteOpen, page, showAside, shownOnPhone } from "../../page.js";
import { nameOf } from "../parts/format.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { html, useEffect, useId, useRef, useState } from "../preact.js";
import { lineOf, useSearch } from "../sessions/search.js";

/** @typedef {{label: string, detail: string, icon: import("../parts/icon.js").IconName, run: () => void}} Choice */

const TABS = ["changes", "files", "terminals", "messages", "deliveries", "agents", "cost", "workflow"];

const MOST = 30;

export function Palette() {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const { hits } = useSearch(words.trim());
  const said = hits.map((hit) => {
    const line = lineOf(hit);
    return {
      label: line.text.slice(0, 120),
      detail: line.title,
      icon: /** @type {const} */ ("chat"),
      run: () => {
        line.run();
        location.hash = line.href;
      },
    };
  });
  const choices = [...things().filter((choice) => fits(choice, words)), ...said].slice(0, MOST);
  const chosen = Math.min(at, choices.length - 1);
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: "nearest" }), [chosen]);
  const close = () => (isPaletteOpen.value = false);

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
    <div class="palette">
      <input
        role="combobox"
        aria-label="Find anything"
        aria-expanded="true"
        aria-controls=${id}
        aria-activedescendant=${choices.length ? `${id}-${chosen}` : undefined}
        placeholder="A session, an agent, a word that was said…"
        value=${words}
        autofocus
        onInput=${(/** @type {any} */ event) => {
          setWords(event.target.value);
          setAt(0);
        }}
        onKeyDown=${pressed}
      />
      <div role="listbox" id=${id} aria-label="Found" ref=${list}>
        ${choices.map(
          (choice, index) =>
            html`<div role="option" id=${`${id}-${index}`} class="row" aria-selected=${index === chosen}
              onClick=${() => take(choice)} onPointerMove=${() => setAt(index)}>
              <${Icon} name=${choice.icon} /> <span class="grow cut">${choice.label}</span>
              <span class="small faint cut">${choice.detail}</span>
            </div>`,
        )}
      </div>
      ${choices.length === 0 && html`<p class="empty">Nothing fits.</p>`}
    </div>
  <//>`;
}

/** All that can be gone to or done, without what was said. @returns {Choice[]} */
function things() {
  const sessions = [...page.host.summaries.value.values()]
    .toSorted((one, other) => other.modifiedAt - one.modifiedAt)
    .map((summary) => ({
      label: summary.title || "New session",
      detail: `${summary.provider} · ${nameOf(summary.workingDirectory)}`,
      icon: /** @type {const} */ ("chat"),
      run: () => {
        goTo(summary.resource);
        shownOnPhone.value = "session";
      },
    }));
  const tabs = TABS.map((tab) => ({
    label: `Show ${tab}`,
    detail: "at the right",
    icon: /** @type {const} */ ("right"),
    run: () => showAside(tab),
  }));
  const begin = { label: "New session", detail: "start", icon: /** @type {const} */ ("add"), run: () => goTo(null) };
  return [...sessions, begin, ...tabs];
}

/** Whether each word occurs somewhere. @param {Choice} choice @param {string} words */
function fits(choice, words) {
  const text = `${choice.label} ${choice.detail}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
