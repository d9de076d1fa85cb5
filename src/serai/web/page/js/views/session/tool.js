// A tool call as a line that opens, and several in a row as one line.
import { addressOf, page, showAside } from "../../page.js";
import { Code } from "../parts/code.js";
import { plain } from "../parts/format.js";
import { Icon } from "../parts/icon.js";
import { Inline } from "../parts/markdown.js";
import { html } from "../preact.js";
import { FileEditView } from "./file_edit.js";
import { Fold } from "./fold.js";
import { Output, TerminalOutput } from "./output.js";
import { Embedded, Resource } from "./resource.js";
import { hasFailed, isOpenCall } from "./rows.js";

/** @import {FileEdit, ToolCall, ToolContent} from "../../ahp/types.d.ts" */
/** @import {IconName} from "../parts/icon.js" */

/**
 * How a call stands: a sign, a word and a colour. @param {ToolCall} call
 * @returns {{icon: IconName, word: string, state: string}}
 */
function standing(call) {
  switch (call.status) {
    case "streaming":
      return { icon: "edit", word: "Being written", state: "running" };
    case "running":
      return { icon: "play", word: "Running", state: "running" };
    case "pending-confirmation":
      return { icon: "warning", word: "Asks for approval", state: "needs" };
    case "pending-result-confirmation":
      return { icon: "warning", word: "Asks whether its result may be used", state: "needs" };
    case "cancelled":
      return call.reason === "skipped"
        ? { icon: "pause", word: "Not finished", state: "waiting" }
        : { icon: "stop", word: call.reason === "result-denied" ? "Result denied" : "Denied", state: "failed" };
    default:
      return call.success
        ? { icon: "check", word: "Done", state: "done" }
        : { icon: "close", word: "Failed", state: "failed" };
  }
}

/** What a call is about, in one line. @param {ToolCall} call */
function titleOf(call) {
  const past = "pastTenseMessage" in call ? plain(call.pastTenseMessage) : "";
  return past || plain(call.invocationMessage) || call.displayName || call.toolName;
}

/** @param {ToolCall} call @returns {readonly ToolContent[]} */
function contentOf(call) {
  return ("content" in call && call.content) || [];
}

/** The lines that the call's edits add and take away. @param {ToolCall} call */
function linesOf(call) {
  /** @type {FileEdit[]} */
  const edits = contentOf(call).flatMap((one) => (one.type === "fileEdit" ? [one] : []));
  if ("edits" in call && call.edits) edits.push(...call.edits.items);
  const sum = (/** @type {"added" | "removed"} */ side) => edits.reduce((all, one) => all + (one.diff?.[side] ?? 0), 0);
  return { added: sum("added"), removed: sum("removed") };
}

/** @param {{calls: readonly ToolCall[], isOpen: boolean, onToggle: () => void}} props */
export function Group({ calls, isOpen, onToggle }) {
  const failed = calls.filter(hasFailed).length;
  const denied = calls.filter((call) => call.status === "cancelled" && call.reason !== "skipped").length;
  const open = calls.filter(isOpenCall).length;
  const title = html`<span class="cut">
    ${calls.length} tool
    calls${failed > 0 && html` · <b class="failed">${failed} failed</b>`}${
      denied > 0 && html` · <b class="failed">${denied} denied</b>`
    }${open > 0 && html` · <b class="running">${open} open</b>`}
  </span>`;
  return html`<${Fold} class="group" title=${title} isOpen=${isOpen} onToggle=${onToggle} />`;
}

/** @param {{call: ToolCall, isInGroup: boolean, isOpen: boolean, onToggle: () => void}} props */
export function Tool({ call, isInGroup, isOpen, onToggle }) {
  const { icon, word, state } = standing(call);
  const { added, removed } = linesOf(call);
  const title = html`<span class=${`sign ${state}`} title=${word}><${Icon} name=${icon} size=${12} /></span>
    <span class="hidden">${word}: </span>
    <span class="cut">${html`<${Inline} text=${titleOf(call)} />`}</span>
    ${added + removed > 0 &&
    html`<span class="lines"><span class="added">+${added}</span> <span class="removed">−${removed}</span></span>`}
    ${state !== "done" && html`<span class=${`word small ${state}`}>${word}</span>`}`;
  return html`<${Fold} class=${isInGroup ? "tool inner" : "tool"} title=${title} isOpen=${isOpen} onToggle=${onToggle}>
    ${isOpen && html`<${Opened} call=${call} />`}
  <//>`;
}

