// Messages between agents, people and programs: what is new for the person, rooms, and conversations.
import { aside, page } from "../../page.js";
import { confirm } from "../parts/dialog.js";
import { Icon, IconButton } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { html, signal, useEffect, useState } from "../preact.js";
import { act, agentOf, useAsked } from "./asked.js";
import { Head, Pending } from "./shapes.js";
import { MessageView, RoomMessages, ThreadMessages, askText, targetOf } from "./thread.js";
import { Write } from "./write.js";

/**
 * @typedef {{id: string, kind: "channel" | "dm" | "group_dm", name: string, topic?: string, archived?: boolean,
 *   members?: string[], createdAt: string}} Room
 * @typedef {{type: string, label?: string, [more: string]: any}} Attachment
 * @typedef {{id: string, kind: string, text: string, from: {id: string, name: string}, conversationId?: string,
 *   channel?: {id: string, name: string}, threadId?: string, mentions?: string[], attachments?: Attachment[],
 *   reactions?: {emoji: string, count: number, agents: string[]}[], createdAt: string, updatedAt?: string,
 *   replyCount?: number, readByCount?: number}} Message
 */

/** What was fetched from the inbox since the page was opened: fetching it is what delivers it. */
const received = signal(/** @type {readonly Message[]} */ ([]));
const MOST_RECEIVED = 50;

/** Where someone is in here; it outlives a look at another tab. */
const place = signal(/** @type {{room?: string, thread?: string, isNew?: boolean}} */ ({}));
const leave = () => (place.value = {});
/** @param {Message} message */
const showRoom = ({ conversationId: room }) => (place.value = { room });
/** @param {Message} message */
const showThread = ({ id, conversationId: room, threadId: thread = id }) => (place.value = { room, thread });

/** @param {{uri: string | null}} props */
export function Messages({ uri }) {
  const ask = () => page.relay.call("rooms.list", { archived: true });
  const asked = useAsked(ask, [], ["room.*", "message.created"]);
  const rooms = /** @type {Room[]} */ (asked.value?.rooms ?? []);
  const at = aside.value.at;
  useEffect(() => {
    // What was found in the page points at a room.
    if (at?.room) place.value = { room: at.room };
  }, [at]);
  const { room: roomId, thread, isNew } = place.value;
  const room = rooms.find((one) => one.id === roomId || one.name === roomId);
  if (!asked.value) return html`<${Pending} problem=${asked.problem} />`;
  if (isNew) return html`<${NewMessage} uri=${uri} rooms=${rooms} />`;
  if (thread) {
    return html`<div class="messages">
      <${Head} title=${`Thread${room ? ` in ${nameOf(room)}` : ""}`} onBack=${() => (place.value = { room: roomId })} />
      <${ThreadMessages} messageId=${thread} />
    </div>`;
  }
  if (!room) return html`<${Overview} uri=${uri} rooms=${rooms} />`;
  return html`<div class="messages" key=${room.id}>
    <${RoomHead} room=${room} />
    <${RoomMessages} room=${room} onThread=${showThread} onSent=${showRoom} />
  </div>`;
}

/** How a room is called: a conversation by those who are in it, but for the person. @param {Room} room */
function nameOf(room) {
  return targetOf(room).join(", ") || room.name;
}

