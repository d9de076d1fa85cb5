// Where a person writes a message to agents, people and rooms.
import { page } from "../../page.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { html, useRef, useState } from "../preact.js";
import { act } from "./asked.js";
import { MODES } from "./delivery_words.js";

/**
 * A message to `to`, or an answer to a message. Enter sends it.
 * @param {{to?: string | string[], replyTo?: string, onSent?: (message: any) => void}} props
 */
export function Write({ to, replyTo, onSent }) {
  const [text, setText] = useState("");
  const [mode, setMode] = useState("");
  const [isUrgent, setUrgent] = useState(false);
  const [isSending, setSending] = useState(false);
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
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
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void send();
  };
  const mention = (/** @type {string} */ handle) => {
    setText(`${text}${/\S$/.test(text) ? " " : ""}${handle} `);
    field.current?.focus();
  };
  const handles = page.relay.agents.value.map(({ identity }) => identity.handle);
  const mentions = handles.map((handle) => ({ label: handle, run: () => mention(handle) }));
  const label = replyTo ? "Answer in this thread" : to?.length ? `Message to ${[to].flat().join(", ")}` : "Message";
  return html`<div class="write">
    <textarea
      ref=${field} rows="2" aria-label=${label} placeholder=${label} value=${text} onKeyDown=${pressed}
      onInput=${(/** @type {any} */ event) => setText(event.target.value)}
    ></textarea>
    <div class="row">
      <details class="grow">
        <summary class="small">
          ${mode || isUrgent ? [mode, isUrgent && "urgent"].filter(Boolean).join(", ") : "When it arrives"}
        </summary>
        <label class="small">
          It enters
          <select value=${mode} onChange=${(/** @type {any} */ event) => setMode(event.target.value)}>
            <option value="">as the policy says</option>
            ${modesOf(to).map((one) => html`<option value=${one}>${MODES[one] ?? one} (${one})</option>`)}
          </select>
        </label>
        <label class="small">
          <input type="checkbox" checked=${isUrgent} onChange=${() => setUrgent(!isUrgent)} /> Before others that wait
        </label>
      </details>
      <${Menu} label="Mention someone" text="@" items=${mentions} />
      <button class="main" disabled=${!isReady} onClick=${send}><${Icon} name="send" /> Send</button>
    </div>
  </div>`;
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