/** All of a call: what it was given, what came of it, and how it ended. @param {{call: ToolCall}} props */
function Opened({ call }) {
  const content = contentOf(call);
  const hasText = content.some((one) => one.type === "text" && one.text);
  const edits = "edits" in call && call.edits ? call.edits.items : [];
  return html`<p class="faint small">
      ${call.displayName}${call.displayName !== call.toolName && html` · <code>${call.toolName}</code>`}
    </p>
    <${Input} call=${call} />
    ${edits.map((edit) => html`<${FileEditView} edit=${edit} />`)}
    ${content.map((one) => html`<${Content} content=${one} hasText=${hasText} isRunning=${isOpenCall(call)} />`)}
    ${call.status === "completed" && call.error && html`<p class="problem">${call.error.message}</p>`}
    ${"structuredContent" in call &&
    call.structuredContent &&
    !hasText &&
    html`<${Code} text=${JSON.stringify(call.structuredContent, null, 2)} language="json" label="Result" />`}
    ${call.status === "cancelled" && html`<${Denied} call=${call} />`}`;
}

/** @param {{call: import("../../ahp/types.d.ts").CancelledCall}} props */
function Denied({ call }) {
  const why = plain(call.reasonMessage);
  return html`<p class="faint">
    ${call.reason === "skipped" ? "The turn ended before it did." : "It was denied."} ${why && html` Because: ${why}`}
    ${call.userSuggestion && html` Instead: ${call.userSuggestion.text}`}
  </p>`;
}

/** A command as such, JSON in order, anything else as it is. @param {{call: ToolCall}} props */
function Input({ call }) {
  const isWhole = call.status !== "streaming";
  const given = isWhole ? call.toolInput : call.partialInput;
  if (!given) return null;
  let parsed;
  try {
    parsed = JSON.parse(given);
  } catch {
    return html`<${Code} text=${given} label="Input" isSettled=${isWhole} />`;
  }
  if (typeof parsed === "string") return html`<${Code} text=${parsed} label="Input" />`;
  const { command, ...more } = parsed ?? {};
  if (typeof command !== "string") {
    return html`<${Code} text=${JSON.stringify(parsed, null, 2)} language="json" label="Input" />`;
  }
  return html`<${Code} text=${command} language="bash" label="Command" /> ${Object.keys(more).length > 0 &&
    html`<${Code} text=${JSON.stringify(more, null, 2)} language="json" label="With" />`
  }`;
}

/** @param {{content: ToolContent, hasText: boolean, isRunning: boolean}} props */
function Content({ content, hasText, isRunning }) {
  switch (content.type) {
  case "text":
    return html`<${Output} text=${content.text} />`;
  case "embeddedResource":
    return html`<${Embedded} data=${content.data} contentType=${content.contentType} />`;
  case "resource":
    return html`<${Resource} content=${content} isShown />`;
  case "fileEdit":
    return html`<${FileEditView} edit=${content} />`;
  case "terminal":
    // A call that is over has said what the terminal had: there is no need to follow it any more.
    return html`${
        (isRunning || !hasText) && html`<${TerminalOutput} uri=${content.resource} title=${content.title} />`
      }
      <button class="chip" onClick=${() => showAside("terminals", content.resource)}>
        <${Icon} name="terminal" size=${12} /> <span class="cut">${content.title || "Terminal"}</span>
      </button>`;
  case "subagent":
    return html`<p class="subagent">
      <${Icon} name="fork" size=${12} />
      <a href=${addressOf(content.resource)}>${content.title || "Session of another agent"}</a>
      ${content.agentName && html`<span class="faint"> · ${content.agentName}</span>`}
      <${Doing} uri=${content.resource} />
    </p>`;
  default:
    return html`<p class="faint">
      Content that this page does not know: ${String(/** @type {any} */ (content).type)}
    </p>`;}
}

/** What the session of another agent does right now. @param {{uri: string}} props */
function Doing({ uri }) {
  const activity = page.host.summaries.value.get(uri)?.activity;
  return activity ? html`<span class="faint"> · ${activity}</span>` : null;
}
