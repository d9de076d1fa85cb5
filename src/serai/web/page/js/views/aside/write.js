// Where a person writes a message to agents, people and rooms.
import { page } from "../../page.js";
import { Icon } from "../parts/icon.js";
import { html, useId, useRef, useState } from "../preact.js";
import { act } from "./asked.js";
import { MODES } from "./delivery_words.js";

/** @typedef {{text: string, what: string}} Choice */

const MOST_CHOICES = 8;

/**
 * A message to `to`, or an answer to a message. Enter sends it.
 * @param {{to?: string | string[], replyTo?: string, onSent?: (message: any) => void}} props
 */
export function Write({ to, replyTo, onSent }) {
  const [text, setText] = useState("");
  const [mode, setMode] = useState("");
  const [isUrgent, setUrgent] = useState(false);
  const [isSending, setSending] = useState(false);
  // The same message is sent once, also when someone tries again because no answer came.
  const key = useRef(newKey());
  if (page.host.isReading.value) return null;
  const isReady = text.trim() !== "" && !isSending && (replyTo !== undefined || Boolean(to?.length));
  const send = async () => {
    if (!isReady) return;
    setSending(true);
    const said = { text, idempotencyKey: key.current, ...(mode && { mode }), ...(isUrgent && { priority: "urgent" }) };
    const sent = replyTo
      ? await act("messages.reply", { ...said, messageId: replyTo })
      : await act("messages.send", { ...said, to });
    setSending(false);
    if (!sent) return;
    key.current = newKey();
    setText("");
    if (sent.unknownMentions?.length) page.host.notify(`Nobody is called ${sent.unknownMentions.join(", ")}.`);
    onSent?.(sent.message);
  };
  const label = replyTo ? "Answer in this thread" : to?.length ? `Message to ${[to].flat().join(", ")}` : "Message";
  return html`<form
    class="write"
    onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      void send();
    }}
  >
    <${MentionField} label=${label} text=${text} onText=${setText} onEnter=${send} />
    <div class="row">
      <details class="grow">
        <summary>
          ${mode || isUrgent ? [mode, isUrgent && "urgent"].filter(Boolean).join(", ") : "When it arrives"}
        </summary>
        <label>
          It enters
          <select value=${mode} onChange=${(/** @type {any} */ event) => setMode(event.target.value)}>
            <option value="">as the policy says</option>
            ${modesOf(to).map((one) => html`<option value=${one}>${MODES[one] ?? one} (${one})</option>`)}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked=${isUrgent} onChange=${() => setUrgent(!isUrgent)} /> Before others that wait
        </label>
      </details>
      <button class="main" disabled=${!isReady}><${Icon} name="send" /> Send</button>
    </div>
  </form>`;
}

function newKey() {
  return `page-${[...crypto.getRandomValues(new Uint32Array(4))].map((one) => one.toString(36)).join("")}`;
}

/**
 * The modes that whoever gets it has; of several recipients, all that there are.
 * @param {string | string[] | undefined} to
 * @returns {string[]}
 */
function modesOf(to) {
  const [handle, ...others] = [to ?? []].flat();
  const found = others.length === 0 && page.relay.agents.value.find((agent) => agent.identity.handle === handle);
  return (found && found.capabilities?.delivery?.modes) || Object.keys(MODES);
}

/**
 * A field in which `@` and `#` offer names. Arrows choose, Enter or Tab takes the name, Escape leaves it.
 * @param {{label: string, text: string, onText: (text: string) => void, onEnter: () => void}} props
 */
function MentionField({ label, text, onText, onEnter }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [word, setWord] = useState(/** @type {{text: string, start: number} | null} */ (null));
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const choices = word ? choicesFor(word.text) : [];
  const isOpen = choices.length > 0;

  const look = () => {
    const at = field.current?.selectionStart ?? 0;
    const match = /(?:^|\s)([@#][\w.-]*)$/.exec((field.current?.value ?? "").slice(0, at));
    setWord(match ? { text: match[1] ?? "", start: at - (match[1] ?? "").length } : null);
    setChosen(0);
  };
  /** @param {Choice} choice */
  const take = (choice) => {
    if (!word) return;
    const before = `${text.slice(0, word.start)}${choice.text} `;
    onText(before + text.slice(word.start + word.text.length));
    setWord(null);
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(before.length, before.length);
    });
  };
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    const step = isOpen ? { ArrowDown: 1, ArrowUp: -1 }[event.key] : undefined;
    const choice = choices[chosen];
    if (step) setChosen((chosen + step + choices.length) % choices.length);
    else if (isOpen && choice && (event.key === "Enter" || event.key === "Tab")) take(choice);
    else if (isOpen && event.key === "Escape") setWord(null);
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) onEnter();
    else return;
    event.preventDefault();
  };
  return html`<div class="mentions">
    ${
      isOpen &&
      html`<ul role="listbox" id=${id} aria-label="Names">
        ${choices.map(
          (choice, index) =>
            html`<li
              key=${choice.text}
              role="option"
              id=${`${id}-${index}`}
              aria-selected=${index === chosen}
              onPointerDown=${(/** @type {Event} */ event) => {
                event.preventDefault();
                take(choice);
              }}
            >
              <span class="cut">${choice.text}</span> <span class="faint small">${choice.what}</span>
            </li>`,
        )}
      </ul>`
    }
    <textarea
      ref=${field}
      rows="2"
      aria-label=${label}
      aria-autocomplete="list"
      aria-haspopup="listbox"
      aria-controls=${isOpen ? id : undefined}
      aria-activedescendant=${isOpen ? `${id}-${chosen}` : undefined}
      placeholder=${`${label}, @ to mention`}
      value=${text}
      onInput=${(/** @type {any} */ event) => {
        onText(event.target.value);
        look();
      }}
      onBlur=${() => setWord(null)}
      onKeyDown=${pressed}
    ></textarea>
  </div>`;
}

/** The rooms, as they were heard of last. @type {{value: readonly import("./messages.js").Room[]}} */
export const knownRooms = { value: [] };

/**
 * @param {string} word `@` or `#` and the beginning of a name
 * @returns {Choice[]}
 */
function choicesFor(word) {
  const wanted = word.slice(1).toLowerCase();
  const all = word.startsWith("@")
    ? page.relay.agents.value.map(({ identity, status }) => ({
        text: identity.handle,
        what: [identity.kind ?? "agent", status].filter(Boolean).join(", "),
      }))
    : knownRooms.value
        .filter((room) => room.kind === "channel" && !room.archived)
        .map((room) => ({ text: room.name, what: room.topic ?? "" }));
  return all.filter((choice) => choice.text.slice(1).toLowerCase().includes(wanted)).slice(0, MOST_CHOICES);
}
