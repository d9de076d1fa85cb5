// What was said in a room, a conversation or a thread, each message with its receipts.
import { page } from "../../page.js";
import { IconButton } from "../parts/icon.js";
import { Markdown } from "../parts/markdown.js";
import { Menu } from "../parts/menu.js";
import { ask, confirm } from "../parts/dialog.js";
import { moment } from "../parts/format.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../preact.js";
import { act, agentById, handleOf, useAsked } from "./asked.js";
import { Attachments } from "./attachments.js";
import { Receipts } from "./receipts.js";
import { Write } from "./write.js";

/** @typedef {import("../../host/relay.js").Delivery} Delivery */
/** @typedef {import("./messages.js").Message} Message */
/** @typedef {import("./messages.js").Room} Room */

const PAGE = 50;
const MOST = 500;
/** What one says most with a reaction, in words, too: not every machine draws emojis. */
const EMOJIS = { "👍": "yes", "👎": "no", "✅": "done", "👀": "I look at it", "🎉": "well done" };

/**
 * The last messages of a room or conversation, and where one writes into it.
 * @param {{room: Room, onThread: (message: Message) => void, onSent: (message: Message) => void}} props
 */
export function RoomMessages({ room, onThread, onSent }) {
  const [count, setCount] = useState(PAGE);
  const about = { types: ["message.*"], concerns: concerning(room.id) };
  const listed = useAsked(
    () => page.relay.call("messages.list", { room: room.id, limit: count }),
    [room.id, count],
    about,
  );
  const messages = /** @type {Message[] | undefined} */ (listed.value?.messages);
  useReadMark(messages);
  const own = page.relay.identity.value?.handle ?? "";
  const isElsewhere = room.kind !== "channel" && !(room.members ?? []).includes(own);
  const hasMore = messages !== undefined && messages.length === count && count < MOST;
  return html`<${Said} messages=${messages} problem=${listed.problem} onThread=${onThread}>
      ${hasMore &&
      html`<button class="quiet" onClick=${() => setCount(Math.min(MOST, count * 3))}>Earlier messages</button>`}
      ${messages?.length === 0 && html`<p class="empty">Nothing was said here yet.</p>`}
    <//>
    ${
      room.archived
        ? html`<p class="empty">This room is archived: it can only be read.</p>`
        : html`${isElsewhere &&
          html`<p class="small faint note">You are not in this one: what you write begins another.</p>`}
            <${Write} to=${targetOf(room)} onSent=${onSent} />`
    }`;
}

/**
 * A message and the answers to it.
 * @param {{messageId: string}} props
 */
export function ThreadMessages({ messageId }) {
  const about = { types: ["message.*"] };
  const listed = useAsked(() => page.relay.call("messages.thread", { messageId }), [messageId], about);
  const messages = /** @type {Message[] | undefined} */ (listed.value?.messages);
  return html`<${Said} messages=${messages} problem=${listed.problem} />
    <${Write} replyTo=${messageId} key=${messageId} />`;
}

/**
 * Where something that is said in a room goes to.
 * @param {Room} room
 */
function targetOf(room) {
  if (room.kind === "channel") return room.name;
  const own = page.relay.identity.value?.handle;
  const others = (room.members ?? []).filter((handle) => handle !== own);
  return others.length === 1 ? /** @type {string} */ (others[0]) : others;
}

/** @param {string} roomId */
function concerning(roomId) {
  /** @param {import("../../host/relay.js").RelayEvent} event */
  return ({ data }) => data.message === undefined || data.message.conversationId === roomId;
}

/**
 * All up to the last message is read, as soon as someone sees it.
 * @param {readonly Message[] | undefined} messages
 */
function useReadMark(messages) {
  const last = messages?.at(-1)?.id;
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
 * @param {{messages: readonly Message[] | undefined, problem: any, onThread?: (message: Message) => void,
 *   children?: unknown}} props
 */
function Said({ messages, problem, onThread, children }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const isAtEnd = useRef(true);
  const receipts = useReceipts(messages);
  useLayoutEffect(() => {
    if (place.current && isAtEnd.current) place.current.scrollTop = place.current.scrollHeight;
  }, [messages, receipts]);
  const scrolled = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = place.current ?? {};
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
  };
  return html`<div class="said" role="log" aria-label="Messages" tabindex="0" ref=${place} onScroll=${scrolled}>
    ${problem && html`<p class="problem" role="alert">${problem.message}</p>`}
    ${!messages && !problem && html`<p class="empty" role="status">Loading…</p>`} ${children}
    ${messages?.map(
      (message) =>
        html`<${MessageView}
          key=${message.id}
          message=${message}
          deliveries=${receipts.get(message.id) ?? []}
          onThread=${onThread}
        />`,
    )}
  </div>`;
}

/**
 * The deliveries of messages, live. An answer, and what is on its way, is told by no event of its own: they come with
 * what their agent does.
 * @param {readonly Message[] | undefined} messages
 * @returns {ReadonlyMap<string, Delivery[]>}
 */
