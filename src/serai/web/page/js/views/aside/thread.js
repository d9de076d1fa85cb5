// What was said in a room, a conversation or a thread, each message with its receipts.
import { page } from "../../page.js";
import { ask, confirm } from "../parts/dialog.js";
import { moment } from "../parts/format.js";
import { IconButton } from "../parts/icon.js";
import { Markdown } from "../parts/markdown.js";
import { Menu } from "../parts/menu.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../preact.js";
import { act, agentById, handleOf, useAsked } from "./asked.js";
import { gathered } from "./overlap.js";
import { Receipts } from "./receipts.js";
import { Pending } from "./shapes.js";
import { Write } from "./write.js";

/** @import {Delivery} from "../../host/relay.js" */
/** @import {Attachment, Message, Room} from "./messages.js" */
/** @typedef {(message: Message) => void} OnMessage */

const PAGE = 50;
const MOST = 500;
const IMAGES = /^image\/(png|jpeg|gif|webp)$/;
/** What one says most with a reaction, in words, too: not every machine draws emojis. */
const EMOJIS = { "👍": "yes", "👎": "no", "✅": "done", "👀": "I look at it", "🎉": "well done" };

/** Everyone in a conversation but the person; a channel by its name. @param {Room} room */
export function targetOf({ kind, name, members = [] }) {
  return kind === "channel" ? [name] : members.filter((handle) => handle !== page.relay.identity.value?.handle);
}

/**
 * The last messages of a room or conversation, and where one writes into it.
 * @param {{room: Room, onThread: OnMessage, onSent: OnMessage}} props
 */
export function RoomMessages({ room, onThread, onSent }) {
  const [count, setCount] = useState(PAGE);
  const ask = () => page.relay.call("messages.list", { room: room.id, limit: count });
  const listed = useAsked(ask, [count], ["message.*"]);
  const messages = /** @type {Message[] | undefined} */ (listed.value?.messages);
  useReadMark(messages?.at(-1)?.id);
  const own = page.relay.identity.value?.handle ?? "";
  const isElsewhere = room.kind !== "channel" && !(room.members ?? []).includes(own);
  const hasMore = messages !== undefined && messages.length === count && count < MOST;
  const to = targetOf(room);
  return html`<${Said} messages=${messages} problem=${listed.problem} onThread=${onThread}>
      ${hasMore &&
      html`<button class="quiet" onClick=${() => setCount(Math.min(MOST, count * 3))}>Earlier messages</button>`}
      ${messages?.length === 0 && html`<p class="empty">Nothing was said here yet.</p>`}
    <//>
    ${isElsewhere && html`<p class="small note">You are not in this one: what you write begins another.</p>`}
    ${room.archived
      ? html`<p class="empty">This room is archived: it can only be read.</p>`
      : html`<${Write} to=${to.length === 1 ? to[0] : to} onSent=${onSent} />`}`;
}

/** A message and the answers to it. @param {{messageId: string}} props */
export function ThreadMessages({ messageId }) {
  const listed = useAsked(() => page.relay.call("messages.thread", { messageId }), [messageId], ["message.*"]);
  return html`<${Said} messages=${listed.value?.messages} problem=${listed.problem} />
    <${Write} replyTo=${messageId} key=${messageId} />`;
}

/** All up to the last message is read, as soon as someone sees it. @param {string | undefined} last */
function useReadMark(last) {
  useEffect(() => {
    if (!last || page.host.isReading.peek()) return undefined;
    const mark = () => {
      if (!document.hidden) page.relay.call("messages.read", { messageId: last }).catch(() => {});
    };
    mark();
    document.addEventListener("visibilitychange", mark);
    return () => document.removeEventListener("visibilitychange", mark);
  }, [last]);
}

/**
 * Messages one below the other. It stays at its end, unless someone has scrolled up.
 * @param {{messages: readonly Message[] | undefined, problem: any, onThread?: OnMessage, children?: unknown}} props
 */
function Said({ messages, problem, onThread, children }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const isAtEnd = useRef(true);
  const ids = messages?.map((message) => message.id) ?? [];
  // An answer, and what is on its way, is told by no event of its own: they come with what their agent does.
  const listed = useAsked(
    async () => (ids.length === 0 ? null : page.relay.call("deliveries.list", { messages: ids, limit: MOST })),
    [ids.join()],
    ["delivery.*", "agent.status.changed"],
  );
  const deliveries = /** @type {Delivery[]} */ (listed.value?.deliveries ?? []);
  // The newest come first; receipts stand in the order in which they were made.
  const receipts = gathered(deliveries.toReversed().map((one) => /** @type {const} */ ([one.messageId, one])));
  useLayoutEffect(() => {
    if (place.current && isAtEnd.current) place.current.scrollTop = place.current.scrollHeight;
  }, [messages, listed.value]);
  const scrolled = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = place.current ?? {};
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
  };
  return html`<div class="said" role="log" aria-label="Messages" tabindex="0" ref=${place} onScroll=${scrolled}>
    ${(problem || !messages) && html`<${Pending} problem=${problem} />`} ${children}
    ${messages?.map(
      (message) => html`<${MessageView}
        key=${message.id} message=${message} deliveries=${receipts.get(message.id)} onThread=${onThread}
      />`,
    )}
  </div>`;
}

