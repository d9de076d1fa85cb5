// Tool calls that wait for a yes or a no: the whole of what they want to do, and all that can be answered.
import { isWaiting } from "../../ahp/reducers/toolcalls.js";
import { page } from "../../page.js";
import { focused, isPhone, typing } from "../parts/field.js";
import { plain } from "../parts/format.js";
import { Icon } from "../parts/icon.js";
import { Said } from "../parts/markdown.js";
import { html, useId, useState } from "../preact.js";
import { FileEditView } from "../session/file_edit.js";
import { HoldButton } from "./hold.js";
import { editedInput, isDestructive, prettyInput, readInput } from "./input.js";
import { Pager } from "./pager.js";

/** @import {ConfirmationOption, FinishedCall, PendingCall, SessionState, Text} from "../../ahp/types.d.ts" */

/** @typedef {PendingCall | FinishedCall} WaitingCall */

/** The calls of the running turn that someone is asked about. @param {SessionState} state @returns {WaitingCall[]} */
export function waitingCalls(state) {
  const parts = state.activeTurn?.responseParts ?? [];
  const calls = parts.flatMap((part) => (part.kind === "toolCall" && isWaiting(part.toolCall) ? [part.toolCall] : []));
  return /** @type {WaitingCall[]} */ (calls);
}

/** @param {{uri: string, state: SessionState, calls: WaitingCall[]}} props */
export function Approvals({ uri, state, calls }) {
  const turnId = state.activeTurn?.id ?? "";
  return html`<${Pager} items=${calls} idOf=${keyOf} label="Approval" name="approvals">
    ${(/** @type {WaitingCall} */ call) => {
      const props = { key: keyOf(call), uri, turnId, call };
      return call.status === "pending-confirmation"
        ? html`<${Approval} ...${props} isDangerous=${isDestructive(call, state)} />`
        : html`<${ResultApproval} ...${props} />`;
    }}
  <//>`;
}

/** A call may ask about itself and then about its result. @param {WaitingCall} call */
const keyOf = (call) => `${call.toolCallId} ${call.status} ${plain(call.invocationMessage)}`;

/** @param {{uri: string, turnId: string, call: PendingCall, isDangerous: boolean}} props */
function Approval({ uri, turnId, call, isDangerous }) {
  const [written, setWritten] = useState(/** @type {string | null} */ (null));
  const [reason, setReason] = useState(/** @type {string | null} */ (null));
  const edited = editedInput(call.toolInput, written);
  const isHeld = isDangerous && isPhone();
  const canEdit = call.editable && call.toolInput !== undefined && !page.host.isReading.value;

  /** @param {ConfirmationOption | undefined} option @param {boolean} approved */
  const answer = (option, approved) =>
    page.host.dispatch(uri, {
      type: "session/toolCallConfirmed",
      turnId,
      toolCallId: call.toolCallId,
      approved,
      ...(option && { selectedOptionId: option.id }),
      ...(approved ? { confirmed: "user-action" } : { reason: "denied" }),
      ...(approved && edited.input !== undefined && { editedToolInput: edited.input }),
      ...(!approved && reason?.trim() && { userSuggestion: { text: reason.trim() } }),
    });
  const denials = ofKind(call, "deny");
  const deny = () => answer(denials[0], false);
  return html`<div class="approval stack" role="group" aria-label="Approval">
    <${Asking} call=${call} title=${call.confirmationTitle} isDangerous=${isDangerous} />
    ${call.edits?.items.length && html`<div class="edits stack">
      ${call.edits.items.map((edit, at) => html`<${FileEditView} key=${edit.after?.uri ?? at} edit=${edit} />`)}
    </div>`}
    <${Input} call=${call} written=${written} problem=${edited.problem} onWrite=${setWritten} />
    ${reason !== null && html`<${Because} reason=${reason} onWrite=${setReason} onSend=${deny} />`}
    <div class="row wrap answers">
      ${ofKind(call, "approve").map((option, at) => html`<${HoldButton} key=${option?.id} isFirst=${at === 0}
        label=${option?.label ?? "Allow"} kind=${at === 0 ? "main" : ""} isHeld=${isHeld}
        disabled=${edited.problem !== null} onDone=${() => answer(option, true)} />`)}
      ${denials.map((option) => html`<button class="danger" key=${option?.id} onClick=${() => answer(option, false)}>
        ${option?.label ?? "Deny"}
      </button>`)}
      <button class="quiet" aria-expanded=${reason !== null} onClick=${() => setReason(reason === null ? "" : null)}>
        Deny because…
      </button>
      ${canEdit && html`<button class="quiet" aria-expanded=${written !== null}
        onClick=${() => setWritten(written === null ? prettyInput(call.toolInput) : null)}>
        <${Icon} name=${written === null ? "edit" : "undo"} /> ${written === null ? "Edit" : "Leave it as it was"}
      </button>`}
    </div>
    ${isHeld && html`<p class="faint small" id="hold-hint">This may destroy something. Hold to allow it.</p>`}
  </div>`;
}

