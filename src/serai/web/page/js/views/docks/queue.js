// What waits to be said: the message that steers, and the queue. Each can be edited, moved, sent now or taken back.
import { page, told } from "../../page.js";
import { putInComposer, unanswered } from "../composer/drafts.js";
import { focused, typing } from "../parts/field.js";
import { Icon, IconButton } from "../parts/icon.js";
import { html, useState } from "../preact.js";

/** @import {PendingMessage, SessionState} from "../../ahp/types.d.ts" */

const HELD = /** @type {Record<string, string>} */ ({
  cancelled: "the turn was stopped",
  error: "the turn failed",
  restart: "the host was restarted",
});

/** @param {{uri: string, state: SessionState}} props */
export function Queue({ uri, state }) {
  const queue = state.queuedMessages ?? [];
  const steering = state.steeringMessage;
  const why = whyHeld(state);
  if (!queue.length && !steering && !why) return null;

  /** @param {string} id @param {number} to */
  const move = (id, to) => {
    const order = queue.map((message) => message.id).filter((other) => other !== id);
    order.splice(to, 0, id);
    void page.host.dispatch(uri, { type: "session/queuedMessagesReordered", order });
  };
  const goOn = () => (isPaused(state) ? resume(uri) : queue[0] && sendNow(uri, state, queue[0]));
  return html`<section class="dock card queue" aria-label="Queue">
    ${why && html`<div class="row held" role="status">
      <span data-colour="needs" aria-hidden="true"><${Icon} name="pause" /></span>
      <span class="grow">${why}</span>
      ${!page.host.isReading.value && html`<button class="main" onClick=${goOn}>Go on</button>`}
    </div>`}
    ${steering && html`<ul class="bare">
      <${Waiting} key=${steering.id} uri=${uri} state=${state} kind="steering" message=${steering} />
    </ul>`}
    ${queue.length > 0 && html`<ol class="bare">
      ${queue.map((message, at) => html`<${Waiting} key=${message.id} uri=${uri} state=${state} kind="queued"
        message=${message} onUp=${at > 0 && (() => move(message.id, at - 1))}
        onDown=${at < queue.length - 1 && (() => move(message.id, at + 1))} />`)}
    </ol>`}
  </section>`;
}

/** @param {SessionState} state */
const isPaused = (state) => state._meta?.["serai.paused"] !== undefined;

/** Why nothing is taken from the queue, if so. @param {SessionState} state */
function whyHeld(state) {
  const paused = state._meta?.["serai.paused"];
  if (typeof paused === "string" && paused !== "paused") return `Paused: ${paused}.`;
  if (isPaused(state)) return "Paused: nothing enters by itself.";
  const held = state._meta?.["serai.queueHeld"];
  if (held === undefined || state.activeTurn || !state.queuedMessages?.length) return null;
  return `Held: ${HELD[String(held)] ?? held}.`;
}

/** Have a paused session take what waits. @param {string} uri */
function resume(uri) {
  const agent = page.relay.agents.peek().find((one) => one.session === uri);
  return told(page.relay.call("sessions.resume", { agent: agent?.identity.id }));
}

/**
 * Begin a turn with a message that waits. A turn that runs is stopped for it. @param {string} uri
 * @param {SessionState} state @param {PendingMessage} message
 */
async function sendNow(uri, state, message) {
  const running = state.activeTurn?.id;
  if (running && !(await page.host.dispatch(uri, { type: "session/turnCancelled", turnId: running }))) return;
  await page.host.dispatch(uri, {
    type: "session/turnStarted",
    turnId: crypto.randomUUID(),
    userMessage: message.userMessage,
    queuedMessageId: message.id,
  });
}

/**
 * One message that waits.
 * @param {{uri: string, state: SessionState, kind: "steering" | "queued", message: PendingMessage,
 *   onUp?: false | (() => void), onDown?: false | (() => void)}} props
 */
function Waiting({ uri, state, kind, message, onUp, onDown }) {
  const [written, setWritten] = useState(/** @type {string | null} */ (null));
  const { text, attachments = [] } = message.userMessage;
  const labels = attachments.map((one) => one.label).join(", ");
  const isQueued = kind === "queued";
  const isUnsent = page.host.connection.value !== "open" && unanswered.value.has(message.id);
  /** @param {"steering" | "queued"} as @param {string} said */
  const set = (as, said) => {
    const userMessage = { ...message.userMessage, text: said };
    return page.host.dispatch(uri, { type: "session/pendingMessageSet", kind: as, id: message.id, userMessage });
  };
  const remove = () => page.host.dispatch(uri, { type: "session/pendingMessageRemoved", kind, id: message.id });
  const takeBack = async () => {
    if (await remove()) putInComposer(uri, text, attachments);
  };
  const steer = async () => {
    if (await remove()) await set("steering", text);
  };
  const save = () => {
    if (written?.trim() && written !== text) void set(kind, written);
    setWritten(null);
  };
  if (written !== null) return html`<${Editing} text=${written} onWrite=${setWritten} onSave=${save} />`;
  return html`<li class="waiting row">
    <span class="small faint kind">${isUnsent ? "Not sent yet" : isQueued ? "Queued" : "Steering"}</span>
    <span class="grow text">
      ${text} ${attachments.length > 0 && html` <span class="faint small">+ ${labels}</span>`}
    </span>
    ${!page.host.isReading.value && html`<span class="tools">
      ${isQueued && html`<${IconButton} name="up" label="Move up" disabled=${!onUp} onClick=${onUp} />
        <${IconButton} name="down" label="Move down" disabled=${!onDown} onClick=${onDown} />`}
      <${IconButton} name="edit" label="Edit" onClick=${() => setWritten(text)} />
      ${isQueued && state.activeTurn && html`<${IconButton} name="right" onClick=${steer}
        label="Steer: say it in the turn that runs" />`}
      ${isQueued && html`<${IconButton} name="send" onClick=${() => sendNow(uri, state, message)}
        label=${state.activeTurn ? "Interrupt the turn with this" : "Send now"} />`}
      <${IconButton} name="close" label="Take back into the composer" onClick=${takeBack} />
    </span>`}
  </li>`;
}

/** @param {{text: string, onWrite: (text: string | null) => void, onSave: () => void}} props */
function Editing({ text, onWrite, onSave }) {
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.key === "Escape") onWrite(null);
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) onSave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<li class="waiting row">
    <textarea class="grow" aria-label="The message that waits" rows=${Math.min(8, text.split("\n").length)}
      value=${text} ref=${focused} onInput=${typing(onWrite)} onKeyDown=${pressed}></textarea>
    <button class="main" onClick=${onSave}>Save</button>
    <button onClick=${() => onWrite(null)}>Cancel</button>
  </li>`;
}
