// The field where a person writes: it grows with the text, completes `@` and `/`, and takes files.
import { isPhone } from "../parts/field.js";
import { html, useId, useLayoutEffect, useRef } from "../preact.js";
import { Chips, readFiles } from "./attachments.js";
import { Offers, useCompletion } from "./completion.js";
import { draftOf, setDraft } from "./drafts.js";

/** @import {CompletionItem} from "../../ahp/types.d.ts" */

/**
 * The field of a draft (`draftKey`), completed by a session (`uri`). `onSend`: Enter was pressed; `history`: what was
 * said before, newest first, for arrow up in an empty field.
 * @param {{draftKey: string, uri: string | null, label: string, placeholder: string, onSend: () => void,
 *   history?: readonly string[]}} props
 */
export function Writing({ draftKey, uri, label, placeholder, onSend, history = [] }) {
  const draft = draftOf(draftKey).value;
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const place = useRef(/** @type {number | null} */ (null));
  const recalled = useRef(-1);
  const completion = useCompletion(uri);
  const listId = useId();
  const isOffering = completion.items.length > 0;

  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    // While it is measured its place stays as high: else the list above would grow for a moment, and be scrolled by it.
    const around = /** @type {HTMLElement} */ (area.parentElement);
    around.style.minHeight = `${around.offsetHeight}px`;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
    around.style.minHeight = "";
    if (place.current !== null) area.setSelectionRange(place.current, place.current);
    place.current = null;
  }, [draft.text]);

  /** @param {string} text */
  const write = (text) => {
    const attached = draft.attached.filter(({ token }) => token === undefined || text.includes(token));
    setDraft(draftKey, { text, attached });
  };
  const written = () => {
    const area = /** @type {HTMLTextAreaElement} */ (field.current);
    recalled.current = -1;
    write(area.value);
    completion.look(area.value, area.selectionStart);
  };
  /** @param {CompletionItem} item */
  const choose = (item) => {
    const area = /** @type {HTMLTextAreaElement} */ (field.current);
    const start = item.rangeStart ?? area.selectionStart;
    const end = item.rangeEnd ?? area.selectionStart;
    const after = draft.text.slice(end);
    const isFolder = item.insertText.endsWith("/"); // one goes on into it
    const space = isFolder || /^\s/.test(after) ? "" : " ";
    const text = draft.text.slice(0, start) + item.insertText + space + after;
    const others = draft.attached.filter(({ token }) => token !== item.insertText);
    setDraft(draftKey, { text, attached: [...others, { attachment: item.attachment, token: item.insertText }] });
    place.current = start + item.insertText.length + space.length;
    completion.close();
    if (isFolder) completion.look(text, place.current);
  };
  /** @param {-1 | 1} step */
  const recall = (step) => {
    const next = recalled.current + step;
    if (next < -1 || next >= history.length) return;
    recalled.current = next;
    const text = history[next] ?? "";
    place.current = text.length;
    setDraft(draftKey, { text, attached: [] });
  };
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.isComposing) return;
    const isRecalling = recalled.current >= 0 || (!draft.text && !draft.attached.length);
    const chosen = completion.items[completion.at];
    if (isOffering && event.key === "ArrowDown") completion.move(1);
    else if (isOffering && event.key === "ArrowUp") completion.move(-1);
    else if (chosen && (event.key === "Tab" || event.key === "Enter") && !event.shiftKey) choose(chosen);
    else if (isOffering && event.key === "Escape") completion.close();
    else if (event.key === "ArrowUp" && isRecalling && history.length) recall(1);
    else if (event.key === "ArrowDown" && recalled.current >= 0) recall(-1);
    else if (event.key === "Enter" && !event.shiftKey && (!isPhone() || event.ctrlKey || event.metaKey)) onSend();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  /** @param {FileList} files */
  const attach = async (files) => {
    const read = await readFiles([...files], draft.attached);
    const now = draftOf(draftKey).peek(); // the person may have written on meanwhile
    setDraft(draftKey, { text: now.text, attached: [...now.attached, ...read] });
  };
  /** @param {Event} event @param {DataTransfer | null} data */
  const take = (event, data) => {
    if (!data?.files.length) return;
    event.preventDefault();
    void attach(data.files);
  };
  return html`<div class="writing"
    onDragOver=${(/** @type {DragEvent} */ event) =>
      event.dataTransfer?.types.includes("Files") && event.preventDefault()}
    onDrop=${(/** @type {DragEvent} */ event) => take(event, event.dataTransfer)}>
    ${isOffering && html`<${Offers} id=${listId} items=${completion.items} at=${completion.at} onChoose=${choose} />`}
    <${Chips} attached=${draft.attached} onRemove=${(/** @type {unknown} */ one) =>
      setDraft(draftKey, { ...draft, attached: draft.attached.filter((other) => other !== one) })} />
    <label class="hidden" for="composer">${label}</label>
    <textarea id="composer" ref=${field} rows="1" placeholder=${placeholder} value=${draft.text}
      enterkeyhint=${isPhone() ? "enter" : "send"} aria-autocomplete="list"
      aria-controls=${isOffering ? listId : undefined}
      aria-activedescendant=${isOffering ? `${listId}-${completion.at}` : undefined}
      onInput=${written} onClick=${() => isOffering && completion.close()} onBlur=${completion.close}
      onKeyDown=${pressed}
      onPaste=${(/** @type {ClipboardEvent} */ event) => take(event, event.clipboardData)}></textarea>
    <input type="file" class="hidden" id="composer-files" multiple tabindex="-1" aria-label="Files to attach"
      onChange=${(/** @type {Event} */ event) => {
        const chooser = /** @type {HTMLInputElement} */ (event.currentTarget);
        if (chooser.files) void attach(chooser.files).then(() => (chooser.value = ""));
      }} />
  </div>`;
}
