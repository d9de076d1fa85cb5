// What waits to be said: the message that steers, and the queue. Each can be edited, moved, sent now or taken back.
import { page } from "../../page.js";
import { typing } from "../composer/typing.js";
import { putInComposer } from "../composer/drafts.js";
import { Icon, IconButton } from "../parts/icon.js";
import { html, useEffect, useRef, useState } from "../preact.js";

/** @import {PendingMessage, SessionState} from "../../ahp/types.d.ts" */

const HELD = /** @type {Record<string, string>} */ ({
  cancelled: "the turn was stopped",
  error: "the turn failed",
  restart: "the host was restarted",
});

/** @param {{uri: string, state: SessionState, isReading: boolean}} props */
export function Queue({ uri, state, isReading }) {
  const queue = state.queuedMessages ?? [];
  const steering = state.steeringMessage;
  const paused = state._meta?.["serai.paused"];
  const held = queue.length > 0 && !state.activeTurn ? state._meta?.["serai.queueHeld"] : undefined;
  const [dragged, setDragged] = useState(/** @type {string | null} */ (null));
  if (!queue.length && !steering && paused === undefined) return null;

  /** @param {string} id @param {number} to */
  const move = (id, to) => {
    const order = queue.map((message) => message.id).filter((other) => other !== id);
    order.splice(to, 0, id);
    void page.host.dispatch(uri, { type: "session/queuedMessagesReordered", order });
  };
  const why =
    paused !== undefined ? pausedBecause(paused) : held !== undefined && `Held: ${HELD[String(held)] ?? held}.`;
  const goOn = () => (paused !== undefined ? resume(uri) : queue[0] && sendNow(uri, state, queue[0]));
  return html`<section class="dock queue" aria-label="Queue">
    ${why && html`<div class="row held" role="status">
      <span class="needs" aria-hidden="true"><${Icon} name="pause" /></span>
      <span class="grow">${why}</span>
      ${!isReading && html`<button type="button" class="main" onClick=${goOn}>Go on</button>`}
    </div>`}
    ${steering && html`<ul>
      <${Waiting} key=${steering.id} uri=${uri} state=${state} kind="steering" message=${steering}
        isReading=${isReading} />
    </ul>`}
    ${queue.length > 0 && html`<ol>
      ${queue.map(
        (message, at) =>
          html`<${Waiting} key=${message.id} uri=${uri} state=${state} kind="queued" message=${message}
            isReading=${isReading} onUp=${at > 0 ? () => move(message.id, at - 1) : null}
            onDown=${at < queue.length - 1 ? () => move(message.id, at + 1) : null}
            onDrag=${(/** @type {boolean} */ isOn) => setDragged(isOn ? message.id : null)}
            onDrop=${dragged && dragged !== message.id ? () => move(dragged, at) : null} />`,
      )}
    </ol>`}
  </section>`;
}

/** @param {unknown} reason */
function pausedBecause(reason) {
  return typeof reason === "string" && reason !== "paused" ? `Paused: ${reason}.` : "Paused: nothing enters by itself.";
}

/** Have a paused session take what waits. @param {string} uri */
async function resume(uri) {
  try {
    const agent = page.relay.agents.peek().find((one) => one.session === uri);
    await page.relay.call("sessions.resume", { agent: agent?.identity.id });
  } catch (error) {
    page.host.notify(/** @type {Error} */ (error));
  }
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
 * @typedef {object} WaitingProps
 * @property {string} uri
 * @property {SessionState} state
 * @property {"steering" | "queued"} kind
 * @property {PendingMessage} message
 * @property {boolean} isReading
 * @property {(() => void) | null} [onUp]
 * @property {(() => void) | null} [onDown]
 * @property {(isOn: boolean) => void} [onDrag]
 * @property {(() => void) | null} [onDrop] when another one may be dropped here
 */

/** One message that waits. @param {WaitingProps} props */
function Waiting({ uri, state, kind, message, isReading, onUp, onDown, onDrag, onDrop }) {
  const [written, setWritten] = useState(/** @type {string | null} */ (null));
  const { text, attachments = [] } = message.userMessage;
  const labels = attachments.map((one) => one.label).join(", ");
  const isQueued = kind === "queued";
  const set = (/** @type {"steering" | "queued"} */ as, /** @type {string} */ said) =>
    page.host.dispatch(uri, {
      type: "session/pendingMessageSet",
      kind: as,
      id: message.id,
      userMessage: { ...message.userMessage, text: said },
    });
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
  return html`<li
    class="waiting row"
    draggable=${isQueued && !isReading}
    data-over=${onDrop ? true : undefined}
    onDragStart=${(/** @type {DragEvent} */ event) => {
      event.dataTransfer?.setData("text/plain", text);
      onDrag?.(true);
    }}
    onDragEnd=${() => onDrag?.(false)}
    onDragOver=${(/** @type {Event} */ event) => onDrop && event.preventDefault()}
    onDrop=${(/** @type {Event} */ event) => {
      event.preventDefault();
      onDrop?.();
    }}
  >
    <span class="small faint kind">${isQueued ? "Queued" : "Steering"}</span>
    <span class="grow text">
      ${text} ${attachments.length > 0 && html` <span class="faint small">+ ${labels}</span>`}
    </span>
    ${!isReading && html`<span class="tools">
      ${isQueued && html`<${IconButton} name="up" label="Move up" disabled=${!onUp} onClick=${onUp} />
        <${IconButton} name="down" label="Move down" disabled=${!onDown} onClick=${onDown} />`}
      <${IconButton} name="edit" label="Edit" onClick=${() => setWritten(text)} />
      ${isQueued &&
      state.activeTurn &&
      html`<${IconButton} name="right" label="Steer: say it in the turn that runs" onClick=${steer} />`}
      ${isQueued &&
      html`<${IconButton} name="send" label=${state.activeTurn ? "Interrupt the turn with this" : "Send now"}
        onClick=${() => sendNow(uri, state, message)} />`}
      <${IconButton} name="close" label="Take back into the composer" onClick=${takeBack} />
    </span>`}
  </li>`;
}

/** @param {{text: string, onWrite: (text: string | null) => void, onSave: () => void}} props */
function Editing({ text, onWrite, onSave }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => field.current?.focus(), []); // someone has just asked for it
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
      value=${text} ref=${field} onInput=${typing(onWrite)} onKeyDown=${pressed}></textarea>
    <button type="button" class="main" onClick=${onSave}>Save</button>
    <button type="button" onClick=${() => onWrite(null)}>Cancel</button>
  </li>`;
}