/** The options of a kind, group by group, or a nameless one. @param {PendingCall} call @param {string} kind */
function ofKind(call, kind) {
  const options = (call.options ?? []).filter((option) => option.kind === kind);
  return options.length ? options.sort((one, other) => (one.group ?? 0) - (other.group ?? 0)) : [undefined];
}

/** What is asked, by whom. @param {{call: WaitingCall, title?: Text, isDangerous?: boolean}} props */
function Asking({ call, title, isDangerous = false }) {
  const message = plain(call.invocationMessage);
  return html`<div class="row asking">
    <span data-colour="needs" aria-hidden="true"><${Icon} name=${isDangerous ? "warning" : "bell"} /></span>
    <div class="grow asked" role="status">
      <div class="title"><${Said} text=${title ?? call.displayName} /></div>
      ${message && message !== (plain(title) || call.displayName) && html`<${Said} text=${call.invocationMessage} />`}
    </div>
    <span class="faint small mono cut tool">${call.toolName}</span>
  </div>`;
}

/**
 * All of the input: never cut, it scrolls; or the field where it is edited.
 * @param {{call: PendingCall, written: string | null, problem: string | null, onWrite: (text: string) => void}} props
 */
function Input({ call, written, problem, onWrite }) {
  const id = useId();
  if (written !== null) {
    return html`<div class="input">
      <label class="small faint" for=${id}>Input, as you want it</label>
      <textarea id=${id} class="mono" spellcheck=${false} rows=${Math.min(12, written.split("\n").length + 1)}
        value=${written} aria-invalid=${problem !== null}
        aria-describedby=${problem ? `${id}-problem` : undefined} onInput=${typing(onWrite)}></textarea>
      ${problem && html`<p class="small" data-colour="failed" id=${`${id}-problem`} role="alert">${problem}</p>`}
    </div>`;
  }
  const { command, rest } = readInput(call.toolInput);
  const shown = html`
    ${command && html`<pre class="command" tabindex="0" aria-label="Command">${command}</pre>`}
    ${rest && html`<pre class="command rest" tabindex="0" aria-label="Input">${rest}</pre>`}
  `;
  if (!call.edits?.items.length || command) return html`<div class="input">${shown}</div>`;
  // The diff says it better than the input does.
  return rest && html`<details class="input">
    <summary class="small faint">Input</summary>
    ${shown}
  </details>`;
}

/** @param {{reason: string, onWrite: (text: string) => void, onSend: () => void}} props */
function Because({ reason, onWrite, onSend }) {
  const id = useId();
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || isPhone()) return;
    event.preventDefault();
    onSend();
  };
  return html`<div class="because">
    <label class="small faint" for=${id}>Why not, or what to do instead: the agent gets to read it</label>
    <div class="row">
      <textarea id=${id} class="grow" rows="2" ref=${focused} value=${reason} onInput=${typing(onWrite)}
        onKeyDown=${pressed}></textarea>
      <button class="danger" onClick=${onSend}>Deny</button>
    </div>
  </div>`;
}

/** @param {{uri: string, turnId: string, call: FinishedCall}} props */
function ResultApproval({ uri, turnId, call }) {
  const { toolCallId, content = [] } = call;
  /** @param {boolean} approved */
  const answer = (approved) =>
    page.host.dispatch(uri, { type: "session/toolCallResultConfirmed", turnId, toolCallId, approved });
  const texts = content.flatMap((item) => (item.type === "text" ? [item.text] : []));
  const others = content.length - texts.length;
  return html`<div class="approval stack" role="group" aria-label="Approval of a result">
    <${Asking} call=${{ ...call, invocationMessage: call.pastTenseMessage }} title="May the agent use the result?" />
    ${call.error && html`<p class="problem small">${call.error.message}</p>`}
    ${texts.length > 0 && html`<pre class="command" tabindex="0" aria-label="Result">${texts.join("\n")}</pre>`}
    ${others > 0 && html`<p class="faint small">And ${others} more, in the session above.</p>`}
    <div class="row wrap answers">
      <button class="main" data-first onClick=${() => answer(true)}>Use it</button>
      <button class="danger" onClick=${() => answer(false)}>Keep it back</button>
    </div>
  </div>`;
}
