// The left column: all sessions of the host, live, grouped by what they need.
import { halfMinutes } from "../../host/clock.js";
import { pinned, preference, togglePinned } from "../../host/preferences.js";
import { groupOf, grouped, isArchived, isFailed, isUnread, lines } from "../../host/sessions.js";
import { addressOf, goTo, isPaletteOpen, openSession, page, showCentre } from "../../page.js";
import { money, nameOf, pathOf, since } from "../parts/format.js";
import { typing } from "../parts/field.js";
import { Icon, IconButton, Lines } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { html, memo, useComputed, useEffect, useSignal } from "../preact.js";
import { costOf } from "./costs.js";
import { Found } from "./search.js";

/** @typedef {import("../../ahp/types.d.ts").SessionSummary} SessionSummary */
/** @typedef {ReturnType<typeof grouped>[number]} Group */

const showsArchived = preference("archived", false);
const closedGroups = preference("closedGroups", /** @type {string[]} */ ([]));

const WORDS = { needsYou: "Waits for you", running: "Running", waiting: "Messages wait", done: "Done" };

/** All sessions, a filter, and a search over all that was said. */
export function Sessions() {
  const filter = useSignal("");
  const groups = useComputed(() =>
    grouped(page.host.summaries.value.values(), page.relay.openDeliveries.value, {
      filter: filter.value,
      pinned: pinned.value,
      archived: showsArchived.value,
    }),
  );
  return html`<div class="sessions">
    <div class="row tools">
      <input class="grow" type="search" aria-label="Filter and search sessions"
        placeholder="Filter, or search all" value=${filter.value}
        onInput=${typing((text) => (filter.value = text))} />
      <${IconButton} name="search" label="Find anything (Ctrl K)" onClick=${() => (isPaletteOpen.value = true)} />
      ${!page.host.isReading.value &&
      html`<${IconButton} name="add" label="New session" onClick=${() => goTo(null)} />`}
    </div>
    <div class="list">
      ${groups.value.length > 0 && html`<ul class="bare">${groups.value.flatMap(itemsOf)}</ul>`}
      ${groups.value.length === 0 &&
      html`<p class="empty">${filter.value ? "No session fits." : "No session yet."}</p>`}
      ${filter.value.trim().length > 2 && html`<${Found} words=${filter.value.trim()} />`}
    </div>
    <label class="row small faint archived">
      <input type="checkbox" checked=${showsArchived.value}
        onChange=${() => (showsArchived.value = !showsArchived.value)} />
      The archive
    </label>
  </div>`;
}

/**
 * The head of a group and its sessions. All groups are one list: a session that goes from one to another keeps its
 * row, for when many begin or end at once, to make as many rows anew takes most of a frame.
 * @param {Group} group
 */
function itemsOf(group) {
  const isClosed = closedGroups.value.includes(group.group);
  const rows = isClosed ? [] : group.sessions;
  return [
    html`<${Head} key=${group.group} group=${group} isClosed=${isClosed} />`,
    ...rows.map((summary) => html`<${Row} key=${summary.resource} summary=${summary}
      isOpen=${openSession.value === summary.resource} isPinned=${pinned.value.includes(summary.resource)} />`),
  ];
}

/** @param {{group: Group, isClosed: boolean}} props */
function Head({ group, isClosed }) {
  const toggle = () => {
    const others = closedGroups.value.filter((name) => name !== group.group);
    closedGroups.value = isClosed ? others : [...others, group.group];
  };
  return html`<li class=${group.group === "needsYou" ? "group needs" : "group"}>
    <h2>
      <button class="quiet" aria-expanded=${!isClosed} onClick=${toggle}>
        <${Icon} name=${isClosed ? "right" : "down"} size=${12} /> ${group.label}
        <span class="count">${group.sessions.length}</span>
      </button>
    </h2>
  </li>`;
}

/** One session. @param {{summary: SessionSummary, isOpen: boolean, isPinned: boolean}} props */
const Row = memo(function Row({ summary, isOpen, isPinned }) {
  const uri = summary.resource;
  const state = groupOf(summary, page.relay.openDeliveries.value.get(uri)?.length);
  const word = isFailed(summary) ? "Failed" : WORDS[state];
  const isNew = isUnread(summary);
  const { added, removed } = lines(summary);
  const cost = costOf(summary);
  useEffect(() => {
    // Whoever looks at a session has read it; what comes after that was said is read anew.
    if (!isOpen || !isNew) return undefined;
    const read = () => {
      if (document.hasFocus()) page.host.dispatch(uri, { type: "session/isReadChanged", isRead: true });
    };
    read();
    addEventListener("focus", read);
    return () => removeEventListener("focus", read);
  }, [isOpen, isNew, summary.modifiedAt]);
  return html`<li class="session-row" data-state=${isFailed(summary) ? "failed" : state}>
    <a class="stack" href=${addressOf(uri)} aria-current=${isOpen ? "page" : undefined} onClick=${showCentre}>
      <span class="sign" aria-hidden="true"></span>
      <span class="row first">
        <span class=${isNew ? "grow cut title unread" : "grow cut title"}>${summary.title || "New session"}</span>
        ${isPinned && html`<span class="faint" role="img" aria-label="Pinned"><${Icon} name="pin" size=${12} /></span>`}
        ${isNew && html`<span class="dot"><span class="hidden">Unread</span></span>`}
      </span>
      <span class="row small faint">
        <span class="cut">${summary.provider}</span>
        <span class="grow cut" title=${pathOf(summary.workingDirectory)}>${nameOf(summary.workingDirectory)}</span>
        <${Lines} added=${added} removed=${removed} />
        ${cost !== null && html`<span>${money(cost)}</span>`}
      </span>
      <span class="row small doing">
        <span class="grow cut">${summary.activity || word}</span>
        <time>${since(summary.modifiedAt, halfMinutes.value)}</time>
      </span>
    </a>
    ${!page.host.isReading.value && html`<${RowMenu} summary=${summary} isPinned=${isPinned} />`}
  </li>`;
});

/** @param {{summary: SessionSummary, isPinned: boolean}} props */
function RowMenu({ summary, isPinned }) {
  const uri = summary.resource;
  const isNew = isUnread(summary);
  const isAway = isArchived(summary);
  /** @type {import("../parts/menu.js").MenuItem[]} */
  const items = [
    { label: isPinned ? "Unpin" : "Pin", icon: "pin", run: () => togglePinned(uri) },
    {
      label: isNew ? "Mark as read" : "Mark as unread",
      icon: "bell",
      run: () => page.host.dispatch(uri, { type: "session/isReadChanged", isRead: isNew }),
    },
    {
      label: isAway ? "Take out of the archive" : "Archive",
      icon: "archive",
      run: () => page.host.dispatch(uri, { type: "session/isArchivedChanged", isArchived: !isAway }),
    },
  ];
  return html`<${Menu} label=${`What to do with ${summary.title || "this session"}`} items=${items} />`;
}
