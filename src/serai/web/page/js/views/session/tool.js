// A tool call as a line that opens, and several in a row as one line.
import { addressOf, page, showAside } from "../../page.js";
import { readInput } from "../docks/input.js";
import { Code } from "../parts/code.js";
import { plain } from "../parts/format.js";
import { Icon, Lines } from "../parts/icon.js";
import { Inline } from "../parts/markdown.js";
import { html, useId } from "../preact.js";
import { FileEditView } from "./file_edit.js";
import { Output, TerminalOutput } from "./output.js";
import { Embedded, Resource } from "./resource.js";
import { hasFailed, isOpenCall } from "./rows.js";

/** @import {FileEdit, ToolCall, ToolContent} from "../../ahp/types.d.ts" */
/** @import {IconName} from "../parts/icon.js" */

/** How a call may stand: a sign, a word and a colour. @type {Record<string, [IconName, string, string]>} */
const STANDINGS = {
  streaming: ["edit", "Being written", "running"],
  running: ["play", "Running", "running"],
  "pending-confirmation": ["warning", "Asks for approval", "needs"],
  "pending-result-confirmation": ["warning", "Asks whether its result may be used", "needs"],
  skipped: ["pause", "Not finished", "waiting"],
  "result-denied": ["stop", "Result denied", "failed"],
  cancelled: ["stop", "Denied", "failed"],
  failed: ["close", "Failed", "failed"],
};

/** @param {ToolCall} call @returns {[IconName, string, string]} */
function standing(call) {
  const how = call.status === "cancelled" ? call.reason : hasFailed(call) ? "failed" : call.status;
  return STANDINGS[how] ?? STANDINGS[call.status] ?? ["check", "Done", "done"];
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
  const isDenied = (/** @type {ToolCall} */ call) => call.status === "cancelled" && call.reason !== "skipped";
  /** @param {(call: ToolCall) => boolean} is @param {string} word @param {string} colour */
  const count = (is, word, colour) => {
    const found = calls.filter(is).length;
    return found > 0 && html` · <b data-colour=${colour}>${found} ${word}</b>`;
  };
  const counts = [
    count(hasFailed, "failed", "failed"),
    count(isDenied, "denied", "failed"),
    count(isOpenCall, "open", "running"),
  ];
  const title = html`<span class="cut">${calls.length} tool calls${counts}</span>`;
  return html`<${Fold} class="group" title=${title} isOpen=${isOpen} onToggle=${onToggle} />`;
}

/** @param {{call: ToolCall, isInGroup: boolean, isOpen: boolean, onToggle: () => void}} props */
export function Tool({ call, isInGroup, isOpen, onToggle }) {
  const [icon, word, state] = standing(call);
  const title = html`<span class="sign" data-colour=${state} title=${word}><${Icon} name=${icon} size=${12} /></span>
    <span class="hidden">${word}: </span>
    <span class="cut"><${Inline} text=${titleOf(call)} /></span>
    <${Lines} ...${linesOf(call)} />
    ${state !== "done" && html`<span class="word small" data-colour=${state}>${word}</span>`}`;
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
    ${"structuredContent" in call && call.structuredContent && !hasText && html`<${Code}
      text=${JSON.stringify(call.structuredContent, null, 2)} language="json" label="Result" />`}
    ${call.status === "cancelled" && html`<${Denied} call=${call} />`}`;
}

/** @param {{call: import("../../ahp/types.d.ts").CancelledCall}} props */
function Denied({ call }) {
  const why = plain(call.reasonMessage);
  return html`<p class="faint">
    ${call.reason === "skipped" ? "The turn ended before it did." : "It was denied."}${why && ` Because: ${why}`}
    ${call.userSuggestion && ` Instead: ${call.userSuggestion.text}`}
  </p>`;
}

/** A command as such, JSON in order, anything else as it is. @param {{call: ToolCall}} props */
function Input({ call }) {
  if (call.status === "streaming") {
    return call.partialInput && html`<${Code} text=${call.partialInput} label="Input" isSettled=${false} />`;
  }
  const { command, rest } = readInput(call.toolInput);
  const language = /^[[{]/.test(rest) ? "json" : undefined;
  return html`${command && html`<${Code} text=${command} language="bash" label="Command" />`}
    ${rest && html`<${Code} text=${rest} language=${language} label=${command ? "With" : "Input"} />`}`;
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
      return html`
        ${(isRunning || !hasText) && html`<${TerminalOutput} uri=${content.resource} title=${content.title} />`}
        <button class="chip card" onClick=${() => showAside("terminals", content.resource)}>
          <${Icon} name="terminal" size=${12} /> <span class="cut">${content.title || "Terminal"}</span>
        </button>
      `;
    case "subagent": {
      const { activity } = page.host.summaries.value.get(content.resource) ?? {};
      const more = [content.agentName, activity].filter(Boolean).map((word) => ` · ${word}`);
      return html`<p class="subagent">
        <${Icon} name="fork" size=${12} />
        <a href=${addressOf(content.resource)}>${content.title || "Session of another agent"}</a>
        <span class="faint">${more}</span>
      </p>`;
    }
    default:
      return html`<p class="faint">Content that this page does not know: ${/** @type {any} */ (content).type}</p>`;
  }
}

/**
 * A line with a sign before it. What is inside is in the document only while it is open.
 * @param {{class?: string, title: unknown, isOpen: boolean, onToggle: () => void, children?: unknown}} props
 */
export function Fold({ class: name = "", title, isOpen, onToggle, children }) {
  const id = useId();
  return html`<div class=${`fold ${name}`}>
    <button class="quiet head" aria-expanded=${isOpen} aria-controls=${isOpen && children ? id : undefined}
      onClick=${onToggle}>
      <${Icon} name=${isOpen ? "down" : "right"} size=${12} />${title}
    </button>
    ${isOpen && children && html`<div class="inside" id=${id}>${children}</div>`}
  </div>`;
}
