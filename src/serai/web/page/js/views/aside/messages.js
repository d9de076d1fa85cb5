// Messages between agents, people and programs: what is new for the person, rooms, and conversations.
import { aside, page } from "../../page.js";
import { Icon, IconButton } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { confirm } from "../parts/dialog.js";
import { html, signal, useEffect, useState } from "../preact.js";
import { act, agentOf, useAsked } from "./asked.js";
import { MessageView, RoomMessages, ThreadMessages, askText } from "./thread.js";
import { Write, knownRooms } from "./write.js";

/**
 * @typedef {{id: string, kind: "channel" | "dm" | "group_dm", name: string, topic?: string, archived?: boolean,
 *   members?: string[], createdAt: string}} Room
 * @typedef {{id: string, kind: string, text: string, from: {id: string, name: string}, conversationId?: string,
 *   channel?: {id: string, name: string}, threadId?: string, mentions?: string[], attachments?: any[],
 *   reactions?: {emoji: string, count: number, agents: string[]}[], createdAt: string, updatedAt?: string,
 *   replyCount?: number, readByCount?: number}} Message
 */

/** What was fetched from the inbox since the page was opened: fetching it is what delivers it. */
const received = signal(/** @type {readonly Message[]} */ ([]));
const MOST_RECEIVED = 50;

/** Where someone is in here; it outlives a look at another tab. */
const place = signal(/** @type {{room?: string, thread?: string, isNew?: boolean}} */ ({}));

/** @param {{uri: string | null}} props */
export function Messages({ uri }) {
  const asked = useAsked(() => page.relay.call("rooms.list", { archived: true }), [], {
    types: ["room.*", "message.created"],
  });
  const rooms = /** @type {Room[]} */ (asked.value?.rooms ?? []);
  knownRooms.value = rooms;
  const at = aside.value.at;
  useEffect(() => {
    // Something else in the page points at a room, or at a thread.
    if (at?.room || at?.thread) place.value = { room: at.room, thread: at.thread };
  }, [at]);
  const { room: roomId, thread, isNew } = place.value;
  const room = rooms.find((one) => one.id === roomId || one.name === roomId);
  if (asked.problem && !asked.value) return html`<p class="problem" role="alert">${asked.problem.message}</p>`;
  if (!asked.value) return html`<p class="empty" role="status">Loading…</p>`;
  if (isNew) return html`<${NewMessage} uri=${uri} rooms=${rooms} />`;
  if (thread) {
    return html`<div class="messages">
      <header class="row">
        <${IconButton} name="back" label="Back" onClick=${() => (place.value = { room: roomId })} />
        <h2 class="grow cut">Thread${room ? ` in ${nameOf(room)}` : ""}</h2>
      </header>
      <${ThreadMessages} messageId=${thread} />
    </div>`;
  }
  if (room) {
    return html`<div class="messages">
      <${RoomHead} room=${room} />
      <${RoomMessages}
        key=${room.id}
        room=${room}
        onThread=${showThread}
        onSent=${(/** @type {Message} */ message) => (place.value = { room: message.conversationId })}
      />
    </div>`;
  }
  return html`<${Overview} uri=${uri} rooms=${rooms} />`;
}

/** @param {Message} message */
function showThread(message) {
  place.value = { room: message.conversationId, thread: message.threadId ?? message.id };
}

/**
 * How a room is called: a conversation by those who are in it, but for the person.
 * @param {Room} room
 */
function nameOf(room) {
  if (room.kind === "channel") return room.name;
  const own = page.relay.identity.value?.handle;
  const others = (room.members ?? []).filter((handle) => handle !== own);
  return others.join(", ") || room.name;
}

// -- all rooms ---------------------------------------------------------------------------------------------------

/** @param {{uri: string | null, rooms: readonly Room[]}} props */
function Overview({ uri, rooms }) {
  const [isArchive, setArchive] = useState(false);
  const handle = agentOf(uri)?.identity.handle;
  const unread = unreadCounts();
  const shown = rooms
    .filter((room) => Boolean(room.archived) === isArchive)
    .toSorted((one, other) => (unread.get(other.id) ?? 0) - (unread.get(one.id) ?? 0));
  const own = shown.filter((room) => handle && room.members?.includes(handle));
  const others = shown.filter((room) => !own.includes(room));
  const channels = others.filter((room) => room.kind === "channel");
  const direct = others.filter((room) => room.kind !== "channel");
  return html`<div class="messages overview">
    ${
      !page.host.isReading.value &&
      html`<div class="row bar">
        <button onClick=${() => (place.value = { isNew: true })}><${Icon} name="edit" /> New message</button>
        <button onClick=${createRoom}><${Icon} name="add" /> New room</button>
      </div>`
    }
    <${Inbox} />
    <${RoomList} title="With this session" rooms=${own} unread=${unread} />
    <${RoomList} title="Rooms" rooms=${channels} unread=${unread} />
    <${RoomList} title="Conversations" rooms=${direct} unread=${unread} />
    ${
      shown.length === 0 &&
      html`<p class="empty">
        ${isArchive ? "No room is archived." : "Nobody has written to anyone yet. Agents, people and programs can."}
      </p>`
    }
    ${
      rooms.some((room) => room.archived) &&
      html`<button class="quiet small" onClick=${() => setArchive(!isArchive)}>
        ${isArchive ? "Back to what is in use" : "Archived rooms"}
      </button>`
    }
  </div>`;
}