/** @param {{uri: string | null, rooms: readonly Room[]}} props */
function Overview({ uri, rooms }) {
  const handle = agentOf(uri)?.identity.handle ?? "";
  const { rooms: joined = [], conversations = [] } = page.relay.inbox.value ?? {};
  const unread = new Map([...joined, ...conversations].map((one) => [one.room.id, one.unread]));
  const unreadOf = (/** @type {Room} */ room) => unread.get(room.id) ?? 0;
  /** @param {Room} room */
  const groupOf = ({ archived, kind, members }) => {
    if (archived) return "Archived";
    if (members?.includes(handle)) return "With this session";
    return kind === "channel" ? "Rooms" : "Conversations";
  };
  const sorted = rooms.toSorted((one, other) => unreadOf(other) - unreadOf(one));
  return html`<div class="sheet">
    ${!page.host.isReading.value &&
    html`<div class="row bar">
      <button onClick=${() => (place.value = { isNew: true })}><${Icon} name="edit" /> New message</button>
      <button onClick=${createRoom}><${Icon} name="add" /> New room</button>
    </div>`}
    <${Inbox} />
    ${["With this session", "Rooms", "Conversations", "Archived"].map((title) => {
      const group = sorted.filter((room) => groupOf(room) === title);
      return group.length > 0 && html`<h2>${title}</h2>
        <ul class="rooms">
          ${group.map((room) => html`<li key=${room.id}><${RoomLine} room=${room} unread=${unreadOf(room)} /></li>`)}
        </ul>`;
    })}
    ${rooms.length === 0 &&
    html`<p class="empty">Nobody has written to anyone yet. Agents, people and programs can.</p>`}
  </div>`;
}

/** @param {{room: Room, unread: number}} props */
function RoomLine({ room, unread }) {
  return html`<button class="quiet line" onClick=${() => (place.value = { room: room.id })}>
    <span class="cut ${unread > 0 ? "unread" : ""}">${nameOf(room)}</span>
    <span class="grow cut faint small">${room.topic ?? ""}</span>
    ${unread > 0 && html`<span class="tally">${unread}<span class="hidden"> unread</span></span>`}
    ${room.kind === "channel" && html`<span class="faint small">${room.members?.length ?? 0} in it</span>`}
  </button>`;
}

async function createRoom() {
  const name = await askText("New room", "Its name: letters, digits, - and _", "#");
  if (!name || name === "#") return;
  const room = await act("rooms.create", { name });
  if (room) place.value = { room: room.id };
}

/** What was sent to the person. Looking is receiving: only then its senders see it as delivered. */
function Inbox() {
  const { messages: waiting = [], mentions = [] } = page.relay.inbox.value ?? {};
  useEffect(() => {
    const fetchAll = async () => {
      if (waiting.length === 0 || document.hidden || page.host.isReading.peek()) return;
      const inbox = await page.relay.call("inbox.get").catch(() => null);
      const known = new Set(received.peek().map((message) => message.id));
      const fresh = (inbox?.messages ?? []).filter((/** @type {Message} */ message) => !known.has(message.id));
      received.value = [...fresh.toReversed(), ...received.peek()].slice(0, MOST_RECEIVED);
    };
    void fetchAll();
    document.addEventListener("visibilitychange", fetchAll);
    return () => document.removeEventListener("visibilitychange", fetchAll);
  }, [waiting.length]);
  const all = /** @type {Message[]} */ ([...received.value, ...mentions]);
  const shown = new Map(all.map((message) => [message.id, message]));
  if (shown.size === 0) return null;
  return html`<section aria-live="polite">
    <div class="row">
      <h2 class="grow">For you</h2>
      ${received.value.length > 0 &&
      html`<button class="quiet small" onClick=${() => (received.value = [])}>Clear</button>`}
    </div>
    ${[...shown.values()].map(
      (message) => html`<div key=${message.id} class="card">
        <${MessageView} message=${message} onThread=${showThread} />
      </div>`,
    )}
  </section>`;
}

/** @param {{uri: string | null, rooms: readonly Room[]}} props */
function NewMessage({ uri, rooms }) {
  const [to, setTo] = useState(agentOf(uri)?.identity.handle ?? "");
  const own = page.relay.identity.value?.handle;
  const handles = page.relay.agents.value.map((agent) => agent.identity.handle).filter((handle) => handle !== own);
  const channels = rooms.filter((room) => room.kind === "channel" && !room.archived).map((room) => room.name);
  return html`<div class="messages">
    <${Head} title="New message" onBack=${leave} />
    <label class="note">To <${Choose} names=${[...handles, ...channels]} value=${to} onChoose=${setTo} /></label>
    <span class="grow"></span>
    <${Write} to=${to} onSent=${showRoom} />
  </div>`;
}