function useReceipts(messages) {
  const ids = messages?.map((message) => message.id) ?? [];
  const listed = useAsked(
    async () => (ids.length === 0 ? null : page.relay.call("deliveries.list", { messages: ids, limit: MOST })),
    [ids.join()],
    { types: ["delivery.*", "agent.status.changed"] },
  );
  const kept = useRef(/** @type {Delivery[]} */ ([]));
  if (listed.value) kept.current = listed.value.deliveries;
  return useMemo(() => {
    /** @type {Map<string, Delivery[]>} */
    const found = new Map();
    // The newest come first; receipts stand in the order in which they were made.
    for (const one of kept.current.toReversed()) found.set(one.messageId, [...(found.get(one.messageId) ?? []), one]);
    return found;
  }, [listed.value]);
}

/**
 * One message.
 * @param {{message: Message, deliveries: readonly Delivery[], onThread?: (message: Message) => void}} props
 */
export function MessageView({ message, deliveries, onThread }) {
  const { attachments = [], reactions = [], replyCount = 0 } = message;
  const kind = agentById(message.from.id)?.identity.kind;
  const isOwn = message.from.id === page.relay.identity.value?.id;
  return html`<article class="message" aria-label=${`From ${handleOf(message.from)}`}>
    <header>
      <strong class="cut">${handleOf(message.from)}</strong>
      ${kind && !isOwn && html`<span class="kind">${kind}</span>`}${isOwn && html`<span class="kind">you</span>`}
      <time class="faint" datetime=${message.createdAt} title=${new Date(message.createdAt).toLocaleString()}
        >${moment(message.createdAt)}</time
      >
      <span class="grow"></span>
      ${!page.host.isReading.value && html`<${Tools} message=${message} onThread=${onThread} />`}
    </header>
    <div class="text"><${Markdown} text=${message.text} /></div>
    <${Attachments} attachments=${attachments} />
    <div class="under">
      ${reactions.map((one) => html`<${Reacted} key=${one.emoji} message=${message} reaction=${one} />`)}
      ${
        onThread &&
        replyCount > 0 &&
        html`<button class="quiet" onClick=${() => onThread(message)}>
          ${replyCount} ${replyCount === 1 ? "answer" : "answers"}
        </button>`
      }
      ${(message.readByCount ?? 0) > 0 && html`<span class="faint small">read by ${message.readByCount}</span>`}
    </div>
    <${Receipts} deliveries=${deliveries} />
  </article>`;
}

/** @param {{message: Message, onThread?: (message: Message) => void}} props */
function Tools({ message, onThread }) {
  const react = (/** @type {string} */ emoji) => void act("messages.react", { messageId: message.id, emoji });
  const other = async () => {
    const emoji = await askText("React with", "An emoji or a word");
    if (emoji?.trim()) react(emoji.trim());
  };
  const items = [
    ...Object.entries(EMOJIS).map(([emoji, means]) => ({ label: `${emoji} ${means}`, run: () => react(emoji) })),
    { label: "React with…", run: () => void other() },
    { label: "Copy the text", run: () => void navigator.clipboard.writeText(message.text) },
    { label: "Take it back…", danger: true, run: () => void retract(message) },
  ];
  return html`<span class="tools">
    ${onThread && html`<${IconButton} name="reply" label="Answer in a thread" onClick=${() => onThread(message)} />`}
    <${Menu} label="More about this message" items=${items} />
  </span>`;
}

/** @param {Message} message */
async function retract(message) {
  const text = "Whoever has not got it yet never does. What was delivered stays delivered.";
  const isSure = await confirm("Take this message back?", text, { yes: "Take it back", danger: true });
  if (isSure) await act("messages.retract", { messageId: message.id });
}

/** @param {{message: Message, reaction: {emoji: string, count: number, agents: readonly string[]}}} props */
function Reacted({ message, reaction }) {
  const own = page.relay.identity.value?.name;
  const isOwn = own !== undefined && reaction.agents.includes(own);
  const method = isOwn ? "messages.unreact" : "messages.react";
  return html`<button
    class="reaction"
    aria-pressed=${isOwn}
    title=${reaction.agents.join(", ")}
    disabled=${page.host.isReading.value}
    onClick=${() => act(method, { messageId: message.id, emoji: reaction.emoji })}
  >
    ${reaction.emoji} ${reaction.count}
  </button>`;
}

/**
 * Ask for one line of text.
 * @param {string} title
 * @param {string} label
 * @param {string} [initial]
 * @returns {Promise<string | null>}
 */
export function askText(title, label, initial = "") {
  /** @param {(value: string | null) => void} done */
  const body = (done) => {
    /** @param {SubmitEvent} event */
    const submit = (event) => {
      event.preventDefault();
      done(String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("text")));
    };
    return html`<form class="ask-text" onSubmit=${submit}>
      <label>${label} <input name="text" value=${initial} autofocus autocomplete="off" maxlength="200" /></label>
      <div class="row dialog-buttons">
        <button type="button" onClick=${() => done(null)}>Cancel</button>
        <button class="main">OK</button>
      </div>
    </form>`;
  };
  return ask(title, /** @type {any} */ (body));
}