/** How many messages are not read, by room. @returns {Map<string, number>} */
function unreadCounts() {
  const { rooms = [], conversations = [] } = page.relay.inbox.value ?? {};
  return new Map([...rooms, ...conversations].map(({ room, unread }) => [room.id, unread]));
}

/** @param {{title: string, rooms: readonly Room[], unread: Map<string, number>}} props */
function RoomList({ title, rooms, unread }) {
  if (rooms.length === 0) return null;
  return html`<section>
    <h2>${title}</h2>
    <ul class="rooms">
      ${rooms.map((room) => {
        const count = unread.get(room.id) ?? 0;
        return html`<li key=${room.id}>
          <button class="quiet" onClick=${() => (place.value = { room: room.id })}>
            <span class="cut ${count > 0 ? "unread" : ""}">${nameOf(room)}</span>
            <span class="grow cut faint small">${room.topic ?? ""}</span>
            ${count > 0 && html`<span class="badge">${count}<span class="hidden"> unread</span></span>`}
            ${room.kind === "channel" && html`<span class="faint small">${room.members?.length ?? 0} in it</span>`}
          </button>
        </li>`;
      })}
    </ul>
  </section>`;
}

async function createRoom() {
  const name = await askText("New room", "Its name: letters, digits, - and _", "#");
  if (!name || name === "#") return;
  const room = await act("rooms.create", { name });
  if (room) place.value = { room: room.id };
}

/** What was sent to the person. Looking is receiving: only then its senders see it as delivered. */
function Inbox() {
  const waiting = /** @type {Message[]} */ (page.relay.inbox.value?.messages ?? []).length;
  useEffect(() => {
    const fetchAll = async () => {
      if (waiting === 0 || document.hidden || page.host.isReading.peek()) return;
      const inbox = await page.relay.call("inbox.get").catch(() => null);
      const known = new Set(received.peek().map((message) => message.id));
      const fresh = (inbox?.messages ?? []).filter((/** @type {Message} */ message) => !known.has(message.id));
      received.value = [...fresh.toReversed(), ...received.peek()].slice(0, MOST_RECEIVED);
    };
    void fetchAll();
    document.addEventListener("visibilitychange", fetchAll);
    return () => document.removeEventListener("visibilitychange", fetchAll);
  }, [waiting]);
  const mentions = /** @type {Message[]} */ (page.relay.inbox.value?.mentions ?? []);
  const shown = new Map([...received.value, ...mentions].map((message) => [message.id, message]));
  if (shown.size === 0) return null;
  return html`<section class="inbox" aria-live="polite">
    <div class="row">
      <h2 class="grow">For you</h2>
      ${received.value.length > 0 &&
      html`<button class="quiet small" onClick=${() => (received.value = [])}>Clear</button>`}
    </div>
    ${[...shown.values()].map(
      (message) =>
        html`<${MessageView}
          key=${message.id}
          message=${message}
          deliveries=${[]}
          onThread=${showThread}
        />`,
    )}
  </section>`;
}

// -- a new message -----------------------------------------------------------------------------------------------