/**
 * Choose someone, or a room.
 * @param {{names: readonly string[], value?: string, label?: string, onChoose: (name: string) => void}} props
 */
function Choose({ names, value = "", label, onChoose }) {
  const changed = (/** @type {any} */ event) => event.target.value && onChoose(event.target.value);
  return html`<select aria-label=${label} value=${value} onChange=${changed}>
    <option value="">${label ?? "choose someone, or a room"}</option>
    ${names.map((name) => html`<option value=${name}>${name}</option>`)}
  </select>`;
}

/** @param {{room: Room}} props */
function RoomHead({ room }) {
  const { id, archived = false, members = [] } = room;
  const own = page.relay.identity.value?.handle ?? "";
  const asked = useAsked(() => page.relay.call("rooms.members", { room: id }), [members.length], ["room.*"]);
  const muted = /** @type {string[]} */ (asked.value?.muted ?? []);
  const isMuted = muted.includes(own);
  const isMember = members.includes(own);
  const isChannel = room.kind === "channel";
  const isOpen = isChannel && !archived;
  /** @param {string} method @param {object} [more] */
  const change = (method, more) => act(`rooms.${method}`, { room: id, ...more });
  const changeTopic = async () => {
    const topic = await askText(`Topic of ${room.name}`, "What it is about", room.topic ?? "");
    if (topic !== null) await change("update", { topic });
  };
  const archive = async () => {
    const text = "It can still be read; nothing can be added any more.";
    const isSure = await confirm(`Archive ${room.name}?`, text, { yes: "Archive", danger: true });
    if (isSure && (await change("archive"))) leave();
  };
  /** @type {[isOffered: boolean, label: string, run: () => unknown, danger?: boolean][]} */
  const offers = [
    [isMember, isMuted ? "Hear of all again" : "Mute: only mentions", () => change("mute", { muted: !isMuted })],
    [isOpen, "Topic…", changeTopic],
    [isOpen && !isMember, "Join", () => change("join")],
    [isChannel && isMember, "Leave", () => change("leave")],
    [isOpen, "Archive…", archive, true],
    [isChannel && archived, "Take out of the archive", () => change("archive", { archived: false })],
  ];
  const items = offers.filter(([isOffered]) => isOffered).map(([, label, run, danger]) => ({ label, run, danger }));
  const mayChange = !page.host.isReading.value && !archived;
  const handles = page.relay.agents.value.map(({ identity }) => identity.handle);
  const others = handles.filter((handle) => !members.includes(handle));
  const invite = (/** @type {string} */ agent) => void change("invite", { agent });
  return html`<${Head} title=${nameOf(room)} back="All rooms and conversations" onBack=${leave}>
      ${isMuted && html`<span class="kind">muted</span>`}
      ${!page.host.isReading.value && items.length > 0 && html`<${Menu} label="This room" items=${items} />`}
    <//>
    ${room.topic && html`<p class="small note">${room.topic}</p>`}
    ${isChannel &&
    html`<details class="members note">
      <summary class="small">${members.length === 1 ? "1 member" : `${members.length} members`}</summary>
      <ul>
        ${members.map(
          (agent) => html`<li key=${agent} class="row">
            <span class="grow cut">${agent}${muted.includes(agent) ? " (muted)" : ""}</span>
            ${mayChange &&
            html`<${IconButton}
              name="close" label=${`Take ${agent} out`} onClick=${() => change("leave", { agent })}
            />`}
          </li>`,
        )}
      </ul>
      ${mayChange && others.length > 0 && html`<${Choose} names=${others} label="Invite someone" onChoose=${invite} />`}
    </details>`}`;
}
