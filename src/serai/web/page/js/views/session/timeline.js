// What was said and done in a session, as one long list.
import { groupOf } from "../../host/sessions.js";
import { page } from "../../page.js";
import { Markdown, Said } from "../parts/markdown.js";
import { VirtualList } from "../parts/virtual_list.js";
import { html, memo, useEffect, useMemo, useRef, useState } from "../preact.js";
import { Message } from "./message.js";
import { Resource, isPicture } from "./resource.js";
import { Rows, heightOf } from "./rows.js";
import { Fold, Group, Tool } from "./tool.js";
import { TurnEnd, TurnError } from "./turn_end.js";

/** @import {SessionState} from "../../ahp/types.d.ts" */
/** @import {Channel} from "../../host/channel.js" */
/** @import {Row, TextRow} from "./rows.js" */

const keyOf = (/** @type {Row} */ row) => row.key;

/** @param {{channel: Channel<SessionState>}} props */
export function Timeline({ channel }) {
  const rows = useMemo(() => new Rows(), [channel]);
  const [, setToggled] = useState(0);
  const state = channel.state.value;
  const jump = useJump(state);
  const toggle = useMemo(() => {
    return (/** @type {Row} */ row) => {
      rows.toggle(row);
      setToggled((count) => count + 1);
    };
  }, [rows]);
  if (!state) return null;
  const items = rows.of(state);
  const draw = (/** @type {Row} */ row) =>
    html`<${Shown} row=${row} isOpen=${rows.isOpen(row.key)} channel=${channel} onToggle=${toggle} />`;
  return html`<div class="timeline">
    ${items.length === 0 && html`<p class="empty">Nothing was said yet.</p>`}
    <${VirtualList} items=${items} keyOf=${keyOf} draw=${draw} estimate=${heightOf}
      label="Conversation" jump=${jump} />
    <${Announced} state=${state} />
  </div>`;
}

/**
 * Another value when a turn begins that was most likely sent from here: whoever sends wants to see the answer.
 * @param {SessionState | null} state
 */
function useJump(state) {
  const last = useRef(/** @type {string | undefined} */ (undefined));
  const jump = useRef(0);
  const id = state?.activeTurn?.id;
  if (id !== undefined && id !== last.current && document.activeElement?.closest(".session > .foot")) jump.current += 1;
  last.current = id;
  return jump.current;
}

/** Says what has happened, for whoever does not see the list. @param {{state: SessionState}} props */
function Announced({ state }) {
  const count = useRef(state.turns.length);
  const [said, say] = useState("");
  const last = state.turns.at(-1);
  useEffect(() => {
    if (state.turns.length > count.current && last) {
      const text = last.responseParts.findLast((part) => part.kind === "markdown");
      const how = { cancelled: "Stopped.", error: `Failed: ${last.error?.message ?? ""}` }[last.state];
      say(how ?? `Answered: ${text?.kind === "markdown" ? text.content.slice(0, 300) : "done"}`);
    }
    count.current = state.turns.length;
  }, [last]);
  return html`<div class="hidden" role="status" aria-live="polite">${said}</div>`;
}

/** One row. It is drawn again only when it is another one. */
const Shown = memo(
  /** @param {{row: Row, isOpen: boolean, channel: Channel<SessionState>, onToggle: (row: Row) => void}} props */
  ({ row, isOpen, channel, onToggle }) => {
    const toggle = () => onToggle(row);
    switch (row.kind) {
      case "user":
        return html`<${Message} message=${row.message} />`;
      case "markdown":
        return html`<div class="said"><${Markdown} text=${row.text} isSettled=${!row.isLive} /></div>`;
      case "reasoning":
        return html`<${Reasoning} row=${row} isOpen=${isOpen} onToggle=${toggle} />`;
      case "group":
        return html`<${Group} calls=${row.calls} isOpen=${row.isOpen} onToggle=${toggle} />`;
      case "tool":
        return html`<${Tool} call=${row.call} isInGroup=${row.isInGroup} isOpen=${isOpen} onToggle=${toggle} />`;
      case "notice":
        return html`<div class="told"><${Said} text=${row.part.content} /></div>`;
      case "resource":
        return html`<div class="said"><${Resource} content=${row.part} isShown=${isPicture(row.part)} /></div>`;
      case "end":
        return html`<${TurnEnd} turn=${row.turn} channel=${channel} />`;
      case "working":
        return html`<${WorkingTurn} channel=${channel} />`;
      case "starting":
        return html`<${Working} what="Starting the agent…" />`;
      case "failed":
        return html`<${TurnError} error=${row.error} title="The agent did not start" />`;
      default:
        return html`<p class="told faint">A part that this page does not know: ${row.name}</p>`;
    }
  },
);

/**
 * What the agent thought, as one line until someone opens it.
 * @param {{row: TextRow, isOpen: boolean, onToggle: () => void}} props
 */
function Reasoning({ row, isOpen, onToggle }) {
  const first = (/[^\n]+/.exec(row.text.trim())?.[0] ?? "").replace(/[*_#`]/g, "");
  const title = html`<span class="cut faint">${row.isLive ? "Thinking" : "Thought"}: ${first.slice(0, 200)}</span>`;
  return html`<${Fold} class="reasoning" title=${title} isOpen=${isOpen} onToggle=${onToggle}>
    ${isOpen && html`<${Markdown} text=${row.text} isSettled=${!row.isLive} />`}
  <//>`;
}

/** What happens now, at the end of a turn that runs. @param {{channel: Channel<SessionState>}} props */
function WorkingTurn({ channel }) {
  const summary = channel.state.value?.summary;
  if (summary && groupOf(summary) === "needsYou") return html`<${Working} what="Waits for you" colour="needs" />`;
  const isLost = page.host.connection.value !== "open";
  return html`<${Working} what=${isLost ? "The connection is lost" : (summary?.activity ?? "Working…")} />`;
}

/** @param {{what: string, colour?: string}} props */
function Working({ what, colour = "running" }) {
  return html`<p class="working row" data-colour=${colour}>
    <span class="pulse" aria-hidden="true" /> <span class="cut">${what}</span>
  </p>`;
}