/** @param {{uri: string | null, rooms: readonly Room[]}} props */
function NewMessage({ uri, rooms }) {
  const [to, setTo] = useState(/** @type {string[]} */ ([agentOf(uri)?.identity.handle ?? ""].filter(Boolean)));
  const own = page.relay.identity.value?.handle;
  const handles = page.relay.agents.value.map((agent) => agent.identity.handle).filter((handle) => handle !== own);
  const channels = rooms.filter((room) => room.kind === "channel" && !room.archived).map((room) => room.name);
  const [first] = to;
  const left =
    to.length === 0
      ? [...handles, ...channels]
      : first?.startsWith("#")
        ? []
        : handles.filter((one) => !to.includes(one));
  return html`<div class="messages">
    <header class="row">
      <${IconButton} name="back" label="Back" onClick=${() => (place.value = {})} />
      <h2 class="grow">New message</h2>
    </header>
    <div class="to">
      <span>To</span>
      ${to.map(
        (one) =>
          html`<span class="chip" key=${one}
            >${one}<${IconButton}
              name="close"
              label=${`Not to ${one}`}
              onClick=${() => setTo(to.filter((other) => other !== one))}
            />
          </span>`,
      )}
      ${
        left.length > 0 &&
        html`<select
          aria-label="Add a recipient"
          value=""
          onChange=${(/** @type {any} */ event) => {
            setTo([...to, event.target.value]);
            event.target.value = "";
          }}
        >
          <option value="">${to.length === 0 ? "choose someone, or a room" : "and…"}</option>
          ${left.map((one) => html`<option value=${one}>${one}</option>`)}
        </select>`
      }
    </div>
    <span class="grow"></span>
    <${Write}
      to=${to.length === 1 ? first : to}
      onSent=${(/** @type {Message} */ message) => (place.value = { room: message.conversationId })}
    />
  </div>`;
}

// -- one room ----------------------------------------------------------------------------------------------------

/** @param {{room: Room}} props */
function RoomHead({ room }) {
  const own = page.relay.identity.value?.handle ?? "";
  const asked = useAsked(() => page.relay.call("rooms.members", { room: room.id }), [room.id, room.members?.length], {
    types: ["room.*"],
  });
  const isMember = (room.members ?? []).includes(own);
  const isMuted = (asked.value?.muted ?? []).includes(own);
  const isChannel = room.kind === "channel";
  const about = { room: room.id };
  const items = [
    isMember && {
      label: isMuted ? "Hear of all again" : "Mute: only mentions",
      run: () => void act("rooms.mute", { ...about, muted: !isMuted }),
    },
    isChannel && !room.archived && { label: "Topic…", run: () => void changeTopic(room) },
    isChannel && !room.archived && !isMember && { label: "Join", run: () => void act("rooms.join", about) },
    isChannel && isMember && { label: "Leave", run: () => void act("rooms.leave", about) },
    isChannel && !room.archived && { label: "Archive…", danger: true, run: () => void archive(room) },
  ].filter((item) => item !== false);
  return html`<header class="row room-head">
      <${IconButton} name="back" label="All rooms and conversations" onClick=${() => (place.value = {})} />
      <div class="grow">
        <h2 class="cut">${nameOf(room)}</h2>
        ${room.topic && html`<p class="cut faint small">${room.topic}</p>`}
      </div>
      ${isMuted && html`<span class="kind">muted</span>`}
      ${!page.host.isReading.value && items.length > 0 && html`<${Menu} label="This room" items=${items} />`}
    </header>
    ${isChannel && html`<${Members} room=${room} muted=${asked.value?.muted ?? []} />`}`;
}

/** @param {{room: Room, muted: readonly string[]}} props */
function Members({ room, muted }) {
  const members = room.members ?? [];
  const others = page.relay.agents.value
    .map((agent) => agent.identity.handle)
    .filter((handle) => !members.includes(handle));
  const mayChange = !page.host.isReading.value && !room.archived;
  return html`<details class="members">
    <summary class="small">${members.length === 1 ? "1 member" : `${members.length} members`}</summary>
    <ul>
      ${members.map(
        (handle) =>
          html`<li key=${handle} class="row">
            <span class="grow cut">${handle}${muted.includes(handle) ? " (muted)" : ""}</span>
            ${
              mayChange &&
              html`<${IconButton}
                name="close"
                label=${`Take ${handle} out`}
                onClick=${() => act("rooms.leave", { room: room.id, agent: handle })}
              />`
            }
          </li>`,
      )}
    </ul>
    ${
      mayChange &&
      others.length > 0 &&
      html`<select
        aria-label="Invite someone"
        value=""
        onChange=${(/** @type {any} */ event) => void act("rooms.invite", { room: room.id, agent: event.target.value })}
      >
        <option value="">Invite…</option>
        ${others.map((handle) => html`<option value=${handle}>${handle}</option>`)}
      </select>`
    }
  </details>`;
}

/** @param {Room} room */
async function changeTopic(room) {
  const topic = await askText(`Topic of ${room.name}`, "What it is about", room.topic ?? "");
  if (topic !== null) await act("rooms.update", { room: room.id, topic });
}

/** @param {Room} room */
async function archive(room) {
  const text = "It can still be read; nothing can be added any more.";
  if (!(await confirm(`Archive ${room.name}?`, text, { yes: "Archive", danger: true }))) return;
  if (await act("rooms.archive", { room: room.id })) place.value = {};
}
