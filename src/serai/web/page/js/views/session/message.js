// What a person, or another agent through the relay, said to the agent.
import { Icon } from "../parts/icon.js";
import { moment, nameOf } from "../parts/format.js";
import { html, useState } from "../preact.js";
import { Embedded, Resource } from "./resource.js";

/** @import {MessageAttachment, UserMessage} from "../../ahp/types.d.ts" */

const MOST = 4000;
/** The line that the relay puts before each message (`serai.relay.messages.header`). */
const HEADER = /^\[relay\] from (\S+) \(([^)]*)\)(?: in (\S+))?(.*)$/;

/**
 * The messages of a text: one of a person, or several of the relay. @param {UserMessage} message
 * @returns {{from: string, detail: string, text: string}[]}
 */
export function saidBy(message) {
  if (!message.text.startsWith("[relay] ")) {
    return [{ from: String(message._meta?.sender ?? "You"), detail: "", text: message.text }];
  }
  /** @type {{from: string, detail: string, text: string}[]} */
  const said = [];
  for (const line of message.text.split("\n")) {
    const found = HEADER.exec(line);
    const last = said.at(-1);
    if (found) {
      const [, from = "", kind = "", room, rest = ""] = found;
      said.push({ from, detail: [kind, room, timeOf(rest.split(" · ")[1])].filter(Boolean).join(" · "), text: "" });
    } else if (last) last.text += last.text ? `\n${line}` : line;
    else said.push({ from: "Relay", detail: "", text: line });
  }
  return said.map((one) => ({ ...one, text: one.text.trimEnd() }));
}

/** The relay's time, as people here write it. @param {string | undefined} at */
function timeOf(at) {
  const date = new Date((at ?? "").replace(" ", "T"));
  return Number.isNaN(date.getTime()) ? at : moment(date);
}

/** @param {{message: UserMessage}} props */
export function Message({ message }) {
  return html`<div class="message">
    ${saidBy(message).map(({ from, detail, text }) => html`<div class="bubble card">
      <h2 class="small">${from}${detail && html` <span class="faint">${detail}</span>`}</h2>
      <${Words} text=${text} />
    </div>`)}
    ${message.attachments?.length && html`<ul class="attachments row wrap bare">
      ${message.attachments.map((one) => html`<li><${Attached} attachment=${one} /></li>`)}
    </ul>`}
  </div>`;
}

/** @param {{text: string}} props */
function Words({ text }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > MOST;
  return html`<div class="words">${isCut ? `${text.slice(0, MOST)}…` : text}</div>
    ${isCut && html`<button class="quiet more" onClick=${() => setWhole(true)}>Show all</button>`}`;
}

/** @param {{attachment: MessageAttachment}} props */
function Attached({ attachment }) {
  const label = attachment.label || ("uri" in attachment ? nameOf(attachment.uri) : "attachment");
  if (attachment.type === "embeddedResource") return html`<${Embedded} ...${attachment} label=${label} />`;
  if (attachment.type === "resource") return html`<${Resource} content=${attachment} label=${label} />`;
  return html`<span class="chip card"><${Icon} name="file" size=${12} /> ${label}</span>`;
}