/** One message. @param {{message: Message, deliveries?: readonly Delivery[], onThread?: OnMessage}} props */
export function MessageView({ message, deliveries = [], onThread }) {
  const { attachments = [], createdAt, reactions = [], replyCount = 0 } = message;
  const { id, name } = page.relay.identity.value ?? {};
  const kind = message.from.id === id ? "you" : agentById(message.from.id)?.identity.kind;
  const isReading = page.host.isReading.value;
  /** @param {string} emoji @param {boolean} [isOwn] */
  const react = (emoji, isOwn) =>
    void act(isOwn ? "messages.unreact" : "messages.react", { messageId: message.id, emoji });
  const items = [
    ...Object.entries(EMOJIS).map(([emoji, means]) => ({ label: `${emoji} ${means}`, run: () => react(emoji) })),
    { label: "Take it back…", danger: true, run: () => void retract(message) },
  ];
  return html`<article class="message" aria-label=${`From ${handleOf(message.from)}`}>
    <header class="row">
      <strong class="cut">${handleOf(message.from)}</strong>
      ${kind && html`<span class="kind">${kind}</span>`}
      <time class="faint small grow" datetime=${createdAt} title=${new Date(createdAt).toLocaleString()}>
        ${moment(createdAt)}
      </time>
      ${onThread && !isReading &&
      html`<${IconButton} name="reply" label="Answer in a thread" onClick=${() => onThread(message)} />`}
      ${!isReading && html`<${Menu} label="More about this message" items=${items} />`}
    </header>
    <${Markdown} text=${message.text} />
    ${attachments.map((one) => html`<${AttachmentView} attachment=${one} />`)}
    <div class="row operations">
      ${reactions.map(({ emoji, count, agents }) => {
        const isOwn = name !== undefined && agents.includes(name);
        return html`<button
          key=${emoji} aria-pressed=${isOwn} title=${agents.join(", ")} disabled=${isReading}
          onClick=${() => react(emoji, isOwn)}
        >
          ${emoji} ${count}
        </button>`;
      })}
      ${onThread && replyCount > 0 &&
      html`<button class="quiet" onClick=${() => onThread(message)}>
        ${replyCount} ${replyCount === 1 ? "answer" : "answers"}
      </button>`}
      ${(message.readByCount ?? 0) > 0 && html`<span class="faint small">read by ${message.readByCount}</span>`}
    </div>
    <${Receipts} deliveries=${deliveries} />
  </article>`;
}

/**
 * What a message carries beside its text. Addresses elsewhere are links: nothing is loaded from there by itself.
 * @param {{attachment: Attachment}} props
 */
function AttachmentView({ attachment: one }) {
  const label = one.label ?? one.path ?? one.url ?? one.id ?? one.type;
  if (one.type === "image" && one.data && IMAGES.test(one.mimeType)) {
    return html`<img src=${`data:${one.mimeType};base64,${one.data}`} alt=${one.label ?? "an image"} />`;
  }
  // Whoever wrote it chose the address: only what a browser opens as a page becomes a link.
  if (/^https?:\/\//i.test(one.url ?? "")) {
    return html`<a href=${one.url} target="_blank" rel="noopener noreferrer nofollow">${label}</a>`;
  }
  const text = one.type === "json" ? JSON.stringify(one.value, null, 2) : (one.text ?? one.diff);
  if (text === undefined || one.url) {
    return html`<p class="mono">${one.url ?? one.path ?? label}${one.line ? `:${one.line}` : ""}</p>`;
  }
  return html`<details>
    <summary class="small">${label}</summary>
    <pre>${text}</pre>
  </details>`;
}

/** @param {Message} message */
async function retract(message) {
  const text = "Whoever has not got it yet never does. What was delivered stays delivered.";
  const isSure = await confirm("Take this message back?", text, { yes: "Take it back", danger: true });
  if (isSure) await act("messages.retract", { messageId: message.id });
}

/**
 * Ask for one line of text.
 * @param {string} title
 * @param {string} label
 * @param {string} [initial]
 * @returns {Promise<string | null>}
 */
export function askText(title, label, initial = "") {
  return ask(title, (done) => {
    /** @param {SubmitEvent} event */
    const submit = (event) => {
      event.preventDefault();
      done(String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("text")));
    };
    return html`<form onSubmit=${submit}>
      <label>${label} <input name="text" value=${initial} autofocus autocomplete="off" maxlength="200" /></label>
      <div class="row dialog-buttons">
        <button type="button" onClick=${() => done(null)}>Cancel</button>
        <button class="main">OK</button>
      </div>
    </form>`;
  });
}
