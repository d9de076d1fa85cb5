// Where a person writes to a session: send, queue, steer, stop; and what the session works with.
import { goTo, page } from "../../page.js";
import { Icon, IconButton } from "../parts/icon.js";
import { html, useEffect, useMemo, useRef, useState } from "../preact.js";
import { draftOf, messageOf, putInComposer, setDraft } from "./drafts.js";
import { Pickers } from "./pickers.js";
import { isPhone } from "./phone.js";
import { SignInLine } from "./sign_in.js";
import { Writing } from "./writing.js";

/** @import {SessionState} from "../../ahp/types.d.ts" */
/** @import {Channel} from "../../host/channel.js" */

/** @param {{channel: Channel<SessionState>}} props */
export function Composer({ channel }) {
  const state = channel.state.value;
  if (!state || page.host.isReading.value) return null;
  const { provider } = state.summary;
  const agent = page.host.root.value?.agents.find((one) => one.provider === provider);
  const wantsSignIn = state._meta?.["serai.login"] !== undefined;
  return html`<div class="composer">
    ${wantsSignIn && html`<${SignInLine} provider=${provider} name=${agent?.displayName ?? provider} />`}
    ${state.lifecycle === "creating" &&
    html`<p class="faint small" role="status">The agent is being started. What you send waits for it.</p>`}
    ${state.lifecycle === "creationFailed"
      ? html`<${Failed} state=${state} uri=${channel.uri} />`
      : html`<${Desk} uri=${channel.uri} state=${state} models=${agent?.models ?? []} />`}
  </div>`;
}

const SHORT = "Say what is to be done";

/**
 * The field, its buttons, and what can be chosen.
 * @param {{uri: string, state: SessionState, models: readonly import("../../ahp/types.d.ts").ModelInfo[]}} props
 */
function Desk({ uri, state, models }) {
  const draft = draftOf(uri).value;
  const running = state.activeTurn?.id;
  const isReady = state.lifecycle === "ready";
  const isEmpty = !draft.text.trim() && !draft.attached.length;
  const stop = () => running && void page.host.dispatch(uri, { type: "session/turnCancelled", turnId: running });
  const isAsked = useEscapeTwice(running ? stop : null);
  const history = useMemo(() => {
    const said = [...state.turns, ...(state.activeTurn ? [state.activeTurn] : [])].map((turn) => turn.userMessage.text);
    return [...new Set(said.reverse())].filter(Boolean).slice(0, 50);
  }, [state.turns, running]);

  /** @param {"now" | "queued" | "steering"} when */
  const send = async (when) => {
    if (isEmpty) return;
    const kept = draftOf(uri).peek();
    const userMessage = messageOf(kept);
    setDraft(uri, { text: "", attached: [] });
    const id = crypto.randomUUID();
    const isDone = await page.host.dispatch(
      uri,
      when === "now"
        ? { type: "session/turnStarted", turnId: id, userMessage }
        : { type: "session/pendingMessageSet", kind: when, id, userMessage },
    );
    // What was refused is not lost.
    if (!isDone && !draftOf(uri).peek().text) setDraft(uri, kept);
    if (!isPhone()) document.getElementById("composer")?.focus();
  };
  const usual = running || !isReady ? "queued" : "now";
  return html`<div class="desk">
    <${Writing} draftKey=${uri} uri=${uri} label="Message to the agent"
      placeholder=${running ? "Say what comes next" : isPhone() ? SHORT : `${SHORT}; @ for files, / for commands`}
      history=${history} onSend=${() => send(usual)} />
    <div class="row under">
      <${IconButton} name="add" label="Attach files"
        onClick=${() => document.getElementById("composer-files")?.click()} />
      <${Pickers}
        models=${models}
        model=${state.summary.model}
        onModel=${(/** @type {any} */ model) => page.host.dispatch(uri, { type: "session/modelChanged", model })}
        schema=${state.config?.schema}
        values=${state.config?.values ?? {}}
        onConfig=${(/** @type {any} */ config) => page.host.dispatch(uri, { type: "session/configChanged", config })}
        customizations=${state.customizations}
        agent=${state.summary.agent?.uri}
        onAgent=${(/** @type {any} */ agent) =>
          page.host.dispatch(uri, { type: "session/agentChanged", ...(agent && { agent }) })}
        isNew=${false}
        context=${{ provider: state.summary.provider, workingDirectory: state.summary.workingDirectory }}
      />
      <span class="grow"></span>
      ${isAsked && html`<span class="small needs" role="status">Esc again stops it</span>`}
      ${running && html`<button type="button" class="stop" title="Stop the turn (Esc Esc)" onClick=${stop}>
          <${Icon} name="stop" /> Stop
        </button>
        <button type="button" title="Say it in the turn that runs" disabled=${isEmpty}
          onClick=${() => send("steering")}>
          Steer
        </button>`}
      <button type="button" class="main" disabled=${isEmpty} onClick=${() => send(usual)}>
        <${Icon} name=${usual === "now" ? "send" : "clock"} /> ${usual === "now" ? "Send" : "Queue"}
      </button>
    </div>
  </div>`;
}

/** So soon after the first Escape the second one has to come, in ms. */
const SOON = 1500;

/**
 * Escape twice does something, wherever the focus is, unless something else takes the key. Returns whether it was
 * pressed once. @param {(() => void) | null} run
 */
function useEscapeTwice(run) {
  const [isAsked, setAsked] = useState(false);
  const latest = useRef(run);
  latest.current = run;
  const can = run !== null;
  useEffect(() => {
    if (!can) return undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    /** @param {KeyboardEvent} event */
    const pressed = (event) => {
      const isTaken = event.defaultPrevented || document.querySelector("dialog[open], [role=menu]");
      // A terminal has uses of its own for it.
      if (event.key !== "Escape" || isTaken || /** @type {Element} */ (event.target).closest?.(".xterm")) return;
      if (timer !== undefined) {
        latest.current?.();
        forget();
        return;
      }
      setAsked(true);
      timer = setTimeout(forget, SOON);
    };
    const forget = () => {
      clearTimeout(timer);
      timer = undefined;
      setAsked(false);
    };
    addEventListener("keydown", pressed);
    return () => {
      removeEventListener("keydown", pressed);
      forget();
    };
  }, [can]);
  return isAsked;
}

/** The agent did not start. The session says why. @param {{uri: string, state: SessionState}} props */
function Failed({ uri, state }) {
  const { provider, workingDirectory, model } = state.summary;
  const [isBusy, setBusy] = useState(false);
  const again = async () => {
    setBusy(true);
    const fresh = `ahp-session:/${crypto.randomUUID()}`;
    try {
      await page.host.request("createSession", {
        channel: fresh,
        provider,
        ...(workingDirectory && { workingDirectory }),
        ...(model && { model }),
      });
      // What was said to the one that failed is there to be said again.
      for (const { userMessage } of state.queuedMessages ?? []) {
        putInComposer(fresh, userMessage.text, userMessage.attachments);
      }
      goTo(fresh);
    } catch (error) {
      page.host.notify(/** @type {Error} */ (error), { uri });
      setBusy(false);
    }
  };
  return html`<div class="row failed">
    <button type="button" class="main" disabled=${isBusy} onClick=${again}>Try again in a new session</button>
    <button type="button" onClick=${() => goTo(null)}>Choose another agent</button>
  </div>`;
}
