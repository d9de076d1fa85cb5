// Where a person writes to a session: send, queue, steer, stop; and what the session works with.
import { goTo, newSession, page, told } from "../../page.js";
import { Busy, focusComposer, isPhone } from "../parts/field.js";
import { Icon } from "../parts/icon.js";
import { html, useEffect, useMemo, useRef, useState } from "../preact.js";
import { signIn } from "../start/agents.js";
import { draftOf, isBlank, messageOf, putInComposer, sent, setDraft, takeBackUnsent } from "./drafts.js";
import { Pickers } from "./pickers.js";
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
  return html`<div class="composer stack">
    ${wantsSignIn && html`<div class="row sign-in" role="status">
      <span data-colour="needs" aria-hidden="true"><${Icon} name="plug" /></span>
      <span class="grow">${agent?.displayName ?? provider} wants you to sign in.</span>
      <${Busy} class="main" run=${() => signIn(provider)}>Sign in<//>
    </div>`}
    ${state.lifecycle === "creating" &&
    html`<p class="faint small" role="status">The agent is being started. What you send waits for it.</p>`}
    ${state.lifecycle === "creationFailed"
      ? html`<${Failed} state=${state} />`
      : html`<${Desk} uri=${channel.uri} state=${state} models=${agent?.models ?? []} />`}
  </div>`;
}

const SHORT = "Say what is to be done";

/**
 * The field, its buttons, and what can be chosen.
 * @param {{uri: string, state: SessionState, models: readonly import("../../ahp/types.d.ts").ModelInfo[]}} props
 */
function Desk({ uri, state, models }) {
  const { model, agent, provider, workingDirectory } = state.summary;
  /** @param {import("../../ahp/types.d.ts").Action} action */
  const change = (action) => page.host.dispatch(uri, action);
  const draft = draftOf(uri).value;
  const running = state.activeTurn?.id;
  const isReady = state.lifecycle === "ready";
  const isEmpty = isBlank(draft);
  const stop = () => running && void change({ type: "session/turnCancelled", turnId: running });
  const isAsked = useEscapeTwice(running ? stop : null);
  useEffect(() => {
    const known = [...state.turns, state.activeTurn, ...(state.queuedMessages ?? []), state.steeringMessage];
    takeBackUnsent(uri, (id) => known.some((one) => one?.id === id));
    // Whoever came by a field that is gone now goes on writing here.
    if (document.activeElement === document.body) focusComposer();
  }, []);
  const history = useMemo(() => {
    const said = [...state.turns, state.activeTurn].map((turn) => turn?.userMessage.text ?? "");
    return [...new Set(said.reverse())].filter(Boolean).slice(0, 50);
  }, [state.turns, running]);

  /** @param {"now" | "queued" | "steering"} when */
  const send = async (when) => {
    if (isEmpty) return;
    const kept = draftOf(uri).peek();
    const userMessage = messageOf(kept);
    setDraft(uri, { text: "", attached: [] });
    const id = crypto.randomUUID();
    const asked =
      when === "now"
        ? change({ type: "session/turnStarted", turnId: id, userMessage })
        : change({ type: "session/pendingMessageSet", kind: when, id, userMessage });
    const isDone = await sent(uri, id, kept, asked);
    // What was refused is not lost.
    if (!isDone && !draftOf(uri).peek().text) setDraft(uri, kept);
    focusComposer();
  };
  const steer = () => send("steering");
  const usual = running || !isReady ? "queued" : "now";
  return html`<div class="desk">
    <${Writing} draftKey=${uri} uri=${uri} label="Message to the agent"
      placeholder=${running ? "Say what comes next" : isPhone() ? SHORT : `${SHORT}; @ for files, / for commands`}
      history=${history} onSend=${() => send(usual)} />
    <div class="row wrap under">
      <${Pickers} models=${models} model=${model} schema=${state.config?.schema} values=${state.config?.values ?? {}}
        customizations=${state.customizations} agent=${agent?.uri} context=${{ provider, workingDirectory }}
        onModel=${(/** @type {any} */ next) => change({ type: "session/modelChanged", model: next })}
        onConfig=${(/** @type {any} */ config) => change({ type: "session/configChanged", config })}
        onAgent=${(/** @type {any} */ next) => change({ type: "session/agentChanged", agent: next })} />
      <span class="grow"></span>
      ${isAsked && html`<span class="small" data-colour="needs" role="status">Esc again stops it</span>`}
      ${running && html`
        <button class="danger" title="Stop the turn (Esc Esc)" onClick=${stop}><${Icon} name="stop" /> Stop</button>
        <button title="Say it in the turn that runs" disabled=${isEmpty} onClick=${steer}>Steer</button>
      `}
      <button class="main" disabled=${isEmpty} onClick=${() => send(usual)}>
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

/** The agent did not start. The session says why. @param {{state: SessionState}} props */
function Failed({ state }) {
  const { provider, workingDirectory, model } = state.summary;
  const again = async () => {
    const how = { provider, ...(workingDirectory && { workingDirectory }), ...(model && { model }) };
    const fresh = await told(newSession(how));
    if (fresh === null) return;
    // What was said to the one that failed is there to be said again.
    for (const { userMessage } of state.queuedMessages ?? []) {
      putInComposer(fresh, userMessage.text, userMessage.attachments);
    }
  };
  return html`<div class="row wrap">
    <${Busy} class="main" run=${again}>Try again in a new session<//>
    <button onClick=${() => goTo(null)}>Choose another agent</button>
  </div>`;
}
